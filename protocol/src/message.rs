//! Everything that may cross the socket between supervisor and worker.
//!
//! The supervisor connects and speaks first: preamble, then [`ToWorker::Hello`]; the worker answers
//! [`FromWorker::HelloAck`]. A job begins with [`ToWorker::Start`] and ends with exactly one
//! [`FromWorker::Refused`] or [`FromWorker::Finished`]. A lost connection ends all of its jobs: the worker kills
//! them, the supervisor fails their Tasks; nothing is ever started twice.
//!
//! What can never cross, because no type here can hold it: a path, an argument or environment of a process, a uid, a
//! signal, a descriptor, a token of a caller, a credential of the model. `order.rs` says when each message is legal.

use crate::bounded::{Blob, Label, List, Text};
use bincode::{Decode, Encode};

/// Version of this file. Any change of a type below raises it.
pub const PROTOCOL: u16 = 1;

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
    /// Answered by `Pong` with the same nonce.
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
    /// A file, laid into the job's `in/` folder under this name.
    File { name: FileName, media_type: Text<128>, bytes: Blob<MAX_INPUT_FILE> },
    /// A reference. Never fetched by us.
    Link { url: Text<2048>, media_type: Text<128> },
}

/// A file name without a folder: `[A-Za-z0-9._-]{1,100}`, not beginning with a dot. Checked at decode.
pub use crate::bounded::FileName;

/// Bounds of a job. The worker takes the smaller of each and its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub struct JobLimits {
    /// Wall clock, seconds; 0: the worker's own.
    pub wall_seconds: u32,
    /// Answer, bytes; 0: the worker's own.
    pub output_bytes: u64,
    /// Files taken from the job's `out/` folder; 0: none.
    pub files: u8,
    /// Bytes of all of them together.
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
    /// A piece of a file of the job's `out/` folder; pieces of one file follow each other. Costs credit.
    File { job: JobId, name: FileName, bytes: Blob<MAX_CHUNK>, last: bool },
    /// The job is over, its processes are gone, its folder is removed. Once, the last of its job.
    Finished { job: JobId, outcome: Box<Outcome> },
    /// Answer to `Ping`.
    Pong { nonce: u64, jobs: u16 },
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
    /// What is enforced.
    pub report: Report,
}

/// Which layers hold on this machine. The two sets are disjoint; a layer in neither does not apply to this system.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub struct Report {
    /// Layers that were applied and checked.
    pub holds: Layers,
    /// Layers that are missing although this system could have them.
    pub lacks: Layers,
    /// ABI of Landlock, 0: none.
    pub landlock_abi: u8,
}

/// A set of [`Layer`]s, as a bit mask. Unknown bits are kept and shown as numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub struct Layers(pub u64);

impl Layers {
    /// With one more.
    #[must_use]
    pub const fn with(self, layer: Layer) -> Self {
        Self(self.0 | 1 << layer as u8)
    }

    /// Whether a layer is among them.
    #[must_use]
    pub const fn has(self, layer: Layer) -> bool {
        self.0 & (1 << layer as u8) != 0
    }

    /// The known layers among them, in the order of [`Layer::ALL`].
    pub fn iter(self) -> impl Iterator<Item = Layer> {
        Layer::ALL.into_iter().filter(move |layer| self.has(*layer))
    }
}

/// One mechanism of confinement of a job or of the worker. The number is its bit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Layer {
    /// Supervisor, worker and the operator have different uids.
    UidSeparation = 0,
    /// A job's whole tree dies by the end of its pid namespace.
    KillByPidNamespace = 1,
    /// A job's whole tree dies by a kill(-1) that a Landlock domain bounds.
    KillByLandlock = 2,
    /// A job's whole tree dies by `cgroup.kill`.
    KillByCgroup = 3,
    /// `no_new_privs`.
    NoNewPrivileges = 4,
    /// All capability sets are empty.
    NoCapabilities = 5,
    /// Resource limits.
    ResourceLimits = 6,
    /// Landlock: files.
    LandlockFiles = 7,
    /// Landlock: TCP ports.
    LandlockTcp = 8,
    /// Landlock: signals and abstract sockets.
    LandlockScope = 9,
    /// seccomp filter.
    Seccomp = 10,
    /// User namespace.
    UserNamespace = 11,
    /// Mount namespace with a bounded tmpfs as scratch folder.
    BoundedScratch = 12,
    /// IPC namespace.
    IpcNamespace = 13,
    /// Memory and environment are closed to processes of the same uid.
    NotDumpable = 14,
    /// No descriptor is inherited.
    ClosedDescriptors = 15,
    /// macOS Seatbelt profile.
    Seatbelt = 16,
}

impl Layer {
    /// All of them.
    pub const ALL: [Self; 17] = [
        Self::UidSeparation,
        Self::KillByPidNamespace,
        Self::KillByLandlock,
        Self::KillByCgroup,
        Self::NoNewPrivileges,
        Self::NoCapabilities,
        Self::ResourceLimits,
        Self::LandlockFiles,
        Self::LandlockTcp,
        Self::LandlockScope,
        Self::Seccomp,
        Self::UserNamespace,
        Self::BoundedScratch,
        Self::IpcNamespace,
        Self::NotDumpable,
        Self::ClosedDescriptors,
        Self::Seatbelt,
    ];

    /// The word used for it in settings (`allow_weak`), in `status`, and in the documentation.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::UidSeparation => "uid-separation",
            Self::KillByPidNamespace => "kill-by-pid-namespace",
            Self::KillByLandlock => "kill-by-landlock",
            Self::KillByCgroup => "kill-by-cgroup",
            Self::NoNewPrivileges => "no-new-privileges",
            Self::NoCapabilities => "no-capabilities",
            Self::ResourceLimits => "resource-limits",
            Self::LandlockFiles => "landlock-files",
            Self::LandlockTcp => "landlock-tcp",
            Self::LandlockScope => "landlock-scope",
            Self::Seccomp => "seccomp",
            Self::UserNamespace => "user-namespace",
            Self::BoundedScratch => "bounded-scratch",
            Self::IpcNamespace => "ipc-namespace",
            Self::NotDumpable => "not-dumpable",
            Self::ClosedDescriptors => "closed-descriptors",
            Self::Seatbelt => "seatbelt",
        }
    }
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

/// How a job ended.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
pub struct Outcome {
    /// The verdict.
    pub end: End,
    /// Tokens, where Muse reported them.
    pub usage: Option<Usage>,
    /// What was redacted, by kind.
    pub redactions: List<Redaction, 64>,
    /// Bytes of the answer after the last `fresh`.
    pub output_bytes: u64,
    /// How long it took.
    pub timing: Timing,
    /// What it took to end the processes.
    pub ended_by: EndedBy,
}

/// The verdict on a job.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
pub enum End {
    /// A completed terminal record and exit status 0.
    Completed,
    /// Anything else that was not asked for. `sentence`: for the caller, free of paths and secrets.
    Failed { kind: FailureKind, sentence: Text<512> },
    /// Somebody asked for it.
    Cancelled { reason: CancelReason },
}

/// Categories of failure, for programs; the sentence beside it is for people.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Encode, Decode)]
pub enum FailureKind {
    /// The agent has no credential for its model.
    CredentialMissing,
    /// The model's provider refuses the agent's credential.
    CredentialRejected,
    /// Quota used up, or a billing problem.
    Quota,
    /// The provider's rate limit, after retries.
    ProviderRateLimit,
    /// The model does not exist, or not for this account.
    ModelUnknown,
    /// The step limit was reached.
    StepLimit,
    /// No first line in time.
    TimedOutFirstLine,
    /// Nothing was said for too long.
    TimedOutIdle,
    /// The wall clock.
    TimedOutWall,
    /// The provider was asked again too often.
    TimedOutRetries,
    /// The answer was larger than the limit.
    OutputTooLarge,
    /// The process could not be started.
    CouldNotStart,
    /// What Muse needs around it (its own sandbox, a tool) is missing.
    Environment,
    /// Ended by a signal that we did not send.
    Killed,
    /// Ended with another status, or without a terminal record.
    Crashed,
    /// The answer does not satisfy the declared schema.
    SchemaViolation,
    /// Muse reported a failure of no known category.
    Other,
}

/// Tokens of a job, all models together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub struct Usage {
    /// Calls of a model.
    pub calls: u32,
    /// Tokens in, cached ones included.
    pub input_tokens: u64,
    /// Of these, cached.
    pub cached_tokens: u64,
    /// Tokens out.
    pub output_tokens: u64,
    /// Of these, reasoning.
    pub reasoning_tokens: u64,
}

/// So many texts of one kind were redacted.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Redaction {
    /// Kind, as in the marker `[redacted:kind]`.
    pub kind: Label,
    /// How many.
    pub count: u32,
}

/// How long a job took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub struct Timing {
    /// Until its first line, milliseconds; 0 when there was none.
    pub first_line_ms: u64,
    /// By the clock on the wall, milliseconds.
    pub wall_ms: u64,
    /// While the machine was awake, milliseconds.
    pub awake_ms: u64,
}

/// What it took to end a job's processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Encode, Decode)]
pub enum EndedBy {
    /// They ended by themselves, the whole tree.
    Itself,
    /// Muse ended by itself; what it left behind was killed.
    Leftovers,
    /// SIGTERM was enough.
    Term,
    /// SIGKILL for the whole tree.
    Kill,
    /// There was no process.
    NotStarted,
    /// The tree could not be proven dead. The worker takes no job until it is.
    Doubt,
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
