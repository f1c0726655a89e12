//! Waits for two things at once: a byte or the end on the line, and the end of a child. Never polls in turns.

use nix::errno::Errno;
#[cfg(target_os = "macos")]
use nix::unistd::Pid;
use std::os::fd::BorrowedFd;

/// What there is.
#[derive(Clone, Debug, Default)]
pub(super) struct Ready {
    pub(super) line: bool,
    pub(super) children: bool,
    /// Followed processes that have forked. On Linux orphans come to job-init by themselves.
    #[cfg(target_os = "macos")]
    pub(super) forked: Vec<Pid>,
    /// Followed processes that have ended.
    #[cfg(target_os = "macos")]
    pub(super) ended: Vec<Pid>,
}

#[cfg(target_os = "linux")]
pub(super) use linux::Watch;
#[cfg(target_os = "macos")]
pub(super) use macos::Watch;

#[cfg(target_os = "linux")]
mod linux {
    use super::{BorrowedFd, Errno, Ready};
    use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
    use nix::sys::signal::{SigSet, Signal};
    use nix::sys::signalfd::{SfdFlags, SignalFd};
    use std::os::fd::AsFd;

    /// SIGCHLD is blocked and read as a file.
    #[derive(Debug)]
    pub(in super::super) struct Watch(SignalFd);

    impl Watch {
        pub(in super::super) fn new() -> nix::Result<Self> {
            let mut children = SigSet::empty();
            children.add(Signal::SIGCHLD);
            children.thread_block()?;
            Ok(Self(SignalFd::with_flags(&children, SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK)?))
        }

        pub(in super::super) fn wait(&self, line: BorrowedFd<'_>) -> nix::Result<Ready> {
            let mut both = [PollFd::new(line, PollFlags::POLLIN), PollFd::new(self.0.as_fd(), PollFlags::POLLIN)];
            match poll(&mut both, PollTimeout::NONE) {
                Ok(_) => {}
                Err(Errno::EINTR) => return Ok(Ready::default()),
                Err(errno) => return Err(errno),
            }
            let [line, children] = both.map(|one| one.any().unwrap_or(true));
            if children {
                while let Ok(Some(_)) = self.0.read_signal() {}
            }
            Ok(Ready { line, children })
        }
    }
}

#[cfg(target_os = "macos")]
mod macos {
    use super::{BorrowedFd, Errno, Pid, Ready};
    use nix::sys::event::{EvFlags, EventFilter, FilterFlag, KEvent, Kqueue};
    use std::os::fd::AsRawFd;

    /// One queue for both. It sees SIGCHLD although the signal does nothing.
    pub(in super::super) struct Watch(Kqueue);

    impl Watch {
        pub(in super::super) fn new() -> nix::Result<Self> {
            let queue = Kqueue::new()?;
            let signal = usize::try_from(libc::SIGCHLD).unwrap_or_default();
            let children = KEvent::new(signal, EventFilter::EVFILT_SIGNAL, EvFlags::EV_ADD, FilterFlag::empty(), 0, 0);
            queue.kevent(&[children], &mut [], None)?;
            Ok(Self(queue))
        }

        /// Forks and the end of a process are told from now on. One that is gone already is not.
        pub(in super::super) fn follow(&self, pid: Pid) {
            let Ok(number) = usize::try_from(pid.as_raw()) else { return };
            let what = FilterFlag::NOTE_FORK | FilterFlag::NOTE_EXIT;
            let add = EvFlags::EV_ADD | EvFlags::EV_CLEAR;
            let _ = self.0.kevent(&[KEvent::new(number, EventFilter::EVFILT_PROC, add, what, 0, 0)], &mut [], None);
        }

        pub(in super::super) fn wait(&self, line: BorrowedFd<'_>) -> nix::Result<Ready> {
            let number = usize::try_from(line.as_raw_fd()).unwrap_or_default();
            let once = EvFlags::EV_ADD | EvFlags::EV_ONESHOT;
            let readable = KEvent::new(number, EventFilter::EVFILT_READ, once, FilterFlag::empty(), 0, 0);
            self.collect(&[readable], None)
        }

        /// What has happened to followed processes, without waiting.
        pub(in super::super) fn look(&self) -> nix::Result<Ready> {
            self.collect(&[], Some(libc::timespec { tv_sec: 0, tv_nsec: 0 }))
        }

        fn collect(&self, changes: &[KEvent], longest: Option<libc::timespec>) -> nix::Result<Ready> {
            let nothing = KEvent::new(0, EventFilter::EVFILT_READ, EvFlags::empty(), FilterFlag::empty(), 0, 0);
            let mut events = [nothing; 64];
            let found = match self.0.kevent(changes, &mut events, longest) {
                Ok(found) => found,
                Err(Errno::EINTR) => return Ok(Ready::default()),
                Err(errno) => return Err(errno),
            };
            let mut ready = Ready::default();
            for event in events.iter().take(found) {
                match event.filter() {
                    Ok(EventFilter::EVFILT_SIGNAL) => ready.children = true,
                    Ok(EventFilter::EVFILT_PROC) => {
                        let pid = Pid::from_raw(i32::try_from(event.ident()).unwrap_or(0));
                        if event.fflags().contains(FilterFlag::NOTE_FORK) {
                            ready.forked.push(pid);
                        }
                        if event.fflags().contains(FilterFlag::NOTE_EXIT) {
                            ready.ended.push(pid);
                        }
                    }
                    _ => ready.line = true,
                }
            }
            Ok(ready)
        }
    }
}
