//! Whether a file may be run as Muse.
//!
//! Promises: the path and each folder above it are ours or root's and nobody else can write there; what is started is
//! what was judged, without links; where Muse's launcher (a script that updates itself over the network) is named, the
//! program that it would start is taken instead. Another program called `muse` exists (a music sequencer), so its
//! `--version` must say the right thing, see `probe.rs`. Refuses to run anything.

use musegate_settings::private::{self, Refused, Rule};
use std::ffi::OsString;
use std::fs::Metadata;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Why a file is not run.
#[derive(Debug, thiserror::Error)]
pub enum Unfit {
    /// Somebody else could change it.
    #[error(transparent)]
    Path(#[from] Refused),
    /// It cannot be looked at.
    #[error("{}: {error}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// It has no right of execution, or is no file.
    #[error("{}: is not an executable file", path.display())]
    NotExecutable {
        /// The file.
        path: PathBuf,
    },
    /// The launcher's note of its version is damaged.
    #[error("{}: names no version", path.display())]
    Version {
        /// The note.
        path: PathBuf,
    },
}

/// A file that was judged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Binary {
    /// What is started: absolute, without links.
    pub program: PathBuf,
    /// Its `argv[0]`: the path as it was configured, so that a program with several names knows which is meant.
    pub name: OsString,
    /// Changes whenever the file does.
    pub stamp: Stamp,
}

/// Enough of a file to see that it was replaced or written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    device: u64,
    inode: u64,
    bytes: u64,
    changed: (i64, i64),
}

impl Stamp {
    fn of(meta: &Metadata) -> Self {
        Self { device: meta.dev(), inode: meta.ino(), bytes: meta.size(), changed: (meta.ctime(), meta.ctime_nsec()) }
    }
}

/// Judges `path`.
///
/// # Errors
/// [`Unfit`].
pub fn judge(path: &Path) -> Result<Binary, Unfit> {
    let named = private::judge_path(path)?;
    let program = match behind_launcher(&named)? {
        Some(program) => private::judge_path(&program)?,
        None => named,
    };
    let meta = program.metadata().map_err(|error| Unfit::Io { path: program.clone(), error })?;
    if !meta.is_file() || meta.mode() & 0o111 == 0 {
        return Err(Unfit::NotExecutable { path: program });
    }
    Ok(Binary { program, name: path.as_os_str().to_owned(), stamp: Stamp::of(&meta) })
}

/// The program that a launcher would start: its folder holds `.muse-version` and `muse-bin-VERSION`.
fn behind_launcher(launcher: &Path) -> Result<Option<PathBuf>, Unfit> {
    let Some(folder) = launcher.parent() else { return Ok(None) };
    let note = folder.join(".muse-version");
    if !note.exists() {
        return Ok(None);
    }
    let text = private::read(&note, Rule::Settings, 256)?;
    let version = text.trim();
    let legal = |b: u8| b.is_ascii_alphanumeric() || b"._+-".contains(&b);
    if version.is_empty() || version.starts_with('.') || !version.bytes().all(legal) {
        return Err(Unfit::Version { path: note });
    }
    let program = folder.join(format!("muse-bin-{version}"));
    Ok(program.exists().then_some(program))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{self, Permissions};
    use std::os::unix::fs::{PermissionsExt, symlink};

    fn executable(path: &Path) {
        fs::write(path, "#!/bin/sh\n").unwrap();
        fs::set_permissions(path, Permissions::from_mode(0o755)).unwrap();
    }

    #[test]
    fn a_link_is_followed_and_its_name_is_kept() {
        let dir = tempfile::tempdir().unwrap();
        let dir = dir.path().canonicalize().unwrap();
        executable(&dir.join("combined"));
        symlink("combined", dir.join("muse-stub")).unwrap();
        let binary = judge(&dir.join("muse-stub")).unwrap();
        assert_eq!(binary.program, dir.join("combined"));
        assert_eq!(binary.name, dir.join("muse-stub").into_os_string());
    }

    #[test]
    fn a_file_or_folder_that_others_can_write_is_not_run() {
        let dir = tempfile::tempdir().unwrap();
        let muse = dir.path().join("muse");
        executable(&muse);
        assert!(judge(&muse).is_ok());
        fs::set_permissions(&muse, Permissions::from_mode(0o757)).unwrap();
        assert!(matches!(judge(&muse), Err(Unfit::Path(_))));
        fs::set_permissions(&muse, Permissions::from_mode(0o755)).unwrap();
        fs::set_permissions(dir.path(), Permissions::from_mode(0o777)).unwrap();
        assert!(matches!(judge(&muse), Err(Unfit::Path(_))));
    }

    #[test]
    fn what_cannot_be_run_is_told() {
        let dir = tempfile::tempdir().unwrap();
        let muse = dir.path().join("muse");
        assert!(judge(&muse).is_err());
        fs::write(&muse, "").unwrap();
        fs::set_permissions(&muse, Permissions::from_mode(0o644)).unwrap();
        assert!(matches!(judge(&muse), Err(Unfit::NotExecutable { .. })));
        assert!(matches!(judge(dir.path()), Err(Unfit::NotExecutable { .. })));
    }

    #[test]
    fn the_launcher_is_passed_over() {
        let dir = tempfile::tempdir().unwrap();
        let dir = dir.path().canonicalize().unwrap();
        executable(&dir.join("muse"));
        executable(&dir.join("muse-bin-1.4.14-R7309.1"));
        let note = dir.join(".muse-version");
        fs::write(&note, "1.4.14-R7309.1\n").unwrap();
        assert_eq!(judge(&dir.join("muse")).unwrap().program, dir.join("muse-bin-1.4.14-R7309.1"));
        for bad in ["", "../../../bin/sh", "a/b", "."] {
            fs::write(&note, bad).unwrap();
            assert!(matches!(judge(&dir.join("muse")), Err(Unfit::Version { .. })), "{bad:?}");
        }
        fs::write(&note, "9.9.9").unwrap();
        assert_eq!(
            judge(&dir.join("muse")).unwrap().program,
            dir.join("muse"),
            "not there: the launcher finds its own way"
        );
    }

    #[test]
    fn a_file_that_was_replaced_or_written_has_another_stamp() {
        let dir = tempfile::tempdir().unwrap();
        let muse = dir.path().join("muse");
        executable(&muse);
        let first = judge(&muse).unwrap();
        assert_eq!(judge(&muse).unwrap(), first);
        fs::write(dir.path().join("new"), "#!/bin/sh\n").unwrap();
        fs::set_permissions(dir.path().join("new"), Permissions::from_mode(0o755)).unwrap();
        fs::rename(dir.path().join("new"), &muse).unwrap();
        assert_ne!(judge(&muse).unwrap(), first);
    }
}
