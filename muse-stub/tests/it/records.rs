//! What is written to stdout: typed where it is well formed, hostile where that is asked for.

use crate::job::{Done, Job};
use muse_codes::io::{MusePayload, MuseRecord, RunTerminal, StreamKind, TaskLifecycleEvent};
use std::collections::HashMap;

/// Parses every line with the typed records and checks what holds for every run of the real program.
fn typed(done: &Done, script: &str) -> (Vec<MusePayload>, RunTerminal) {
    let text = std::str::from_utf8(done.stdout()).unwrap();
    assert!(text.ends_with('\n'), "{script}");
    let mut last: HashMap<(StreamKind, String), u64> = HashMap::new();
    let mut payloads = Vec::new();
    for line in text.lines() {
        let record: MuseRecord = serde_json::from_str(line).unwrap_or_else(|e| panic!("{script}: {e}: {line}"));
        let before = last.insert((record.stream.kind, record.stream.id.clone()), record.sequence).unwrap_or(0);
        assert!(record.sequence > before, "{script}: sequence");
        let payload = record.typed_payload().unwrap_or_else(|e| panic!("{script}: {e}: {line}"));
        assert!(!matches!(payload, MusePayload::Unknown { .. }), "{script}: {line}");
        if let MusePayload::TaskLifecycle(task) = &payload {
            assert!(!matches!(task.event, TaskLifecycleEvent::Unknown(_)), "{script}: {line}");
        }
        payloads.push(payload);
    }
    assert!(matches!(payloads.first(), Some(MusePayload::CommandAccepted(_))), "{script}");
    let terminals = payloads.iter().filter(|payload| matches!(payload, MusePayload::RunTerminal(_))).count();
    let Some(MusePayload::RunTerminal(terminal)) = payloads.pop() else { panic!("{script}: no terminal at the end") };
    assert_eq!(terminals, 1, "{script}");
    (payloads, terminal)
}

fn deltas(payloads: &[MusePayload]) -> String {
    let text = |payload: &MusePayload| match payload {
        MusePayload::RunOutputDelta(delta) => Some(delta.text.clone()),
        _ => None,
    };
    payloads.iter().filter_map(text).collect()
}

#[test]
fn every_well_formed_run_parses_with_the_typed_records_of_the_public_crate() {
    let scripts = [
        "hello there",
        "@stub answer=\"é ü 漢字 🦀 \\\" \\\\ \\n \\u0001\" pieces=5",
        "@stub stream=20 bytes=100 gap=1",
        "@stub stream=3 ts=1",
        "@stub history",
        "@stub prompt",
        "@stub contract=input-required text=why?",
        "@stub tool=search answer=yes",
        "@stub tool-failed=bash tool-refused=bash tool-open=bash environment answer=yes",
        "@stub retries=3 http=429 answer=late",
        "@stub retries=3 http=0 answer=late",
        "@stub no-usage answer=x",
        "@stub fail=steps",
        "@stub answer=half fail=\"something new\"",
        "@stub cancelled",
        "@stub answer=x exit=1",
        "@stub leak=hunter2hunter2 place=tool answer=x",
        "@stub leak=hunter2hunter2 place=final",
        "@stub report",
        "@stub read=/nowhere list=.",
        "@stub out=report.txt text=content answer=done",
        "@stub fill=files count=3",
        "@stub litter answer=done",
        "@stub memory=1 burn=1 sleep=1 answer=x",
        "@fm events=3 bytes=10",
        "@fm ts=1 echo=1 events=2",
    ];
    for script in scripts {
        for job in [Job::of(script), Job::framed(script, serde_json::json!([]))] {
            let done = job.run();
            let (payloads, terminal) = typed(&done, script);
            let completed = terminal.terminal == "completed";
            let expected = if script.contains("exit=1") || !completed { 1 } else { 0 };
            assert_eq!(done.code(), Some(expected), "{script}: {}", done.stderr());
            if completed && !script.contains("place=final") {
                assert_eq!(Some(deltas(&payloads)), terminal.text, "{script}");
                assert_ne!(terminal.text.as_deref(), Some(""), "{script}");
            }
            assert_eq!(terminal.reason.is_some(), terminal.terminal == "failed", "{script}");
            let usage = payloads.iter().filter(|payload| matches!(payload, MusePayload::RunUsage(_))).count();
            assert_eq!(usage, usize::from(!script.contains("no-usage")), "{script}");
        }
    }
}

#[test]
fn every_word_of_the_help_is_known_and_every_known_way_to_fail_has_its_text_and_code() {
    let help = std::process::Command::new(crate::job::STUB).arg("--help").output().unwrap();
    let help = String::from_utf8(help.stdout).unwrap();
    let ways = help.split("Ways to fail\n").nth(1).unwrap();
    let names: Vec<_> = ways.lines().filter_map(|line| line.split_whitespace().next()).collect();
    assert!(names.len() >= 15, "{names:?}");
    for name in names {
        let done = Job::of(&format!("@stub fail={name}")).run();
        if ["no-credential", "bad-credential", "workspace", "settings", "mcp", "usage"].contains(&name) {
            assert_eq!((done.code(), done.stdout().len()), (Some(if name == "usage" { 2 } else { 1 }), 0), "{name}");
            assert!(!done.stderr().lines().last().unwrap().starts_with("muse:"), "{name}: the reason is the last line");
        } else {
            let (_, terminal) = typed(&done, name);
            assert_eq!(
                (done.code(), terminal.terminal.as_str(), terminal.text.as_deref()),
                (Some(1), "failed", Some(""))
            );
        }
    }
    let reason = |way: &str| Job::of(&format!("@stub fail={way}")).run().reason();
    for (way, part) in [
        ("billing", "API error 402"),
        ("billing", "(billing_error)"),
        ("rate-limit", "429"),
        ("model", "does not exist or you lack access"),
        ("steps", "did not reach a terminal state within"),
        ("context", "context compaction replacement still exceeds the hard threshold"),
        ("transport", "(after 10 provider attempts)"),
        ("schema", "'required' is required to be supplied"),
        ("\"anything else\"", "anything else"),
    ] {
        assert!(reason(way).contains(part), "{way}: {}", reason(way));
    }
}

#[test]
fn a_word_that_is_unknown_fails_the_run_and_is_named() {
    let done = Job::of("@stub anwser=x").run();
    assert_eq!((done.code(), done.reason()), (Some(1), "muse-stub: no such word: anwser".to_owned()));
}

#[test]
fn the_script_is_taken_from_the_newest_message_only_else_from_the_environment() {
    let turns =
        serde_json::json!([{"role": "caller", "text": "@stub fail=steps"}, {"role": "agent", "text": "@stub hang"}]);
    let done = Job::framed("what did I say?\n@stub history", turns.clone()).run();
    assert_eq!(done.answer(), "caller: @stub fail=steps\nagent: @stub hang\nnow: what did I say?\n@stub history");
    let job = Job::framed("no script", turns);
    assert!(job.run().answer().contains("2 earlier entries"));
    let output = job.command().env("MUSE_STUB", "answer=one\nanswer=two").output().unwrap();
    assert_eq!(Done(output).answer(), "onetwo");
}

#[test]
fn without_a_script_the_answer_quotes_the_message_in_a_few_deltas() {
    let done = Job::framed("Please tell me a joke", serde_json::json!([])).run();
    assert!(done.answer().contains("“Please tell me a joke”"), "{}", done.answer());
    let deltas = done.records().iter().filter(|record| record["payload_type"] == "run.output.delta").count();
    assert!((2..6).contains(&deltas), "{deltas}");
}

#[test]
fn damage_is_what_it_is_called_and_the_run_still_ends_well() {
    let run = |script: &str| {
        let done = Job::of(&format!("@stub {script} answer=after")).run();
        assert_eq!(done.code(), Some(0), "{script}: {}", done.stderr());
        assert_eq!(done.texts("run.terminal.completed").len(), 1, "{script}");
        done.0.stdout
    };
    let broken = |bytes: &[u8]| {
        let lines = bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
        lines.filter(|line| serde_json::from_slice::<MuseRecord>(line).is_err()).count()
    };
    let unknown = |bytes: &[u8]| {
        let records =
            bytes.split(|byte| *byte == b'\n').filter_map(|line| serde_json::from_slice::<MuseRecord>(line).ok());
        records.filter(|record| !matches!(record.typed_payload(), Ok(MusePayload::Unknown { .. }))).count()
    };
    let plain = run("");
    assert_eq!(broken(&plain), 0);
    assert!(broken(&run("malformed")) >= 12);
    assert!(broken(&run("blank")) >= 1);
    assert!(broken(&run("raw=\"not json\"")) == 1);
    assert!(broken(&run("invalid-utf8")) == 1 && std::str::from_utf8(&run("invalid-utf8")).is_err());
    assert_eq!(broken(&run("unknown-record")), 0);
    assert_eq!(unknown(&run("unknown-record")), unknown(&plain));
    assert_eq!(broken(&run("unknown-kind")), 0);
    assert!(broken(&run("nulls")) >= 1);
    assert!(broken(&run("deep=200")) >= 1);
    let long = run("long=3000000");
    assert!(long.split(|byte| *byte == b'\n').any(|line| line.len() > 3_000_000));
    assert_eq!(Done(Job::of("@stub split-utf8=\"é漢🦀\" gap=1").run().0).answer(), "é漢🦀");
}

#[test]
fn endings_are_what_they_are_called() {
    let run = |script: &str| Job::of(&format!("@stub answer=hello {script}")).run();
    let count = |done: &Done| done.texts("run.terminal.").len();
    for (script, terminals, code) in [
        ("no-terminal", 0, 0),
        ("partial", 0, 0),
        ("cancelled", 1, 1),
        ("unknown-terminal", 1, 0),
        ("terminal-twice", 2, 0),
        ("after-terminal", 1, 0),
        ("exit=1", 1, 1),
        ("exit=77", 1, 77),
        ("fail=steps exit=0", 1, 0),
    ] {
        let done = run(script);
        assert_eq!((count(&done), done.code()), (terminals, Some(code)), "{script}");
        assert!(done.said().starts_with("hello"), "{script}");
    }
    assert!(!run("partial").stdout().ends_with(b"\n"));
    assert!(!run("no-newline").stdout().ends_with(b"\n"));
    let differs = run("final=other");
    assert_eq!((differs.said().as_str(), differs.answer().as_str()), ("hello", "other"));
    let last = run("after-terminal").records().pop().unwrap();
    assert_eq!(last["payload_type"], "run.epilogue");
}

#[test]
fn secrets_are_cut_across_records_or_go_where_they_are_told() {
    let secret = "sk-test-0123456789abcdef";
    let leak = |rest: &str| Job::of(&format!("@stub leak={secret} {rest}")).run();
    let split = leak("pieces=5");
    assert_eq!(split.answer(), secret);
    assert!(split.texts("run.output.delta").iter().all(|piece| piece.len() < 6), "no piece is the whole");
    assert!(leak("place=stderr").stderr().contains(secret));
    assert!(leak("place=reason").reason().contains(secret));
    assert_eq!(leak("place=tool").texts("tool.result"), [secret]);
    let key = Job::of("@stub leak=key").arg("--api-key-stdin").stdin("sk-from-stdin\n").run();
    assert_eq!(key.answer(), "sk-from-stdin");
}

#[test]
fn bench_options_are_obeyed() {
    let done = Job::framed("@fm events=5 bytes=40 ts=1", serde_json::json!([])).run();
    let deltas = done.texts("run.output.delta");
    assert_eq!((deltas.len(), done.code(), done.stderr().as_str()), (5, Some(0), ""));
    let times: Vec<u64> =
        deltas.iter().map(|d| d.strip_prefix("t=").unwrap().split(' ').next().unwrap().parse().unwrap()).collect();
    assert!(times.is_sorted() && deltas.iter().all(|delta| delta.len() == 40));
    let done = Job::of("x @fm events=300 bytes=8192 exit=3 stderr=100\" more").run();
    assert_eq!((done.said().len(), done.answer().len(), done.stderr().len()), (300 * 8192, 0, 100));
    assert_eq!(done.code(), Some(3));
    let echo = Job::of("@fm echo=1").run().said();
    assert!(echo.starts_with("len=10 fnv="), "{echo}");
    assert!(Job::of("@fm noturn=1").run().texts("run.terminal.").is_empty());
    assert!(!Job::of("@fm partial=1").run().stdout().ends_with(b"\n"));
}
