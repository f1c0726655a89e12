//! The job-init that is made before there is a job.
//!
//! Promises: it serves one job at most; whatever ends the jail ends it; when it cannot take a job, nothing of the job has
//! begun. Refuses to know what a launch says.

use super::probe::Means;
use super::{Ends, QUIET, init};
use musegate_sandbox_profiles::fork::{SingleThreaded, fork};
use nix::sys::socket::{ControlMessage, sendmsg};
use std::io::{self, IoSlice, Write};
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;

/// A job-init that waits, and where it hears of its job.
pub(super) struct Spare(UnixStream);

impl Spare {
    /// None where there is no room for one: then each job gets its own when it comes.
    pub(super) fn make(alone: &SingleThreaded, means: &Means) -> Option<Self> {
        let (ours, theirs) = UnixStream::pair().ok()?;
        let mut ours = Some(ours);
        let wait = |alone: &SingleThreaded| {
            drop(ours.take()); // its own copy: as long as it were open, the end of the jail would not be heard
            init::wait(alone, means, theirs)
        };
        fork(alone, means.namespaces, wait).ok()?;
        ours.map(Self)
    }

    /// Gives it its job. On an error it has not begun: it begins nothing before it has the whole launch.
    pub(super) fn hand_over(mut self, launch: &[u8], ends: &Ends) -> io::Result<()> {
        let length = u32::try_from(launch.len()).map_err(io::Error::other)?.to_ne_bytes();
        let Ends { stdin, stdout, stderr, line, lock } = ends;
        let numbers = [stdin.as_raw_fd(), stdout.as_raw_fd(), stderr.as_raw_fd(), line.as_raw_fd(), lock.as_raw_fd()];
        let rights = [ControlMessage::ScmRights(&numbers)];
        let parts = [IoSlice::new(&length), IoSlice::new(launch)];
        let sent = sendmsg::<()>(self.0.as_raw_fd(), &parts, &rights, QUIET, None)?;
        let done = sent.checked_sub(length.len()).ok_or(io::ErrorKind::WriteZero)?;
        self.0.write_all(launch.get(done..).unwrap_or_default())
    }
}
