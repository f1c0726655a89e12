//! The worker's socket: bound by us, or held by the service manager.
//!
//! Promises: the socket never exists with a mode that lets others in, not even for a moment; it appears under its name
//! only when it listens; a socket that somebody listens on, or that is not ours, is not replaced; a folder that others
//! can change is not used; our own socket is removed at the end. Refuses to know who connects.

use musegate_settings::private::{self, Refused};
use nix::errno::Errno;
use nix::unistd::{Gid, Uid, chown};
use std::fs::{self, DirBuilder, Metadata, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, FileTypeExt, MetadataExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

/// Why there is no socket.
#[derive(Debug, thiserror::Error)]
pub enum ListenError {
    /// Its folder is not safe.
    #[error("the folder of the socket: {0}")]
    Folder(#[from] Refused),
    /// Another worker is there.
    #[error("{}: somebody listens there already", .0.display())]
    Live(PathBuf),
    /// Something that we did not make.
    #[error("{}: is there already and is not a socket of ours; remove it", .0.display())]
    Foreign(PathBuf),
    /// The system says no.
    #[error("{}: cannot {what}: {error}", path.display())]
    Io {
        /// The socket.
        path: PathBuf,
        /// What was attempted.
        what: &'static str,
        /// Why not.
        error: io::Error,
    },
}

/// A socket that we have bound. Its name is removed when this is dropped.
#[derive(Debug)]
pub struct Bound {
    path: PathBuf,
    inode: (u64, u64),
}

impl Drop for Bound {
    fn drop(&mut self) {
        // A newer worker may have put its own there.
        if fs::symlink_metadata(&self.path).is_ok_and(|meta| inode(&meta) == self.inode) {
            let _ = fs::remove_file(&self.path);
        }
    }
}

fn inode(meta: &Metadata) -> (u64, u64) {
    (meta.dev(), meta.ino())
}

/// Binds `path`. With `shared` the group of its folder may connect as well; who does is still judged by uid.
///
/// # Errors
/// [`ListenError`].
pub fn bind(path: &Path, shared: bool) -> Result<(UnixListener, Bound), ListenError> {
    let failed = |what| move |error| ListenError::Io { path: path.to_owned(), what, error };
    let folder = path.parent().unwrap_or(Path::new("/"));
    match DirBuilder::new().mode(0o700).create(folder) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(failed("make its folder")(error)),
        _ => {}
    }
    private::judge_path(folder)?;
    vacate(path)?;
    let closet = Closet::make(folder).map_err(failed("make a folder for"))?;
    let hidden = closet.0.join("s");
    let listener = UnixListener::bind(&hidden).map_err(failed("bind"))?;
    listener.set_nonblocking(true).map_err(failed("listen on"))?;
    let meta = open_to(&hidden, folder, shared).map_err(failed("set the mode of"))?;
    fs::rename(&hidden, path).map_err(failed("name"))?;
    Ok((listener, Bound { path: path.to_owned(), inode: inode(&meta) }))
}

/// A folder that only we can enter, in which the socket is made. It goes when this is dropped.
struct Closet(PathBuf);

impl Closet {
    fn make(folder: &Path) -> io::Result<Self> {
        let closet = Self(folder.join(format!(".{}", std::process::id())));
        closet.clear();
        DirBuilder::new().mode(0o700).create(&closet.0)?;
        Ok(closet)
    }

    /// Also what a dead worker with our number left.
    fn clear(&self) {
        let _ = fs::remove_file(self.0.join("s"));
        let _ = fs::remove_dir(&self.0);
    }
}

impl Drop for Closet {
    fn drop(&mut self) {
        self.clear();
    }
}

/// Only what a dead worker of ours left may be replaced.
fn vacate(path: &Path) -> Result<(), ListenError> {
    let meta = match fs::symlink_metadata(path) {
        Ok(meta) => meta,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(ListenError::Io { path: path.to_owned(), what: "look at", error }),
    };
    if !meta.file_type().is_socket() || meta.uid() != Uid::effective().as_raw() {
        return Err(ListenError::Foreign(path.to_owned()));
    }
    match UnixStream::connect(path) {
        Ok(_) => Err(ListenError::Live(path.to_owned())),
        Err(_) => Ok(()),
    }
}

/// The mode that it is to have. Nobody else can reach it yet.
fn open_to(hidden: &Path, folder: &Path, shared: bool) -> io::Result<Metadata> {
    fs::set_permissions(hidden, Permissions::from_mode(0o600))?;
    if shared {
        let group = fs::metadata(folder)?.gid();
        match chown(hidden, None, Some(Gid::from_raw(group))) {
            Ok(()) => fs::set_permissions(hidden, Permissions::from_mode(0o660))?,
            // Not a group of ours: only our own user can connect, and the log says so when the supervisor cannot.
            Err(Errno::EPERM) => tracing::warn!(group, "the socket cannot be given to the group of its folder"),
            Err(error) => return Err(error.into()),
        }
    }
    fs::symlink_metadata(hidden)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    fn folder() -> tempfile::TempDir {
        tempfile::Builder::new().permissions(Permissions::from_mode(0o700)).tempdir().unwrap()
    }

    fn mode(path: &Path) -> u32 {
        fs::symlink_metadata(path).unwrap().mode() & 0o777
    }

    #[test]
    fn it_listens_closed_to_others_and_leaves_nothing() {
        let folder = folder();
        let path = folder.path().join("deeper").join("worker.sock");
        let (listener, bound) = bind(&path, false).unwrap();
        assert_eq!((mode(&path), mode(path.parent().unwrap())), (0o600, 0o700));
        UnixStream::connect(&path).unwrap();
        drop((listener, bound));
        assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 0);
    }

    #[test]
    fn a_shared_one_is_open_to_the_group_of_its_folder() {
        let folder = folder();
        let path = folder.path().join("worker.sock");
        let _bound = bind(&path, true).unwrap();
        assert_eq!(mode(&path), 0o660);
        assert_eq!(fs::metadata(&path).unwrap().gid(), fs::metadata(folder.path()).unwrap().gid());
    }

    #[test]
    fn what_a_dead_worker_left_is_replaced_and_a_live_one_is_not() {
        let folder = folder();
        let path = folder.path().join("worker.sock");
        let (listener, bound) = bind(&path, false).unwrap();
        assert!(matches!(bind(&path, false), Err(ListenError::Live(_))));
        UnixStream::connect(&path).unwrap();
        std::mem::forget(bound);
        drop(listener);
        assert!(path.exists());
        let (_listener, newer) = bind(&path, false).unwrap();
        UnixStream::connect(&path).unwrap();
        drop(newer);
        assert!(!path.exists());
    }

    #[test]
    fn anything_else_under_its_name_is_left_alone() {
        let folder = folder();
        let path = folder.path().join("worker.sock");
        fs::write(&path, "mine").unwrap();
        assert!(matches!(bind(&path, false), Err(ListenError::Foreign(_))));
        assert_eq!(fs::read(&path).unwrap(), b"mine");
        fs::remove_file(&path).unwrap();
        symlink("/dev/null", &path).unwrap();
        assert!(matches!(bind(&path, false), Err(ListenError::Foreign(_))));
    }

    #[test]
    fn an_older_worker_does_not_take_away_the_name_of_a_newer() {
        let folder = folder();
        let path = folder.path().join("worker.sock");
        let (listener, older) = bind(&path, false).unwrap();
        drop(listener);
        let _newer = bind(&path, false).unwrap();
        drop(older);
        UnixStream::connect(&path).unwrap();
    }

    #[test]
    fn a_folder_that_others_can_change_is_not_used() {
        let folder = folder();
        fs::set_permissions(folder.path(), Permissions::from_mode(0o777)).unwrap();
        assert!(matches!(bind(&folder.path().join("worker.sock"), false), Err(ListenError::Folder(_))));
    }
}
