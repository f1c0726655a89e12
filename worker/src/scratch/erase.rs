//! Removal of what nobody needs any more, without recursion.
//!
//! A folder below `.trash` that is not empty is *hollowed out*: files in it are unlinked, folders in it that are not
//! empty are moved up into `.trash` itself, under new names, to be dealt with in turn. So nothing is ever deeper than
//! one step, one descriptor is open at a time, nothing has to be remembered, and an interrupted removal goes on from
//! what is on disk. Every step names an entry relative to an open folder; no link is followed.

use nix::dir::{Dir, Type};
use nix::errno::Errno;
use nix::fcntl::{openat, renameat};
use nix::sys::stat::{FchmodatFlags, Mode, fchmod, fchmodat};
use nix::unistd::{UnlinkatFlags, unlinkat};
use std::collections::HashSet;
use std::ffi::{CStr, CString};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};

use super::base::{FOLDER, PRIVATE};

/// Entries of `.trash` that are listed at a time.
const BATCH: usize = 512;
/// Times that one folder is gone through before it is given up: it fills as fast as it is emptied.
const PASSES: usize = 64;
/// Most names remembered as impossible to remove; beyond, the removal ends.
const MAX_STUCK: usize = 4096;

/// What a removal did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Erased {
    /// Files and folders removed.
    pub(super) entries: u64,
    /// Entries of `.trash` that could not be removed: a mount point, a folder of another user with something in it.
    pub(super) stuck: usize,
    /// Whether it went through everything; false: it was told to end.
    pub(super) finished: bool,
}

/// Told to end.
struct Interrupted;

/// What became of an entry of a folder that is hollowed out.
enum Entry {
    Removed,
    MovedUp,
    Kept,
}

enum Verdict {
    Gone,
    Stuck,
}

/// Empties `.trash`. `go_on` is asked before each entry.
pub(super) fn empty(trash: BorrowedFd<'_>, go_on: &mut dyn FnMut() -> bool) -> Erased {
    let mut done = Erased::default();
    let mut stuck: HashSet<CString> = HashSet::new();
    loop {
        let batch = list(trash, &stuck);
        if batch.is_empty() || stuck.len() >= MAX_STUCK {
            done.finished = true;
            break;
        }
        for name in batch {
            match clear(trash, &name, go_on, &mut done.entries) {
                Ok(Verdict::Gone) => {}
                Ok(Verdict::Stuck) => {
                    stuck.insert(name);
                }
                Err(Interrupted) => {
                    done.stuck = stuck.len();
                    return done;
                }
            }
        }
    }
    done.stuck = stuck.len();
    done
}

fn list(trash: BorrowedFd<'_>, without: &HashSet<CString>) -> Vec<CString> {
    let Ok(mut dir) = Dir::openat(trash, ".", FOLDER, Mode::empty()) else { return Vec::new() };
    dir.iter()
        .map_while(Result::ok)
        .map(|entry| entry.file_name().to_owned())
        .filter(|name| !is_dot(name) && !without.contains(name))
        .take(BATCH)
        .collect()
}

fn is_dot(name: &CStr) -> bool {
    matches!(name.to_bytes(), b"." | b"..")
}

/// Removes one entry of `.trash`, whatever it is.
fn clear(
    trash: BorrowedFd<'_>,
    name: &CStr,
    go_on: &mut dyn FnMut() -> bool,
    count: &mut u64,
) -> Result<Verdict, Interrupted> {
    for _ in 0..PASSES {
        if !go_on() {
            return Err(Interrupted);
        }
        match unlinkat(trash, name, UnlinkatFlags::RemoveDir) {
            Ok(()) | Err(Errno::ENOENT) => {
                *count += 1;
                return Ok(Verdict::Gone);
            }
            Err(Errno::ENOTEMPTY | Errno::EEXIST) => {}
            Err(_) => {
                let gone = unlinkat(trash, name, UnlinkatFlags::NoRemoveDir).is_ok();
                *count += u64::from(gone);
                return Ok(if gone { Verdict::Gone } else { Verdict::Stuck });
            }
        }
        if !hollow(trash, name, go_on, count)? {
            return Ok(Verdict::Stuck);
        }
    }
    Ok(Verdict::Stuck)
}

/// Goes once through a folder: unlinks what it can, moves up what is not empty. Whether anything left it.
fn hollow(
    trash: BorrowedFd<'_>,
    name: &CStr,
    go_on: &mut dyn FnMut() -> bool,
    count: &mut u64,
) -> Result<bool, Interrupted> {
    let Some(mut dir) = enter(trash, name) else { return Ok(false) };
    let Ok(here) = dir.as_fd().try_clone_to_owned() else { return Ok(false) };
    let mut changed = false;
    for entry in dir.iter().map_while(Result::ok) {
        let entry_name = entry.file_name();
        if is_dot(entry_name) {
            continue;
        }
        if !go_on() {
            return Err(Interrupted);
        }
        match drop_entry(here.as_fd(), entry_name, entry.file_type(), trash) {
            Entry::Removed => *count += 1,
            Entry::MovedUp => {}
            Entry::Kept => continue,
        }
        changed = true;
    }
    Ok(changed)
}

/// Opens a folder for emptying; takes back the rights that a job may have taken from it.
fn enter(trash: BorrowedFd<'_>, name: &CStr) -> Option<Dir> {
    let open = || openat(trash, name, FOLDER, Mode::empty());
    let fd = match open() {
        Err(Errno::EACCES) => {
            fchmodat(trash, name, PRIVATE, FchmodatFlags::NoFollowSymlink).ok()?;
            open().ok()?
        }
        other => other.ok()?,
    };
    // Reading may be allowed and writing not.
    let _ = fchmod(&fd, PRIVATE);
    Dir::from_fd(fd).ok()
}

fn drop_entry(dir: BorrowedFd<'_>, name: &CStr, kind: Option<Type>, trash: BorrowedFd<'_>) -> Entry {
    if kind != Some(Type::Directory) && unlinkat(dir, name, UnlinkatFlags::NoRemoveDir).is_ok() {
        return Entry::Removed;
    }
    match unlinkat(dir, name, UnlinkatFlags::RemoveDir) {
        Ok(()) => Entry::Removed,
        Err(Errno::ENOTEMPTY | Errno::EEXIST) if discard(dir, name, trash, fresh().as_str()).is_ok() => Entry::MovedUp,
        Err(_) => Entry::Kept,
    }
}

/// Moves a folder into `.trash` in one step.
pub(super) fn discard<P, Q>(dir: BorrowedFd<'_>, name: &P, trash: BorrowedFd<'_>, as_name: &Q) -> Result<(), Errno>
where
    P: ?Sized + nix::NixPath,
    Q: ?Sized + nix::NixPath,
{
    match renameat(dir, name, trash, as_name) {
        // A folder that changes its parent must be writable itself, since its `..` is written.
        Err(Errno::EACCES) => {
            fchmodat(dir, name, PRIVATE, FchmodatFlags::NoFollowSymlink)?;
            renameat(dir, name, trash, as_name)
        }
        other => other,
    }
}

/// A name for an entry of `.trash`. One that is taken makes the move fail, and the next pass tries the next.
fn fresh() -> String {
    static NEXT: LazyLock<AtomicU64> = LazyLock::new(|| AtomicU64::new(getrandom::u64().unwrap_or_default()));
    format!("{:016x}", NEXT.fetch_add(1, Ordering::Relaxed))
}
