//! Scratch folders: one private folder per job, and their removal, also after a crash.
//!
//! [`Base`] is the folder that holds them all, opened once and trusted only if nobody else can change it. [`Scratch`]
//! is one job's folder, `job-<26 characters>`, mode 0700, with a locked `.lock` in it; the lock is handed on to the
//! process that owns the job's tree, so that it is held exactly as long as something of the job may still run.
//! A folder whose lock is free is an orphan, whatever its age; [`Base::sweep`] moves orphans into `.trash` and empties
//! that within a budget, the rest follows in the background.
//!
//! Promises: a link is never followed, a foreign folder never touched, no depth of a tree and no number of files can
//! exhaust stack, memory or the time of a start. Refuses to know what a job is and what its files mean.

mod base;
mod erase;
mod folder;
mod name;
mod out;
mod remover;
mod starts;
mod sweep;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod tests_out;
#[cfg(test)]
mod tests_sweep;

pub use base::{Base, MAX_RUNTIME_PATH};
pub use folder::{Folder, Removed, Scratch};
pub use out::{LeftOut, OutFile, OutFiles, OutLimits};
pub use sweep::SweepReport;

use std::io;
use std::path::PathBuf;

/// Why a base folder or a scratch folder cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ScratchError {
    /// The base must be named from the root.
    #[error("{0}: not an absolute path")]
    NotAbsolute(PathBuf),
    /// The base is missing and cannot be made, or cannot be opened.
    #[error("{path}: {source}")]
    Base {
        /// The folder.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Something else stands in the place of a folder, a link included.
    #[error("{0}: not a folder")]
    NotAFolder(PathBuf),
    /// The base belongs to another user.
    #[error("{path}: belongs to uid {uid}, not to this process")]
    Owner {
        /// The folder.
        path: PathBuf,
        /// Whose it is.
        uid: u32,
    },
    /// Others may enter the base.
    #[error("{path}: open to other users; run: chmod 700 {path}")]
    Mode {
        /// The folder.
        path: PathBuf,
    },
    /// Somebody else may rename or replace the base, because a folder above it is theirs or open to all.
    #[error("{path}: other users can change what is in it, so {base} cannot be private")]
    Parent {
        /// The folder above.
        path: PathBuf,
        /// The base.
        base: PathBuf,
    },
    /// The system gave no random bytes.
    #[error("no random bytes: {0}")]
    Random(#[from] getrandom::Error),
    /// A job's folder could not be made, written, read or removed.
    #[error("scratch folder: {what}: {source}")]
    Job {
        /// What was attempted.
        what: &'static str,
        /// What the system said.
        source: io::Error,
    },
}

impl ScratchError {
    fn job(what: &'static str, source: impl Into<io::Error>) -> Self {
        Self::Job { what, source: source.into() }
    }
}
