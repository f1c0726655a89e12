//! The first acts of a process that begins in a user namespace of its own.

use nix::unistd::{getegid, geteuid};
use std::fs::OpenOptions;
use std::io::{self, Write};

/// Ids as this process had them before it began in a new user namespace.
#[derive(Clone, Copy, Debug)]
pub struct Ids {
    uid: u32,
    gid: u32,
}

impl Ids {
    /// Of this process, now: before the fork.
    #[must_use]
    pub fn current() -> Self {
        Self { uid: geteuid().as_raw(), gid: getegid().as_raw() }
    }
}

/// Maps its own uid and gid, and no other, into the new user namespace. The process must be dumpable for this, and
/// is not when it returns.
///
/// # Errors
/// As open(2) and write(2) of the map files.
pub fn map_ids(ids: Ids) -> io::Result<()> {
    nix::sys::prctl::set_dumpable(true)?;
    write("/proc/self/setgroups", "deny")?;
    write("/proc/self/uid_map", &format!("{0} {0} 1", ids.uid))?;
    write("/proc/self/gid_map", &format!("{0} {0} 1", ids.gid))?;
    Ok(nix::sys::prctl::set_dumpable(false)?)
}

/// One write(2): the kernel takes a map only whole and only once.
fn write(path: &str, text: &str) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).open(path)?;
    let written = file.write(text.as_bytes())?;
    if written == text.len() { Ok(()) } else { Err(io::ErrorKind::WriteZero.into()) }
}
