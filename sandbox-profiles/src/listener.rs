//! Listening sockets that a service manager holds and hands on: systemd's LISTEN_FDS, launchd's Sockets.
//!
//! Promises: each descriptor is handed out once in the life of the process, checked to be a listening stream socket,
//! close-on-exec. Refuses to know what is served on it.

use nix::sys::socket::{SockType, getsockopt, sockopt};
use std::io;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, Ordering};

/// One inherited socket.
#[derive(Debug)]
pub struct Inherited {
    /// The name that the manager's configuration gives it.
    pub name: String,
    /// The socket.
    pub fd: OwnedFd,
}

/// Why inherited sockets cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ListenerError {
    /// They have been handed out before.
    #[error("the inherited sockets were taken already")]
    Taken,
    /// What the manager says makes no sense.
    #[error("{variable} is not understood: {value:?}")]
    Variable {
        /// Which variable.
        variable: &'static str,
        /// What it says.
        value: String,
    },
    /// A socket was handed on that nobody here expects.
    #[error("an inherited socket is called {name:?}, expected {expected}")]
    Unexpected {
        /// Its name.
        name: String,
        /// The known names.
        expected: String,
    },
    /// A descriptor is not a listening stream socket.
    #[error("the inherited descriptor {name:?} is not a listening stream socket")]
    NotListening {
        /// Its name.
        name: String,
    },
    /// The system says no.
    #[error("inherited sockets: {0}")]
    Os(#[from] io::Error),
}

static TAKEN: AtomicBool = AtomicBool::new(false);

/// The listening sockets that this process was started with; empty when it was started without a manager.
/// `names`: what the manager's configuration may call them. Works once.
///
/// # Errors
/// [`ListenerError`].
pub fn inherited_listeners(names: &[&str]) -> Result<Vec<Inherited>, ListenerError> {
    if TAKEN.swap(true, Ordering::SeqCst) {
        return Err(ListenerError::Taken);
    }
    let sockets = manager::sockets(names)?;
    for Inherited { name, fd } in &sockets {
        crate::descriptors::close_on_exec(fd)?;
        if !names.contains(&name.as_str()) {
            return Err(ListenerError::Unexpected { name: name.clone(), expected: names.join(", ") });
        }
        let stream = getsockopt(fd, sockopt::SockType) == Ok(SockType::Stream);
        if !stream || getsockopt(fd, sockopt::AcceptConn) != Ok(true) {
            return Err(ListenerError::NotListening { name: name.clone() });
        }
    }
    Ok(sockets)
}

#[cfg(target_os = "linux")]
mod manager {
    use super::{Inherited, ListenerError};
    use std::os::fd::{FromRawFd, OwnedFd, RawFd};

    /// The first descriptor that the convention uses.
    const FIRST: RawFd = 3;
    /// More sockets than any configuration of ours.
    const MOST: RawFd = 16;

    pub(super) fn sockets(_: &[&str]) -> Result<Vec<Inherited>, ListenerError> {
        let read = |variable| std::env::var(variable).ok();
        let numbers = numbers(read("LISTEN_PID"), read("LISTEN_FDS"), std::process::id())?;
        let names = read("LISTEN_FDNAMES").unwrap_or_default();
        let mut names = names.split(':').filter(|name| !name.is_empty());
        let name = |_| names.next().unwrap_or("unknown").to_owned();
        Ok(numbers.clone().map(name).zip(numbers).map(|(name, number)| Inherited { name, fd: own(number) }).collect())
    }

    fn own(number: RawFd) -> OwnedFd {
        // SAFETY: by the convention the manager leaves these descriptors to us; `inherited_listeners` runs once, so
        // that each gets one owner. Were the number not open, its first use would fail with EBADF.
        unsafe { OwnedFd::from_raw_fd(number) }
    }

    /// The variables are inherited by children too, hence the pid.
    pub(super) fn numbers(
        pid: Option<String>,
        count: Option<String>,
        me: u32,
    ) -> Result<std::ops::Range<RawFd>, ListenerError> {
        let (Some(pid), Some(count)) = (pid, count) else { return Ok(FIRST..FIRST) };
        match pid.parse::<u32>() {
            Ok(pid) if pid == me => {}
            Ok(_) => return Ok(FIRST..FIRST),
            Err(_) => return Err(ListenerError::Variable { variable: "LISTEN_PID", value: pid }),
        }
        match count.parse::<RawFd>() {
            Ok(count @ 0..=MOST) => Ok(FIRST..FIRST + count),
            _ => Err(ListenerError::Variable { variable: "LISTEN_FDS", value: count }),
        }
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        fn some(text: &str) -> Option<String> {
            Some(text.into())
        }

        #[test]
        fn sockets_meant_for_another_process_are_left_alone() {
            assert_eq!(numbers(some("7"), some("2"), 7).unwrap(), 3..5);
            assert_eq!(numbers(some("8"), some("2"), 7).unwrap(), 3..3);
            assert_eq!(numbers(None, some("2"), 7).unwrap(), 3..3);
        }

        #[test]
        fn a_count_that_makes_no_sense_is_an_error() {
            for count in ["-1", "17", "x", ""] {
                assert!(matches!(
                    numbers(some("7"), some(count), 7),
                    Err(ListenerError::Variable { variable: "LISTEN_FDS", .. })
                ));
            }
            assert!(numbers(some("me"), some("1"), 7).is_err());
        }
    }
}

#[cfg(target_os = "macos")]
mod manager {
    use super::{Inherited, ListenerError};
    use std::ffi::{CString, c_char, c_int};
    use std::io;
    use std::os::fd::{FromRawFd, OwnedFd};

    unsafe extern "C" {
        /// Of libSystem, launch.h. Returns an errno, not -1; the array is the caller's to free.
        fn launch_activate_socket(name: *const c_char, fds: *mut *mut c_int, count: *mut usize) -> c_int;
    }

    /// Not started by launchd, or no such name in the plist: then there is no socket, which is no error.
    const NONE: [c_int; 2] = [libc::ESRCH, libc::ENOENT];

    pub(super) fn sockets(names: &[&str]) -> Result<Vec<Inherited>, ListenerError> {
        let mut all = Vec::new();
        for name in names {
            let fds = activate(name)?;
            all.extend(fds.into_iter().map(|fd| Inherited { name: (*name).to_owned(), fd }));
        }
        Ok(all)
    }

    fn activate(name: &str) -> io::Result<Vec<OwnedFd>> {
        let name = CString::new(name)?;
        let mut fds: *mut c_int = std::ptr::null_mut();
        let mut count = 0;
        // SAFETY: name is a C string, the two others are places for the answer.
        let errno = unsafe { launch_activate_socket(name.as_ptr(), &raw mut fds, &raw mut count) };
        if NONE.contains(&errno) || fds.is_null() {
            return Ok(Vec::new());
        }
        if errno != 0 {
            return Err(io::Error::from_raw_os_error(errno));
        }
        // SAFETY: on success the array has that many elements.
        let numbers = unsafe { std::slice::from_raw_parts(fds, count) }.to_vec();
        // SAFETY: the array came from malloc, is ours, and is not used again.
        unsafe { libc::free(fds.cast()) };
        // SAFETY: launchd has just made these descriptors for us; a name works once per process.
        Ok(numbers.into_iter().map(|number| unsafe { OwnedFd::from_raw_fd(number) }).collect())
    }
}
