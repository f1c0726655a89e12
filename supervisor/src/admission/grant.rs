//! What one caller may do: the keys of `[callers.NAME]` in `callers.toml`.
//!
//! Promises: every key has a default that suits a collaborator on the same machine, and none widens what the worker
//! allows: it takes the smaller bound. Refuses to know tokens.

use crate::refusal::Refusal;
use musegate_protocol::bounded::Label;
use musegate_protocol::message::JobLimits;
use musegate_settings::Section;
use std::time::Duration;

/// Who is authenticated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caller {
    /// Its name: in the prompt, the audit and the logs.
    pub name: Label,
    /// What it may do.
    pub grant: Grant,
}

/// What a caller hears when all slots are taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Busy {
    /// HTTP 503 with `Retry-After`.
    Http503,
    /// A JSON-RPC error in HTTP 200: the only form whose text reaches Hermes' model.
    Rpc,
    /// It waits, for a bounded time and in a bounded row; then 503.
    Wait,
}

/// How the answer comes in a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Chunks {
    /// As one artifact at the end: what Hermes and Google's ADK show whole.
    Whole,
    /// In pieces that end at line ends.
    Lines,
    /// In pieces as they come.
    Raw,
}

/// What happens to a job whose client has left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnLeave {
    /// It goes on; the Task can be fetched.
    Keep,
    /// It is canceled after this long, unless somebody comes back.
    CancelAfter(Duration),
}

/// What a caller may do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grant {
    /// Ids of skills; empty: all.
    pub skills: Vec<String>,
    /// Operations by the specification's names; empty: all.
    pub methods: Vec<String>,
    /// Requests per minute; 0: no bound.
    pub rate_per_minute: u32,
    /// Requests at once before the rate counts.
    pub burst: u32,
    /// Jobs at once.
    pub concurrency: u16,
    /// What it hears when there is no slot.
    pub busy: Busy,
    /// Longest wait for a slot (`busy = "wait"`).
    pub wait_time: Duration,
    /// Requests of this caller that may wait at once.
    pub wait_depth: usize,
    /// Bounds of a job; 0 in a field: the worker's own.
    pub limits: JobLimits,
    /// Whether earlier turns of a conversation go with a message.
    pub history: bool,
    /// Whether it may set webhooks.
    pub push: bool,
    /// Whether it may hand in files.
    pub files_in: bool,
    /// Media types of files that may come back; empty: any.
    pub file_types: Vec<String>,
    /// Whether the prompt offers the structured answer.
    pub structured: bool,
    /// How the answer comes in a stream, unless the client asks for another way by an extension.
    pub chunks: Chunks,
    /// What happens to a job whose client has left.
    pub on_leave: OnLeave,
}

/// Operations that a grant can name, by the names of the specification, §5.3.
pub const METHODS: [&str; 11] = [
    "SendMessage",
    "SendStreamingMessage",
    "GetTask",
    "ListTasks",
    "CancelTask",
    "SubscribeToTask",
    "CreateTaskPushNotificationConfig",
    "GetTaskPushNotificationConfig",
    "ListTaskPushNotificationConfigs",
    "DeleteTaskPushNotificationConfig",
    "GetExtendedAgentCard",
];

const DAY: Duration = Duration::from_secs(86_400);

impl Grant {
    /// Reads `[callers.NAME]`.
    pub(super) fn read(s: &mut Section<'_>) -> Self {
        let busy = [("http503", Busy::Http503), ("rpc", Busy::Rpc), ("wait", Busy::Wait)];
        let chunks = [("whole", Chunks::Whole), ("lines", Chunks::Lines), ("raw", Chunks::Raw)];
        Self {
            skills: s.list("skills", &[], "ids of skills", "skills it may use; empty: all", text),
            methods: s.list("methods", &[], "operations of A2A 1.0", "operations it may use; empty: all", method),
            rate_per_minute: int(s.number("rate_per_minute", 120, 0..=1_000_000, "requests per minute; 0: no bound")),
            burst: int(s.number("burst", 60, 1..=1_000_000, "requests at once before the rate counts")),
            concurrency: int(s.number("concurrency", 1024, 1..=1024, "jobs at once, within the slots")),
            busy: s.word("busy", Busy::Http503, &busy, "answer when all slots are taken"),
            wait_time: s.duration(
                "wait_time",
                Duration::from_secs(60),
                Duration::ZERO..=DAY,
                "longest wait for a slot",
            ),
            wait_depth: int(s.number("wait_depth", 4, 0..=1000, "requests that may wait at once")),
            limits: read_limits(s),
            history: s.flag("history", true, "earlier turns of a conversation go with a message"),
            push: s.flag("push", false, "it may set webhooks, where push is on"),
            files_in: s.flag("files_in", true, "it may hand in files"),
            file_types: s.list("file_types", &[], "media types", "types of files that may come back; empty: any", text),
            structured: s.flag("structured", true, "the prompt offers the structured answer"),
            chunks: s.word("chunks", Chunks::Whole, &chunks, "how the answer comes in a stream"),
            on_leave: read_on_leave(s),
        }
    }

    /// # Errors
    /// [`Refusal::Forbidden`] for an operation that the grant does not list, or push without the right to it.
    pub fn may(&self, operation: &'static str) -> Result<(), Refusal> {
        if !self.methods.is_empty() && !self.methods.iter().any(|method| method == operation) {
            return Err(Refusal::Forbidden(operation));
        }
        if operation == "CreateTaskPushNotificationConfig" && !self.push {
            return Err(Refusal::Forbidden("push notifications"));
        }
        Ok(())
    }

    /// Whether a skill may be used.
    #[must_use]
    pub fn may_use(&self, skill: &str) -> bool {
        self.skills.is_empty() || self.skills.iter().any(|id| id == skill)
    }
}

impl Default for Grant {
    /// What a caller without any key has.
    fn default() -> Self {
        let mut settings = musegate_settings::Settings::empty();
        Self::read(&mut settings.top())
    }
}

fn read_limits(s: &mut Section<'_>) -> JobLimits {
    JobLimits {
        wall_seconds: int(s
            .duration("job_time", Duration::ZERO, Duration::ZERO..=DAY, "longest job; 0: the worker's bound")
            .as_secs()),
        output_bytes: s.size("output", 0, 0..=1 << 30, "longest answer; 0: the worker's bound"),
        files: int(s.number("files", 0, 0..=64, "files that a job may give back")),
        file_bytes: int(s.size("file_bytes", 1 << 20, 0..=64 << 20, "bytes of all of them together")),
    }
}

fn read_on_leave(s: &mut Section<'_>) -> OnLeave {
    let words = [("keep", true), ("cancel", false)];
    let keep = s.word("on_leave", true, &words, "what happens to a job whose client has left its stream");
    let grace = Duration::from_secs(30);
    let grace = s.duration("leave_grace", grace, Duration::ZERO..=DAY, "how long after that it is canceled");
    if keep { OnLeave::Keep } else { OnLeave::CancelAfter(grace) }
}

fn text(text: &str) -> Result<String, String> {
    let legal = !text.is_empty() && text.len() <= 128 && text.bytes().all(|b| b.is_ascii_graphic());
    if legal { Ok(text.to_owned()) } else { Err("must be 1 to 128 visible characters".to_owned()) }
}

fn method(text: &str) -> Result<String, String> {
    if METHODS.contains(&text) { Ok(text.to_owned()) } else { Err(format!("must be one of {}", METHODS.join(", "))) }
}

fn int<T: TryFrom<u64> + Default>(number: u64) -> T {
    T::try_from(number).unwrap_or_default()
}
