//! Files that must be private: opened once, then judged by what was opened, never by the name.

use nix::fcntl::OFlag;
use nix::unistd::Uid;
use std::fs::{File, OpenOptions};
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
    #[error("{}: belongs to uid {owner}, must belong to uid {own} or root; run: chown {own} {}", path.display(), path.display())]
    Owner {
        /// The file.
        path: PathBuf,
        /// Whose it is.
        owner: u32,
        /// Who we are.
        own: u32,
    },
    /// Others may read or write it.
    #[error("{}: mode {mode:04o} lets others in; run: chmod {want:04o} {}", path.display(), path.display())]
    Mode {
        /// The file.
        path: PathBuf,
        /// Its mode.
        mode: u32,
        /// What it should be.
        want: u32,
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

/// Reads a file of at most `max` bytes after checking what was opened: regular, ours or root's, and not open to others
/// against `rule`. The content is wiped from memory when dropped.
///
/// # Errors
/// [`Refused`], with the command that mends it where there is one.
pub fn read(path: &Path, rule: Rule, max: u64) -> Result<Zeroizing<String>, Refused> {
    let io_error = |error| Refused::Io { path: path.to_owned(), error };
    let nonblock = OFlag::O_NONBLOCK.bits() | OFlag::O_NOCTTY.bits(); // a FIFO must not hold us up
    let file = OpenOptions::new().read(true).custom_flags(nonblock).open(path).map_err(io_error)?;
    judge(path, &file, rule, max)?;
    let mut text = Zeroizing::new(String::new());
    file.take(max.saturating_add(1)).read_to_string(&mut text).map_err(io_error)?;
    if text.len() as u64 > max {
        return Err(Refused::Size { path: path.to_owned(), max });
    }
    Ok(text)
}

fn judge(path: &Path, file: &File, rule: Rule, max: u64) -> Result<(), Refused> {
    let path = path.to_owned();
    let meta = match file.metadata() {
        Ok(meta) => meta,
        Err(error) => return Err(Refused::Io { path, error }),
    };
    if !meta.is_file() {
        return Err(Refused::Kind { path });
    }
    let own = Uid::effective().as_raw();
    if meta.uid() != own && meta.uid() != 0 {
        return Err(Refused::Owner { path, owner: meta.uid(), own });
    }
    let (closed, want) = match rule {
        Rule::Secret => (0o077, 0o600),
        Rule::Settings => (0o022, 0o644),
    };
    let mode = meta.mode() & 0o7777;
    if mode & closed != 0 {
        return Err(Refused::Mode { path, mode, want });
    }
    if meta.len() > max {
        return Err(Refused::Size { path, max });
    }
    Ok(())
}
