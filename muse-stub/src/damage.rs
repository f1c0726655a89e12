//! Output that no reader expects.

use crate::play::{Flow, Run};
use crate::script::{How, Step};

/// A prefix that makes a line a record, up to its payload type.
const BEGIN: &str = "{\"schema_version\":1,\"id\":\"018f0000-0000-7000-8000-000000000001\",\"stream\":{\"kind\":\"session\",\
     \"id\":\"5d0c1a52-0000-4c3b-8a77-000000000000\"},\"sequence\":9,\"recorded_at\":1780531400000002,\
     \"record_type\":\"event\",\"durability\":\"durable\",\"causation_id\":\"7a1e0b34\",\"payload_schema_version\":1,";

const MALFORMED: &[&str] = &[
    "this line is no JSON",
    "{\"schema_version\":1,",
    "{}",
    "[]",
    "null",
    "0",
    "\"run.terminal.completed\"",
    "{\"payload_type\":\"run.output.delta\"}",
    "{\"payload_type\":\"run.output.delta\",\"payload\":7}",
    "{\"payload\":{\"text\":\"nobody\"}}",
    "{\"payload_type\":\"run.output.delta\",\"payload\":{\"text\":\"\\ud800 half a pair\"}}",
    "{\"payload_type\":\"run.output.delta\",\"payload\":{\"text\":\"a\"}} trailing",
    "{'payload_type':'run.output.delta'}",
    "\u{feff}{\"payload_type\":\"run.output.delta\",\"payload\":{\"text\":\"after a mark\"}}",
];

const UNKNOWN_KINDS: &[&str] = &[
    "\"payload_type\":\"session.status.changed\",\"payload\":{\"kind\":\"x\"}}",
    "\"payload_type\":\"run.lifecycle.paused\",\"payload\":{\"kind\":\"y\",\"why\":{}}}",
    "\"payload_type\":\"task.lifecycle.considered\",\"payload\":{\"kind\":\"task_lifecycle\",\"task_id\":\"T\",\"event\":{\"kind\":\"considered\"}}}",
    "\"payload_type\":\"task.lifecycle.proposed\",\"payload\":{\"kind\":\"task_lifecycle\",\"task_id\":\"T\",\"event\":{\"kind\":\"proposed\",\"task_id\":\"T\",\"task_kind\":\"dream.deep\"}}}",
    "\"payload_type\":\"task.lifecycle.status\",\"payload\":{\"kind\":\"task_lifecycle\",\"task_id\":\"T\",\"event\":{\"kind\":\"status\",\"message\":\"m\",\"details\":{\"phase\":\"p\",\"facets\":[{\"kind\":\"mood\"}]}}}}",
];

const NULLS: &[&str] = &[
    "\"payload_type\":\"run.output.delta\",\"payload\":{\"kind\":\"run_output_delta\",\"text\":null}}",
    "\"payload_type\":\"run.output.delta\",\"payload\":{\"kind\":\"run_output_delta\",\"text\":5}}",
    "\"payload_type\":\"run.output.delta\",\"payload\":null}",
    "\"payload_type\":null,\"payload\":{}}",
    "\"payload_type\":\"tool.result\",\"payload\":{\"kind\":\"tool_result\",\"call_id\":null,\"text\":null,\"correlation_facts\":null}}",
    "\"payload_type\":\"run.usage\",\"payload\":{\"kind\":\"run_usage\",\"calls\":-1,\"models\":null,\"allowance\":[]}}",
    "\"payload_type\":\"run.usage\",\"payload\":{\"kind\":\"run_usage\",\"models\":[{\"model\":null,\"input_tokens\":1e400}]}}",
    "\"payload_type\":\"task.lifecycle.started\",\"payload\":{\"kind\":\"task_lifecycle\",\"event\":null}}",
];

pub(crate) fn knows(name: &str) -> bool {
    matches!(
        name,
        "raw"
            | "malformed"
            | "blank"
            | "partial"
            | "long"
            | "deep"
            | "unknown-record"
            | "unknown-kind"
            | "nulls"
            | "invalid-utf8"
            | "split-utf8"
    )
}

pub(crate) fn perform(run: &mut Run<'_>, step: &Step, how: &How) -> Flow {
    let size = usize::try_from(step.number()).unwrap_or_default();
    match step.name.as_str() {
        "raw" => line(run, &step.value),
        "malformed" => MALFORMED.iter().for_each(|text| line(run, text)),
        "blank" => run.wire.out().text("\n\n  \n\r\n"),
        "long" => long(run, size),
        "deep" => {
            let (open, close) = ("[".repeat(size), "]".repeat(size));
            line(run, &format!("{BEGIN}\"payload_type\":\"session.nested\",\"payload\":{{\"list\":{open}{close}}}}}"));
        }
        "unknown-record" => run.wire.unknown("session.weather.observed"),
        "unknown-kind" => UNKNOWN_KINDS.iter().for_each(|rest| line(run, &format!("{BEGIN}{rest}"))),
        "nulls" => NULLS.iter().for_each(|rest| line(run, &format!("{BEGIN}{rest}"))),
        "invalid-utf8" => {
            run.wire.raw_delta(&|b| b.extend_from_slice(b"before \xff\xfe\xc0\x80\xed\xa0\x80\xf4\x90\x80\x80 after"));
        }
        "split-utf8" => split(run, &step.value, how),
        _ => {
            run.wire.out().text("{\"schema_version\":1,\"id\":\"018f00");
            return Flow::Exit(0);
        }
    }
    Flow::On
}

fn line(run: &mut Run<'_>, text: &str) {
    run.wire.out().text(text);
    run.wire.out().text("\n");
}

/// A tool's result of many bytes: no build bounds it.
fn long(run: &mut Run<'_>, size: usize) {
    run.wire.tool_result("call_long", "bash", "", None);
    let out = run.wire.out();
    out.text(BEGIN);
    out.text(
        "\"payload_type\":\"tool.result\",\"payload\":{\"kind\":\"tool_result\",\"call_id\":\"call_long\",\"text\":\"",
    );
    let block = "0123456789abcdef".repeat(256);
    let mut left = size;
    while left > 0 {
        let count = left.min(block.len());
        out.text(block.get(..count).unwrap_or_default());
        left -= count;
    }
    out.text("\"}}\n");
}

/// One byte per write, so that no reader gets a character whole.
fn split(run: &mut Run<'_>, text: &str, how: &How) {
    run.wire.out().flush();
    run.say(text);
    let record = std::mem::take(run.wire.out().buffer());
    for byte in record {
        run.wire.out().buffer().push(byte);
        run.wire.out().flush();
        crate::clock::nap(how.gap);
    }
}
