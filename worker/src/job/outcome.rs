//! The verdict on a job, as a category for programs and a sentence for people.
//!
//! Promises: completed only by a completed terminal record *and* exit status 0; whatever we did ourselves (cancel, a
//! broken bound) comes before whatever the process says about it; a sentence says what a caller can do, has no path, no
//! address and no secret, and is at most 512 bytes. Refuses to pass on what Muse wrote, but for one cleaned line where
//! nothing better is known.

mod said;

use super::limits::Breach;
use crate::backend::records::Verdict;
use crate::process::Exit;
use crate::redact::Rules;
use musegate_protocol::bounded::Text;
use musegate_protocol::message::{CancelReason, End, FailureKind};
pub use said::{Complaints, clean};

/// Why we ended a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stopped {
    /// Somebody asked for it.
    Cancelled(CancelReason),
    /// A bound was broken.
    Breach(Breach),
}

/// All that is known of a job when its processes are gone.
#[derive(Debug)]
pub struct Facts<'a> {
    /// We ended it.
    pub stopped: Option<Stopped>,
    /// The terminal record, and its reason.
    pub terminal: Option<(Verdict, Option<String>)>,
    /// How the process ended.
    pub exit: Exit,
    /// A tool found its surroundings missing, and no tool worked afterwards.
    pub environment: bool,
    /// The whole answer does not fit its bound.
    pub too_large: bool,
    /// What it said on stderr.
    pub complaints: &'a Complaints,
    /// Most steps that it may take, for the sentence.
    pub max_steps: u32,
}

/// The verdict.
#[must_use]
pub fn judge(facts: &Facts<'_>, rules: &Rules) -> End {
    match &facts.stopped {
        Some(Stopped::Cancelled(reason)) => return End::Cancelled { reason: *reason },
        Some(Stopped::Breach(breach)) => return breached(breach),
        None => {}
    }
    if facts.too_large {
        return failed(
            FailureKind::OutputTooLarge,
            "The answer is larger than this agent may give. Ask for a shorter one.",
        );
    }
    match (&facts.terminal, facts.exit) {
        (Some((Verdict::Completed, _)), Exit::Code(0)) if facts.environment => environment(),
        (Some((Verdict::Completed, _)), Exit::Code(0)) => End::Completed,
        (Some((Verdict::Completed, _)), Exit::Code(status)) => failed(
            FailureKind::Crashed,
            &format!(
                "The agent said that it was done, then ended with status {status}. Its answer may be incomplete; try again."
            ),
        ),
        (_, Exit::Signal(signal)) => killed(signal),
        (_, Exit::Code(status @ (130 | 143))) => killed(status - 128),
        (Some((verdict, reason)), _) => reported(*verdict, reason.as_deref(), facts, rules),
        (None, Exit::Code(2)) => failed(
            FailureKind::CouldNotStart,
            "The agent's program does not understand how it was started. Its operator should check which version is installed.",
        ),
        (None, exit) => unreported(exit, facts, rules),
    }
}

/// The job could not be started. Why stands in the worker's log: it names paths.
#[must_use]
pub fn not_started() -> End {
    failed(
        FailureKind::CouldNotStart,
        "The agent's program could not be started. Its operator finds the reason in the worker's log.",
    )
}

fn failed(kind: FailureKind, sentence: &str) -> End {
    End::Failed { kind, sentence: Text::cut(sentence) }
}

fn breached(breach: &Breach) -> End {
    let (kind, sentence) = match breach {
        Breach::FirstLine => {
            (FailureKind::TimedOutFirstLine, "The agent's program started and said nothing in time. Try again later.")
        }
        Breach::Idle => (
            FailureKind::TimedOutIdle,
            "The agent said nothing for too long and was stopped. Try again, or ask for less at once.",
        ),
        Breach::Lingers => {
            (FailureKind::TimedOutIdle, "The agent said that it was done but did not end, and was stopped. Try again.")
        }
        Breach::Wall => {
            (FailureKind::TimedOutWall, "The job took longer than it may and was stopped. Ask for less at once.")
        }
        Breach::WallAsleep => (
            FailureKind::TimedOutWall,
            "The job took longer than it may, the machine's sleep included, and was stopped. Try again.",
        ),
        Breach::Output => {
            (FailureKind::OutputTooLarge, "The answer is larger than this agent may give. Ask for a shorter one.")
        }
        Breach::Stdout | Breach::Stderr => (
            FailureKind::OutputTooLarge,
            "The agent's program wrote far more than an answer needs and was stopped. Ask for less at once.",
        ),
        Breach::Retries { http_status } => return retries(*http_status),
    };
    failed(kind, sentence)
}

fn retries(http_status: u16) -> End {
    match http_status {
        401 | 403 => rejected(),
        402 => quota(),
        429 => rate_limit(),
        _ => failed(
            FailureKind::TimedOutRetries,
            "The model's provider did not answer, although it was asked several times. Try again later.",
        ),
    }
}

fn missing() -> End {
    failed(FailureKind::CredentialMissing, "This agent has no credential for its model. Its operator has to set one.")
}

fn rejected() -> End {
    failed(
        FailureKind::CredentialRejected,
        "The model's provider refuses this agent's credential. Its operator has to renew it.",
    )
}

fn quota() -> End {
    failed(
        FailureKind::Quota,
        "This agent's quota with its model's provider is used up, or its billing has a problem. Its operator has to look; try again later.",
    )
}

fn rate_limit() -> End {
    failed(
        FailureKind::ProviderRateLimit,
        "The model's provider limits this agent's rate at present. Try again in some minutes.",
    )
}

fn environment() -> End {
    failed(
        FailureKind::Environment,
        "A tool that the agent needed cannot work where it runs. Ask for something that needs no tool, or tell its operator.",
    )
}

fn killed(signal: i32) -> End {
    let what = match signal {
        9 => "was killed, most likely because the machine ran out of memory".to_owned(),
        6 | 4 | 5 | 7 | 8 | 11 => format!("crashed (signal {signal})"),
        24 | 25 => "used more of a resource than it may".to_owned(),
        _ => format!("was ended from outside (signal {signal})"),
    };
    failed(FailureKind::Killed, &format!("The agent's program {what}. Try again, or ask for less at once."))
}

/// Muse itself reports a failure.
fn reported(verdict: Verdict, reason: Option<&str>, facts: &Facts<'_>, rules: &Rules) -> End {
    if let Some(end) = reason.and_then(|reason| known(reason, facts)) {
        return end;
    }
    if let Some(end) = facts.complaints.all().find_map(|line| known(line, facts)) {
        return end;
    }
    let reason = reason.map(|reason| clean(reason, rules)).filter(|reason| !reason.is_empty());
    let sentence = match (verdict, reason) {
        (Verdict::Cancelled, _) => "The agent ended its own run before it was done. Try again.".to_owned(),
        (_, Some(reason)) => format!("The agent reports a failure: {reason}"),
        (_, None) => "The agent reports a failure and does not say which. Try again.".to_owned(),
    };
    failed(FailureKind::Other, &sentence)
}

/// It ended without a terminal record.
fn unreported(exit: Exit, facts: &Facts<'_>, rules: &Rules) -> End {
    if let Some(end) = facts.complaints.all().find_map(|line| known(line, facts)) {
        return end;
    }
    let how = match exit {
        Exit::Code(status) => format!("ended with status {status}"),
        _ => "ended".to_owned(),
    };
    let last = facts.complaints.last().map(|line| clean(line, rules)).filter(|line| !line.is_empty());
    let sentence = match last {
        Some(line) => format!("The agent's program {how} without an answer: {line}"),
        None => format!("The agent's program {how} without an answer. Try again."),
    };
    failed(FailureKind::Crashed, &sentence)
}

/// A failure whose wording is known. Wire facts: messages of Muse Code 1.0 to 1.4 and of its model's provider.
fn known(said: &str, facts: &Facts<'_>) -> Option<End> {
    let said = said.to_ascii_lowercase();
    let has = |words: &[&str]| words.iter().any(|word| said.contains(word));
    if has(&["missing meta credentials", "no credential", "not logged in", "muse login"]) {
        return Some(missing());
    }
    if has(&["authentication failed", "was rejected", "invalid api key", "api error 401", "api error 403", "http 401"])
    {
        return Some(rejected());
    }
    if has(&["billing_error", "api error 402", "insufficient_quota", "quota exceeded", "usage limit", "credit balance"])
    {
        return Some(quota());
    }
    if has(&["rate_limit", "rate limit", "api error 429", "too many requests"]) {
        return Some(rate_limit());
    }
    if has(&["does not exist or you lack access", "model_not_found", "unknown model"]) {
        let sentence = "The model that this agent is set to does not exist, or not for its account. Its operator has to choose another.";
        return Some(failed(FailureKind::ModelUnknown, sentence));
    }
    if has(&["did not reach a terminal state within"]) {
        let steps = facts.max_steps;
        let sentence =
            format!("The agent was not done after {steps} steps, the most it may take. Ask for less at once.");
        return Some(failed(FailureKind::StepLimit, &sentence));
    }
    if has(&["still exceeds the hard threshold", "context_length_exceeded", "maximum context"]) {
        let sentence = "The conversation is too long for the model. Begin a new one, or send less.";
        return Some(failed(FailureKind::Other, sentence));
    }
    if has(&["is required to be supplied", "invalid schema", "invalid_json_schema"]) {
        let sentence = "The model's provider does not accept the form that this skill's answer must have. Its operator has to change it.";
        return Some(failed(FailureKind::SchemaViolation, sentence));
    }
    if has(&["environment failure", "sandbox enforcement unavailable"]) {
        return Some(environment());
    }
    if has(&["transport error", "provider attempts", "api error 5"]) {
        return Some(retries(0));
    }
    None
}

#[cfg(test)]
mod tests;
