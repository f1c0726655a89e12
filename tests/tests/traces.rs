//! One id through both processes, their logs, the audit and the answer.
#![expect(clippy::expect_used, reason = "a test ends at what it does not expect")]

use musegate_tests::pair_bench::{Pair, Programs};
use musegate_tests::pair_programs;
use serde_json::{Value, json};

const PROGRAMS: Programs = pair_programs!();
const JSON: &str = "[log]\nformat = \"json\"\nlevel = \"debug\"\n";
const ID: &str = "4bf92f3577b34da6a3ce929d0e0e4736";

/// Lines of this process that were logged within this trace.
fn lines(pair: &Pair, process: &str, trace: &str) -> Vec<Value> {
    let log = pair.log();
    let json = log.lines().filter(|line| line.starts_with('{'));
    let lines = json.map(|line| serde_json::from_str::<Value>(line).expect("a line of JSON"));
    let of = |line: &Value| {
        let target = line.get("target").and_then(Value::as_str).unwrap_or_default();
        target.starts_with(process) && line.pointer("/span/trace") == Some(&json!(trace))
    };
    lines.filter(of).collect()
}

fn message(id: &str, text: &str) -> Value {
    json!({"message": {"messageId": id, "role": "ROLE_USER", "parts": [{"text": text}]}})
}

#[test]
fn one_trace_goes_through_both_processes_the_audit_and_the_answer() {
    let mut pair = Pair::start(PROGRAMS);
    pair.settings(JSON, JSON);
    let parent = format!("traceparent: 00-{ID}-00f067aa0ba902b7-01\r\n");
    let text = "@stub answer=\"a lantern at sea\"";
    let sent = pair.call_with("SendMessage", message("m-1", text), &parent).expect("an answer");
    assert_eq!(sent.state(), "COMPLETED", "{sent:?}");
    assert_eq!(sent.body.pointer("/result/task/metadata/musegate/trace"), Some(&json!(ID)));
    assert!(sent.head.contains(&format!("\r\ntraceresponse: 00-{ID}-")), "{}", sent.head);
    pair.until("both have logged it", || {
        !lines(&pair, "musegate_worker", ID).is_empty() && !lines(&pair, "musegate_supervisor", ID).is_empty()
    });
    for process in ["musegate_worker", "musegate_supervisor"] {
        for line in lines(&pair, process, ID) {
            assert_eq!(line.pointer("/span/caller"), Some(&json!("tester")), "{line}");
        }
    }
    let traced = |record: &&Value| record.get("trace") == Some(&json!(ID));
    assert_eq!(pair.audit().iter().filter(traced).count(), 1);

    // Without one, or with a wrong one, each request has its own.
    let made = pair.call_with("SendMessage", message("m-2", text), "traceparent: 00-zz\r\n").expect("an answer");
    let made = made.body.pointer("/result/task/metadata/musegate/trace").and_then(Value::as_str).expect("a trace");
    assert!(made.len() == 32 && made != ID);
    pair.until("the worker has logged it", || !lines(&pair, "musegate_worker", made).is_empty());
    let listed = pair.call("ListTasks", json!({})).expect("an answer");
    assert!(listed.head.contains("\r\ntraceresponse: 00-"), "a request without a job has one too");

    let log = pair.log();
    for secret in ["lantern", "@stub answer=\\\"", pair.token.as_str(), "m-1"] {
        assert!(!log.contains(secret), "{secret} is in the log");
    }
}

#[test]
fn a_job_that_cannot_be_started_is_logged_with_its_trace_too() {
    let mut pair = Pair::start(PROGRAMS);
    pair.settings(JSON, JSON);
    std::fs::remove_file(pair.path("muse-stub")).expect("the agent goes");
    let parent = format!("traceparent: 00-{ID}-00f067aa0ba902b7-00\r\n");
    let sent = pair.call_with("SendMessage", message("m-1", "hello"), &parent).expect("an answer");
    assert_eq!(sent.state(), "FAILED", "{sent:?}");
    let told = |line: &Value| line.get("message") == Some(&json!("a job could not be started"));
    pair.until("the worker says why", || lines(&pair, "musegate_worker", ID).iter().any(told));
}
