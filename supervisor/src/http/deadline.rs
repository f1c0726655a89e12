//! What one connection is doing, so that it can be ended when it does nothing: a head that dribbles in, a keep-alive
//! without requests, a peer that takes nothing of what we write.
//!
//! Promises: costs at most one reading of the clock per request and no timer per request. Refuses to know what is in a
//! request.

use crate::config::Listen;
use hyper::rt::{Read, ReadBufCursor, Write};
use hyper_util::rt::TokioIo;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed; // one task reads and writes; counts may come from others
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64};
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

impl Deadlines {
    /// How often a connection without a deadline is looked at thoroughly. A rest ends at most so much later than it should.
    pub(super) fn round(&self) -> Duration {
        self.head.min(self.idle)
    }
}

/// What a connection is doing. Moments are milliseconds since it began, plus one; 0: not so. What happens is a flag until
/// somebody looks ([`Activity::look`]): an ordinary request reads no clock.
#[derive(Debug)]
pub(super) struct Activity {
    begun: Instant,
    running: AtomicU32,
    served: AtomicBool,
    multiplexed: AtomicBool,
    /// Bytes came and no request has begun with them.
    heard: AtomicBool,
    /// A request ended.
    ended: AtomicBool,
    /// A write had to wait.
    waiting: AtomicBool,
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
            heard: AtomicBool::new(false),
            ended: AtomicBool::new(false),
            waiting: AtomicBool::new(false),
            head_since: AtomicU64::new(0),
            rest_since: AtomicU64::new(1),
            stalled_since: AtomicU64::new(0),
        })
    }

    /// A request's head is complete. The guard goes with its answer's body.
    pub(super) fn request(self: &Arc<Self>, multiplexed: bool) -> Running {
        self.running.fetch_add(1, Relaxed);
        self.served.store(true, Relaxed);
        self.multiplexed.store(multiplexed, Relaxed);
        self.heard.store(false, Relaxed);
        self.head_since.store(0, Relaxed);
        Running(Arc::clone(self))
    }

    /// Notes since when things are as they are. To be called whenever the connection has done what it could. Returns
    /// when it must end if nothing changes, where it must. A rest after a request begins with the first `thorough` look.
    pub(super) fn look(&self, deadlines: &Deadlines, thorough: bool) -> Option<Instant> {
        let stamp = |since: &AtomicU64| since.store(self.now(), Relaxed);
        if thorough && self.ended.swap(false, Relaxed) {
            stamp(&self.rest_since);
        }
        let running = self.running.load(Relaxed) > 0;
        if self.heard.load(Relaxed) && !running && self.head_since.load(Relaxed) == 0 {
            stamp(&self.head_since);
        }
        match (self.waiting.load(Relaxed), self.stalled_since.load(Relaxed)) {
            (true, 0) => stamp(&self.stalled_since),
            (true, _) | (false, 0) => {}
            (false, _) => self.stalled_since.store(0, Relaxed),
        }
        self.due(deadlines, running || self.ended.load(Relaxed))
    }

    fn due(&self, deadlines: &Deadlines, busy: bool) -> Option<Instant> {
        let moment = |since: &AtomicU64, limit: Duration| match since.load(Relaxed) {
            0 => None,
            ms => Some(self.begun + Duration::from_millis(ms - 1) + limit),
        };
        let stall = moment(&self.stalled_since, deadlines.stall);
        let rest = if busy && self.head_since.load(Relaxed) == 0 {
            None
        } else if !self.served.load(Relaxed) {
            Some(self.begun + deadlines.head)
        } else if self.multiplexed.load(Relaxed) {
            moment(&self.rest_since, deadlines.idle)
        } else {
            moment(&self.head_since, deadlines.head).or_else(|| moment(&self.rest_since, deadlines.idle))
        };
        stall.into_iter().chain(rest).min()
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
        self.0.ended.store(true, Relaxed);
        self.0.running.fetch_sub(1, Relaxed);
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

    fn note_write(&self, pending: bool) {
        self.activity.waiting.store(pending, Relaxed);
    }
}

impl Read for Watched {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: ReadBufCursor<'_>) -> Poll<io::Result<()>> {
        let read = Pin::new(&mut self.socket).poll_read(cx, buf);
        // What comes while a request runs is its body, or waits for its turn.
        if read.is_ready() && self.activity.running.load(Relaxed) == 0 {
            self.activity.heard.store(true, Relaxed);
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
