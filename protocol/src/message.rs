//! Everything that may cross the socket between supervisor and worker.
//!
//! The supervisor connects and speaks first: preamble, then [`ToWorker::Hello`]; the worker answers
//! [`FromWorker::HelloAck`]. A job begins with [`ToWorker::Start`] and ends with exactly one
//! [`FromWorker::Refused`] or [`FromWorker::Finished`]. A lost connection ends all of its jobs: the worker kills
//! them, the supervisor fails their Tasks; nothing is ever started twice.
//!
//! What can never cross, because no type here can hold it: a path, an argument or environment of a process, a uid, a
//! signal, a descriptor, a token of a caller, a credential of the model. `order.rs` says when each message is legal.

mod check;
mod outcome;
mod report;

pub use crate::bounded::FileName;
use crate::bounded::{Blob, Label, List, Text};
use bincode::{Decode, Encode};
pub use check::Flaw;
pub use outcome::{End, EndedBy, FailureKind, Outcome, Redaction, Timing, Usage};
pub use report::{Layer, Layers, Report, losses};

/// Version of this file. Any change of a type below raises it.
pub const PROTOCOL: u16 = 2;

/// Longest frame from supervisor to worker, bytes without the length prefix.
pub const MAX_TO_WORKER: usize = 1024 * 1024;
/// Longest frame from worker to supervisor, bytes without the length prefix.
pub const MAX_FROM_WORKER: usize = 64 * 1024;
/// Most text of one message, and of all turns of its conversation together, bytes.
pub const MAX_TEXT: usize = 256 * 1024;
/// Most bytes of answer or file in one frame.
pub const MAX_CHUNK: usize = 16 * 1024;
/// Most files' bytes that a caller hands in with one message.
pub const MAX_INPUT_FILE: usize = 384 * 1024;
/// Credit that a job starts with, bytes; see [`FromWorker::cost`].
pub const INITIAL_CREDIT: u32 = 128 * 1024;
/// Most credit that a job may hold, bytes. More is a violation.
pub const MAX_CREDIT: u32 = 1024 * 1024;
/// Most jobs alive on one connection.
pub const MAX_JOBS: usize = 1024;
/// Most entries of a conversation that go with a message: six exchanges.
pub const MAX_TURNS: usize = 12;
/// Most parts of a message.
pub const MAX_PARTS: usize = 64;
/// Longest answer that may be read as a structure, bytes: the worker looks into the strings of so much, so no more is
/// taken for anything but plain text.
pub const MAX_STRUCTURED: usize = 4 * 1024 * 1024;
/// Most pings without an answer. More is a violation.
pub const MAX_PINGS: usize = 8;

/// A job's number: chosen by the supervisor, never used twice on one connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Encode, Decode)]
pub struct JobId(pub u64);

/// New at every start of a process: how the other end notices a restart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Encode, Decode)]
pub struct InstanceId(pub [u8; 16]);

// ── supervisor → worker ─────────────────────────────────────────────────────────────────────────────────────────────

/// What the supervisor may say.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
pub enum ToWorker {
    /// First message of a connection, once.
    Hello(Hello),
    /// Run a job. Answered by `Accepted` or `Refused`.
    Start(Box<StartJob>),
    /// End a job's group. Repeating it, and naming a job that has just finished, are legal and do nothing.
    Cancel { job: JobId, reason: CancelReason },
    /// The supervisor has room for so many more bytes of this job, counted as in [`FromWorker::cost`].
    Credit { job: JobId, bytes: u32 },
    /// Answered by `Pong` with the same nonce, in the order of the pings; at most [`MAX_PINGS`] wait for theirs.
    Ping { nonce: u64 },
    /// Refuse new jobs, finish the running ones, say `Bye`.
    Drain,
}

/// Who the supervisor is.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
pub struct Hello {
    /// Must equal [`PROTOCOL`].
    pub version: u16,
    /// Program version and commit, for people.
    pub build: Label,
    /// This start of the supervisor.
    pub instance: InstanceId,
}

/// One job: what was asked, by whom, and within which limits. The worker makes the prompt of it.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
pub struct StartJob {
    /// This job.
    pub job: JobId,
    /// Name of the authenticated caller.
    pub caller: Label,
    /// A2A ids, as the caller sees them.
    pub task: Label,
    /// The conversation.
    pub context: Label,
    /// The caller's name for the message.
    pub message: Text<128>,
    /// Ties the logs of both processes together; also in the Task's metadata.
    pub trace: [u8; 16],
    /// Earlier entries of the conversation, oldest first. Together with `parts` at most [`MAX_TEXT`] bytes of text.
    pub turns: List<Turn, MAX_TURNS>,
    /// The new message.
    pub parts: List<PromptPart, MAX_PARTS>,
    /// JSON Schema that the answer must satisfy, where a skill declares one.
    pub output_schema: Option<Text<32768>>,
    /// Whether the prompt offers the structured answer (`{"a2a":1,…}`).
    pub structured: bool,
    /// Bounds that this caller's grant sets below the worker's own.
    pub limits: JobLimits,
}

/// One entry of a conversation.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
pub struct Turn {
    /// Set by the supervisor, never by the caller.
    pub role: Role,
    /// What was said.
    pub text: Text<MAX_TEXT>,
}

/// Who said a [`Turn`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub enum Role {
    /// The authenticated caller.
    Caller,
    /// Muse, through us.
    Agent,
}

/// One part of the new message.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
pub enum PromptPart {
    /// Plain text.
    Text(Text<MAX_TEXT>),
    /// One JSON value, already parsed and written again by the supervisor.
    Data(Text<MAX_TEXT>),
    /// A file, laid into the job's `in/` folder under this name. Names of one message differ, or the job is
    /// refused as invalid.
    File { name: FileName, media_type: Text<128>, bytes: Blob<MAX_INPUT_FILE> },
    /// A reference. Never fetched by us.
    Link { url: Text<2048>, media_type: Text<128> },
}

/// Bounds of a job. The worker takes the smaller of each and its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub struct JobLimits {
    /// Wall clock, seconds; 0: the worker's own.
    pub wall_seconds: u32,
    /// Answer, bytes; 0: the worker's own.
    pub output_bytes: u64,
    /// Files that the worker may send of the job's `out/` folder; 0: none. One more is a violation.
    pub files: u8,
    /// Bytes of all of them together, as sent. One more is a violation.
    pub file_bytes: u32,
}

/// Why a job is to end early.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Encode, Decode)]
pub enum CancelReason {
    /// The caller said CancelTask.
    Caller,
    /// The caller's stream ended and its grace ran out.
    CallerLeft,
    /// An operator stops the supervisor.
    Operator,
    /// The worker stops or drains (never sent by the supervisor).
    WorkerStops,
    /// The supervisor's connection ended (never sent by the supervisor).
    SupervisorLost,
}

// ── worker → supervisor ─────────────────────────────────────────────────────────────────────────────────────────────

/// What the worker may say.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
pub enum FromWorker {
    /// Answer to `Hello`, once.
    HelloAck(Box<HelloAck>),
    /// The job has a slot and is being started.
    Accepted { job: JobId },
    /// The job did not start and never will.
    Refused { job: JobId, reason: RefuseReason, detail: Text<512> },
    /// More of the answer, redacted. `offset`: bytes of answer before this since the last `fresh`.
    /// `fresh`: forget the answer so far, this replaces it. Costs credit.
    Output { job: JobId, offset: u64, fresh: bool, text: Text<MAX_CHUNK> },
    /// Something happened inside the job. Costs credit.
    Progress { job: JobId, event: Progress },
    /// A piece of a file of the job's `out/` folder; no other file's piece comes between those of one file. A file
    /// whose `last` piece never came does not count. Costs credit.
    File { job: JobId, name: FileName, bytes: Blob<MAX_CHUNK>, last: bool },
    /// The job is over, its processes are gone; its folder is removed right after. Once, the last of its job.
    Finished { job: JobId, outcome: Box<Outcome> },
    /// Answer to `Ping`: jobs that run, memory of the worker's own that is resident, its open descriptors. 0: not known.
    Pong { nonce: u64, jobs: u16, resident_kib: u32, descriptors: u32 },
    /// The worker will close the connection.
    Bye { reason: ByeReason },
}

impl FromWorker {
    /// What a frame takes from its job's credit: nothing, or its bytes and 64 more for the keeping of it.
    /// Both ends count with this one function.
    #[must_use]
    pub fn cost(&self) -> u32 {
        let bytes = match self {
            Self::Output { text, .. } => text.len(),
            Self::File { bytes, .. } => bytes.len(),
            Self::Progress { .. } => 192,
            _ => return 0,
        };
        u32::try_from(bytes).unwrap_or(u32::MAX).saturating_add(64)
    }

    /// The job that a message is about.
    #[must_use]
    pub fn job(&self) -> Option<JobId> {
        match self {
            Self::Accepted { job }
            | Self::Refused { job, .. }
            | Self::Output { job, .. }
            | Self::Progress { job, .. }
            | Self::File { job, .. }
            | Self::Finished { job, .. } => Some(*job),
            Self::HelloAck(_) | Self::Pong { .. } | Self::Bye { .. } => None,
        }
    }
}

impl ToWorker {
    /// The job that a message is about.
    #[must_use]
    pub fn job(&self) -> Option<JobId> {
        match self {
            Self::Start(start) => Some(start.job),
            Self::Cancel { job, .. } | Self::Credit { job, .. } => Some(*job),
            Self::Hello(_) | Self::Ping { .. } | Self::Drain => None,
        }
    }
}

/// Who the worker is, and what holds its jobs.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
pub struct HelloAck {
    /// Equals [`PROTOCOL`].
    pub version: u16,
    /// Program version and commit, for people.
    pub build: Label,
    /// This start of the worker.
    pub instance: InstanceId,
    /// Jobs that may run at once, 1 to [`MAX_JOBS`].
    pub slots: u16,
    /// What runs: `muse`, `echo` or `stub`.
    pub backend: Label,
    /// What its `--version` said.
    pub backend_version: Text<128>,
    /// The worker's own bounds of a job.
    pub limits: JobLimits,
    /// What holds its jobs.
    pub report: Report,
    /// What holds the worker itself.
    pub own: Report,
}

/// Why a job was not started.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Encode, Decode)]
pub enum RefuseReason {
    /// All slots are taken.
    Busy,
    /// The worker is stopping.
    Draining,
    /// The job contradicts itself or the worker's limits.
    Invalid,
    /// A layer of confinement that the settings require is missing.
    Weak,
    /// An earlier job's processes could not be proven dead.
    ContainmentDoubt,
}

/// What happens inside a job. All texts are redacted.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
pub enum Progress {
    /// The process runs.
    Started,
    /// The model that was asked for, as Muse names it.
    Model { id: Text<128> },
    /// A tool began.
    ToolStarted { name: Text<128> },
    /// A tool ended.
    ToolEnded { name: Text<128>, ok: bool },
    /// The model's provider is asked again.
    Retry { attempt: u16, of: u16, http_status: u16, kind: Text<64> },
    /// The machine slept for so long while the job ran.
    Slept { seconds: u32 },
}

/// Why the worker closes the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Encode, Decode)]
pub enum ByeReason {
    /// It stops, or drained as told.
    Stopping,
    /// A newer supervisor has said a complete hello.
    Replaced,
    /// The supervisor broke the protocol.
    Violation,
}
