//! What a line of `muse exec --json` says, as far as a job cares.
//!
//! Promises: a record, a kind or a field that is not known is no error, it is [`Event::Other`]; bytes that are not UTF-8
//! and lone surrogates become U+FFFD; a delta in the usual form is found without parsing the rest of its line, and
//! nothing is built of what nobody needs. Refuses to trust: the stream is hostile, so no value here is bounded or free
//! of secrets yet. Wire facts: the records as measured on Muse Code 0.2.1 to 1.4.14.

use super::jsonl::{Line, Lines};
use musegate_protocol::message::Usage;
use serde_json::value::RawValue;
use std::borrow::Cow;

mod shape;
mod text;
use shape::{Configured, Ended, Envelope, Lifecycle, Said, Step, Tool, Used};
pub(crate) use text::unescape;

/// What a line says.
#[derive(Debug, PartialEq)]
pub enum Event<'a> {
    /// More of the answer.
    Delta(Cow<'a, str>),
    /// The model that was asked for.
    Model(Cow<'a, str>),
    /// A step named `tool.NAME`, `model.…`, `reminder.…` is to run.
    Proposed { task: Cow<'a, str>, kind: Cow<'a, str> },
    /// The step's key; `tool:CALL` joins it with [`Event::ToolResult`].
    Scheduled { task: Cow<'a, str>, key: Cow<'a, str> },
    /// The step is over. Says nothing about the run.
    StepEnded { task: Cow<'a, str>, ok: bool },
    /// The provider was asked.
    Attempt(Attempt<'a>),
    /// A tool gave a result.
    ToolResult { call: Cow<'a, str>, name: Option<Cow<'a, str>>, ok: bool, environment: bool },
    /// Tokens so far.
    Usage(Usage),
    /// The run is over.
    Terminal(Terminal<'a>),
    /// A delta was too long to be read.
    DeltaLost,
    /// Anything else: a sign of life.
    Other,
}

/// One attempt to reach the model's provider.
#[derive(Debug, PartialEq)]
pub struct Attempt<'a> {
    /// Counted from 1.
    pub attempt: u64,
    /// Most that Muse will make.
    pub of: u64,
    /// `rate_limited`, `stream_succeeded`, …
    pub kind: Cow<'a, str>,
    /// 0: none.
    pub http_status: u64,
}

/// The last record of a run.
#[derive(Debug, PartialEq)]
pub struct Terminal<'a> {
    /// What became of it.
    pub verdict: Verdict,
    /// Why, where it failed.
    pub reason: Option<Cow<'a, str>>,
    /// The whole answer. `None`: absent, or too long to be read.
    pub text: Option<Cow<'a, str>>,
}

/// How Muse itself judges its run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Done.
    Completed,
    /// Cancelled, not necessarily by us.
    Cancelled,
    /// Failed, or a verdict that is not known.
    Failed,
}

/// Reads records from bytes.
#[derive(Debug)]
pub struct Reader {
    lines: Lines,
    /// The text of the present event, where it had to be rewritten.
    text: String,
    /// Lines that were skipped or made no sense, for the log.
    pub skipped: u64,
}

impl Reader {
    /// Lines of at most `max` bytes.
    #[must_use]
    pub fn new(max: usize) -> Self {
        Self { lines: Lines::new(max, |head| payload_type(head).is_none_or(wanted)), text: String::new(), skipped: 0 }
    }

    /// Where the next bytes go; then call [`Reader::filled`].
    pub fn room(&mut self) -> &mut [u8] {
        self.lines.room()
    }

    /// So many bytes came.
    pub fn filled(&mut self, count: usize) {
        self.lines.filled(count);
    }

    /// The next event. `None`: more bytes are needed.
    pub fn next_event(&mut self) -> Option<Event<'_>> {
        let line = self.lines.next_line()?;
        Some(read(line, &mut self.text, &mut self.skipped))
    }

    /// After the last byte: what a last line without an end says.
    pub fn last_event(&mut self) -> Option<Event<'_>> {
        let line = self.lines.last_line()?;
        Some(read(line, &mut self.text, &mut self.skipped))
    }
}

fn read<'a>(line: Line<'a>, text: &'a mut String, skipped: &mut u64) -> Event<'a> {
    let line = match line {
        Line::Whole(line) => line,
        Line::Cut(head) => return cut(head, skipped),
    };
    match payload_type(line) {
        Some(kind) if !wanted(kind) => return Event::Other,
        Some(b"run.output.delta") => {
            if let Some(raw) = text::usual_delta(line) {
                return Event::Delta(Cow::Borrowed(unescape(raw, text)));
            }
        }
        _ => {}
    }
    let utf8 = match std::str::from_utf8(line) {
        Ok(utf8) => utf8,
        Err(_) => {
            *text = String::from_utf8_lossy(line).into_owned();
            text
        }
    };
    parse(utf8).unwrap_or_else(|| {
        *skipped += 1;
        Event::Other
    })
}

/// What is known of a line from its beginning. The verdict stands in the record's type.
fn cut<'a>(head: &[u8], skipped: &mut u64) -> Event<'a> {
    *skipped += 1;
    match payload_type(head) {
        Some(b"run.output.delta") => Event::DeltaLost,
        Some(kind) if kind.starts_with(b"run.terminal.") => {
            let verdict = verdict(std::str::from_utf8(kind).unwrap_or_default());
            Event::Terminal(Terminal { verdict, reason: None, text: None })
        }
        _ => Event::Other,
    }
}

/// The record's type, found without parsing: inside a string the key's quotes would be escaped.
fn payload_type(line: &[u8]) -> Option<&[u8]> {
    let after = text::after(line, br#""payload_type":""#)?;
    after.get(..memchr::memchr(b'"', after)?)
}

fn wanted(kind: &[u8]) -> bool {
    matches!(
        kind,
        b"run.output.delta"
            | b"run.model.configured"
            | b"run.usage"
            | b"tool.result"
            | b"task.lifecycle.proposed"
            | b"task.lifecycle.scheduled"
            | b"task.lifecycle.status"
            | b"task.lifecycle.completed"
            | b"task.lifecycle.failed"
            | b"task.lifecycle.cancelled"
            | b"task.lifecycle.rejected"
    ) || kind.starts_with(b"run.terminal.")
}

fn verdict(kind: &str) -> Verdict {
    match kind.strip_prefix("run.terminal.").unwrap_or(kind) {
        "completed" => Verdict::Completed,
        "cancelled" | "canceled" => Verdict::Cancelled,
        _ => Verdict::Failed,
    }
}

/// The whole line by the parser. `None`: not a record.
fn parse(line: &str) -> Option<Event<'_>> {
    let Envelope { payload_type, payload } = serde_json::from_str(line).ok()?;
    let payload = payload.get();
    Some(match payload_type.as_ref() {
        "run.output.delta" => Event::Delta(string(serde_json::from_str::<Said<'_>>(payload).ok()?.text)?),
        "run.model.configured" => Event::Model(serde_json::from_str::<Configured<'_>>(payload).ok()?.model_id),
        "run.usage" => Event::Usage(usage(&serde_json::from_str(payload).ok()?)),
        "tool.result" => tool(serde_json::from_str(payload).ok()?),
        kind if kind.starts_with("run.terminal.") => terminal(kind, payload),
        kind => match kind.strip_prefix("task.lifecycle.") {
            Some(step) => lifecycle(step, serde_json::from_str::<Lifecycle<'_>>(payload).ok()?.event),
            None => Event::Other,
        },
    })
}

/// A string of JSON as text. `None`: another kind of value.
fn string(value: &RawValue) -> Option<Cow<'_, str>> {
    let raw = value.get().strip_prefix('"')?.strip_suffix('"')?;
    if memchr::memchr(b'\\', raw.as_bytes()).is_none() {
        return Some(Cow::Borrowed(raw));
    }
    let mut text = String::new();
    unescape(raw.as_bytes(), &mut text);
    Some(Cow::Owned(text))
}

fn terminal<'a>(kind: &str, payload: &'a str) -> Event<'a> {
    // A terminal record in an unknown form still ends the run, as its type says.
    let unknown = Ended { terminal: None, reason: None, text: None };
    let ended = serde_json::from_str(payload).unwrap_or(unknown);
    let verdict = match (verdict(kind), ended.terminal.as_deref().map(verdict)) {
        (Verdict::Completed, Some(said)) => said,
        (by_type, _) => by_type,
    };
    let text = ended.text.and_then(string);
    Event::Terminal(Terminal { verdict, reason: ended.reason, text })
}

fn lifecycle<'a>(step: &str, event: Step<'a>) -> Event<'a> {
    let task = event.task_id;
    match (step, event.task_kind, event.idempotency_key) {
        ("proposed", Some(kind), _) => Event::Proposed { task, kind },
        ("scheduled", _, Some(key)) => Event::Scheduled { task, key },
        ("completed", ..) => Event::StepEnded { task, ok: true },
        ("failed" | "cancelled" | "rejected", ..) => Event::StepEnded { task, ok: false },
        ("status", ..) => {
            let facets = event.details.map(|details| details.facets).unwrap_or_default();
            let attempt = facets.into_iter().find(|facet| facet.kind == "external_attempt").and_then(|facet| {
                Some(Attempt {
                    attempt: facet.attempt?,
                    of: facet.max_attempts.unwrap_or(0),
                    kind: facet.error_kind.unwrap_or_default(),
                    http_status: facet.http_status.unwrap_or(0),
                })
            });
            attempt.map_or(Event::Other, Event::Attempt)
        }
        _ => Event::Other,
    }
}

fn tool(tool: Tool<'_>) -> Event<'_> {
    let facts = tool.correlation_facts;
    // Without facts the call was refused before it ran.
    let ok = facts.as_ref().and_then(|facts| facts.outcome.as_deref()) == Some("success");
    let environment = tool.text.is_some_and(|text| text.get().starts_with("\"environment failure"));
    Event::ToolResult { call: tool.call_id, name: facts.and_then(|facts| facts.tool_name), ok, environment }
}

fn usage(used: &Used) -> Usage {
    let mut sum = Usage { calls: u32::try_from(used.calls).unwrap_or(u32::MAX), ..Usage::default() };
    for model in &used.models {
        sum.input_tokens = sum.input_tokens.saturating_add(model.input_tokens);
        sum.cached_tokens = sum.cached_tokens.saturating_add(model.cached_tokens);
        sum.output_tokens = sum.output_tokens.saturating_add(model.output_tokens);
        sum.reasoning_tokens = sum.reasoning_tokens.saturating_add(model.reasoning_tokens);
    }
    sum
}

#[cfg(test)]
mod tests;
