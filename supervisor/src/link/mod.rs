//! The protocol's client: keeps one connection to the worker, and carries jobs over it.
//!
//! Promises: what is sent is legal by the order table, and what is received too, or the connection ends; a job that was
//! handed over ends in exactly one [`Heard::Refused`], [`Heard::Finished`] or [`Heard::Lost`], and is never handed over
//! twice; while connected nothing is polled but the heartbeat. A worker that lies, floods, stalls or vanishes hurts its
//! own jobs only. Refuses to know: Tasks, callers, HTTP.

mod connect;
mod connection;
#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "a test's socket goes with it")]
pub(crate) mod hand;
mod outbox;
mod socket;
mod start;
#[cfg(test)]
mod tests;

pub use connect::Connector;
pub(crate) use connect::jitter;
use musegate_protocol::bounded::{Blob, FileName, Label, Text};
use musegate_protocol::message::{CancelReason, HelloAck, JobId, MAX_CHUNK, Outcome, Progress, RefuseReason};
use outbox::Outbox;
pub use start::{Frame, Start};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;

/// Connects to another process of ours, if its socket can be trusted. `uid`: whose it is; none: our own.
///
/// # Errors
/// It cannot be reached, or others could have put it there.
pub(crate) async fn connect_trusted(
    socket: &std::path::Path,
    uid: Option<u32>,
) -> std::io::Result<tokio::net::UnixStream> {
    socket::connect(socket, uid).await.map_err(std::io::Error::other)
}

/// How to reach the worker.
#[derive(Clone, Debug)]
pub struct Spec {
    /// Its socket.
    pub socket: PathBuf,
    /// The uid it must have; none: our own.
    pub uid: Option<u32>,
    /// Between two pings; after three without an answer the worker is gone.
    pub heartbeat: Duration,
    /// What we say of ourselves.
    pub build: Label,
}

/// What a job hears of the worker. `cost` is what it took of the job's credit, to be paid back by [`Link::credit`].
#[derive(Debug)]
pub enum Heard {
    /// It is being started.
    Accepted,
    /// It did not start and never will. Nothing follows.
    Refused {
        /// Why.
        reason: RefuseReason,
    },
    /// More of the answer; offsets are checked.
    Output {
        /// Forget the answer so far.
        fresh: bool,
        /// The text.
        text: Text<MAX_CHUNK>,
        /// See above.
        cost: u32,
    },
    /// Something happened.
    Progress {
        /// What.
        event: Progress,
        /// See above.
        cost: u32,
    },
    /// A piece of a file.
    File {
        /// Its name.
        name: FileName,
        /// The piece.
        bytes: Blob<MAX_CHUNK>,
        /// It is whole.
        last: bool,
        /// See above.
        cost: u32,
    },
    /// It is over. Nothing follows.
    Finished(Box<Outcome>),
    /// The connection ended, and the job with it. Nothing follows.
    Lost,
}

/// Where a job's events go. Called in order, from one place, and must not block.
pub type Sink = Box<dyn FnMut(Heard) + Send>;

/// The worker is not connected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the worker is away")]
pub struct Away;

/// The supervisor's end.
#[derive(Clone, Debug)]
pub struct Link {
    outbox: Arc<Outbox>,
    worker: watch::Receiver<Option<Arc<HelloAck>>>,
}

impl Link {
    /// The link, and what has to run for it to live.
    #[must_use]
    pub fn new(spec: Spec) -> (Self, Connector) {
        let outbox = Arc::new(Outbox::default());
        let (connected, worker) = watch::channel(None);
        (Self { outbox: Arc::clone(&outbox), worker }, Connector::new(spec, outbox, connected))
    }

    /// Who is connected; none: the worker is away.
    #[must_use]
    pub fn worker(&self) -> Option<Arc<HelloAck>> {
        self.worker.borrow().clone()
    }

    /// The same, as something to wait on.
    #[must_use]
    pub fn watch(&self) -> watch::Receiver<Option<Arc<HelloAck>>> {
        self.worker.clone()
    }

    /// Hands a job over. Its number is set here.
    ///
    /// # Errors
    /// [`Away`]: it was not handed over, and the sink will hear nothing.
    pub fn start(&self, start: Start, sink: Sink) -> Result<JobId, Away> {
        self.outbox.start(start.0, sink)
    }

    /// Asks for a job's end. Legal at any time.
    pub fn cancel(&self, job: JobId, reason: CancelReason) {
        self.outbox.cancel(job, reason);
    }

    /// Pays credit back.
    pub fn credit(&self, job: JobId, bytes: u32) {
        self.outbox.credit(job, bytes);
    }
}
