//! The records of `muse exec --json`.
//!
//! Promises: what is written here parses with the typed records of the public crate `muse-codes`; sequence numbers
//! rise per stream; like the real program's, record ids repeat from run to run and `recorded_at` is no clock.

use crate::output::Output;
use std::io::Write;

const FIRST_RECORD: u64 = 0xc351;
const FIRST_MICROSECOND: u64 = 1_780_531_400_000_000;

/// Writer of one run's records. Without `--json` it writes the answer as plain text.
pub(crate) struct Wire<'a> {
    out: &'a mut Output,
    json: bool,
    session: String,
    run: String,
    sequence: u64,
    count: u64,
}

/// Which stream and how durable: `record_type`, `durability`.
#[derive(Clone, Copy)]
enum Class {
    Reconciliation,
    Event,
    Status,
}

/// Tokens of a run.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Usage {
    pub(crate) calls: u64,
    pub(crate) input: u64,
    pub(crate) output: u64,
}

/// One try of the provider that failed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Retry {
    pub(crate) attempt: u64,
    pub(crate) of: u64,
    pub(crate) http: u64,
    pub(crate) wait_millis: u64,
}

/// An end of a task as `task.lifecycle.*`.
#[derive(Clone, Copy, Debug)]
pub(crate) enum TaskEnd<'t> {
    Completed,
    Failed(&'t str),
    Rejected(&'t str),
    Cancelled(&'t str),
}

impl<'a> Wire<'a> {
    pub(crate) fn new(out: &'a mut Output, json: bool, session: Option<&str>) -> Self {
        let seed = crate::clock::monotonic() ^ u64::from(std::process::id()) << 40;
        Self {
            out,
            json,
            session: session.map_or_else(|| id("5d0c1a52", seed), str::to_owned),
            run: id("7a1e0b34", seed),
            sequence: 0,
            count: 0,
        }
    }

    pub(crate) fn out(&mut self) -> &mut Output {
        self.out
    }

    fn record(&mut self, class: Class, payload_type: &str, kind: &str, body: &dyn Fn(&mut Vec<u8>)) {
        self.sequence += 1;
        let at = self.sequence;
        self.on_stream("session", at, class, payload_type, kind, body);
    }

    fn on_stream(
        &mut self,
        stream: &str,
        sequence: u64,
        class: Class,
        payload_type: &str,
        kind: &str,
        body: &dyn Fn(&mut Vec<u8>),
    ) {
        if !self.json {
            return;
        }
        let number = FIRST_RECORD + self.count;
        self.count += 1;
        let time = FIRST_MICROSECOND + 2 * self.count;
        let (record, durability) = match class {
            Class::Reconciliation => ("reconciliation", "durable"),
            Class::Event => ("event", "durable"),
            Class::Status => ("status", "ephemeral"),
        };
        let (session, run) = (&self.session, &self.run);
        let buffer = self.out.buffer();
        let _ = write!(
            buffer,
            "{{\"schema_version\":1,\"id\":\"018f0000-0000-7000-8000-{number:012x}\",\"stream\":{{\"kind\":\"{stream}\",\
             \"id\":\"{session}\"}},\"sequence\":{sequence},\"recorded_at\":{time},\"record_type\":\"{record}\",\
             \"durability\":\"{durability}\",\"causation_id\":\"{run}\",\"payload_type\":\"{payload_type}\",\
             \"payload_schema_version\":1,\"payload\":{{\"kind\":\"{kind}\",\"command_id\":\"{run}\""
        );
        if !matches!(class, Class::Reconciliation) {
            let _ = write!(buffer, ",\"run_stream\":{{\"kind\":\"run\",\"id\":\"{run}\"}}");
        }
        body(buffer);
        buffer.extend_from_slice(b"}}\n");
    }

    /// `runtime.command.accepted` and `session.run.linked`.
    pub(crate) fn begin(&mut self) {
        self.record(Class::Reconciliation, "runtime.command.accepted", "command_accepted", &|b| {
            b.extend_from_slice(b",\"command_kind\":\"turn.submit\",\"client_id\":null");
        });
        self.record(Class::Event, "session.run.linked", "session_run_linked", &|_| {});
    }

    /// The rest of a run's head: model, and the prompt, twice, as the real program repeats it.
    pub(crate) fn head(&mut self, model: Option<&str>, prompt: &str) {
        if let Some(model) = model {
            self.record(Class::Event, "run.model.configured", "run_model_configured", &|b| {
                b.extend_from_slice(b",\"provider_id\":\"meta\",\"profile_id\":null");
                field(b, "model_id", model);
                field(b, "display_label", model);
                field(b, "source", "startup");
            });
        }
        self.record(Class::Status, "turn.input.user", "turn_input_user", &|b| field(b, "prompt", prompt));
        self.record(Class::Event, "run.lifecycle.started", "run_started", &|b| field(b, "prompt", prompt));
    }

    /// `run.output.delta`.
    pub(crate) fn delta(&mut self, text: &str) {
        if !self.json {
            self.out.text(text);
            return;
        }
        self.record(Class::Status, "run.output.delta", "run_output_delta", &|b| field(b, "text", text));
    }

    /// A task is linked, proposed, accepted, scheduled, allowed and started.
    pub(crate) fn task_begins(&mut self, number: u64, name: &str, key: &str) {
        let task = task_id(number);
        self.record(Class::Event, "task.stream.linked", "task_stream_linked", &|b| linked(b, &task));
        self.task(&task, "proposed", &|b| field(b, "task_kind", name));
        self.task(&task, "accepted", &|_| {});
        self.task(&task, "scheduled", &|b| field(b, "idempotency_key", key));
        let policy = if name.starts_with("tool.") { "allow:policy" } else { "not_applicable" };
        self.task(&task, "side_effect_intent", &|b| {
            field(b, "idempotency_key", key);
            field(b, "operation", &name.replacen("tool.", "tool:", 1));
            field(b, "policy_decision", policy);
            b.extend_from_slice(b",\"parent_task_id\":null,\"cancellation_handle\":null");
        });
        self.task(&task, "started", &|_| {});
    }

    pub(crate) fn task_output(&mut self, number: u64, chunk: &str) {
        self.task(&task_id(number), "output", &|b| field(b, "chunk", chunk));
    }

    pub(crate) fn task_ends(&mut self, number: u64, end: TaskEnd<'_>) {
        let (kind, reason) = match end {
            TaskEnd::Completed => ("completed", None),
            TaskEnd::Failed(reason) => ("failed", Some(reason)),
            TaskEnd::Rejected(reason) => ("rejected", Some(reason)),
            TaskEnd::Cancelled(reason) => ("cancelled", Some(reason)),
        };
        self.task(&task_id(number), kind, &|b| {
            if let Some(reason) = reason {
                field(b, "reason", reason);
            }
        });
    }

    /// A `task.lifecycle.status` of the model's task, and the line on stderr that goes with it.
    pub(crate) fn retry(&mut self, task: u64, retry: Retry) {
        let Retry { attempt, of, http, wait_millis } = retry;
        let next = attempt + 1;
        let message = format!("retrying meta model stream in {wait_millis}ms (attempt {next}/{of})");
        let kind = match http {
            0 => "transport",
            401 | 403 => "authentication",
            402 => "billing_error",
            429 => "rate_limited",
            500.. => "server_error",
            _ => "invalid_request",
        };
        self.task(&task_id(task), "status", &|b| {
            field(b, "message", &message);
            b.extend_from_slice(
                b",\"details\":{\"phase\":\"retry_scheduled\",\"facets\":[{\"kind\":\"external_attempt\",",
            );
            let _ = write!(
                b,
                "\"system\":\"meta\",\"operation\":\"model.response\",\"attempt\":{attempt},\"max_attempts\":{of},\
                 \"error_kind\":\"{kind}\",\"http_status\":"
            );
            let _ = if http == 0 { write!(b, "null") } else { write!(b, "{http}") };
            b.extend_from_slice(b"}]}");
        });
        self.out.note(&format!("muse: {message}\n"));
    }

    fn task(&mut self, task: &str, event: &str, body: &dyn Fn(&mut Vec<u8>)) {
        self.record(Class::Event, &format!("task.lifecycle.{event}"), "task_lifecycle", &|b| {
            linked(b, task);
            let _ = write!(b, ",\"event\":{{\"kind\":\"{event}\"");
            field(b, "task_id", task);
            body(b);
            b.push(b'}');
        });
    }

    /// `tool.result`; without `outcome` as for a call that was refused before it ran.
    pub(crate) fn tool_result(&mut self, call: &str, tool: &str, text: &str, outcome: Option<&str>) {
        self.record(Class::Event, "tool.result", "tool_result", &|b| {
            field(b, "call_id", call);
            field(b, "text", text);
            if let Some(outcome) = outcome {
                b.extend_from_slice(b",\"correlation_facts\":{\"tool_name\":");
                string(b, tool);
                field(b, "outcome", outcome);
                b.push(b'}');
            }
        });
    }

    /// `run.usage`, on a stream of its own that counts from 1.
    pub(crate) fn usage(&mut self, model: Option<&str>, usage: Usage) {
        let Usage { calls, input, output } = usage;
        self.on_stream("exec.usage", 1, Class::Status, "run.usage", "run_usage", &|b| {
            let _ = write!(
                b,
                ",\"calls\":{calls},\"completed_calls\":{calls},\"failed_calls\":0,\"cancelled_calls\":0,\
                 \"children_included\":false,\"models\":[{{\"model\":"
            );
            match model {
                Some(model) => string(b, model),
                None => b.extend_from_slice(b"null"),
            }
            let _ = write!(
                b,
                ",\"calls\":{calls},\"input_tokens\":{input},\"cached_tokens\":0,\"output_tokens\":{output},\
                 \"reasoning_tokens\":0}}],\"allowance\":null"
            );
        });
    }

    /// `run.terminal.*`: the state as in the record's name, the reason, the whole answer.
    pub(crate) fn terminal(&mut self, state: &str, reason: Option<&str>, text: &str) {
        if !self.json {
            self.out.text("\n");
            return;
        }
        self.record(Class::Event, &format!("run.terminal.{state}"), "run_terminal", &|b| {
            field(b, "terminal", state);
            match reason {
                Some(reason) => field(b, "reason", reason),
                None => b.extend_from_slice(b",\"reason\":null"),
            }
            field(b, "text", text);
        });
    }

    /// A record of a type that no build has.
    pub(crate) fn unknown(&mut self, payload_type: &str) {
        self.record(Class::Event, payload_type, "not_known_yet", &|b| {
            b.extend_from_slice(b",\"text\":\"not for you\",\"list\":[1,{\"deep\":[null,true]}]");
        });
    }

    /// A delta record whose text is written by `body`, raw.
    pub(crate) fn raw_delta(&mut self, body: &dyn Fn(&mut Vec<u8>)) {
        self.record(Class::Status, "run.output.delta", "run_output_delta", &|b| {
            b.extend_from_slice(b",\"text\":\"");
            body(b);
            b.push(b'"');
        });
    }
}

fn id(first: &str, seed: u64) -> String {
    let [a, b, c, d, e, f, g, h] = seed.to_be_bytes();
    format!("{first}-{a:02x}{b:02x}-4c3b-8a77-{c:02x}{d:02x}{e:02x}{f:02x}{g:02x}{h:02x}")
}

fn task_id(number: u64) -> String {
    format!("2f9d7c61-0b13-4e6a-8d55-{number:012x}")
}

fn linked(buffer: &mut Vec<u8>, task: &str) {
    field(buffer, "task_id", task);
    buffer.extend_from_slice(b",\"task_stream\":{\"kind\":\"task\",\"id\":");
    string(buffer, task);
    buffer.push(b'}');
}

fn field(buffer: &mut Vec<u8>, name: &str, value: &str) {
    let _ = write!(buffer, ",\"{name}\":");
    string(buffer, value);
}

fn string(buffer: &mut Vec<u8>, value: &str) {
    let _ = serde_json::to_writer(buffer, value);
}
