//! The operator's socket: whoever may open it is told how things stand, once, as one JSON document, and it closes.
//!
//! Promises: nothing is read from it, so nothing can be asked of it; it is a Unix socket that only the supervisor's own
//! user and root can open; one slow reader holds up the next reader and nobody else. Refuses to know texts and tokens.

use crate::http::serve::Serve;
use crate::rooms::Rooms;
use crate::stamp;
use serde_json::{Value, json};
use std::io;
use std::net::SocketAddr;
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tokio::io::AsyncWriteExt;

/// How long a reader may take.
const PATIENCE: Duration = Duration::from_secs(1);

/// The open socket; its name goes with it.
#[derive(Debug)]
pub struct Operator {
    listener: UnixListener,
    path: PathBuf,
    started: Duration,
}

impl Drop for Operator {
    fn drop(&mut self) {
        let _ = remove(&self.path);
    }
}

impl Operator {
    /// Binds it, in place of one that a dead supervisor left. Until its mode is set the process's umask keeps it closed.
    ///
    /// # Errors
    /// It cannot be bound; something that is no socket stands in its place.
    pub fn bind(path: &Path) -> io::Result<Self> {
        match std::fs::symlink_metadata(path) {
            Ok(there) if there.file_type().is_socket() => remove(path)?,
            Ok(_) => return Err(io::Error::new(io::ErrorKind::AlreadyExists, "is there already and no socket")),
            Err(_) => {}
        }
        let listener = UnixListener::bind(path)?;
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600))?;
        listener.set_nonblocking(true)?;
        Ok(Self { listener, path: path.to_owned(), started: now() })
    }

    /// Tells everybody who comes. Returns only when the socket cannot be used.
    ///
    /// # Errors
    /// As for any socket that a runtime takes over.
    pub async fn tell(&self, serve: &Serve, rooms: &Rooms, bound: &[SocketAddr]) -> io::Result<()> {
        let listener = tokio::net::UnixListener::from_std(self.listener.try_clone()?)?;
        loop {
            let Ok((mut reader, _)) = listener.accept().await else {
                tokio::time::sleep(PATIENCE).await; // out of descriptors: it will pass
                continue;
            };
            let text = format!("{}\n", self.document(serve, rooms, bound));
            let told = tokio::time::timeout(PATIENCE, async {
                reader.write_all(text.as_bytes()).await?;
                reader.shutdown().await
            });
            let _ = told.await;
        }
    }

    fn document(&self, serve: &Serve, rooms: &Rooms, bound: &[SocketAddr]) -> Value {
        let (busy, waiting) = rooms.admission.slots_in_use();
        let (kept, bytes) = serve.tasks().kept();
        let words = |layers: musegate_protocol::message::Layers| layers.iter().map(|l| l.word()).collect::<Vec<_>>();
        let worker = serve.link().worker().map(|worker| {
            json!({
                "build": *worker.build, "backend": *worker.backend, "version": *worker.backend_version,
                "slots": worker.slots, "holds": words(worker.report.holds), "lacks": words(worker.report.lacks),
                "own": {"holds": words(worker.own.holds), "lacks": words(worker.own.lacks)},
            })
        });
        let mut document = json!({
            "version": env!("CARGO_PKG_VERSION"),
            "pid": std::process::id(),
            "started": stamp::show(self.started),
            "up_seconds": now().saturating_sub(self.started).as_secs(),
            "listens": bound.iter().map(ToString::to_string).collect::<Vec<_>>(),
            "jobs": {"running": busy, "waiting": waiting},
            "tasks": {"kept": kept, "bytes": bytes, "running": serve.tasks().running()},
            "worker_is_there": worker.is_some(),
            "own": {"holds": words(rooms.walls.holds), "lacks": words(rooms.walls.lacks)},
        });
        if let (Some(object), Some(worker)) = (document.as_object_mut(), worker) {
            object.insert("worker".to_owned(), worker);
        }
        document
    }
}

#[expect(clippy::disallowed_methods, reason = "a socket's name of our own, checked to be a socket")]
fn remove(path: &Path) -> io::Result<()> {
    std::fs::remove_file(path)
}

fn now() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}
