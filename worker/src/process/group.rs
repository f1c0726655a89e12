//! One running group, seen from the worker: its output, and the line to its job-init.

use super::LaunchError;
use super::record::{Gone, KILL, STATUS, Status, TERM};
use musegate_sandbox_profiles::descriptors;
#[cfg(target_os = "linux")]
use musegate_sandbox_profiles::pidfd;
use std::io;
#[cfg(target_os = "linux")]
use std::os::fd::AsFd;
use std::os::fd::OwnedFd;
use std::time::Duration;
use tokio::io::Interest;
use tokio::net::UnixStream;
use tokio::net::unix::pipe::Receiver;
use tokio::time::{Instant, timeout_at};

/// A killed tree that is not told gone within this long is in doubt.
const DOUBT_AFTER: Duration = Duration::from_secs(5);
/// Once more so long for a tree whose job-init had to be killed.
const LAST_RESORT: Duration = Duration::from_secs(1);
const BETWEEN_LOOKS: Duration = Duration::from_millis(2);

/// How the program itself ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// With a status.
    Code(i32),
    /// By a signal.
    Signal(i32),
    /// Nobody can say: its job-init died first.
    Unknown,
}

/// How the tree ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reaped {
    /// All of it by itself, or by SIGTERM.
    Itself,
    /// The program ended, and what it left behind was killed.
    Leftovers,
    /// All of it was killed.
    Killed,
    /// It could not be proven empty.
    Doubt,
}

/// A running program and everything that it starts. Dropping it kills the whole tree.
#[derive(Debug)]
pub struct Group {
    /// What the program says.
    pub stdout: Receiver,
    /// What it complains about.
    pub stderr: Receiver,
    /// Its processes. Apart from its streams, so that all three can be waited for at once.
    pub tree: Tree,
}

/// The processes of a [`Group`]. Dropping it kills them all.
#[derive(Debug)]
pub struct Tree {
    line: UnixStream,
    partial: Vec<u8>,
    received: Vec<OwnedFd>,
    init: Option<OwnedFd>,
    pid: i32,
    exit: Option<Exit>,
    reaped: Option<Reaped>,
    killed_at: Option<Instant>,
    ends_with_init: bool,
}

impl Group {
    /// `ends_with_init`: the tree cannot outlive its job-init, whatever ends that.
    pub(super) fn new(
        stdout: OwnedFd,
        stderr: OwnedFd,
        line: std::os::unix::net::UnixStream,
        ends_with_init: bool,
    ) -> io::Result<Self> {
        line.set_nonblocking(true)?;
        Ok(Self {
            stdout: Receiver::from_owned_fd(stdout)?,
            stderr: Receiver::from_owned_fd(stderr)?,
            tree: Tree {
                line: UnixStream::from_std(line)?,
                partial: Vec::with_capacity(STATUS),
                received: Vec::new(),
                init: None,
                pid: 0,
                exit: None,
                reaped: None,
                killed_at: None,
                ends_with_init,
            },
        })
    }
}

impl Group {
    /// [`Tree::pid`].
    #[must_use]
    pub fn pid(&self) -> Option<i32> {
        self.tree.pid()
    }

    /// [`Tree::term`].
    pub fn term(&mut self) {
        self.tree.term();
    }

    /// [`Tree::kill`].
    pub fn kill(&mut self) {
        self.tree.kill();
    }

    /// [`Tree::exited`].
    pub async fn exited(&mut self) -> Exit {
        self.tree.exited().await
    }

    /// [`Tree::reaped`].
    pub async fn reaped(&mut self) -> Reaped {
        self.tree.reaped().await
    }
}

impl Tree {
    /// The program's process id as this process sees it, for people and tests; `None` once it is known to have ended,
    /// and where the system does not say.
    #[must_use]
    pub fn pid(&self) -> Option<i32> {
        (self.pid > 0 && self.exit.is_none()).then_some(self.pid)
    }

    /// SIGTERM for the program's own process group.
    pub fn term(&mut self) {
        let _ = self.line.try_write(&[TERM]);
    }

    /// SIGKILL for the whole tree.
    pub fn kill(&mut self) {
        let _ = self.line.try_write(&[KILL]);
        self.killed_at.get_or_insert_with(Instant::now);
    }

    /// The program's own end. Cancel safe.
    pub async fn exited(&mut self) -> Exit {
        loop {
            if let Some(exit) = self.exit {
                return exit;
            }
            self.advance().await;
        }
    }

    /// The end of the whole tree. Cancel safe. After [`Tree::kill`] it takes at most six seconds.
    pub async fn reaped(&mut self) -> Reaped {
        loop {
            if let Some(reaped) = self.reaped {
                return reaped;
            }
            self.advance().await;
        }
    }

    /// Until the program runs.
    pub(super) async fn started(&mut self) -> Result<(), LaunchError> {
        match self.next().await {
            Some(Status::Started { pid }) => {
                self.pid = pid;
                self.init = self.received.pop();
                Ok(())
            }
            Some(Status::Failed { stage, errno }) => Err(LaunchError::Stage { stage: stage.word(), errno }),
            _ => Err(LaunchError::Lost),
        }
    }

    /// One step towards both ends.
    async fn advance(&mut self) {
        let status = match self.killed_at {
            None => self.next().await,
            Some(at) => timeout_at(at + DOUBT_AFTER, self.next()).await.unwrap_or_default(),
        };
        match status {
            Some(Status::Exited { code }) => self.exit = Some(Exit::Code(code)),
            Some(Status::Signaled { signal }) => self.exit = Some(Exit::Signal(signal)),
            Some(Status::Reaped(gone)) => self.settle(match gone {
                Gone::Itself => Reaped::Itself,
                Gone::Leftovers => Reaped::Leftovers,
                Gone::Killed => Reaped::Killed,
            }),
            Some(Status::Started { .. } | Status::Failed { .. }) => {}
            None => {
                let gone = self.end_of_init().await;
                self.settle(if gone && self.ends_with_init { Reaped::Killed } else { Reaped::Doubt });
            }
        }
    }

    fn settle(&mut self, reaped: Reaped) {
        self.exit.get_or_insert(Exit::Unknown);
        self.reaped.get_or_insert(reaped);
    }

    /// Job-init is dead or deaf: kills it, and says whether the kernel confirms its end and that of all it was the
    /// first process of. So rare that asking a few times does.
    async fn end_of_init(&self) -> bool {
        let Some(init) = &self.init else { return false };
        let deadline = Instant::now() + LAST_RESORT;
        while !has_ended(init) {
            if Instant::now() > deadline {
                return false;
            }
            tokio::time::sleep(BETWEEN_LOOKS).await;
        }
        true
    }

    /// The next status; `None` at the end of the line. Cancel safe: what was read is kept.
    async fn next(&mut self) -> Option<Status> {
        while self.partial.len() < STATUS {
            let Self { line, partial, received, .. } = self;
            let mut buffer = [0; STATUS];
            let room = buffer.get_mut(partial.len()..)?;
            let read = line.async_io(Interest::READABLE, || descriptors::receive(&*line, room)).await;
            let (count, mut descriptors) = read.ok().filter(|(count, _)| *count > 0)?;
            received.append(&mut descriptors);
            partial.extend(room.iter().take(count));
        }
        let status = self.partial.as_slice().try_into().ok().and_then(Status::decode);
        self.partial.clear();
        status
    }
}

/// Kills a held process, and says whether it is dead.
#[cfg(target_os = "linux")]
fn has_ended(process: &OwnedFd) -> bool {
    use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
    let _ = pidfd::kill(process);
    let mut looked = [PollFd::new(process.as_fd(), PollFlags::POLLIN)];
    poll(&mut looked, PollTimeout::ZERO) == Ok(1)
}

/// Nothing holds a process here.
#[cfg(not(target_os = "linux"))]
fn has_ended(_: &OwnedFd) -> bool {
    false
}
