//! A Task's story as the body of an answer: pulled as its client reads, so that a client that does not read makes
//! nobody else hold anything.
//!
//! Promises: everything that is there goes out in one piece; when nothing was written for [`ALIVE`] a keep-alive is; a
//! stream that ends has said its last status, unless its client is to come back.

use super::sse::{KEEP_ALIVE, Writer};
use crate::tasks::Subscription;
use bytes::{Bytes, BytesMut};
use futures_util::Stream;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::time::{Instant, Sleep, sleep};

/// Longest silence. The official Python client gives up after five seconds of it.
pub(super) const ALIVE: Duration = Duration::from_secs(3);
/// Events are gathered up to about so many bytes.
const PIECE: usize = 64 * 1024;

/// See the head of this file.
pub(super) struct Events {
    story: Subscription,
    writer: Writer,
    out: BytesMut,
    wrote: Instant,
    alarm: Pin<Box<Sleep>>,
    over: bool,
}

impl Events {
    pub(super) fn new(story: Subscription, writer: Writer) -> Self {
        let (wrote, alarm) = (Instant::now(), Box::pin(sleep(ALIVE)));
        Self { story, writer, out: BytesMut::new(), wrote, alarm, over: false }
    }

    /// Whether the silence is too long.
    fn silent(&mut self, cx: &mut Context<'_>) -> bool {
        while self.alarm.as_mut().poll(cx).is_ready() {
            let due = self.wrote + ALIVE;
            if due <= Instant::now() {
                self.alarm.as_mut().reset(Instant::now() + ALIVE);
                return true;
            }
            self.alarm.as_mut().reset(due);
        }
        false
    }
}

impl Stream for Events {
    type Item = Bytes;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        let this = &mut *self;
        while !this.over && this.out.len() < PIECE {
            match this.story.poll_next(cx) {
                Poll::Ready(Some((cursor, event))) => this.writer.write(cursor, &event, &mut this.out),
                Poll::Ready(None) => this.over = true,
                Poll::Pending => break,
            }
        }
        if this.out.is_empty() && !this.over && this.silent(cx) {
            this.out.extend_from_slice(KEEP_ALIVE);
        }
        if this.out.is_empty() {
            return if this.over { Poll::Ready(None) } else { Poll::Pending };
        }
        this.wrote = Instant::now();
        Poll::Ready(Some(this.out.split().freeze()))
    }
}
