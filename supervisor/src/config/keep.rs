//! Sections `[jobs]`, `[worker]`, `[tasks]`, `[text]`, `[audit]` and `[log]`: slots, the link, and what is kept.

use super::{narrow, path};
use musegate_logs::{Bounds, Format};
use musegate_settings::Settings;
use std::path::{Path, PathBuf};
use std::time::Duration;

const SECOND: Duration = Duration::from_secs(1);
const DAY: Duration = Duration::from_secs(86_400);

/// Slots and the busy answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Jobs {
    /// Jobs at once; the worker may allow fewer.
    pub slots: u16,
    /// `Retry-After` of the busy answer.
    pub busy_retry: Duration,
    /// Requests of all callers that may wait for a slot (`busy = "wait"`).
    pub max_waiting: usize,
}

impl Jobs {
    pub(super) fn read(settings: &mut Settings) -> Self {
        let mut s = settings.section("jobs");
        Self {
            slots: narrow(s.number("slots", 1, 1..=1024, "jobs at once; the worker may allow fewer")),
            busy_retry: s.duration("busy_retry", 5 * SECOND, SECOND..=3600 * SECOND, "Retry-After of the busy answer"),
            max_waiting: narrow(s.number(
                "max_waiting",
                16,
                0..=10_000,
                "requests of all callers that may wait for a slot",
            )),
        }
    }
}

/// How to reach the worker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkerLink {
    /// Its Unix socket.
    pub socket: PathBuf,
    /// The uid it must run under; none: our own.
    pub uid: Option<u32>,
    /// `Retry-After` while it is away.
    pub away_retry: Duration,
    /// Silence after which it is asked for a sign of life; three missed ones end the connection.
    pub heartbeat: Duration,
}

impl WorkerLink {
    pub(super) fn read(settings: &mut Settings, folder: &Path) -> Self {
        let uid = |text: &str| text.parse::<u32>().map_err(|_| "must be a number in quotes".to_owned());
        let mut s = settings.section("worker");
        Self {
            socket: path(&mut s, folder, "socket", "worker.sock", "the worker's Unix socket"),
            uid: s.text(
                "uid",
                None,
                "a uid in quotes",
                "uid the worker must have; the supervisor's own when absent",
                uid,
            ),
            away_retry: s.duration(
                "away_retry",
                2 * SECOND,
                SECOND..=600 * SECOND,
                "Retry-After while the worker is away",
            ),
            heartbeat: s.duration(
                "heartbeat",
                5 * SECOND,
                SECOND..=300 * SECOND,
                "between signs of life; three missed: away",
            ),
        }
    }
}

/// What is kept of Tasks and conversations, in memory only.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tasks {
    /// Ended Tasks kept; running ones are never dropped.
    pub max: usize,
    /// Bytes of answers and messages kept, all Tasks together.
    pub max_bytes: u64,
    /// How long an ended Task is kept.
    pub keep: Duration,
    /// Longest answer of one Task, bytes.
    pub answer_bytes: u64,
    /// Exchanges of a conversation that go with its next message.
    pub turns: usize,
    /// Bytes of one conversation kept.
    pub context_bytes: usize,
    /// Conversations kept.
    pub contexts: usize,
    /// How long an idle conversation is kept.
    pub context_keep: Duration,
}

impl Tasks {
    pub(super) fn read(settings: &mut Settings) -> Self {
        let mut s = settings.section("tasks");
        Self {
            max: narrow(s.number("max", 1000, 1..=1_000_000, "ended Tasks kept")),
            max_bytes: s.size("max_bytes", 128 << 20, 1 << 20..=1 << 36, "bytes kept, all Tasks together"),
            keep: s.duration("keep", DAY, SECOND..=30 * DAY, "how long an ended Task is kept"),
            answer_bytes: s.size("answer", 64 << 20, 1024..=1 << 30, "longest answer of one Task"),
            turns: narrow(s.number("turns", 6, 0..=6, "exchanges of a conversation that go with its next message")),
            context_bytes: narrow(s.size("context", 128 << 10, 1024..=128 << 10, "bytes of one conversation kept")),
            contexts: narrow(s.number("contexts", 1000, 1..=1_000_000, "conversations kept")),
            context_keep: s.duration("context_keep", DAY, SECOND..=30 * DAY, "how long an idle conversation is kept"),
        }
    }
}

/// What happens to code points that hide or reorder text (docs: text-rules).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unicode {
    /// Dropped and counted.
    Strip,
    /// Shown as a marker.
    Mark,
    /// The request is refused.
    Reject,
}

pub(super) fn read_unicode(settings: &mut Settings) -> Unicode {
    let words = [("strip", Unicode::Strip), ("mark", Unicode::Mark), ("reject", Unicode::Reject)];
    settings.section("text").word("unicode", Unicode::Strip, &words, "code points that hide or reorder text")
}

/// The audit trail.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Audit {
    /// The file that is written; older ones stand beside it.
    pub file: PathBuf,
    /// The key of digests and of the chain; made at the first start.
    pub key_file: PathBuf,
    /// Size at which a new file begins.
    pub max_bytes: u64,
    /// Older files kept.
    pub keep: u32,
    /// What happens when a record cannot be written.
    pub on_full: OnFull,
}

/// The policy for an audit trail that cannot be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnFull {
    /// New requests get 503 until it can be written again.
    Refuse,
    /// Requests are served; the log says so, and the trail says how many records are missing.
    Continue,
}

impl Audit {
    pub(super) fn read(settings: &mut Settings, folder: &Path) -> Self {
        let words = [("refuse", OnFull::Refuse), ("continue", OnFull::Continue)];
        let mut s = settings.section("audit");
        Self {
            file: path(&mut s, folder, "file", "audit.jsonl", "the audit trail"),
            key_file: path(
                &mut s,
                folder,
                "key_file",
                "audit.key",
                "key of its digests and chain; made at the first start",
            ),
            max_bytes: s.size("max_size", 64 << 20, 64 << 10..=1 << 40, "size at which a new file begins"),
            keep: narrow(s.number("keep", 10, 1..=10_000, "older files kept")),
            on_full: s.word(
                "on_full",
                OnFull::Refuse,
                &words,
                "when a record cannot be written: refuse requests, or go on",
            ),
        }
    }
}

pub(super) fn read_log(settings: &mut Settings) -> Bounds {
    use tracing::Level;
    let formats = [("text", Format::Text), ("json", Format::Json)];
    let levels = [("error", Level::ERROR), ("warn", Level::WARN), ("info", Level::INFO), ("debug", Level::DEBUG)];
    let mut s = settings.section("log");
    Bounds {
        format: s.word("format", Format::Text, &formats, "form of a line"),
        level: s.word("level", Level::INFO, &levels, "what is logged; never content"),
        per_minute: narrow(s.number(
            "per_minute",
            600,
            1..=1_000_000,
            "most lines per minute, of one place in the program a quarter of it; more are counted",
        )),
    }
}
