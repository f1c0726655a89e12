//! A stream of events on its way out, as `text/event-stream` in the shape that was asked for.
//!
//! Promises: every event is complete with its blank line, so that a stream may end after any of them; each has as `id:`
//! the cursor after it, so that a client can come back; a keep-alive is a comment with one line end and no blank line,
//! the only form that every client we tried survives. A piece of answer costs its own escaping and two copies of what
//! stands around it, however long the Task has become. Refuses to know where events come from.

use crate::a2a::{ANSWER, ContextId, Cursor, Event, TaskId};
use crate::dialect::json::{Out, escape};
use crate::dialect::{ReplyTo, Version};
use crate::refusal::Refusal;
use bytes::{Bytes, BytesMut};
use hyper::HeaderMap;
use hyper::header::{CACHE_CONTROL, HeaderName, HeaderValue};
use std::fmt::Write as _;

/// `Content-Type` of a stream.
pub use crate::dialect::EVENT_STREAM;

/// What is written when nothing was for some seconds. It ends no event, since it begins none.
pub const KEEP_ALIVE: &[u8] = b": ka\n";

/// How long a client whose connection broke waits before it comes back, milliseconds.
const RETRY_MS: u32 = 2000;

/// Headers of a stream: no cache and no proxy may hold it back.
#[must_use]
pub fn headers(reply: &ReplyTo) -> Vec<(HeaderName, HeaderValue)> {
    let mut headers = reply.headers();
    headers.push((CACHE_CONTROL, HeaderValue::from_static("no-cache")));
    headers.push((HeaderName::from_static("x-accel-buffering"), HeaderValue::from_static("no")));
    headers
}

/// Where a client that comes back says it stands. What is no id of ours counts as none.
#[must_use]
pub fn last_event_id(headers: &HeaderMap) -> Option<Cursor> {
    Cursor::parse(headers.get("last-event-id")?.to_str().ok()?.trim())
}

/// Writes the events of one stream.
#[derive(Debug)]
pub struct Writer {
    reply: ReplyTo,
    task: TaskId,
    context: ContextId,
    opened: bool,
    /// Artifacts said so far, for the edition that numbers them.
    artifacts: usize,
    /// What stands around a piece of answer that is neither the first nor the last; made when it is first needed.
    piece: Option<Piece>,
}

#[derive(Debug)]
struct Piece {
    before: Bytes,
    after: Bytes,
}

impl Writer {
    /// Of events of this Task, in this shape.
    #[must_use]
    pub fn new(reply: &ReplyTo, task: &TaskId, context: &ContextId) -> Self {
        Self {
            reply: reply.clone(),
            task: task.clone(),
            context: context.clone(),
            opened: false,
            artifacts: 0,
            piece: None,
        }
    }

    /// Appends one event; `cursor` is where the stream stands after it. A [`Event::Chunk`]'s bytes must be UTF-8.
    pub fn write(&mut self, cursor: Cursor, event: &Event, out: &mut BytesMut) {
        self.open(out);
        match event {
            Event::Chunk { text, append: true, last: false } => {
                id(cursor, out);
                let piece = self.piece.get_or_insert_with(|| piece(&self.reply, &self.task, &self.context));
                out.extend_from_slice(&piece.before);
                escape(text, out);
                out.extend_from_slice(&piece.after);
            }
            // 0.1 has no event that shows a whole Task; what it holds is said in the events that there are.
            Event::Task(task) if self.reply.version == Version::Early => {
                for artifact in &task.artifacts {
                    self.data(&Event::Artifact { artifact: artifact.clone(), last: true }, out);
                }
                id(cursor, out);
                self.data(&Event::Status { status: task.status.clone(), progress: None, last: false }, out);
            }
            event => {
                id(cursor, out);
                self.data(event, out);
            }
        }
    }

    /// Appends a no, for a stream that cannot go on. The client finds it as an error of its binding.
    pub fn refuse(&mut self, refusal: &Refusal, out: &mut BytesMut) {
        self.open(out);
        out.extend_from_slice(b"data: ");
        self.reply.error(&mut Out(out), refusal);
        out.extend_from_slice(b"\n\n");
    }

    fn open(&mut self, out: &mut BytesMut) {
        if !std::mem::replace(&mut self.opened, true) {
            // Writing into a growing buffer has no way to fail.
            let _ = writeln!(out, "retry: {RETRY_MS}");
        }
    }

    fn data(&mut self, event: &Event, out: &mut BytesMut) {
        out.extend_from_slice(b"data: ");
        let mut shown = self.reply.shown_as(&self.task.0, &self.context.0);
        if let Event::Artifact { artifact, .. } = event {
            // The answer is the first, whether it was said whole or in pieces.
            shown.index = if artifact.artifact_id == ANSWER { 0 } else { self.artifacts.max(1) };
            self.artifacts = shown.index + 1;
        }
        self.reply.result(&mut Out(out), |out| self.reply.shape().event(out, shown, event));
        out.extend_from_slice(b"\n\n");
    }
}

fn id(cursor: Cursor, out: &mut BytesMut) {
    // As above.
    let _ = writeln!(out, "id: {cursor}");
}

/// Writes a piece without text and cuts it where the text belongs.
fn piece(reply: &ReplyTo, task: &TaskId, context: &ContextId) -> Piece {
    let shown = reply.shown_as(&task.0, &context.0);
    let mut before = BytesMut::from(&b"data: "[..]);
    let mut at = 0;
    reply.result(&mut Out(&mut before), |out| reply.shape().piece(out, shown, |out| at = out.0.len()));
    let mut after = before.split_off(at.min(before.len()));
    after.extend_from_slice(b"\n\n");
    Piece { before: before.freeze(), after: after.freeze() }
}
