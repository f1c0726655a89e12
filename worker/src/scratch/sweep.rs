//! What a start does with what a former one left.
//!
//! Promises: a folder whose lock is held is left alone, however old; one whose lock is free goes to `.trash` in one
//! step, however large; whatever we did not make stays. Never longer than the budget and one step.

use super::base::{Base, FOLDER, PRIVATE, Shared};
use super::folder::{LOCK, SECRET};
use super::{erase, name, starts};
use nix::dir::Dir;
use nix::errno::Errno;
use nix::fcntl::{AtFlags, OFlag, openat};
use nix::sys::stat::{FchmodatFlags, Mode, SFlag, fchmodat, fstatat};
use nix::unistd::geteuid;
use std::fs::{File, TryLockError};
use std::time::{Duration, Instant};

/// What a sweep found and did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SweepReport {
    /// Folders of jobs that still run, of another worker or of one that has just died.
    pub live: u64,
    /// Orphaned folders, now in `.trash` or gone.
    pub orphans: u64,
    /// Entries that bear a name of ours and are not ours, or could not be moved: left alone.
    pub foreign: u64,
    /// Files and folders removed within the budget.
    pub entries: u64,
    /// Entries of `.trash` that could not be removed.
    pub stuck: u64,
    /// Whether all was done within the budget; otherwise it goes on in the background.
    pub finished: bool,
    /// Whether removal was put off, because the worker has died during the last clean-ups.
    pub put_off: bool,
}

/// What a folder with a name of ours is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    Live,
    /// Moved to `.trash` by this call.
    Orphan,
    Foreign,
    Gone,
}

impl Base {
    /// Moves every orphaned folder to `.trash` and empties that, for at most `budget`; the rest follows in the
    /// background, as do folders whose jobs are still dying. May be called again at any time, also while jobs run.
    #[must_use]
    pub fn sweep(&self, budget: Duration) -> SweepReport {
        let end = Instant::now() + budget;
        let base = &self.shared;
        let mut report = SweepReport { put_off: starts::begin(base.dir()) >= starts::TOO_OFTEN, ..Default::default() };
        let mut late = Vec::new();
        let complete = base.judge_all(Some(end), &mut report, &mut late);
        if report.put_off {
            base.remover.put_off(starts::PUT_OFF);
        } else {
            let erased = erase::empty(base.remover.trash(), &mut || Instant::now() < end);
            report.entries = erased.entries;
            report.stuck = erased.stuck as u64;
            report.finished = complete && erased.finished;
        }
        if report.finished {
            starts::end(base.dir());
        } else if complete {
            base.wake();
        } else {
            base.judge_rest();
        }
        if !late.is_empty() {
            base.watch(late);
        }
        report
    }
}

impl Shared {
    /// Judges every entry of the base. Says whether it came to the end of them in time.
    pub(super) fn judge_all(&self, end: Option<Instant>, report: &mut SweepReport, late: &mut Vec<String>) -> bool {
        let Ok(mut dir) = Dir::openat(&self.dir, ".", FOLDER, Mode::empty()) else { return false };
        for entry in dir.iter().map_while(Result::ok) {
            let Some(found) = entry.file_name().to_str().ok().filter(|found| name::is_job(found.as_bytes())) else {
                continue;
            };
            match judge(self, found) {
                Fate::Live => {
                    report.live += 1;
                    late.push(found.to_owned());
                }
                Fate::Orphan => report.orphans += 1,
                Fate::Foreign => report.foreign += 1,
                Fate::Gone => {}
            }
            if end.is_some_and(|end| Instant::now() >= end) {
                return false;
            }
        }
        true
    }
}

/// Decides about one folder by its lock, and moves it to `.trash` if nobody holds that.
pub(super) fn judge(base: &Shared, found: &str) -> Fate {
    match fstatat(base.dir(), found, AtFlags::AT_SYMLINK_NOFOLLOW) {
        Ok(stat) if is_kind(stat.st_mode, SFlag::S_IFDIR) && stat.st_uid == geteuid().as_raw() => {}
        Ok(_) => return Fate::Foreign,
        Err(Errno::ENOENT) => return Fate::Gone,
        Err(_) => return Fate::Foreign,
    }
    // Held until the folder has moved: whoever is just making this folder then sees that it has lost it.
    let _held = match seize(base, found) {
        Seized::Taken => return Fate::Live,
        Seized::Free(lock) => Some(lock),
        Seized::NoLock => None,
        Seized::Unknown => return Fate::Foreign,
    };
    match erase::discard(base.dir(), found, base.remover.trash(), found) {
        Ok(()) => Fate::Orphan,
        Err(Errno::ENOENT) => Fate::Gone,
        Err(_) => Fate::Foreign,
    }
}

/// Whether a mode, as `fstat` tells it, is that of a thing of this kind.
pub(super) fn is_kind(mode: nix::libc::mode_t, kind: SFlag) -> bool {
    mode & SFlag::S_IFMT.bits() == kind.bits()
}

enum Seized {
    /// Somebody holds it.
    Taken,
    /// It is ours now.
    Free(File),
    /// The job has put something else in its place, so nothing is there that anybody could hold.
    NoLock,
    /// The system could not say (no descriptors left, for one): not a reason to remove anything.
    Unknown,
}

fn seize(base: &Shared, found: &str) -> Seized {
    let inside = format!("{found}/{LOCK}");
    // Never waits for the other end of a FIFO; makes the file where a start was cut short before it.
    let flags = OFlag::O_RDWR | OFlag::O_CREAT | OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK | OFlag::O_CLOEXEC;
    let open = || openat(base.dir(), inside.as_str(), flags, SECRET);
    let opened = match open() {
        Err(Errno::EACCES) => {
            let _ = fchmodat(base.dir(), found, PRIVATE, FchmodatFlags::NoFollowSymlink);
            let _ = fchmodat(base.dir(), inside.as_str(), SECRET, FchmodatFlags::NoFollowSymlink);
            open()
        }
        other => other,
    };
    let lock = match opened {
        Ok(lock) => File::from(lock),
        Err(Errno::EMFILE | Errno::ENFILE | Errno::ENOMEM | Errno::EIO | Errno::EINTR) => return Seized::Unknown,
        // A link, a folder, somebody else's file; or the disk is full, and then nobody else can have made it either.
        Err(_) => return Seized::NoLock,
    };
    match lock.try_lock() {
        Ok(()) => Seized::Free(lock),
        Err(TryLockError::WouldBlock) => Seized::Taken,
        Err(TryLockError::Error(_)) => Seized::Unknown,
    }
}
