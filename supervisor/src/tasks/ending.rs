//! How a turn ended, in the words of A2A: state, the sentence for the caller, the category for programs.
//!
//! Promises: every way in which a job can end has exactly one of the states, and every state but COMPLETED a sentence.
//! What the worker claims is believed only where it can be true. Refuses to know texts of answers.

use crate::a2a::TaskState;
use crate::audit::Verdict;
use crate::sanitize::outgoing;
use musegate_protocol::message::{CancelReason, End, FailureKind, RefuseReason};

/// The end of a turn.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Ending {
    pub(super) state: TaskState,
    /// For the caller. Empty when completed.
    pub(super) sentence: String,
    /// The category, for programs and the audit.
    pub(super) word: Option<&'static str>,
    /// Seconds after which it is worth trying again.
    pub(super) retry_after: Option<u32>,
}

impl Ending {
    fn new(state: TaskState, sentence: impl Into<String>, word: &'static str, retry_after: Option<u32>) -> Self {
        Self { state, sentence: sentence.into(), word: Some(word), retry_after }
    }

    pub(super) fn completed() -> Self {
        Self { state: TaskState::Completed, sentence: String::new(), word: None, retry_after: None }
    }

    /// The agent itself says that it asks back, declines or failed, in words of its own.
    pub(super) fn by_the_agent(state: TaskState) -> Self {
        let word = match state {
            TaskState::InputRequired => None,
            TaskState::Rejected => Some("declined"),
            _ => Some("agent-failed"),
        };
        Self { state, sentence: String::new(), word, retry_after: None }
    }

    /// The answer is not what the skill declares. Names of members stand in `what`, and are the model's.
    pub(super) fn schema_violation(what: &str) -> Self {
        let what: String = outgoing(what).chars().take(300).collect();
        let sentence = format!("the answer does not satisfy the schema that the skill declares: {what}");
        Self::new(TaskState::Failed, sentence, word(FailureKind::SchemaViolation), None)
    }

    /// The connection to the worker ended while the job ran.
    pub(super) fn lost() -> Self {
        let sentence =
            "worker restarted while this ran, and nothing of it goes on; send the message again as a new one";
        Self::new(TaskState::Failed, sentence, "worker-restarted", Some(2))
    }

    /// The worker went away before the job could be handed over.
    pub(super) fn away() -> Self {
        Self::new(TaskState::Rejected, "the worker is away; nothing was started", "worker-away", Some(2))
    }

    /// No slot in time.
    pub(super) fn busy(retry_after: u32) -> Self {
        let sentence = "the agent is busy and no turn came up in time; nothing was started";
        Self::new(TaskState::Rejected, sentence, "busy", Some(retry_after))
    }

    /// Nobody went on with a Task that waited for its client.
    pub(super) fn expired() -> Self {
        Self::new(TaskState::Failed, "nobody answered before the agent had to forget this task", "expired", None)
    }

    /// The worker did not start the job.
    pub(super) fn refused(reason: RefuseReason) -> Self {
        use TaskState::{Failed, Rejected};
        match reason {
            RefuseReason::Busy => Self::busy(5),
            RefuseReason::Draining => {
                Self::new(Rejected, "the worker is being restarted; nothing was started", "worker-draining", Some(5))
            }
            RefuseReason::Invalid => Self::new(Rejected, "the agent does not take this message", "invalid", None),
            RefuseReason::Weak => {
                let sentence = "the agent's machine cannot confine a job as its settings demand; its operator must act";
                Self::new(Failed, sentence, "confinement-weak", None)
            }
            RefuseReason::ContainmentDoubt => {
                let sentence = "an earlier job could not be ended for certain, so no new one is started";
                Self::new(Failed, sentence, "containment-doubt", Some(30))
            }
        }
    }

    /// The job is over. `asked`: the reason that we gave for ending it, if we did.
    pub(super) fn of(end: &End, asked: Option<CancelReason>) -> Self {
        match (end, asked) {
            (End::Completed, _) => Self::completed(),
            (End::Failed { kind, sentence }, _) => Self::failed(*kind, sentence),
            (End::Cancelled { .. }, Some(reason)) => Self::canceled(reason),
            (End::Cancelled { reason: CancelReason::WorkerStops | CancelReason::SupervisorLost }, None) => Self::lost(),
            (End::Cancelled { .. }, None) => {
                Self::new(TaskState::Failed, "the job was ended, and nobody had asked for it", "other", None)
            }
        }
    }

    /// It was ended on somebody's wish.
    pub(super) fn canceled(reason: CancelReason) -> Self {
        let (sentence, word) = match reason {
            CancelReason::Caller => ("canceled as asked", "caller"),
            CancelReason::CallerLeft => {
                ("canceled because its client left and did not come back within the grace", "caller-left")
            }
            CancelReason::Operator => ("canceled because the agent is being stopped", "operator"),
            CancelReason::WorkerStops | CancelReason::SupervisorLost => return Self::lost(),
        };
        Self::new(TaskState::Canceled, sentence, word, None)
    }

    fn failed(kind: FailureKind, sentence: &str) -> Self {
        let state = match kind {
            FailureKind::CredentialMissing | FailureKind::CredentialRejected => TaskState::AuthRequired,
            _ => TaskState::Failed,
        };
        let sentence = if sentence.trim().is_empty() { "the agent failed" } else { sentence };
        let retry_after = match kind {
            FailureKind::ProviderRateLimit => Some(60),
            FailureKind::Killed | FailureKind::Crashed => Some(5),
            _ => None,
        };
        Self::new(state, sentence, word(kind), retry_after)
    }

    /// What the audit says.
    pub(super) fn verdict(&self) -> Verdict {
        let word = self.word.unwrap_or("other");
        match self.state {
            TaskState::Completed => Verdict::Completed,
            TaskState::Canceled => Verdict::Canceled(word),
            TaskState::InputRequired => Verdict::InputRequired,
            TaskState::AuthRequired => Verdict::AuthRequired,
            TaskState::Rejected => Verdict::Rejected,
            _ => Verdict::Failed(word),
        }
    }
}

/// The category of a failure in metadata and audit.
pub(super) const fn word(kind: FailureKind) -> &'static str {
    match kind {
        FailureKind::CredentialMissing => "credential-missing",
        FailureKind::CredentialRejected => "credential-rejected",
        FailureKind::Quota => "quota",
        FailureKind::ProviderRateLimit => "provider-rate-limit",
        FailureKind::ModelUnknown => "model-unknown",
        FailureKind::StepLimit => "step-limit",
        FailureKind::TimedOutFirstLine => "timed-out-first-line",
        FailureKind::TimedOutIdle => "timed-out-idle",
        FailureKind::TimedOutWall => "timed-out-wall",
        FailureKind::TimedOutRetries => "timed-out-retries",
        FailureKind::OutputTooLarge => "output-too-large",
        FailureKind::CouldNotStart => "could-not-start",
        FailureKind::Environment => "environment",
        FailureKind::Killed => "killed",
        FailureKind::Crashed => "crashed",
        FailureKind::SchemaViolation => "schema-violation",
        FailureKind::Other => "other",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use musegate_protocol::Text;

    #[test]
    fn every_end_but_completed_has_a_sentence() {
        let reasons =
            [CancelReason::Caller, CancelReason::CallerLeft, CancelReason::Operator, CancelReason::WorkerStops];
        let refusals = [
            RefuseReason::Busy,
            RefuseReason::Draining,
            RefuseReason::Invalid,
            RefuseReason::Weak,
            RefuseReason::ContainmentDoubt,
        ];
        let empty = End::Failed { kind: FailureKind::Other, sentence: Text::cut("") };
        let mut all: Vec<Ending> = reasons.map(Ending::canceled).into();
        all.extend(refusals.map(Ending::refused));
        all.extend([Ending::lost(), Ending::away(), Ending::busy(1), Ending::expired(), Ending::of(&empty, None)]);
        for ending in all {
            assert!(!ending.sentence.is_empty() && ending.state != TaskState::Completed, "{ending:?}");
        }
    }

    #[test]
    fn a_cancel_that_nobody_asked_for_is_a_failure_and_no_cancel() {
        let claims = End::Cancelled { reason: CancelReason::Caller };
        assert_eq!(Ending::of(&claims, None).state, TaskState::Failed);
        assert_eq!(Ending::of(&claims, Some(CancelReason::CallerLeft)).word, Some("caller-left"));
    }

    #[test]
    fn a_missing_credential_waits_for_somebody_and_does_not_fail() {
        for kind in [FailureKind::CredentialMissing, FailureKind::CredentialRejected] {
            let ending = Ending::of(&End::Failed { kind, sentence: Text::cut("no key") }, None);
            assert_eq!((ending.state, &*ending.sentence), (TaskState::AuthRequired, "no key"));
        }
    }
}
