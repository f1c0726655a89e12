//! The folder that holds all scratch folders.
//!
//! Promises: opened once, by descriptor ever after; ours, mode 0700, reached through no link, below no folder that
//! another user could change. Everything that is ever removed lies inside.

use super::ScratchError;
use super::name::Names;
use super::remover::Remover;
use super::starts;
use nix::errno::Errno;
use nix::fcntl::{OFlag, openat};
use nix::sys::stat::{FileStat, Mode, fstat, mkdirat};
use nix::unistd::geteuid;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// Name of the folder into which everything goes that is to be removed.
pub(super) const TRASH: &str = ".trash";
pub(super) const PRIVATE: Mode = Mode::S_IRWXU;
pub(super) const FOLDER: OFlag =
    OFlag::O_RDONLY.union(OFlag::O_DIRECTORY).union(OFlag::O_NOFOLLOW).union(OFlag::O_CLOEXEC);

/// Longest path of a job's `run` folder below which Muse can still bind its own socket, bytes.
pub const MAX_RUNTIME_PATH: usize = 60;
/// `/job-` with its 26 characters, and `/run`.
const RUNTIME_SUFFIX: usize = 35;

/// The folder that holds all scratch folders. Clones share it.
#[derive(Clone, Debug)]
pub struct Base {
    pub(super) shared: Arc<Shared>,
}

#[derive(Debug)]
pub(super) struct Shared {
    pub(super) path: PathBuf,
    pub(super) dir: OwnedFd,
    /// Whether the file system is one in memory.
    pub(super) in_memory: bool,
    pub(super) names: Names,
    pub(super) remover: Remover,
}

impl Base {
    /// Opens the base, and makes it if only the folder itself is missing.
    ///
    /// # Errors
    /// [`ScratchError`], each with what to do: not absolute, not a folder, of another user, open to others, below a
    /// folder that others can change, or the system says no.
    pub fn open(path: &Path) -> Result<Self, ScratchError> {
        if !path.is_absolute() {
            return Err(ScratchError::NotAbsolute(path.to_owned()));
        }
        let fault = |source: std::io::Error| ScratchError::Base { path: path.to_owned(), source };
        match std::fs::DirBuilder::new().mode(0o700).create(path) {
            Ok(()) => {}
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(fault(error)),
        }
        if !std::fs::symlink_metadata(path).map_err(fault)?.is_dir() {
            return Err(ScratchError::NotAFolder(path.to_owned()));
        }
        let real = std::fs::canonicalize(path).map_err(fault)?;
        check_parents(&real)?;
        let dir = openat(nix::fcntl::AT_FDCWD, &real, FOLDER, Mode::empty()).map_err(|error| fault(error.into()))?;
        check_folder(&real, &fstat(&dir).map_err(|error| fault(error.into()))?)?;
        let trash = open_trash(&dir, &real)?;
        let remover = Remover::new(trash);
        Ok(Self {
            shared: Arc::new(Shared { path: real, in_memory: in_memory(&dir), dir, names: Names::new()?, remover }),
        })
    }

    /// Where it is, without links.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.shared.path
    }

    /// Whether the path of a job's `run` folder is short enough for the sockets that Muse binds below it.
    #[must_use]
    pub fn runtime_path_fits(&self) -> bool {
        self.shared.path.as_os_str().len() + RUNTIME_SUFFIX <= MAX_RUNTIME_PATH
    }

    /// Waits until the background removal has nothing more to do, at most so long. Says whether it came to that.
    /// Blocks the thread: for the end of a process, and for tests.
    #[must_use]
    pub fn settle(&self, longest: Duration) -> bool {
        self.shared.remover.settle(longest)
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        // Ending in order is no crash.
        starts::end(self.dir());
    }
}

impl Shared {
    pub(super) fn dir(&self) -> BorrowedFd<'_> {
        self.dir.as_fd()
    }
}

#[cfg(target_os = "linux")]
fn in_memory(dir: &OwnedFd) -> bool {
    use nix::sys::statfs::{TMPFS_MAGIC, fstatfs};
    fstatfs(dir).is_ok_and(|stat| stat.filesystem_type() == TMPFS_MAGIC)
}

#[cfg(not(target_os = "linux"))]
fn in_memory(_: &OwnedFd) -> bool {
    false
}

fn open_trash(base: &OwnedFd, path: &Path) -> Result<OwnedFd, ScratchError> {
    let at = path.join(TRASH);
    let fault = |error: Errno| match error {
        Errno::ENOTDIR | Errno::ELOOP | Errno::EMLINK => ScratchError::NotAFolder(at.clone()),
        other => ScratchError::Base { path: at.clone(), source: other.into() },
    };
    match mkdirat(base, TRASH, PRIVATE) {
        Ok(()) | Err(Errno::EEXIST) => {}
        Err(error) => return Err(fault(error)),
    }
    let trash = openat(base, TRASH, FOLDER, Mode::empty()).map_err(fault)?;
    check_folder(&at, &fstat(&trash).map_err(fault)?)?;
    Ok(trash)
}

fn check_folder(path: &Path, stat: &FileStat) -> Result<(), ScratchError> {
    if stat.st_uid != geteuid().as_raw() {
        return Err(ScratchError::Owner { path: path.to_owned(), uid: stat.st_uid });
    }
    if stat.st_mode & 0o077 != 0 {
        return Err(ScratchError::Mode { path: path.to_owned() });
    }
    Ok(())
}

/// A folder that others can write to, or that belongs to them, lets them put another base in the place of ours;
/// with the sticky bit they cannot.
fn check_parents(base: &Path) -> Result<(), ScratchError> {
    let me = geteuid().as_raw();
    for parent in base.ancestors().skip(1) {
        let stat =
            std::fs::metadata(parent).map_err(|source| ScratchError::Base { path: parent.to_owned(), source })?;
        let open_to_others = stat.mode() & 0o022 != 0 && stat.mode() & 0o1000 == 0;
        if open_to_others || (stat.uid() != me && stat.uid() != 0) {
            return Err(ScratchError::Parent { path: parent.to_owned(), base: base.to_owned() });
        }
    }
    Ok(())
}
