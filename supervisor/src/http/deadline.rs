//! What one connection is doing, so that it can be ended when it does nothing: a head that dribbles in, a keep-alive
//! without requests, a peer that takes nothing of what we write.
//!
//! Promises: costs one reading of the clock per request and no timer per request. Refuses to know requests' content.

use crate::config::Listen;
use hyper::rt::{Read, ReadBufCursor, Write};
use hyper_util::rt::TokioIo;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};
use tokio::net::TcpStream;

/// The deadlines of a connection.
#[derive(Clone, Copy, Debug)]
pub(super) struct Deadlines {
    head: Duration,
    idle: Duration,
    stall: Duration,
}

impl From<&Listen> for Deadlines {
    fn from(listen: &Listen) -> Self {
        Self { head: listen.header_timeout, idle: listen.idle_timeout, stall: listen.stall_timeout }
    }
}

/// What a connection is doing. Moments are milliseconds since it began, plus one; 0: not so.
#[derive(Debug)]
pub(super) struct Activity {
    begun: Instant,
    running: AtomicU32,
    served: AtomicBool,
    multiplexed: AtomicBool,
    head_since: AtomicU64,
    rest_since: AtomicU64,
    stalled_since: AtomicU64,
}

impl Activity {
    pub(super) fn new() -> Arc<Self> {
        Arc::new(Self {
            begun: Instant::now(),
            running: AtomicU32::new(0),
            served: AtomicBool::new(false),
            multiplexed: AtomicBool::new(false),
            head_since: AtomicU64::new(0),
            rest_since: AtomicU64::new(1),
            stalled_since: AtomicU64::new(0),
        })
    }

    /// A request's head is complete. The guard goes with its answer's body.
    pub(super) fn request(self: &Arc<Self>, multiplexed: bool) -> Running {
        self.running.fetch_add(1, Ordering::Relaxed);
        self.served.store(true, Ordering::Relaxed);
        self.multiplexed.store(multiplexed, Ordering::Relaxed);
        self.head_since.store(0, Ordering::Relaxed);
        Running(Arc::clone(self))
    }

    /// When the connection must be looked at again, and end if nothing has changed.
    pub(super) fn due(&self, deadlines: &Deadlines) -> Instant {
        let moment = |since: &AtomicU64, limit: Duration| match since.load(Ordering::Relaxed) {
            0 => None,
            ms => Some(self.begun + Duration::from_millis(ms - 1) + limit),
        };
        let stall = moment(&self.stalled_since, deadlines.stall);
        let rest = if self.running.load(Ordering::Relaxed) > 0 {
            None
        } else if !self.served.load(Ordering::Relaxed) {
            Some(self.begun + deadlines.head)
        } else if self.multiplexed.load(Ordering::Relaxed) {
            moment(&self.rest_since, deadlines.idle)
        } else {
            moment(&self.head_since, deadlines.head).or_else(|| moment(&self.rest_since, deadlines.idle))
        };
        let far = || Instant::now() + deadlines.stall.min(deadlines.idle);
        stall.into_iter().chain(rest).min().unwrap_or_else(far)
    }

    /// Whether it is over a deadline.
    pub(super) fn over(&self, deadlines: &Deadlines, now: Instant) -> bool {
        self.due(deadlines) <= now
    }

    fn now(&self) -> u64 {
        u64::try_from(self.begun.elapsed().as_millis()).unwrap_or(u64::MAX - 1) + 1
    }
}

/// A request that is being served.
#[derive(Debug)]
pub(super) struct Running(Arc<Activity>);

impl Drop for Running {
    fn drop(&mut self) {
        self.0.rest_since.store(self.0.now(), Ordering::Relaxed);
        self.0.running.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A connection's socket, which tells its [`Activity`] what moves.
#[derive(Debug)]
pub(super) struct Watched {
    socket: TokioIo<TcpStream>,
    activity: Arc<Activity>,
}

impl Watched {
    pub(super) fn new(socket: TcpStream, activity: Arc<Activity>) -> Self {
        Self { socket: TokioIo::new(socket), activity }
    }

    fn note_read(&self) {
        let activity = &self.activity;
        if activity.running.load(Ordering::Relaxed) == 0 && activity.head_since.load(Ordering::Relaxed) == 0 {
            activity.head_since.store(activity.now(), Ordering::Relaxed);
        }
    }

    fn note_write(&self, pending: bool) {
        let stalled = &self.activity.stalled_since;
        match (pending, stalled.load(Ordering::Relaxed)) {
            (true, 0) => stalled.store(self.activity.now(), Ordering::Relaxed),
            (true, _) | (false, 0) => {}
            (false, _) => stalled.store(0, Ordering::Relaxed),
        }
    }
}

impl Read for Watched {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: ReadBufCursor<'_>) -> Poll<io::Result<()>> {
        let read = Pin::new(&mut self.socket).poll_read(cx, buf);
        if read.is_ready() {
            self.note_read();
        }
        read
    }
}

impl Write for Watched {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.socket).poll_write(cx, buf);
        self.note_write(written.is_pending());
        written
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_shutdown(cx)
    }

    fn is_write_vectored(&self) -> bool {
        self.socket.is_write_vectored()
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.socket).poll_write_vectored(cx, bufs);
        self.note_write(written.is_pending());
        written
    }
}
