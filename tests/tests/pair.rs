//! Supervisor and worker as real processes, called over HTTP, killed at bad moments.
#![expect(clippy::expect_used, reason = "a test ends at what it does not expect")]

use musegate_tests::pair_bench::{Pair, Programs};
use musegate_tests::pair_programs;
use serde_json::Value;

const PROGRAMS: Programs = pair_programs!();

/// Nothing of any job is left: no process, no folder.
fn nothing_is_left(pair: &Pair) {
    pair.until("no process of a job is left", || pair.job_processes().is_empty());
    pair.until("no folder of a job is left", || pair.scratch_folders().is_empty());
}

/// A Task whose job hangs and is running by now.
fn hanging(pair: &Pair) -> String {
    let sent = pair.send("@stub shape=children hang", false).expect("an answer");
    assert_eq!(sent.status, 200, "{sent:?}");
    let task = sent.task();
    pair.until("its processes run", || !pair.job_processes().is_empty());
    pair.until("it works", || pair.get(&task).state() == "WORKING");
    task
}

#[test]
fn a_message_goes_through_both_processes_and_leaves_nothing() {
    let mut pair = Pair::start(PROGRAMS);
    let answer = pair.send("@stub answer=\"a lantern at sea\"", true).expect("an answer");
    assert_eq!((answer.status, answer.state()), (200, "COMPLETED"), "{answer:?}");
    let text = answer.body.pointer("/result/task/artifacts/0/parts/0/text").and_then(Value::as_str);
    assert_eq!(text, Some("a lantern at sea"));
    assert!(answer.body.pointer("/result/task/status/message").is_none(), "{answer:?}");
    nothing_is_left(&pair);
    assert_eq!((Pair::stop(&mut pair.supervisor), Pair::stop(&mut pair.worker)), (0, 0), "{}", pair.log());
    assert!(!pair.path("run/worker.sock").exists(), "the socket is left");
}

#[test]
fn no_text_of_a_caller_stands_in_arguments_or_environment() {
    let pair = Pair::start(PROGRAMS);
    let sent = pair.send("@stub answer=lighthousekeeper hang", false).expect("an answer");
    pair.until("its processes run", || pair.job_processes().iter().any(|(_, line)| line.contains("--prompt-file")));
    for (pid, line) in pair.job_processes() {
        let environment = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        let all = format!("{line} {}", String::from_utf8_lossy(&environment));
        assert!(!all.contains("lighthousekeeper") && !all.contains("tester"), "{all}");
    }
    let canceled = pair.call("CancelTask", serde_json::json!({"id": sent.task()})).expect("an answer");
    assert_eq!(canceled.state(), "CANCELED", "{canceled:?}");
    nothing_is_left(&pair);
}

#[test]
fn a_killed_worker_fails_its_task_and_http_goes_on() {
    let mut pair = Pair::start(PROGRAMS);
    for _ in 0..3 {
        let task = hanging(&pair);
        Pair::kill(&mut pair.worker);
        pair.until("the Task has failed", || pair.get(&task).state() == "FAILED");
        let failed = pair.get(&task);
        let said = failed.body.to_string();
        assert!(said.contains("worker restarted"), "{said}");
        let retry = failed.body.pointer("/result/metadata/musegate/retryAfterSeconds");
        assert!(retry.is_some_and(|seconds| seconds.as_u64() > Some(0)), "{said}");
        let away = pair.send("hello", true).expect("HTTP goes on");
        assert_eq!(away.status, 503, "{away:?}");
        assert!(away.head.contains("\r\nretry-after: "), "{away:?}");
        assert!(away.body.pointer("/error/message").is_some(), "{away:?}");
        pair.until("no process of the job is left", || pair.job_processes().is_empty());
        pair.start_worker();
        pair.until_it_answers();
    }
    nothing_is_left(&pair);
    Pair::stop(&mut pair.supervisor);
    let trail = pair.audit_verifies();
    assert_eq!((trail.damaged, trail.lost), (0, 0), "{trail:?}");
    assert_eq!(trail.requests, pair.audit().len() as u64);
    let lost = pair.audit().iter().filter(|r| r.get("operation").is_none() || r.get("verdict").is_none()).count();
    assert_eq!(lost, 0, "each record says what was asked and how it ended");
}

#[test]
fn a_killed_supervisor_ends_its_jobs() {
    let mut pair = Pair::start(PROGRAMS);
    hanging(&pair);
    Pair::kill(&mut pair.supervisor);
    nothing_is_left(&pair);
    pair.start_supervisor();
    pair.until_it_answers();
    let trail = pair.audit_verifies();
    assert_eq!((trail.damaged, trail.killed), (0, 1), "{trail:?}");
}

#[test]
fn after_both_are_killed_nothing_runs_and_the_next_start_sweeps() {
    let mut pair = Pair::start(PROGRAMS);
    hanging(&pair);
    assert!(!pair.scratch_folders().is_empty());
    Pair::kill(&mut pair.worker);
    Pair::kill(&mut pair.supervisor);
    pair.until("no process of the job is left", || pair.job_processes().is_empty());
    pair.start_worker();
    pair.start_supervisor();
    pair.until_it_answers();
    nothing_is_left(&pair);
}
