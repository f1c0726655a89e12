//! One connection as its jobs see it: what may be sent now, and where it goes.
//!
//! Promises: a message leaves only if the order table permits it; a job's output never waits for another job's reader,
//! only for its own credit and for the socket; messages that cost no credit always pass; everything that waits is
//! written at once. Memory: `HIGH` and a chunk per job for output, a few bytes per job and ping for the rest.
//! Refuses to know what a message means.

use bytes::{Buf, BytesMut};
use musegate_protocol::bounded::Text;
use musegate_protocol::codec::WorkerCodec;
use musegate_protocol::message::{FromWorker, JobId, MAX_CHUNK, ToWorker};
use musegate_protocol::order::{self, Order, Violation};
use std::collections::HashMap;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::net::UnixStream;
use tokio::sync::Notify;
use tokio_util::codec::Encoder;

/// So many bytes may wait for the socket before output waits too.
const HIGH: usize = 128 << 10;
/// Output goes on when so few wait.
const LOW: usize = HIGH / 2;
/// So many bytes may wait before the supervisor is not heard any more.
const FULL: usize = 1 << 20;
/// What a frame of output costs beside its text.
const FRAME: u32 = 64;

/// The connection is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Gone;

/// One connection. Shared by its session and its jobs.
#[derive(Debug, Default)]
pub(crate) struct Link {
    state: Mutex<State>,
    /// Something waits for the socket, or the state has changed.
    stirred: Notify,
}

#[derive(Debug, Default)]
struct State {
    order: Order,
    codec: WorkerCodec,
    out: BytesMut,
    /// Whom to wake when there is room again.
    jobs: HashMap<JobId, Arc<Notify>>,
    closed: bool,
    /// A job was told to wait for the socket.
    behind: bool,
    /// We were about to break the protocol ourselves.
    broken: Option<String>,
}

impl Link {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The supervisor said this.
    pub(crate) fn received(&self, message: &ToWorker) -> Result<(), Violation> {
        let mut state = self.state();
        state.order.to_worker(message)?;
        if let ToWorker::Credit { job, .. } = message
            && let Some(room) = state.jobs.get(job)
        {
            room.notify_one();
        }
        Ok(())
    }

    /// Says something that costs no credit, or that a job has credit for.
    pub(crate) fn send(&self, message: &FromWorker) -> Result<(), Gone> {
        self.state().send(message)?;
        self.stirred.notify_one();
        Ok(())
    }

    /// A job's end of the connection.
    pub(crate) fn job(self: &Arc<Self>, job: JobId) -> JobLine {
        let room = Arc::new(Notify::new());
        self.state().jobs.insert(job, Arc::clone(&room));
        JobLine { link: Arc::clone(self), job, room }
    }

    /// Jobs that have begun and not ended.
    pub(crate) fn live(&self) -> usize {
        self.state().order.live()
    }

    /// Returns when something waits for the socket. Cancel safe.
    pub(crate) async fn stirred(&self) {
        self.stirred.notified().await;
    }

    /// Whether bytes wait for the socket, and whether so many do that nothing more should be heard.
    pub(crate) fn waits(&self) -> (bool, bool) {
        let waiting = self.state().out.len();
        (waiting > 0, waiting >= FULL)
    }

    /// Whether the connection is in this state.
    pub(crate) fn state_is(&self, link: order::Link) -> bool {
        self.state().order.link() == link
    }

    /// Why the connection must be closed, where that is our own fault.
    pub(crate) fn broken(&self) -> Option<String> {
        self.state().broken.clone()
    }

    /// Writes what waits, as far as the socket takes it now.
    pub(crate) fn write(&self, stream: &UnixStream) -> io::Result<()> {
        let mut state = self.state();
        while !state.out.is_empty() {
            match stream.try_write(&state.out) {
                Ok(written) => state.out.advance(written),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) => return Err(error),
            }
        }
        if state.behind && state.out.len() <= LOW {
            state.behind = false;
            state.jobs.values().for_each(|room| room.notify_one());
        }
        Ok(())
    }

    /// Nothing more is sent. Jobs that wait for room are told.
    pub(crate) fn close(&self) {
        let mut state = self.state();
        state.closed = true;
        state.out.clear();
        state.jobs.values().for_each(|room| room.notify_one());
    }
}

impl State {
    fn send(&mut self, message: &FromWorker) -> Result<(), Gone> {
        if self.closed || self.broken.is_some() {
            return Err(Gone);
        }
        let before = self.out.len();
        let sent = self.codec.encode(message, &mut self.out).map_err(|error| error.to_string());
        let sent = sent.and_then(|()| self.order.from_worker(message).map_err(|error| error.to_string()));
        sent.map(drop).map_err(|error| {
            self.out.truncate(before);
            self.broken = Some(error);
            Gone
        })
    }

    /// Bytes of text that a job may send in one frame now.
    fn room(&mut self, job: JobId) -> usize {
        if self.out.len() >= HIGH {
            self.behind = true;
            return 0;
        }
        let credit = self.order.credit(job).saturating_sub(FRAME);
        MAX_CHUNK.min(usize::try_from(credit).unwrap_or(MAX_CHUNK))
    }
}

/// One job's end of a connection.
#[derive(Debug)]
pub(crate) struct JobLine {
    link: Arc<Link>,
    job: JobId,
    room: Arc<Notify>,
}

impl JobLine {
    /// The job.
    pub(crate) fn job(&self) -> JobId {
        self.job
    }

    /// Says something that costs no credit.
    pub(crate) fn send(&self, message: &FromWorker) -> Result<(), Gone> {
        self.link.send(message)
    }

    /// Says something that costs credit, if there is enough and the socket keeps up. `false`: wait for
    /// [`JobLine::room`] and try again.
    pub(crate) fn try_send(&self, message: &FromWorker) -> Result<bool, Gone> {
        let mut state = self.link.state();
        if state.closed {
            return Err(Gone);
        }
        if state.room(self.job) == 0 || state.order.credit(self.job) < message.cost() {
            return Ok(false);
        }
        state.send(message)?;
        drop(state);
        self.link.stirred.notify_one();
        Ok(true)
    }

    /// Sends as much of a piece of the answer as one frame, the credit and the socket permit. `None`: nothing, wait for
    /// [`JobLine::room`].
    pub(crate) fn output(&self, offset: u64, fresh: bool, text: &str) -> Result<Option<usize>, Gone> {
        let mut state = self.link.state();
        if state.closed {
            return Err(Gone);
        }
        let room = text.floor_char_boundary(state.room(self.job));
        let enough = state.order.credit(self.job) >= FRAME;
        if !enough || (room == 0 && !text.is_empty()) {
            return Ok(None);
        }
        let text = Text::cut(text.get(..room).unwrap_or_default());
        let sent = text.len();
        state.send(&FromWorker::Output { job: self.job, offset, fresh, text })?;
        drop(state);
        self.link.stirred.notify_one();
        Ok(Some(sent))
    }

    /// Returns when there may be room again, or the connection is closed. Cancel safe.
    pub(crate) async fn room(&self) {
        self.room.notified().await;
    }
}

impl Drop for JobLine {
    fn drop(&mut self) {
        self.link.state().jobs.remove(&self.job);
        self.link.stirred.notify_one();
    }
}

#[cfg(test)]
mod tests;
