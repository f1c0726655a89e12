//! Processes held by descriptor, so that a number that is used again cannot be mistaken for them.

use nix::unistd::Pid;
use std::io;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd, RawFd};

/// Holds a process. Readable, as poll(2) has it, once the process is dead; for process 1 of a pid namespace this means
/// that everything in the namespace is dead.
///
/// # Errors
/// As pidfd_open(2).
pub fn open(pid: Pid) -> io::Result<OwnedFd> {
    // SAFETY: takes plain numbers.
    let fd = unsafe { libc::syscall(libc::SYS_pidfd_open, pid.as_raw(), 0) };
    let fd = RawFd::try_from(fd).unwrap_or(-1);
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the kernel has just made it for us.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// SIGKILL for the process.
///
/// # Errors
/// As pidfd_send_signal(2).
pub fn kill(process: impl AsFd) -> io::Result<()> {
    let fd = process.as_fd().as_raw_fd();
    let null = std::ptr::null::<libc::siginfo_t>();
    // SAFETY: without a siginfo the call reads no memory.
    let done = unsafe { libc::syscall(libc::SYS_pidfd_send_signal, fd, libc::SIGKILL, null, 0) };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::process::ExitStatusExt;

    #[test]
    fn a_held_process_dies_by_its_descriptor_and_no_other_after_it() {
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let held = open(Pid::from_raw(i32::try_from(child.id()).unwrap())).unwrap();
        kill(&held).unwrap();
        assert_eq!(child.wait().unwrap().signal(), Some(9));
        assert_eq!(kill(&held).unwrap_err().raw_os_error(), Some(libc::ESRCH));
    }
}
