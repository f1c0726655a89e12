//! What a hostile program tries, as a list: run inside the confinement each attempt must fail with a known errno, run
//! outside each must come through, or it would prove nothing.
//!
//! Promises: an attempt harms nothing but the [`Target`] that was laid out for it. Refuses to judge: whoever runs the
//! list compares.

mod files;
mod network;
mod system;

pub use network::{bind_tcp, unix_socket};

use nix::errno::Errno;
use std::path::PathBuf;

/// What is laid out to be attacked. All of it belongs to the uid that attacks.
#[derive(Clone, Debug)]
pub struct Target {
    /// The folder that the program may write.
    pub scratch: PathBuf,
    /// A folder that it may not enter, with a file `secret` in it.
    pub outside: PathBuf,
    /// A listening TCP port on 127.0.0.1 to which it may not connect.
    pub tcp_port: u16,
    /// A listening Unix socket.
    pub unix: PathBuf,
    /// A process of the same uid, not of the same job.
    pub victim: i32,
}

impl Target {
    fn secret(&self) -> PathBuf {
        self.outside.join("secret")
    }
}

/// One attempt.
#[derive(Clone, Copy, Debug)]
pub struct Attempt {
    /// In a few words, without spaces.
    pub name: &'static str,
    /// The layer that holds it, by its word in the settings.
    pub held_by: &'static str,
    /// What the kernel may answer.
    pub expected: &'static [Errno],
    /// Does it.
    pub run: fn(&Target) -> nix::Result<()>,
}

/// Known to come through: limits of the kernel, each pinned so that a kernel without it is noticed.
#[derive(Clone, Copy, Debug)]
pub struct Gap {
    /// In a few words, without spaces.
    pub name: &'static str,
    /// What follows, and what else holds.
    pub note: &'static str,
    /// Does it.
    pub run: fn(&Target) -> nix::Result<()>,
}

/// All attempts, in groups.
#[must_use]
pub fn attempts() -> Vec<Attempt> {
    [files::ATTEMPTS, network::ATTEMPTS, system::ATTEMPTS].concat()
}

/// All known gaps.
#[must_use]
pub fn gaps() -> &'static [Gap] {
    files::GAPS
}

fn from_io<T>(result: std::io::Result<T>) -> nix::Result<T> {
    result.map_err(|error| Errno::from_raw(error.raw_os_error().unwrap_or(libc::EIO)))
}
