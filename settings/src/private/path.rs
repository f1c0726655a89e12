//! Judges the way to a file: who else could make the name mean something else.

use super::{Refused, Rule, closed, owned};
use nix::errno::Errno;
use nix::unistd::Uid;
use std::collections::VecDeque;
use std::ffi::OsString;
use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};

/// Most symbolic links on one way, as Linux counts.
const MAX_LINKS: u32 = 40;
const STICKY: u32 = 0o1000;

/// Follows `path` from the root, through its symbolic links, and judges each folder on the way and what is at the end:
/// it must be ours or root's, and nobody else may write to it. A folder like `/tmp` (open to all, sticky) may be on the
/// way when what the path names in it is ours, or a folder of root's. Returns the path without links; it stays true as long as we and root do
/// not change it.
///
/// # Errors
/// [`Refused`] names the folder or file that others can bend, with the command that mends it where there is one.
pub fn judge_path(path: &Path) -> Result<PathBuf, Refused> {
    let whole = std::path::absolute(path).map_err(|error| Refused::Io { path: path.to_owned(), error })?;
    let mut ahead = names(&whole);
    let mut links = 0;
    let mut at = Place::root()?;
    while let Some(name) = ahead.pop_front() {
        if name == ".." {
            at = at.parent()?;
            continue;
        }
        let next = at.path.join(&name);
        let meta = look(&next)?;
        if at.shared {
            settled(&next, &meta)?;
        }
        if !meta.is_symlink() {
            at = Place::judge(next, &meta, ahead.is_empty())?;
            continue;
        }
        links += 1;
        if links > MAX_LINKS {
            return Err(Refused::Io { path: path.to_owned(), error: Errno::ELOOP.into() });
        }
        owned(&next, &meta)?;
        let target = fs::read_link(&next).map_err(|error| Refused::Io { path: next, error })?;
        if target.is_absolute() {
            at = Place::root()?;
        }
        names(&target).into_iter().rev().for_each(|name| ahead.push_front(name));
    }
    if at.shared { Err(Refused::Shared { path: at.path }) } else { Ok(at.path) }
}

/// How far the way has been judged.
struct Place {
    /// Without links.
    path: PathBuf,
    /// Everybody may make a name in it, and only a name's owner (and root) may take it away.
    shared: bool,
}

impl Place {
    fn root() -> Result<Self, Refused> {
        let path = PathBuf::from("/");
        let meta = look(&path)?;
        Self::judge(path, &meta, false)
    }

    fn parent(mut self) -> Result<Self, Refused> {
        self.path.pop();
        let meta = look(&self.path)?;
        Self::judge(self.path, &meta, false)
    }

    fn judge(path: PathBuf, meta: &Metadata, last: bool) -> Result<Self, Refused> {
        if !last && !meta.is_dir() {
            return Err(Refused::Io { path, error: Errno::ENOTDIR.into() });
        }
        owned(&path, meta)?;
        let shared = meta.is_dir() && meta.mode() & STICKY != 0 && meta.mode() & Rule::Settings.closed() != 0;
        if !shared {
            closed(&path, meta, Rule::Settings)?;
        }
        Ok(Self { path, shared })
    }
}

/// What others cannot have put there: our own, or a folder of root's. A file of root's could be a second name of any
/// file of root's, made by anybody; a folder has no second name.
fn settled(path: &Path, meta: &Metadata) -> Result<(), Refused> {
    if meta.uid() == Uid::effective().as_raw() || (meta.uid() == 0 && meta.is_dir()) {
        return Ok(());
    }
    Err(Refused::Shared { path: path.to_owned() })
}

/// The names of a path, `..` among them.
fn names(path: &Path) -> VecDeque<OsString> {
    let names = path.components().filter(|part| matches!(part, Component::Normal(_) | Component::ParentDir));
    names.map(|part| part.as_os_str().to_owned()).collect()
}

fn look(path: &Path) -> Result<Metadata, Refused> {
    fs::symlink_metadata(path).map_err(|error| Refused::Io { path: path.to_owned(), error })
}
