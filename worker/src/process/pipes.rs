//! What lies between a program and the worker: three standard streams and the line to its job-init.

use super::{Group, LaunchError, MAX_STDIN, Stdin, record};
#[cfg(not(target_os = "linux"))]
use musegate_sandbox_profiles::descriptors;
use nix::fcntl::OFlag;
use nix::sys::stat::Mode;
use std::io::{self, Write};
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::os::unix::net::UnixStream;

/// Both ends of everything.
pub(super) struct Pipes {
    stdin: OwnedFd,
    stdout: (OwnedFd, OwnedFd),
    stderr: (OwnedFd, OwnedFd),
    line: (UnixStream, UnixStream),
}

impl Pipes {
    pub(super) fn new(stdin: &Stdin) -> Result<Self, LaunchError> {
        let failed = |error: io::Error| LaunchError::Resources { what: "pipe", error };
        Ok(Self {
            stdin: stdin_end(stdin)?,
            stdout: pipe().map_err(failed)?,
            stderr: pipe().map_err(failed)?,
            line: UnixStream::pair().map_err(failed)?,
        })
    }

    /// In the order in which the jail takes them.
    pub(super) fn theirs(&self, lock: &OwnedFd) -> [RawFd; record::DESCRIPTORS] {
        let Self { stdin, stdout, stderr, line } = self;
        [stdin.as_raw_fd(), stdout.1.as_raw_fd(), stderr.1.as_raw_fd(), line.1.as_raw_fd(), lock.as_raw_fd()]
    }

    /// Closes their ends. `ends_with_init`: the tree cannot outlive its job-init.
    pub(super) fn into_group(self, ends_with_init: bool) -> Result<Group, LaunchError> {
        let made = Group::new(self.stdout.0, self.stderr.0, self.line.0, ends_with_init);
        made.map_err(|error| LaunchError::Resources { what: "pipe", error })
    }
}

fn pipe() -> io::Result<(OwnedFd, OwnedFd)> {
    #[cfg(target_os = "linux")]
    let pair = nix::unistd::pipe2(OFlag::O_CLOEXEC)?;
    #[cfg(not(target_os = "linux"))]
    let pair = nix::unistd::pipe()?;
    #[cfg(not(target_os = "linux"))]
    for end in [&pair.0, &pair.1] {
        descriptors::close_on_exec(end)?;
    }
    Ok(pair)
}

fn stdin_end(stdin: &Stdin) -> Result<OwnedFd, LaunchError> {
    let failed = |error: io::Error| LaunchError::Resources { what: "stdin", error };
    match stdin {
        Stdin::Null => nix::fcntl::open("/dev/null", OFlag::O_RDONLY | OFlag::O_CLOEXEC, Mode::empty())
            .map_err(|errno| failed(errno.into())),
        Stdin::Bytes(bytes) if bytes.len() > MAX_STDIN => Err(LaunchError::Invalid("too much for stdin")),
        Stdin::Bytes(bytes) => {
            let (read, write) = pipe().map_err(failed)?;
            std::fs::File::from(write).write_all(bytes).map_err(failed)?;
            Ok(read)
        }
    }
}
