//! Files that must be private, and paths that nobody else may bend.
//!
//! [`read`] opens once and judges what was opened, never the name. [`judge_path`] judges every folder on the way, so that
//! the name means tomorrow what it means today. On macOS a file's access control list is not looked at.

mod path;
#[cfg(test)]
mod tests;

pub use path::judge_path;

use nix::fcntl::OFlag;
use nix::unistd::Uid;
use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use zeroize::Zeroizing;

/// Why a file is not taken.
#[derive(Debug, thiserror::Error)]
pub enum Refused {
    /// It cannot be opened or read.
    #[error("{}: {error}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// Not a regular file.
    #[error("{}: is not a regular file", path.display())]
    Kind {
        /// The file.
        path: PathBuf,
    },
    /// Somebody else's.
    #[error("{}: belongs to uid {owner}, must belong to uid {own} or root; run: chown {own} {}", path.display(), quoted(path))]
    Owner {
        /// The file, or a folder on the way to it.
        path: PathBuf,
        /// Whose it is.
        owner: u32,
        /// Who we are.
        own: u32,
    },
    /// Others may read or write it.
    #[error("{}: mode {mode:04o} lets others in; run: chmod {want:04o} {}", path.display(), quoted(path))]
    Mode {
        /// The file, or a folder on the way to it.
        path: PathBuf,
        /// Its mode.
        mode: u32,
        /// What it should be.
        want: u32,
    },
    /// A folder like `/tmp`, or in one and not our own: whoever made it can put something else in its place.
    #[error("{}: not safe where everybody may write; use another folder", path.display())]
    Shared {
        /// The file or folder.
        path: PathBuf,
    },
    /// Larger than any such file is.
    #[error("{}: is over {max} bytes", path.display())]
    Size {
        /// The file.
        path: PathBuf,
        /// The limit.
        max: u64,
    },
}

/// Who may do what with a file besides its owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// Nobody may read it: tokens, keys.
    Secret,
    /// Others may read, nobody may write: settings.
    Settings,
}

impl Rule {
    /// The mode bits that must not be set.
    const fn closed(self) -> u32 {
        match self {
            Self::Secret => 0o077,
            Self::Settings => 0o022,
        }
    }
}

/// Reads a file of at most `max` bytes after checking what was opened: regular, ours or root's, and not open to others
/// against `rule`. A symbolic link is followed: it is the file behind it that is judged, and [`judge_path`] that judges
/// the way. The content is wiped from memory when dropped.
///
/// # Errors
/// [`Refused`], with the command that mends it where there is one.
pub fn read(path: &Path, rule: Rule, max: u64) -> Result<Zeroizing<String>, Refused> {
    let io_error = |error| Refused::Io { path: path.to_owned(), error };
    let nonblock = OFlag::O_NONBLOCK.bits() | OFlag::O_NOCTTY.bits(); // a FIFO must not hold us up
    let file = OpenOptions::new().read(true).custom_flags(nonblock).open(path).map_err(io_error)?;
    let len = judge(path, &file, rule, max)?;
    // Room for all of it at once: a string that grows leaves copies behind that nobody wipes.
    let room = usize::try_from(len).unwrap_or_default().saturating_add(64);
    let mut text = Zeroizing::new(String::with_capacity(room));
    file.take(max.saturating_add(1)).read_to_string(&mut text).map_err(io_error)?;
    if text.len() as u64 > max {
        return Err(Refused::Size { path: path.to_owned(), max });
    }
    Ok(text)
}

/// The length of what was opened, when it may be read.
fn judge(path: &Path, file: &File, rule: Rule, max: u64) -> Result<u64, Refused> {
    let meta = file.metadata().map_err(|error| Refused::Io { path: path.to_owned(), error })?;
    if !meta.is_file() {
        return Err(Refused::Kind { path: path.to_owned() });
    }
    owned(path, &meta)?;
    closed(path, &meta, rule)?;
    if meta.len() > max {
        return Err(Refused::Size { path: path.to_owned(), max });
    }
    Ok(meta.len())
}

fn owned(path: &Path, meta: &Metadata) -> Result<(), Refused> {
    let (owner, own) = (meta.uid(), Uid::effective().as_raw());
    if owner == own || owner == 0 { Ok(()) } else { Err(Refused::Owner { path: path.to_owned(), owner, own }) }
}

fn closed(path: &Path, meta: &Metadata, rule: Rule) -> Result<(), Refused> {
    let mode = meta.mode() & 0o7777;
    if mode & rule.closed() == 0 {
        return Ok(());
    }
    Err(Refused::Mode { path: path.to_owned(), mode, want: mode & !rule.closed() & 0o777 })
}

/// As a shell would need it.
fn quoted(path: &Path) -> String {
    let text = path.display().to_string();
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+@%:".contains(c);
    if text.chars().all(plain) { text } else { format!("'{}'", text.replace('\'', r"'\''")) }
}
