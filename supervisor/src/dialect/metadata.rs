//! What every Task says about its answer, the same in all editions: the object `metadata.musegate`. It tells a client
//! that nobody's open session is speaking, what the job cost, and what was taken out of its texts on the way.

use super::json::Out;
use crate::a2a::{Metadata, Progress};

/// What an answer is, and what it is not.
pub(crate) const ABOUT: &str = "The answer is the product of a fresh headless run that this agent started for this \
    message alone. It is not the word of a session that somebody has open, and no person has seen it.";

/// The member `metadata` of a Task.
pub(super) fn of_task(out: &mut Out<'_>, metadata: &Metadata) {
    out.object_in("metadata", |out| out.object_in("musegate", |out| members(out, metadata)));
}

fn members(out: &mut Out<'_>, metadata: &Metadata) {
    out.string_in("about", ABOUT);
    out.string_in("trace", &metadata.trace);
    out.some_string_in("failure", metadata.failure);
    out.some_string_in("model", metadata.model.as_deref());
    if let Some(usage) = &metadata.usage {
        out.object_in("usage", |out| {
            out.number_in("calls", usage.calls);
            out.number_in("inputTokens", usage.input_tokens);
            out.number_in("cachedTokens", usage.cached_tokens);
            out.number_in("outputTokens", usage.output_tokens);
            out.number_in("reasoningTokens", usage.reasoning_tokens);
        });
    }
    if let Some(timing) = &metadata.timing {
        out.object_in("timing", |out| {
            out.number_in("firstLineMs", timing.first_line_ms);
            out.number_in("wallMs", timing.wall_ms);
            out.number_in("awakeMs", timing.awake_ms);
        });
    }
    counts(out, "redactions", metadata.redactions.iter().map(|(kind, count)| (kind.as_str(), *count)));
    counts(out, "sanitized", metadata.sanitized.iter().map(|(class, count)| (*class, *count)));
    if let Some(seconds) = metadata.retry_after {
        out.number_in("retryAfterSeconds", seconds);
    }
    if metadata.truncated {
        out.bool_in("truncated", true);
    }
}

fn counts<'m>(out: &mut Out<'_>, name: &str, counts: impl Iterator<Item = (&'m str, u32)>) {
    let mut counts = counts.peekable();
    if counts.peek().is_some() {
        out.object_in(name, |out| {
            for (key, count) in counts {
                out.key(key);
                out.number(count);
            }
        });
    }
}

/// The member `metadata` of a status event: what the job is doing, for programs.
pub(super) fn of_progress(out: &mut Out<'_>, progress: Option<&Progress>) {
    if let Some(progress) = progress {
        out.object_in("metadata", |out| {
            out.object_in("musegate", |out| out.object_in("progress", |out| step(out, progress)));
        });
    }
}

fn step(out: &mut Out<'_>, progress: &Progress) {
    match progress {
        Progress::Started => out.string_in("event", "started"),
        Progress::Model { id } => {
            out.string_in("event", "model");
            out.string_in("model", id);
        }
        Progress::ToolStarted { name } => {
            out.string_in("event", "tool-started");
            out.string_in("tool", name);
        }
        Progress::ToolEnded { name, ok } => {
            out.string_in("event", "tool-ended");
            out.string_in("tool", name);
            out.bool_in("ok", *ok);
        }
        Progress::Retry { attempt, of, http_status, kind } => {
            out.string_in("event", "retry");
            out.number_in("attempt", *attempt);
            out.number_in("of", *of);
            if *http_status != 0 {
                out.number_in("httpStatus", *http_status);
            }
            out.string_in("kind", kind);
        }
        Progress::Slept { seconds } => {
            out.string_in("event", "slept");
            out.number_in("seconds", *seconds);
        }
    }
}
