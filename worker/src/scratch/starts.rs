//! How often in a row a clean-up was begun and not seen to its end.
//!
//! What a job leaves on disk must not be able to kill the worker again and again. The count stands in the base, in
//! `.starts`; it is gone as soon as a clean-up has ended or the worker has. At [`TOO_OFTEN`], a start moves orphans
//! out of the way, as ever, and leaves their removal for later.

use super::folder::SECRET;
use nix::fcntl::{OFlag, openat};
use nix::sys::stat::Mode;
use nix::unistd::{UnlinkatFlags, unlinkat};
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::BorrowedFd;
use std::time::Duration;

const FILE: &str = ".starts";
/// So many clean-ups in a row that did not end.
pub(super) const TOO_OFTEN: u32 = 3;
/// How long removal is put off then. A worker that has lived for so long is at least no fast loop of crashes.
pub(super) const PUT_OFF: Duration = Duration::from_secs(30);

/// Counts one more. Says how many did not end before this one.
pub(super) fn begin(base: BorrowedFd<'_>) -> u32 {
    let before = read(base).unwrap_or(0);
    let flags = OFlag::O_WRONLY | OFlag::O_CREAT | OFlag::O_TRUNC | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
    // On a full disk there is no count; that a start fails over it would be worse.
    if let Ok(file) = openat(base, FILE, flags, SECRET) {
        let _ = File::from(file).write_all((before.saturating_add(1)).to_string().as_bytes());
    }
    before
}

/// It has ended.
pub(super) fn end(base: BorrowedFd<'_>) {
    let _ = unlinkat(base, FILE, UnlinkatFlags::NoRemoveDir);
}

fn read(base: BorrowedFd<'_>) -> Option<u32> {
    let flags = OFlag::O_RDONLY | OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK | OFlag::O_CLOEXEC;
    let file = File::from(openat(base, FILE, flags, Mode::empty()).ok()?);
    let mut text = String::new();
    file.take(16).read_to_string(&mut text).ok()?;
    text.trim().parse().ok()
}
