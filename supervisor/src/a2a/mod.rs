//! A2A's own things, shaped as version 1.0 shapes them. The core works with these; no JSON is known here, the dialects
//! translate at the edge. Spec: A2A 1.0.1 §4.

use bytes::Bytes;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// One JSON value as text, parsed and written again at the edge: bounded, no duplicate keys. Opaque to the core.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Json(pub Box<str>);

macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(pub Arc<str>);
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}
id! {
    /// Made by us, except in the early dialect, whose ids are kept per caller and mapped at the edge.
    TaskId
}
id! {
    /// A conversation, scoped to its caller. Ours or the client's: `[A-Za-z0-9._:-]{1,128}`.
    ContextId
}
id! {
    /// The client's name for a message; with the caller it is the key of idempotence. 1 to 128 characters.
    MessageId
}

/// Spec §4.1.3.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]

pub enum TaskState {
    Unspecified,
    Submitted,
    Working,
    Completed,
    Failed,
    Canceled,
    InputRequired,
    Rejected,
    AuthRequired,
}

impl TaskState {
    /// Nothing follows it.
    #[must_use]
    pub const fn is_terminal(self) -> bool {
        matches!(self, Self::Completed | Self::Failed | Self::Canceled | Self::Rejected)
    }

    /// It waits for the client.
    #[must_use]
    pub const fn is_interrupted(self) -> bool {
        matches!(self, Self::InputRequired | Self::AuthRequired)
    }
}

/// Who speaks. Set by us on everything that is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]

pub enum Role {
    User,
    Agent,
}

/// Spec §4.1.6.
#[derive(Clone, Debug, PartialEq)]
pub struct Part {
    /// Exactly one kind of content.
    pub content: Content,
    /// Media type, where one was said.
    pub media_type: Option<String>,
    /// File name, where one was said.
    pub filename: Option<String>,
    /// Opaque.
    pub metadata: Option<Json>,
}

/// What a [`Part`] holds.
#[derive(Clone, Debug, PartialEq)]
pub enum Content {
    /// Plain text.
    Text(String),
    /// Bytes, base64 on the wire.
    Raw(Bytes),
    /// A reference, never fetched by us.
    Url(String),
    /// Any JSON value.
    Data(Json),
}

impl Part {
    /// Plain text, nothing said about it.
    #[must_use]
    pub fn text(text: impl Into<String>) -> Self {
        Self { content: Content::Text(text.into()), media_type: None, filename: None, metadata: None }
    }
}

/// Spec §4.1.4.
#[derive(Clone, Debug, PartialEq)]
pub struct Message {
    /// The sender's name for it.
    pub message_id: MessageId,
    /// Its conversation.
    pub context_id: Option<ContextId>,
    /// The Task it continues.
    pub task_id: Option<TaskId>,
    /// Who speaks.
    pub role: Role,
    /// At least one.
    pub parts: Vec<Part>,
    /// Opaque.
    pub metadata: Option<Json>,
    /// URIs of extensions.
    pub extensions: Vec<String>,
    /// Other Tasks it speaks of.
    pub reference_task_ids: Vec<String>,
}

/// Spec §4.1.7.
#[derive(Clone, Debug, PartialEq)]
pub struct Artifact {
    /// Unique within its Task.
    pub artifact_id: String,
    /// For people.
    pub name: Option<String>,
    /// For people.
    pub description: Option<String>,
    /// At least one.
    pub parts: Vec<Part>,
}

/// Since the Unix epoch, UTC; shown as ISO 8601 with milliseconds and `Z`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Timestamp(pub Duration);

/// Spec §4.1.2.
#[derive(Clone, Debug, PartialEq)]
pub struct Status {
    /// Where the Task stands.
    pub state: TaskState,
    /// Empty on COMPLETED, filled on every other ending.
    pub message: Option<Arc<Message>>,
    /// Since when.
    pub timestamp: Timestamp,
}

/// What every Task says about where its answer comes from, and what it cost. Shown as `metadata.musegate`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Metadata {
    /// Ties logs, audit and answer together: 32 hex digits.
    pub trace: String,
    /// Category of failure, the word of docs/SPECIFICATION.md.
    pub failure: Option<&'static str>,
    /// Tokens, where reported.
    pub usage: Option<Usage>,
    /// Redacted texts by kind.
    pub redactions: Vec<(String, u32)>,
    /// Code points that sanitising dropped from the request and from the answer, by class.
    pub sanitized: Vec<(&'static str, u32)>,
    /// Milliseconds: waiting for a slot, until the first line, on the wall, awake.
    pub timing: Option<Timing>,
    /// The model that was asked for.
    pub model: Option<String>,
    /// Seconds after which a retry is worth it, where one is.
    pub retry_after: Option<u32>,
    /// The answer was longer than what is kept.
    pub truncated: bool,
}

impl Metadata {
    /// Adds counts of sanitising to those that are there.
    pub fn add_sanitized(&mut self, counts: impl Iterator<Item = (&'static str, u32)>) {
        for (class, count) in counts {
            match self.sanitized.iter_mut().find(|(known, _)| *known == class) {
                Some((_, sum)) => *sum = sum.saturating_add(count),
                None => self.sanitized.push((class, count)),
            }
        }
    }
}

/// Tokens of a Task.
pub type Usage = musegate_protocol::message::Usage;
/// Times of a Task.
pub type Timing = musegate_protocol::message::Timing;

/// The artifact id of every Task's answer, also of an answer that is said in chunks.
pub const ANSWER: &str = "answer";

/// Spec §4.1.1: a snapshot, as GetTask answers it. Taking one copies no text: what is large is shared.
#[derive(Clone, Debug, PartialEq)]
pub struct Task {
    /// Its id.
    pub id: TaskId,
    /// Its conversation.
    pub context_id: ContextId,
    /// Where it stands.
    pub status: Status,
    /// The answer is the first one.
    pub artifacts: Vec<Arc<Artifact>>,
    /// Messages, oldest first, as many as were asked for.
    pub history: Vec<Arc<Message>>,
    /// Ours.
    pub metadata: Metadata,
}

/// Where a stream stands: so many marks (statuses, progress, files) and so many bytes of answer have been said.
/// On the wire it is the SSE event id `marks-bytes-generation`, as [`Cursor`] displays.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Cursor {
    /// Grows when an answer is replaced (`fresh`).
    pub generation: u32,
    /// Marks said.
    pub marks: u32,
    /// Bytes of the present answer said.
    pub bytes: u64,
}

impl Cursor {
    /// What a client sends back as `Last-Event-ID`. `None` when it is not an id of ours.
    #[must_use]
    pub fn parse(id: &str) -> Option<Self> {
        let mut fields = id.split('-');
        let mut field = || fields.next().filter(|f| !f.is_empty() && f.bytes().all(|b| b.is_ascii_digit()));
        let (marks, bytes, generation) = (field()?, field()?, field()?);
        let cursor =
            Self { marks: marks.parse().ok()?, bytes: bytes.parse().ok()?, generation: generation.parse().ok()? };
        fields.next().is_none().then_some(cursor)
    }
}

impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}-{}", self.marks, self.bytes, self.generation)
    }
}

/// One event of a stream, spec §4.2.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// First of every stream.
    Task(Arc<Task>),
    /// The whole answer is a Message and no Task is shown.
    Message(Arc<Message>),
    /// `last`: the stream ends with it.
    Status {
        /// The new status.
        status: Status,
        /// Progress in a form for programs, such as tool, retry, model.
        progress: Option<Progress>,
        /// Nothing follows.
        last: bool,
    },
    /// A piece of the answer (the artifact [`ANSWER`]), only for callers that asked for pieces.
    Chunk {
        /// Text, cut at a character.
        text: Bytes,
        /// Continues what was said; false replaces it.
        append: bool,
        /// The answer is complete.
        last: bool,
    },
    /// A whole artifact.
    Artifact {
        /// The artifact.
        artifact: Arc<Artifact>,
        /// No further one follows.
        last: bool,
    },
}

/// Progress of a job.
pub type Progress = musegate_protocol::message::Progress;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_is_read_back_as_it_was_shown() {
        let cursor = Cursor { generation: 3, marks: 17, bytes: u64::MAX };
        assert_eq!(Cursor::parse(&cursor.to_string()), Some(cursor));
    }

    #[test]
    fn what_is_no_cursor_of_ours_is_none() {
        for id in ["", "1", "1-2", "1-2-3-4", "1--3", "+1-2-3", "a-b-c", "4294967296-0-0", "1-18446744073709551616-0"] {
            assert_eq!(Cursor::parse(id), None, "{id}");
        }
    }
}
