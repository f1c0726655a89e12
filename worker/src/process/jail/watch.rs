//! Waits for two things at once: a byte or the end on the line, and the end of a child. Never polls in turns.

use nix::errno::Errno;
use std::os::fd::BorrowedFd;

/// What there is.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Ready {
    pub(super) line: bool,
    pub(super) children: bool,
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
    use super::{BorrowedFd, Errno, Ready};
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

        pub(in super::super) fn wait(&self, line: BorrowedFd<'_>) -> nix::Result<Ready> {
            let number = usize::try_from(line.as_raw_fd()).unwrap_or_default();
            let once = EvFlags::EV_ADD | EvFlags::EV_ONESHOT;
            let readable = KEvent::new(number, EventFilter::EVFILT_READ, once, FilterFlag::empty(), 0, 0);
            let mut events = [readable, readable];
            let found = match self.0.kevent(&[readable], &mut events, None) {
                Ok(found) => found,
                Err(Errno::EINTR) => return Ok(Ready::default()),
                Err(errno) => return Err(errno),
            };
            let mut ready = Ready::default();
            for event in events.iter().take(found) {
                match event.filter() {
                    Ok(EventFilter::EVFILT_SIGNAL) => ready.children = true,
                    _ => ready.line = true,
                }
            }
            Ok(ready)
        }
    }
}
