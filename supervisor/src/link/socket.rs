//! Whether the worker's socket is the worker's.
//!
//! Under socket activation the peer's credentials name the manager that called listen, not the worker. So what counts
//! is that nobody else could have put the socket there: every folder above it belongs to root, to us or to the worker,
//! and others cannot rename anything in it. The peer's uid is looked at as well.
//!
//! Refuses to know what is said over the socket.

use nix::sys::stat::{FileStat, SFlag, lstat};
use nix::unistd::geteuid;
use std::io;
use std::path::{Path, PathBuf};
use tokio::net::UnixStream;

/// Why a socket is not trusted.
#[derive(Debug, thiserror::Error)]
pub(super) enum Untrusted {
    #[error("{path}: {error}")]
    Io { path: PathBuf, error: io::Error },
    #[error("{path} belongs to uid {uid}; it must belong to root, to us or to uid {worker}")]
    Owner { path: PathBuf, uid: u32, worker: u32 },
    #[error("{path} can be changed by others; run: chmod go-w {path}")]
    Writable { path: PathBuf },
    #[error("{path} is no socket")]
    NoSocket { path: PathBuf },
    #[error("uid {uid} listens on {path}, it must be uid {worker}")]
    Peer { path: PathBuf, uid: u32, worker: u32 },
}

/// Connects, if the socket can be trusted.
pub(super) async fn connect(socket: &Path, uid: Option<u32>) -> Result<UnixStream, Untrusted> {
    let worker = uid.unwrap_or_else(|| geteuid().as_raw());
    let real = check(socket, worker)?;
    let io = |error| Untrusted::Io { path: real.clone(), error };
    let stream = UnixStream::connect(&real).await.map_err(io)?;
    let peer = stream.peer_cred().map_err(io)?.uid();
    if peer != worker && peer != 0 {
        return Err(Untrusted::Peer { path: real, uid: peer, worker });
    }
    Ok(stream)
}

/// The socket's path without symbolic links, when it and all folders above it are in trusted hands.
fn check(socket: &Path, worker: u32) -> Result<PathBuf, Untrusted> {
    let io = |path: &Path, error| Untrusted::Io { path: path.to_owned(), error };
    let name = socket.file_name().ok_or_else(|| Untrusted::NoSocket { path: socket.to_owned() })?;
    let folder = match socket.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let folder = folder.canonicalize().map_err(|error| io(folder, error))?;
    for (depth, path) in folder.ancestors().enumerate() {
        let stat = lstat(path).map_err(|error| io(path, error.into()))?;
        owned(path, &stat, worker)?;
        let open = stat.st_mode & 0o022 != 0;
        let sticky = stat.st_mode & 0o1000 != 0 && depth > 0;
        if open && !sticky {
            return Err(Untrusted::Writable { path: path.to_owned() });
        }
    }
    let real = folder.join(name);
    let stat = lstat(&real).map_err(|error| io(&real, error.into()))?;
    if SFlag::from_bits_truncate(stat.st_mode) & SFlag::S_IFMT != SFlag::S_IFSOCK {
        return Err(Untrusted::NoSocket { path: real });
    }
    owned(&real, &stat, worker)?;
    Ok(real)
}

fn owned(path: &Path, stat: &FileStat, worker: u32) -> Result<(), Untrusted> {
    let trusted = [0, worker, geteuid().as_raw()];
    if trusted.contains(&stat.st_uid) {
        return Ok(());
    }
    Err(Untrusted::Owner { path: path.to_owned(), uid: stat.st_uid, worker })
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "a test puts something else where the socket should be")]
mod tests {
    use super::*;
    use nix::unistd::{Uid, chown};
    use std::fs::Permissions;
    use std::os::unix::fs::PermissionsExt;
    use std::os::unix::net::UnixListener;

    fn chmod(path: &Path, mode: u32) {
        std::fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
    }

    fn folder() -> (tempfile::TempDir, PathBuf, u32) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("worker.sock");
        (dir, path, geteuid().as_raw())
    }

    #[test]
    fn our_own_folder_is_trusted_also_through_a_link() {
        let (dir, path, us) = folder();
        let _listener = UnixListener::bind(&path).unwrap();
        check(&path, us).unwrap();
        let other = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink(dir.path(), other.path().join("link")).unwrap();
        let real = check(&other.path().join("link/worker.sock"), us).unwrap();
        assert_eq!(real, path.canonicalize().unwrap());
    }

    #[test]
    fn a_folder_that_others_may_change_is_not() {
        let (dir, path, us) = folder();
        let _listener = UnixListener::bind(&path).unwrap();
        for mode in [0o720, 0o702, 0o1777] {
            chmod(dir.path(), mode);
            assert!(matches!(check(&path, us), Err(Untrusted::Writable { .. })), "{mode:o}");
        }
        let below = dir.path().join("below");
        std::fs::create_dir(&below).unwrap();
        let _other = UnixListener::bind(below.join("s")).unwrap();
        check(&below.join("s"), us).unwrap();
        chmod(dir.path(), 0o777);
        assert!(matches!(check(&below.join("s"), us), Err(Untrusted::Writable { .. })));
    }

    #[test]
    fn what_is_no_socket_is_not() {
        let (dir, path, us) = folder();
        std::fs::write(&path, b"").unwrap();
        assert!(matches!(check(&path, us), Err(Untrusted::NoSocket { .. })));
        let _listener = UnixListener::bind(dir.path().join("real")).unwrap();
        std::os::unix::fs::symlink("real", dir.path().join("link")).unwrap();
        assert!(matches!(check(&dir.path().join("link"), us), Err(Untrusted::NoSocket { .. })));
        assert!(matches!(check(&dir.path().join("missing"), us), Err(Untrusted::Io { .. })));
    }

    /// Needs root: only root can give a file away. Others see the one owner that they can make.
    #[test]
    fn a_stranger_s_socket_is_not() {
        let (_dir, path, us) = folder();
        let _listener = UnixListener::bind(&path).unwrap();
        if us != 0 {
            return check(&path, us).map(drop).unwrap();
        }
        chown(&path, Some(Uid::from_raw(60_003)), None).unwrap();
        assert!(matches!(check(&path, 60_002), Err(Untrusted::Owner { uid: 60_003, .. })));
        check(&path, 60_003).unwrap();
    }
}
