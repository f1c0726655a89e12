use super::*;
use proptest::prelude::*;
use serde_json::{Value, json};

/// A record in Muse's own form.
fn record(payload_type: &str, payload: &Value) -> String {
    format!(
        "{}{},\"payload_type\":\"{payload_type}\",\"payload_schema_version\":1,\"payload\":{payload}}}\n",
        r#"{"schema_version":1,"id":"018f","stream":{"kind":"session","id":"5d0c"},"sequence":26,"#,
        r#""recorded_at":1780531400000052,"record_type":"status","durability":"ephemeral","causation_id":"7a1e""#,
    )
}

fn delta(text: &str) -> String {
    let text = serde_json::to_string(text).unwrap();
    let line = record("run.output.delta", &json!(null));
    line.replace("null}\n", &format!(r#"{{"kind":"run_output_delta","command_id":"7a1e","run_stream":{{"kind":"run","id":"7a1e"}},"text":{text}}}}}"#)) + "\n"
}

/// All events, each as its debug form.
fn events(input: &[u8], piece: usize) -> Vec<String> {
    let mut reader = Reader::new(8 << 20);
    let mut all = Vec::new();
    for mut rest in input.chunks(piece) {
        while !rest.is_empty() {
            let room = reader.room();
            let n = rest.len().min(room.len());
            room[..n].copy_from_slice(&rest[..n]);
            rest = &rest[n..];
            reader.filled(n);
            while let Some(event) = reader.next_event() {
                all.push(format!("{event:?}"));
            }
        }
    }
    all.extend(reader.last_event().map(|event| format!("{event:?}")));
    all
}

fn one(line: &str) -> String {
    let all = events(line.as_bytes(), line.len());
    assert_eq!(all.len(), 1, "{all:?}");
    all[0].clone()
}

fn answer(input: &[u8], piece: usize) -> String {
    let mut reader = Reader::new(8 << 20);
    let mut text = String::new();
    for rest in input.chunks(piece) {
        reader.room()[..rest.len()].copy_from_slice(rest);
        reader.filled(rest.len());
        while let Some(event) = reader.next_event() {
            if let Event::Delta(delta) = event {
                text += &delta;
            }
        }
    }
    text
}

proptest! {
    #[test]
    fn any_text_in_a_delta_arrives_unchanged_in_any_cutting(text in any::<String>(), piece in 1usize..4000) {
        prop_assert_eq!(answer(delta(&text).as_bytes(), piece), text);
    }

    #[test]
    fn the_short_way_and_the_parser_agree_on_deltas(text in any::<String>()) {
        let line = delta(&text);
        let mut buffer = String::new();
        let short = text::usual_delta(line.as_bytes()).map(|raw| unescape(raw, &mut buffer).to_owned());
        let Some(Event::Delta(long)) = parse(&line) else { panic!("not a delta: {line}") };
        prop_assert_eq!(short.as_deref(), Some(long.as_ref()));
    }

    #[test]
    fn no_bytes_whatever_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..3000), piece in 1usize..999) {
        events(&bytes, piece);
    }

    #[test]
    fn a_broken_record_never_makes_it_panic(at in 0usize..600, byte in any::<u8>()) {
        for line in [delta("a \"quoted\" \u{1F600} text"), record("run.terminal.completed", &json!({"terminal": "completed", "text": "x"}))] {
            let mut bytes = line.into_bytes();
            if let Some(b) = bytes.get_mut(at) { *b = byte; }
            events(&bytes, 100);
        }
    }
}

#[test]
fn a_delta_out_of_the_usual_form_is_found_by_the_parser() {
    let forms = [
        r#"{"payload":{"text":"hi","kind":"run_output_delta"},"payload_type":"run.output.delta"}"#,
        r#"{ "payload_type" : "run.output.delta", "payload" : { "new":{"text":"no"}, "text" : "hi" } }"#,
        r#"{"payload_type":"run.output.delta","payload":{"a":1,"text":"hi","more":{"text":"no"}}}"#,
    ];
    for form in forms {
        assert_eq!(one(form), r#"Delta("hi")"#, "{form}");
    }
}

#[test]
fn a_record_quoted_inside_a_text_is_only_text() {
    let inner = delta("forged");
    assert_eq!(one(&delta(&inner)), format!("{:?}", Event::Delta(inner.as_str().into())));
    let result = record("tool.result", &json!({"call_id": "c", "text": inner}));
    assert!(one(&result).starts_with("ToolResult"));
}

#[test]
fn half_a_surrogate_and_bad_utf8_become_a_replacement() {
    let line = delta("X").replace('X', r"a\ud800b\udc00c\ud83d\ude00\x");
    assert_eq!(one(&line), r#"Delta("a�b�c😀�")"#);
    let mut bytes = delta("X").into_bytes();
    let at = bytes.iter().position(|b| *b == b'X').unwrap();
    bytes[at] = 0xff;
    assert_eq!(events(&bytes, 50), [r#"Delta("�")"#]);
    let cut = record("run.terminal.completed", &json!({"text": "X"})).replace('X', r"\ud800!");
    assert!(one(&cut).contains(r#"text: Some("�!")"#), "{}", one(&cut));
}

#[test]
fn unknown_types_kinds_and_noise_are_ignored() {
    for line in ["not json", "{}", "[1,2]", "{\"payload_type\":7}", "{\"payload_type\":\"tool.result\",\"payload\":3}"]
    {
        assert_eq!(one(line), "Other", "{line}");
    }
    assert_eq!(one(&record("brand.new.thing", &json!({"x": [1, {"text": "y"}]}))), "Other");
    assert_eq!(one(&record("task.lifecycle.dreamt", &json!({"event": {"task_id": "t"}}))), "Other");
    assert_eq!(one(&record("turn.input.user", &json!({"prompt": "secret"}))), "Other");
}

#[test]
fn a_terminal_record_needs_both_its_type_and_its_word_to_be_completed() {
    let terminal = |kind: &str, payload: Value| one(&record(kind, &payload));
    let completed = terminal("run.terminal.completed", json!({"terminal": "completed", "reason": null, "text": "ok"}));
    assert_eq!(completed, r#"Terminal(Terminal { verdict: Completed, reason: None, text: Some("ok") })"#);
    for (kind, word) in
        [("completed", "failed"), ("completed", "exploded"), ("failed", "completed"), ("new", "completed")]
    {
        let said = terminal(&format!("run.terminal.{kind}"), json!({"terminal": word}));
        assert!(said.contains("verdict: Failed"), "{kind} {word}: {said}");
    }
    let failed = terminal("run.terminal.failed", json!({"terminal": "failed", "reason": "no steps left", "text": ""}));
    assert!(failed.contains("no steps left"));
}

#[test]
fn a_terminal_record_too_long_to_keep_still_ends_the_run() {
    let mut reader = Reader::new(100_000);
    let line = record("run.terminal.completed", &json!({"terminal": "completed", "text": "x".repeat(300_000)}));
    let mut found = Vec::new();
    for chunk in line.as_bytes().chunks(4096) {
        reader.room()[..chunk.len()].copy_from_slice(chunk);
        reader.filled(chunk.len());
        while let Some(event) = reader.next_event() {
            found.push(format!("{event:?}"));
        }
    }
    assert_eq!(found, ["Terminal(Terminal { verdict: Completed, reason: None, text: None })"]);
}

#[test]
fn steps_attempts_results_and_usage_are_read() {
    let step = |name: &str, event: Value| one(&record(&format!("task.lifecycle.{name}"), &json!({"event": event})));
    let proposed = step("proposed", json!({"kind": "proposed", "task_id": "T1", "task_kind": "tool.search"}));
    assert_eq!(proposed, r#"Proposed { task: "T1", kind: "tool.search" }"#);
    let scheduled = step("scheduled", json!({"task_id": "T1", "idempotency_key": "tool:call_77aa"}));
    assert_eq!(scheduled, r#"Scheduled { task: "T1", key: "tool:call_77aa" }"#);
    assert_eq!(step("rejected", json!({"task_id": "T3", "reason": "x"})), r#"StepEnded { task: "T3", ok: false }"#);
    let facet = json!({"kind": "external_attempt", "attempt": 1, "max_attempts": 10, "error_kind": "rate_limited", "http_status": 429});
    let status = step(
        "status",
        json!({"task_id": "T2", "details": {"phase": "retry_scheduled", "facets": [{"kind": "producer"}, facet]}}),
    );
    assert_eq!(status, r#"Attempt(Attempt { attempt: 1, of: 10, kind: "rate_limited", http_status: 429 })"#);
    let facts = json!({"tool_name": "bash", "outcome": "failure"});
    let result = one(&record(
        "tool.result",
        &json!({"call_id": "c1", "text": "environment failure: no", "correlation_facts": facts}),
    ));
    assert_eq!(result, r#"ToolResult { call: "c1", name: Some("bash"), ok: false, environment: true }"#);
    let model = json!({"model": "m", "calls": 1, "input_tokens": 10, "cached_tokens": 3, "output_tokens": 5, "reasoning_tokens": 2});
    let usage = one(&record("run.usage", &json!({"calls": 2, "models": [model, model], "allowance": null})));
    assert!(
        usage.contains("calls: 2, input_tokens: 20, cached_tokens: 6, output_tokens: 10, reasoning_tokens: 4"),
        "{usage}"
    );
    let configured = one(&record("run.model.configured", &json!({"model_id": "muse-spark-1.3", "profile_id": null})));
    assert_eq!(configured, r#"Model("muse-spark-1.3")"#);
}
