//! How a job ended: the verdict, what it used, how long it took, and what it took to end its processes.

use super::CancelReason;
use crate::bounded::{Label, List, Text};
use bincode::{Decode, Encode};

/// How a job ended.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
pub struct Outcome {
    /// The verdict.
    pub end: End,
    /// Tokens, where Muse reported them.
    pub usage: Option<Usage>,
    /// What was redacted, by kind; and as `hidden-CLASS` what was hidden in the answer and is gone.
    pub redactions: List<Redaction, 64>,
    /// Bytes of the answer that were sent after the last `fresh`; must equal what was counted at the other end.
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
