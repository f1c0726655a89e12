//! Children and their ends, and who descends from whom as the system lists it now: a snapshot, in which whoever forks
//! meanwhile is missing.

use nix::unistd::Pid;
use std::io;

/// Most levels that are walked.
const DEEPEST: usize = 64;

/// The children of a process.
#[must_use]
pub fn children_of(parent: Pid) -> Vec<Pid> {
    #[cfg(target_os = "linux")]
    {
        let list = std::fs::read_to_string(format!("/proc/{parent}/task/{parent}/children")).unwrap_or_default();
        list.split_ascii_whitespace().filter_map(|pid| pid.parse().ok()).map(Pid::from_raw).collect()
    }
    #[cfg(target_os = "macos")]
    {
        let mut pids = [0 as libc::pid_t; 1024];
        let size = i32::try_from(size_of_val(&pids)).unwrap_or(0);
        // SAFETY: the buffer is as long as is said; the call writes whole pids and returns how many.
        let found = unsafe { libc::proc_listchildpids(parent.as_raw(), pids.as_mut_ptr().cast(), size) };
        let found = usize::try_from(found).unwrap_or(0);
        pids.iter().take(found).filter(|pid| **pid > 0).map(|pid| Pid::from_raw(*pid)).collect()
    }
}

/// All descendants of a process, parents before their children.
#[must_use]
pub fn descendants_of(root: Pid) -> Vec<Pid> {
    let mut all = Vec::new();
    let mut level = children_of(root);
    for _ in 0..DEEPEST {
        if level.is_empty() {
            break;
        }
        let next = level.iter().flat_map(|pid| children_of(*pid)).collect();
        all.append(&mut level);
        level = next;
    }
    all
}

/// A child that has ended and was waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ended {
    /// Which.
    pub pid: Pid,
    /// How.
    pub how: How,
}

/// How a process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    /// With this status.
    Code(i32),
    /// By this signal, real-time ones included.
    Signal(i32),
}

/// What waiting for any child came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waited {
    /// One has ended.
    Ended(Ended),
    /// There are children, none of them has ended. Only where it was not to block.
    Alive,
    /// There is no child.
    Childless,
}

/// Waits for any child, whatever signal it ends with. nix's own waitpid takes the end by a real-time signal for an
/// error, which here would hide that a child was waited for.
///
/// # Errors
/// As waitpid(2), never EINTR or ECHILD.
pub fn wait_for_any(block: bool) -> io::Result<Waited> {
    #[cfg(target_os = "linux")]
    let every_kind = libc::__WALL;
    #[cfg(not(target_os = "linux"))]
    let every_kind = 0;
    let flags = every_kind | if block { 0 } else { libc::WNOHANG };
    loop {
        let mut status = 0;
        // SAFETY: the place for the status is ours.
        let pid = unsafe { libc::waitpid(-1, &raw mut status, flags) };
        match pid {
            0 => return Ok(Waited::Alive),
            1.. if libc::WIFEXITED(status) => {
                return Ok(ended(pid, How::Code(libc::WEXITSTATUS(status))));
            }
            1.. if libc::WIFSIGNALED(status) => {
                return Ok(ended(pid, How::Signal(libc::WTERMSIG(status))));
            }
            1.. => {}
            _ => match io::Error::last_os_error() {
                error if error.raw_os_error() == Some(libc::EINTR) => {}
                error if error.raw_os_error() == Some(libc::ECHILD) => return Ok(Waited::Childless),
                error => return Err(error),
            },
        }
    }
}

fn ended(pid: libc::pid_t, how: How) -> Waited {
    Waited::Ended(Ended { pid: Pid::from_raw(pid), how })
}
