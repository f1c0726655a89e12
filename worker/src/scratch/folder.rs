//! One job's folder.
//!
//! Promises: nobody but this uid enters it; a second holder of its name is impossible; an ordinary small one is gone
//! when [`Scratch::remove`] returns, a large one is out of sight then and follows in the background.

use super::base::{Base, FOLDER, PRIVATE, Shared};
use super::sweep::{self, Fate};
use super::{ScratchError, erase};
use musegate_protocol::message::FileName;
use nix::errno::Errno;
use nix::fcntl::{OFlag, openat};
use nix::sys::stat::{Mode, fchmod, mkdirat};
use nix::unistd::{UnlinkatFlags, unlinkat};
use std::borrow::Cow;
use std::fs::{File, TryLockError};
use std::io::Write;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Name of the file whose lock says that a job may still run.
pub(super) const LOCK: &str = ".lock";
const PROMPT: &str = "prompt";
pub(super) const SECRET: Mode = Mode::S_IRUSR.union(Mode::S_IWUSR);
/// Flags with which a file of ours is made: never one that is there already.
const NEW: OFlag = OFlag::O_CREAT.union(OFlag::O_EXCL).union(OFlag::O_NOFOLLOW).union(OFlag::O_CLOEXEC);
/// A name can be lost to a sweep that another worker runs at this very moment; that many in a row cannot.
const ATTEMPTS: usize = 8;

/// A folder inside a scratch folder. Made only when asked for: each costs two system calls per job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Folder {
    /// Where the job works.
    Ws = 0,
    /// `HOME`.
    Home = 1,
    /// `XDG_CONFIG_HOME`.
    Config = 2,
    /// `XDG_DATA_HOME`.
    Data = 3,
    /// `XDG_STATE_HOME`.
    State = 4,
    /// `XDG_CACHE_HOME`.
    Cache = 5,
    /// `XDG_RUNTIME_DIR`.
    Run = 6,
    /// `TMPDIR`.
    Tmp = 7,
    /// Files that the caller handed in. Inside `ws`, where the agent may read; make that first.
    In = 8,
    /// Files that the job hands back. Inside `ws`; make that first.
    Out = 9,
}

impl Folder {
    /// All of them.
    pub const ALL: [Self; 10] = [
        Self::Ws,
        Self::Home,
        Self::Config,
        Self::Data,
        Self::State,
        Self::Cache,
        Self::Run,
        Self::Tmp,
        Self::In,
        Self::Out,
    ];

    /// Its name in the job's folder.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ws => "ws",
            Self::Home => "home",
            Self::Config => "config",
            Self::Data => "data",
            Self::State => "state",
            Self::Cache => "cache",
            Self::Run => "run",
            Self::Tmp => "tmp",
            Self::In => "ws/in",
            Self::Out => "ws/out",
        }
    }
}

/// What became of a scratch folder that was to be removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Removed {
    /// It is gone.
    Gone,
    /// The job left files behind: it is in `.trash`, its prompt is gone, the rest follows in the background.
    Trashed,
}

/// One job's folder. Dropped without [`Scratch::remove`], it is swept at once if its lock is free by then, at a later
/// start otherwise.
#[derive(Debug)]
pub struct Scratch {
    base: Arc<Shared>,
    name: String,
    path: PathBuf,
    dir: OwnedFd,
    lock: Option<File>,
    folders: u16,
    /// Folders and files that were made here, in the order of their making.
    laid: Vec<(Cow<'static, str>, UnlinkatFlags)>,
    removed: bool,
}

impl Base {
    /// Makes a job's folder, empty but for its lock.
    ///
    /// # Errors
    /// [`ScratchError::Job`]: disk full, no descriptors left, and the like.
    pub fn create(&self) -> Result<Scratch, ScratchError> {
        for _ in 0..ATTEMPTS {
            let name = self.shared.names.job();
            if let Some((dir, lock)) = claim(&self.shared, &name)? {
                return Ok(Scratch {
                    path: self.shared.path.join(&name),
                    base: Arc::clone(&self.shared),
                    name,
                    dir,
                    lock: Some(lock),
                    folders: 0,
                    laid: vec![(LOCK.into(), UnlinkatFlags::NoRemoveDir)],
                    removed: false,
                });
            }
        }
        Err(ScratchError::job("make", Errno::EEXIST))
    }
}

/// Makes the folder and takes its lock, in an order in which a sweep by another worker can at most win the whole
/// folder, never remove one that is in use. `None`: it has won.
fn claim(base: &Shared, name: &str) -> Result<Option<(OwnedFd, File)>, ScratchError> {
    match mkdirat(base.dir(), name, PRIVATE) {
        Ok(()) => {}
        Err(Errno::EEXIST) => return Ok(None),
        Err(error) => return Err(ScratchError::job("make", error)),
    }
    let inside = format!("{name}/{LOCK}");
    let lock = match openat(base.dir(), inside.as_str(), NEW | OFlag::O_RDWR, SECRET) {
        Ok(lock) => File::from(lock),
        Err(Errno::EEXIST | Errno::ENOENT) => return Ok(None),
        Err(error) => return Err(ScratchError::job("make lock", error)),
    };
    match lock.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => return Ok(None),
        Err(TryLockError::Error(error)) => return Err(ScratchError::job("lock", error)),
    }
    // Only now: had a sweep moved the folder away before the lock was ours, the name would be free again.
    match openat(base.dir(), name, FOLDER, Mode::empty()) {
        Ok(dir) => Ok(Some((dir, lock))),
        Err(Errno::ENOENT) => Ok(None),
        Err(error) => Err(ScratchError::job("open", error)),
    }
}

impl Scratch {
    /// Where it is: absolute, without links.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The folder itself.
    #[must_use]
    pub fn dir(&self) -> BorrowedFd<'_> {
        self.dir.as_fd()
    }

    /// Another handle of the same lock, to hand on to whoever owns the job's tree. The lock is free when the last
    /// handle is closed; it must not be inherited by the job.
    ///
    /// # Errors
    /// [`ScratchError::Job`] when no descriptor is left.
    pub fn lock(&self) -> Result<OwnedFd, ScratchError> {
        let lock = self.lock.as_ref().ok_or_else(|| ScratchError::job("lock", Errno::EBADF))?;
        lock.as_fd().try_clone_to_owned().map_err(|error| ScratchError::job("share lock", error))
    }

    /// Makes one of the folders inside, if it is not there yet, mode 0700. Returns its path.
    ///
    /// # Errors
    /// [`ScratchError::Job`].
    pub fn folder(&mut self, folder: Folder) -> Result<PathBuf, ScratchError> {
        let bit = 1 << folder as u8;
        if self.folders & bit == 0 {
            mkdirat(&self.dir, folder.name(), PRIVATE).map_err(|error| ScratchError::job("make folder", error))?;
            self.folders |= bit;
            self.laid.push((folder.name().into(), UnlinkatFlags::RemoveDir));
        }
        Ok(self.path.join(folder.name()))
    }

    /// Writes the prompt, once, mode 0600. Returns its path.
    ///
    /// # Errors
    /// [`ScratchError::Job`].
    pub fn write_prompt(&mut self, prompt: &[u8]) -> Result<PathBuf, ScratchError> {
        self.write_new(PROMPT.into(), prompt)?;
        Ok(self.path.join(PROMPT))
    }

    /// Lays a file that the caller handed in into `in/`, mode 0600. Returns its path.
    ///
    /// # Errors
    /// [`ScratchError::Job`], also when there is one of that name already.
    pub fn write_input(&mut self, name: &FileName, bytes: &[u8]) -> Result<PathBuf, ScratchError> {
        let folder = self.folder(Folder::In)?;
        let inside = format!("{}/{}", Folder::In.name(), &**name);
        self.write_new(inside.into(), bytes)?;
        Ok(folder.join(&**name))
    }

    /// Writes a file of ours, mode 0600, and makes the folders above it, mode 0700. Returns its path.
    ///
    /// # Errors
    /// [`ScratchError::Job`], also when there is one of that name already.
    pub fn write_file(&mut self, inside: &'static str, bytes: &[u8]) -> Result<PathBuf, ScratchError> {
        for (at, _) in inside.match_indices('/') {
            let folder = inside.get(..at).unwrap_or_default();
            if !self.laid.iter().any(|(laid, _)| *laid == folder) {
                mkdirat(&self.dir, folder, PRIVATE).map_err(|error| ScratchError::job("make folder", error))?;
                self.laid.push((folder.into(), UnlinkatFlags::RemoveDir));
            }
        }
        self.write_new(inside.into(), bytes)?;
        Ok(self.path.join(inside))
    }

    fn write_new(&mut self, inside: Cow<'static, str>, bytes: &[u8]) -> Result<(), ScratchError> {
        let file = openat(&self.dir, &*inside, NEW | OFlag::O_WRONLY, SECRET)
            .map_err(|error| ScratchError::job("make file", error))?;
        self.laid.push((inside, UnlinkatFlags::NoRemoveDir));
        File::from(file).write_all(bytes).map_err(|error| ScratchError::job("write file", error))
    }

    /// Removes the folder. Everything of the job must be dead.
    ///
    /// The ordinary job leaves nothing but what was made here, so on a file system in memory just that is removed, by
    /// name, without looking. Where something else is left, and on a disk, where the removal of a folder can take
    /// milliseconds, only the prompt is; the rest goes to `.trash` in one step, however large it is.
    ///
    /// # Errors
    /// [`ScratchError::Job`] when it can be neither removed nor moved; the next sweep tries again.
    pub fn remove(mut self) -> Result<Removed, ScratchError> {
        self.removed = true;
        // Whatever happens afterwards, its text is gone.
        let prompt = unlinkat(&self.dir, PROMPT, UnlinkatFlags::NoRemoveDir);
        let gone = matches!(prompt, Ok(()) | Err(Errno::ENOENT));
        if self.base.in_memory && gone && self.remove_known().is_ok() {
            return Ok(Removed::Gone);
        }
        // A job may have taken away its own right to enter the folder; moving it needs that right.
        let _ = fchmod(&self.dir, PRIVATE);
        let name = self.name.as_str();
        match erase::discard(self.base.dir(), name, self.base.remover.trash(), name) {
            // A sweep was quicker.
            Ok(()) | Err(Errno::ENOENT) => {}
            Err(error) => return Err(ScratchError::job("move to trash", error)),
        }
        self.base.wake();
        Ok(Removed::Trashed)
    }

    fn remove_known(&self) -> Result<(), Errno> {
        for (laid, how) in self.laid.iter().rev().filter(|(laid, _)| laid != PROMPT) {
            unlink_inside(self.dir.as_fd(), laid, *how)?;
        }
        unlinkat(self.base.dir(), self.name.as_str(), UnlinkatFlags::RemoveDir)
    }
}

/// Removes what we made, never by way of a folder that the job has replaced by a link.
fn unlink_inside(dir: BorrowedFd<'_>, inside: &str, how: UnlinkatFlags) -> Result<(), Errno> {
    let Some((folder, rest)) = inside.split_once('/') else { return unlinkat(dir, inside, how) };
    let mut here = openat(dir, folder, FOLDER, Mode::empty())?;
    let mut rest = rest;
    while let Some((folder, after)) = rest.split_once('/') {
        here = openat(&here, folder, FOLDER, Mode::empty())?;
        rest = after;
    }
    unlinkat(&here, rest, how)
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if self.removed {
            return;
        }
        self.lock = None;
        if sweep::judge(&self.base, &self.name) == Fate::Orphan {
            self.base.wake();
        }
    }
}
