//! This process's own memory: who may look into it, and what it gives back.

use std::io;

/// Closes memory and environment of this process to others of the same uid, and keeps it from dumping core. Must be
/// repeated after an exec; a forked child inherits it.
///
/// # Errors
/// As prctl(2) or ptrace(2).
pub fn set_not_dumpable() -> io::Result<()> {
    #[cfg(target_os = "linux")]
    nix::sys::prctl::set_dumpable(false)?;
    #[cfg(target_os = "macos")]
    {
        // SAFETY: PT_DENY_ATTACH takes no memory.
        let done = unsafe { libc::ptrace(libc::PT_DENY_ATTACH, 0, std::ptr::null_mut(), 0) };
        if done != 0 {
            return Err(io::Error::last_os_error());
        }
    }
    rlimit::setrlimit(rlimit::Resource::CORE, 0, 0)
}

/// Gives memory that the allocator holds but nobody uses back to the system, where it can be told to.
pub fn trim_heap() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    {
        // SAFETY: takes a number; glibc locks its own arenas.
        unsafe { libc::malloc_trim(0) };
    }
}

#[cfg(test)]
mod tests {
    #[test]
    #[cfg(target_os = "linux")]
    fn a_process_that_is_not_dumpable_says_so() {
        super::set_not_dumpable().unwrap();
        assert!(!nix::sys::prctl::get_dumpable().unwrap());
        assert_eq!(rlimit::getrlimit(rlimit::Resource::CORE).unwrap(), (0, 0));
    }
}
