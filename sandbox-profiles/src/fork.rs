//! New processes, without a thread and without surprises.
//!
//! Promises: what runs in the child is ordinary code, since there is only one thread; a child that cannot exec says at
//! which step it failed. Refuses to decide what a child does.

use nix::unistd::Pid;
use std::io;

/// Proof that this process has one thread, so that a forked child may do whatever it likes before it execs.
#[derive(Debug)]
pub struct SingleThreaded(());

/// A step of a start that failed, as the caller numbers its steps, and the system's reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Failed {
    /// Which step.
    pub step: u8,
    /// Why, as in errno(3).
    pub errno: i32,
}

impl SingleThreaded {
    /// Counts the threads.
    ///
    /// # Errors
    /// When there is more than one thread, or the count cannot be had.
    pub fn prove() -> io::Result<Self> {
        let threads = threads()?;
        if threads == 1 { Ok(Self(())) } else { Err(io::Error::other(format!("{threads} threads, not one"))) }
    }
}

#[cfg(target_os = "linux")]
fn threads() -> io::Result<usize> {
    Ok(std::fs::read_dir("/proc/self/task")?.count())
}

#[cfg(target_os = "macos")]
fn threads() -> io::Result<usize> {
    let mut info = std::mem::MaybeUninit::<libc::proc_taskinfo>::zeroed();
    let size = i32::try_from(size_of::<libc::proc_taskinfo>()).map_err(io::Error::other)?;
    let pid = nix::unistd::getpid().as_raw();
    // SAFETY: the buffer is as long as is said.
    let filled = unsafe { libc::proc_pidinfo(pid, libc::PROC_PIDTASKINFO, 0, info.as_mut_ptr().cast(), size) };
    if filled != size {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the call has filled all of it, and any bytes are a valid value of this structure of numbers.
    let info = unsafe { info.assume_init() };
    usize::try_from(info.pti_threadnum).map_err(io::Error::other)
}

/// Which new namespaces a child begins in. None of them on a system without namespaces.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Namespaces {
    /// User and pid: the child is process 1, and all its descendants end with it.
    pub user_and_pid: bool,
    /// System V IPC and POSIX queues, together with the former.
    pub ipc: bool,
}

/// Forks. The child runs `child` and exits with what it returns; it never returns from here.
///
/// # Errors
/// As fork(2) and clone(2).
pub fn fork(_: &SingleThreaded, namespaces: Namespaces, child: impl FnOnce(&SingleThreaded) -> u8) -> io::Result<Pid> {
    let pid = raw_fork(namespaces)?;
    if pid != 0 {
        return Ok(Pid::from_raw(pid));
    }
    let status = child(&SingleThreaded(()));
    // SAFETY: _exit takes any status, runs no handlers and does not return.
    unsafe { libc::_exit(i32::from(status)) }
}

#[cfg(target_os = "linux")]
fn raw_fork(namespaces: Namespaces) -> io::Result<libc::pid_t> {
    let mut flags = libc::SIGCHLD;
    if namespaces.user_and_pid {
        flags |= libc::CLONE_NEWUSER | libc::CLONE_NEWPID;
        flags |= if namespaces.ipc { libc::CLONE_NEWIPC } else { 0 };
    }
    let zero: libc::c_long = 0;
    // SAFETY: without CLONE_VM and with a null stack the child gets a copy of everything, as by fork; the process has
    // one thread (`SingleThreaded`), so no lock is held by a thread that the child lacks.
    let pid = unsafe { libc::syscall(libc::SYS_clone, libc::c_long::from(flags), zero, zero, zero, zero) };
    if pid < 0 { Err(io::Error::last_os_error()) } else { libc::pid_t::try_from(pid).map_err(io::Error::other) }
}

#[cfg(not(target_os = "linux"))]
fn raw_fork(_: Namespaces) -> io::Result<libc::pid_t> {
    // SAFETY: the process has one thread (`SingleThreaded`), so the child may run any code.
    let pid = unsafe { libc::fork() };
    if pid < 0 { Err(io::Error::last_os_error()) } else { Ok(pid) }
}

/// Starts a child that is to exec. `child` returns only if it could not, with the reason, which is handed on.
///
/// On Linux the child borrows this process's memory, which sleeps until the exec: nothing is copied. What `child`
/// changes in memory is therefore seen here afterwards.
///
/// # Errors
/// As fork(2) and clone(2); `Ok(Err(…))` when `child` failed, it is gone then.
pub fn fork_for_exec(alone: &SingleThreaded, child: impl FnOnce() -> Failed) -> io::Result<Result<Pid, Failed>> {
    let (pid, failed) = borrowed::start(alone, child)?;
    if failed.is_some() {
        let _ = nix::sys::wait::waitpid(pid, None);
    }
    Ok(failed.map_or(Ok(pid), Err))
}

#[cfg(target_os = "linux")]
mod borrowed {
    use super::{Failed, SingleThreaded};
    use nix::unistd::Pid;
    use std::io;
    use std::mem::MaybeUninit;

    /// The deepest thing that runs on it is the building of a Landlock ruleset; that needs a few KiB.
    const STACK: usize = 256 * 1024;
    const ALIGNMENT: usize = 16;

    struct Shared<F> {
        child: Option<F>,
        failed: Option<Failed>,
    }

    pub(super) fn start(_: &SingleThreaded, child: impl FnOnce() -> Failed) -> io::Result<(Pid, Option<Failed>)> {
        let mut stack = Vec::<u8>::with_capacity(STACK);
        let mut shared = Shared { child: Some(child), failed: None };
        let pid = clone(entry_of(&shared), stack.spare_capacity_mut(), (&raw mut shared).cast());
        if pid < 0 { Err(io::Error::last_os_error()) } else { Ok((Pid::from_raw(pid), shared.failed)) }
    }

    type Entry = extern "C" fn(*mut libc::c_void) -> libc::c_int;

    fn entry_of<F: FnOnce() -> Failed>(_: &Shared<F>) -> Entry {
        enter::<F>
    }

    fn clone(entry: Entry, stack: &mut [MaybeUninit<u8>], argument: *mut libc::c_void) -> libc::pid_t {
        let end = stack.as_mut_ptr_range().end;
        let top = end.wrapping_sub(end.addr() % ALIGNMENT);
        let flags = libc::CLONE_VM | libc::CLONE_VFORK | libc::SIGCHLD;
        // SAFETY: CLONE_VFORK lets this only thread sleep until the child has execed or exited, so the two never run
        // at once and stack and argument, which live in the caller's frame, outlive the child's use of them.
        unsafe { libc::clone(entry, top.cast(), flags, argument) }
    }

    extern "C" fn enter<F: FnOnce() -> Failed>(shared: *mut libc::c_void) -> libc::c_int {
        // SAFETY: `start` passes a `Shared<F>` of this very F, which nobody else touches while this runs.
        let shared = unsafe { &mut *shared.cast::<Shared<F>>() };
        if let Some(child) = shared.child.take() {
            shared.failed = Some(child());
        }
        127
    }
}

#[cfg(not(target_os = "linux"))]
mod borrowed {
    use super::{Failed, Namespaces, SingleThreaded, fork};
    use nix::unistd::Pid;
    use std::fs::File;
    use std::io::{self, Read, Write};

    /// A pipe that exec closes tells success from failure.
    pub(super) fn start(alone: &SingleThreaded, child: impl FnOnce() -> Failed) -> io::Result<(Pid, Option<Failed>)> {
        let (read, write) = nix::unistd::pipe()?;
        for end in [&read, &write] {
            crate::descriptors::close_on_exec(end)?;
        }
        let (mut read, mut write) = (File::from(read), File::from(write));
        let pid = fork(alone, Namespaces::default(), |_| {
            let Failed { step, errno } = child();
            let [a, b, c, d] = errno.to_ne_bytes();
            let _ = write.write_all(&[step, a, b, c, d]);
            127
        })?;
        drop(write);
        let mut bytes = [0; 5];
        let failed = read.read_exact(&mut bytes).is_ok();
        let [step, a, b, c, d] = bytes;
        Ok((pid, failed.then_some(Failed { step, errno: i32::from_ne_bytes([a, b, c, d]) })))
    }
}
