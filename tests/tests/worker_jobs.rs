//! A job through a real worker: what comes back, and how each way of failing is told.
#![expect(clippy::panic, clippy::unwrap_used, reason = "a test ends at what it does not expect")]

use musegate_protocol::bounded::{Blob, FileName, Label, List, Text};
use musegate_protocol::message::{
    CancelReason, End, EndedBy, FailureKind, FromWorker, Outcome, Progress, PromptPart, RefuseReason, Role, StartJob,
    Turn,
};
use musegate_tests::programs;
use musegate_tests::worker_bench::{Settings, Worker};
use serde_json::Value;
use std::fs;

fn failure(outcome: &Outcome) -> FailureKind {
    match &outcome.end {
        End::Failed { kind, sentence } => {
            assert!(!sentence.contains('/') && sentence.len() > 20, "{}", &**sentence);
            *kind
        }
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn an_answer_comes_back_with_its_story() {
    let worker = Worker::start(programs!(), Settings::default()).await;
    let mut supervisor = worker.supervisor().await;
    assert_eq!((&*supervisor.ack.backend, supervisor.ack.slots), ("stub", 1));
    let (heard, outcome) = supervisor.run("@stub tool=search answer=\"Only notes/harbour.txt.\"").await;
    assert_eq!(heard.text, "Only notes/harbour.txt.");
    assert!(!heard.replaced);
    assert_eq!((&outcome.end, outcome.ended_by), (&End::Completed, EndedBy::Itself));
    assert_eq!(outcome.output_bytes, heard.text.len() as u64);
    let usage = outcome.usage.expect("usage");
    assert!(usage.calls > 0 && usage.output_tokens > 0);
    assert!(outcome.timing.first_line_ms > 0 && outcome.timing.wall_ms >= outcome.timing.first_line_ms);
    let name = || Text::new("search").unwrap();
    let tool = [Progress::ToolStarted { name: name() }, Progress::ToolEnded { name: name(), ok: true }];
    let tools: Vec<_> = heard
        .progress
        .iter()
        .filter(|p| matches!(p, Progress::ToolStarted { .. } | Progress::ToolEnded { .. }))
        .cloned()
        .collect();
    assert_eq!(tools, tool);
    assert_eq!(heard.progress.first(), Some(&Progress::Started));
    assert!(heard.progress.iter().any(|p| matches!(p, Progress::Model { id } if id.starts_with("muse-"))));
    worker.until_no_scratch().await;
}

#[tokio::test]
async fn each_way_of_failing_has_its_category_and_a_sentence() {
    let worker = Worker::start(programs!(), Settings { limits: "provider_retries = 20", ..Settings::default() }).await;
    let mut supervisor = worker.supervisor().await;
    let ways = [
        ("fail=no-credential", FailureKind::CredentialMissing),
        ("fail=bad-credential", FailureKind::CredentialRejected),
        ("fail=revoked", FailureKind::CredentialRejected),
        ("fail=workspace", FailureKind::Crashed),
        ("fail=settings", FailureKind::Crashed),
        ("fail=mcp", FailureKind::Crashed),
        ("fail=usage", FailureKind::CouldNotStart),
        ("fail=billing", FailureKind::Quota),
        ("fail=rate-limit", FailureKind::ProviderRateLimit),
        ("fail=overloaded", FailureKind::TimedOutRetries),
        ("fail=transport", FailureKind::TimedOutRetries),
        ("fail=model", FailureKind::ModelUnknown),
        ("fail=steps", FailureKind::StepLimit),
        ("fail=context", FailureKind::Other),
        ("fail=schema", FailureKind::SchemaViolation),
        ("fail=\"something new\"", FailureKind::Other),
        ("environment answer=\"I could not look.\"", FailureKind::Environment),
        ("cancelled", FailureKind::Other),
        ("answer=x no-terminal", FailureKind::Crashed),
        ("answer=x unknown-terminal", FailureKind::Other),
        ("answer=x partial", FailureKind::Crashed),
        ("answer=x exit=3", FailureKind::Crashed),
        ("answer=x crash=SEGV", FailureKind::Killed),
        ("answer=x crash=KILL", FailureKind::Killed),
    ];
    for (script, expected) in ways {
        let (_, outcome) = supervisor.run(&format!("@stub {script}")).await;
        assert_eq!(failure(&outcome), expected, "{script}: {:?}", outcome.end);
    }
    worker.until_no_scratch().await;
}

#[tokio::test]
async fn damage_in_the_stream_does_not_harm_the_answer() {
    let worker = Worker::start(programs!(), Settings::default()).await;
    let mut supervisor = worker.supervisor().await;
    let cases = [
        ("malformed answer=ok", "ok"),
        ("blank answer=ok", "ok"),
        ("unknown-record unknown-kind nulls answer=ok", "ok"),
        ("deep=100000 answer=ok", "ok"),
        ("long=3000000 answer=ok", "ok"),
        ("raw=\"not json\" answer=ok", "ok"),
        ("split-utf8=\"ŠŽ 語 😀\"", "ŠŽ 語 😀"),
        ("answer=ok terminal-twice", "ok"),
        ("answer=ok after-terminal", "ok"),
        ("answer=ok no-newline", "ok"),
        ("answer=draft final=\"the answer\"", "the answer"),
        ("tool-failed=bash tool-refused=read answer=ok", "ok"),
    ];
    for (script, expected) in cases {
        let (heard, outcome) = supervisor.run(&format!("@stub {script}")).await;
        assert_eq!((heard.text.as_str(), &outcome.end), (expected, &End::Completed), "{script}");
    }
    let (heard, outcome) = supervisor.run("@stub invalid-utf8").await;
    assert!(heard.text.contains('\u{fffd}') && outcome.end == End::Completed, "{heard:?}");
}

#[tokio::test]
async fn what_the_deltas_said_wrong_the_terminal_record_replaces() {
    let worker = Worker::start(programs!(), Settings::default()).await;
    let mut supervisor = worker.supervisor().await;
    let (heard, outcome) = supervisor.run("@stub stream=3 gap=50 final=\"the answer\"").await;
    assert!(heard.replaced && heard.text == "the answer");
    assert_eq!(outcome.output_bytes, 10);
}

#[tokio::test]
async fn every_bound_ends_a_job_and_says_which() {
    let cases = [
        ("first_line = 1", "quiet=30000 answer=x", FailureKind::TimedOutFirstLine),
        ("idle = 1", "answer=x hang", FailureKind::TimedOutIdle),
        ("idle = 1", "answer=x linger=30000", FailureKind::TimedOutIdle),
        ("wall = 1", "stream=1000 gap=50", FailureKind::TimedOutWall),
        ("wall = 1\nidle = 1", "tool-open=bash hang", FailureKind::TimedOutWall),
        ("wall_asleep = 1", "stream=1000 gap=50", FailureKind::TimedOutWall),
        ("output = \"1 KiB\"", "stream=100 bytes=100 hang", FailureKind::OutputTooLarge),
        ("output = \"1 KiB\"", "stream=1 bytes=2000", FailureKind::OutputTooLarge),
        ("stdout = \"1 MiB\"", "flood=junk", FailureKind::OutputTooLarge),
        ("stdout = \"1 MiB\"", "flood=line", FailureKind::OutputTooLarge),
        ("output = \"1 MiB\"", "flood=deltas", FailureKind::OutputTooLarge),
        ("stderr = \"1 MiB\"", "flood=stderr", FailureKind::OutputTooLarge),
        ("provider_retries = 3", "retries=8 http=503 answer=x", FailureKind::TimedOutRetries),
        ("provider_retries = 3", "retries=8 http=429 answer=x", FailureKind::ProviderRateLimit),
        ("provider_retry_time = 1", "retries=3 gap=2000 http=0 answer=x", FailureKind::TimedOutRetries),
    ];
    for (limits, script, expected) in cases {
        let worker = Worker::start(programs!(), Settings { limits, ..Settings::default() }).await;
        let mut supervisor = worker.supervisor().await;
        let (_, outcome) = supervisor.run(&format!("@stub {script}")).await;
        assert_eq!(failure(&outcome), expected, "{limits}, {script}: {:?}", outcome.end);
        assert!(
            matches!(outcome.ended_by, EndedBy::Term | EndedBy::Kill | EndedBy::Itself),
            "{script}: {:?}",
            outcome.ended_by
        );
        assert!(outcome.output_bytes <= 1 << 20);
        worker.until_no_scratch().await;
    }
}

#[tokio::test]
async fn a_tool_that_takes_long_is_not_silence() {
    let worker = Worker::start(programs!(), Settings { limits: "idle = 1", ..Settings::default() }).await;
    let mut supervisor = worker.supervisor().await;
    let (heard, outcome) = supervisor.run("@stub tool-open=bash sleep=2500 answer=done").await;
    assert_eq!((heard.text.as_str(), &outcome.end), ("done", &End::Completed));
}

#[tokio::test]
async fn a_job_gets_the_smaller_of_the_bounds() {
    let worker = Worker::start(programs!(), Settings::default()).await;
    let mut supervisor = worker.supervisor().await;
    let job = supervisor.start_with("@stub stream=1000 gap=50", |start| start.limits.wall_seconds = 1).await;
    assert_eq!(failure(&supervisor.finish(job).await.1.outcome()), FailureKind::TimedOutWall);
    let job = supervisor.start_with("@stub stream=10 bytes=100", |start| start.limits.output_bytes = 250).await;
    let (heard, ended) = supervisor.finish(job).await;
    assert_eq!(failure(&ended.outcome()), FailureKind::OutputTooLarge);
    assert!(heard.text.len() <= 250);
}

#[tokio::test]
async fn a_cancel_ends_by_sigterm_and_else_by_sigkill() {
    let worker = Worker::start(programs!(), Settings { jobs: "term_grace = \"200ms\"", ..Settings::default() }).await;
    let mut supervisor = worker.supervisor().await;
    for (script, expected) in [
        ("answer=\"Ready. \" hang", EndedBy::Term),
        ("ignore-term answer=\"Ready. \" hang", EndedBy::Kill),
        ("answer=\"Ready. \" stop", EndedBy::Term),
    ] {
        let job = supervisor.start(&format!("@stub {script}")).await;
        supervisor.until(job, |message| matches!(message, FromWorker::Output { .. })).await;
        supervisor.cancel(job).await;
        supervisor.cancel(job).await;
        let outcome = supervisor.finish(job).await.1.outcome();
        assert_eq!(outcome.end, End::Cancelled { reason: CancelReason::Caller }, "{script}");
        assert_eq!(outcome.ended_by, expected, "{script}");
    }
    worker.until_no_scratch().await;
}

#[tokio::test]
async fn what_a_job_leaves_behind_is_ended_before_it_is_told_finished() {
    let worker = Worker::start(programs!(), Settings::default()).await;
    let mut supervisor = worker.supervisor().await;
    for shape in ["children", "setsid", "daemon", "orphan", "slow-runner", "hold-stdout", "stubborn", "stopped"] {
        let tag = format!("left-{}-{shape}", std::process::id());
        let (heard, outcome) = supervisor.run(&format!("@stub tag={tag} shape={shape} answer=done")).await;
        assert!(heard.text.starts_with("started") && outcome.end == End::Completed, "{shape}: {heard:?} {outcome:?}");
        assert_eq!(outcome.ended_by, EndedBy::Leftovers, "{shape}");
        assert_eq!(with_argument(&tag), 0, "{shape}");
    }
}

/// Processes that have this among their arguments.
fn with_argument(text: &str) -> usize {
    let all = fs::read_dir("/proc").unwrap().flatten();
    all.filter(|entry| fs::read(entry.path().join("cmdline")).is_ok_and(|line| contains(&line, text.as_bytes())))
        .count()
}

fn contains(bytes: &[u8], part: &[u8]) -> bool {
    bytes.windows(part.len()).any(|window| window == part)
}

#[tokio::test]
async fn no_text_of_a_caller_is_in_arguments_or_environment() {
    let worker = Worker::start(programs!(), Settings::default()).await;
    let mut supervisor = worker.supervisor().await;
    let marks = ["lantern-in-text", "lantern-in-turn", "lantern-in-message", "lantern-in-context", "lantern-in-file"];
    let everywhere = |start: &mut StartJob| {
        let turn = Turn { role: Role::Caller, text: Text::new("lantern-in-turn").unwrap() };
        start.turns = List::new(vec![turn]).unwrap();
        start.message = Text::new("lantern-in-message").unwrap();
        start.context = Label::new("lantern-in-context").unwrap();
        let mut parts = start.parts.clone().into_vec();
        parts.push(PromptPart::File {
            name: FileName::new("lantern-in-file").unwrap(),
            media_type: Text::default(),
            bytes: Blob::new(&b"lantern"[..]).unwrap(),
        });
        start.parts = List::new(parts).unwrap();
    };
    let job = supervisor.start_with("@stub report\nlantern-in-text", everywhere).await;
    let (heard, _) = supervisor.finish(job).await;
    let report: Value = serde_json::from_str(&heard.text).unwrap();
    for mark in marks {
        assert!(!report["report"]["argv"].to_string().contains(mark), "{mark} is among the arguments");
        assert!(!report["report"]["env"].to_string().contains(mark), "{mark} is in the environment");
    }

    let job = supervisor.start_with("@stub answer=\"Ready. \" hang\nlantern-in-text", everywhere).await;
    supervisor.until(job, |message| matches!(message, FromWorker::Output { .. })).await;
    let folder = worker.folder.path().to_str().unwrap().as_bytes().to_vec();
    let mut seen = (0, 0);
    for entry in fs::read_dir("/proc").unwrap().flatten() {
        let arguments = fs::read(entry.path().join("cmdline")).unwrap_or_default();
        let environment = fs::read(entry.path().join("environ")).unwrap_or_default();
        if !contains(&arguments, &folder) || !contains(&arguments, b"--prompt-file") {
            continue;
        }
        seen.0 += 1;
        seen.1 += usize::from(contains(&environment, b"XDG_CONFIG_HOME="));
        for mark in marks {
            assert!(!contains(&arguments, mark.as_bytes()), "{mark} is among the arguments");
            assert!(!contains(&environment, mark.as_bytes()), "{mark} is in the environment");
        }
    }
    assert!(seen.0 > 0, "the child was not found");
    if seen.1 == 0 {
        println!("skipped: the child's environ is closed to this user; its own report was read");
    }
    supervisor.cancel(job).await;
    supervisor.finish(job).await;
}

#[tokio::test]
async fn the_environment_of_a_job_is_built_from_nothing_and_sealed() {
    let worker = Worker::start(programs!(), Settings::default()).await;
    let mut supervisor = worker.supervisor().await;
    let (heard, _) = supervisor.run("@stub report").await;
    let report: Value = serde_json::from_str(&heard.text).unwrap();
    let environment = report["report"]["env"].as_object().unwrap();
    let names: Vec<_> = environment.keys().map(String::as_str).collect();
    let expected = [
        "HOME",
        "LANG",
        "MUSE_NO_AUTO_UPDATE",
        "NO_COLOR",
        "PATH",
        "TBH_CREDENTIAL_BACKEND",
        "TBH_DISABLE_FEATURE_CONFIG",
        "TBH_DISABLE_TELEMETRY",
        "TMPDIR",
        "TZ",
        "XDG_CACHE_HOME",
        "XDG_CONFIG_HOME",
        "XDG_DATA_HOME",
        "XDG_RUNTIME_DIR",
        "XDG_STATE_HOME",
    ];
    assert_eq!(names, expected);
    for name in ["HOME", "TMPDIR", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_RUNTIME_DIR"] {
        let value = environment[name].as_str().unwrap();
        assert!(value.contains("/jobs/job-"), "{name}={value} is outside the scratch folder");
    }
}

#[tokio::test]
async fn the_prompt_file_is_as_agreed() {
    let worker = Worker::start(programs!(), Settings { muse: "write = true", ..Settings::default() }).await;
    let mut supervisor = worker.supervisor().await;
    let job = supervisor
        .start_with("@stub prompt\nWhich files mention a \"lantern\"?\nREQUEST\n{\"role\":\"system\"}", |start| {
            start.structured = true;
            start.limits.files = 1;
            start.limits.file_bytes = 1000;
            let turn = |role, text| Turn { role, text: Text::new(text).unwrap() };
            start.turns = List::new(vec![turn(Role::Caller, "hello"), turn(Role::Agent, "hello too")]).unwrap();
        })
        .await;
    let (heard, _) = supervisor.finish(job).await;
    let golden = concat!(env!("CARGO_MANIFEST_DIR"), "/golden/worker_prompt.txt");
    if std::env::var_os("GOLDEN").is_some() {
        fs::write(golden, &heard.text).unwrap();
    }
    let expected = fs::read_to_string(golden).unwrap();
    assert_eq!(heard.text, expected, "write it anew with GOLDEN=1 where the change is meant");
}

#[tokio::test]
async fn the_workers_own_key_reaches_muse_and_never_leaves() {
    const KEY: &str = "mk-live-correct-horse-battery-staple-0123456789";
    let keys = tempfile::tempdir().unwrap();
    let file = keys.path().join("key");
    fs::write(&file, format!("{KEY}\n")).unwrap();
    fs::set_permissions(&file, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    let muse: &'static str = Box::leak(format!("api_key_file = \"{}\"", file.display()).into_boxed_str());
    let worker = Worker::start(programs!(), Settings { muse, ..Settings::default() }).await;
    let mut supervisor = worker.supervisor().await;
    for place in ["answer", "tool", "stderr", "final", "reason"] {
        for pieces in [1, 2, 7, 40] {
            let (heard, outcome) = supervisor.run(&format!("@stub leak=key place={place} pieces={pieces}")).await;
            let all = format!("{heard:?} {outcome:?} {}", worker.log());
            let sentence = match &outcome.end {
                End::Failed { sentence, .. } => sentence.to_string(),
                _ => String::new(),
            };
            for text in [&all, &sentence] {
                assert!(
                    !text.contains("correct-horse") && !text.contains("battery-staple"),
                    "{place} {pieces}: {text}"
                );
            }
            if place == "answer" || place == "final" {
                assert!(heard.text.contains("[redacted:"), "{place}: {}", heard.text);
                assert!(outcome.redactions.iter().map(|r| r.count).sum::<u32>() > 0);
            }
        }
    }
}

#[tokio::test]
async fn a_job_that_contradicts_itself_or_comes_too_much_is_refused() {
    let worker = Worker::start(programs!(), Settings::default()).await;
    let mut supervisor = worker.supervisor().await;
    let refused = |ended| match ended {
        musegate_tests::worker_bench::Ended::Refused(reason, detail) => (reason, detail),
        other => panic!("{other:?}"),
    };
    let job = supervisor.start_with("x", |start| start.parts = List::default()).await;
    assert_eq!(refused(supervisor.finish(job).await.1).0, RefuseReason::Invalid);
    let job = supervisor
        .start_with("x", |start| {
            start.parts = List::new(vec![PromptPart::Data(Text::new("{").unwrap())]).unwrap();
        })
        .await;
    assert_eq!(refused(supervisor.finish(job).await.1).0, RefuseReason::Invalid);

    let first = supervisor.start("@stub answer=\"Ready. \" hang").await;
    supervisor.until(first, |message| matches!(message, FromWorker::Output { .. })).await;
    let second = supervisor.start("@stub answer=x").await;
    assert_eq!(refused(supervisor.finish(second).await.1), (RefuseReason::Busy, "all slots are taken".into()));
    supervisor.cancel(first).await;
    supervisor.finish(first).await;
    let (heard, _) = supervisor.run("@stub answer=again").await;
    assert_eq!(heard.text, "again");
}

#[tokio::test]
async fn files_that_a_job_leaves_come_back_within_its_limits_and_redacted() {
    let settings =
        Settings { muse: "write = true", limits: "files = 3\nfile_bytes = \"100 KiB\"", ..Settings::default() };
    let worker = Worker::start(programs!(), settings).await;
    let mut supervisor = worker.supervisor().await;
    let granted = |files, file_bytes| {
        move |start: &mut StartJob| (start.limits.files, start.limits.file_bytes) = (files, file_bytes)
    };
    let key = format!("ghp_{}", "a1B2".repeat(9));
    let script = format!(
        "@stub text=\"see {key} there\" out=notes.txt\n@stub bytes=40000 out=big.bin\n@stub bytes=0 out=empty\n@stub answer=done"
    );
    let job = supervisor.start_with(&script, granted(9, 1 << 20)).await;
    let (heard, ended) = supervisor.finish(job).await;
    let outcome = ended.outcome();
    assert_eq!((heard.text.as_str(), &outcome.end), ("done", &End::Completed));
    let sizes: Vec<_> = heard.files.iter().map(|(name, bytes)| (name.as_str(), bytes.len())).collect();
    assert_eq!((sizes[0], sizes[1]), (("big.bin", 40_000), ("empty", 0)), "{sizes:?}");
    let notes = String::from_utf8(heard.files["notes.txt"].clone()).unwrap();
    assert!(notes.starts_with("see [redacted:") && !notes.contains(&key), "{notes}");
    assert!(!outcome.redactions.is_empty());

    for (files, file_bytes, expected) in
        [(0, 1 << 20, vec![]), (1, 1 << 20, vec!["a"]), (9, 100, vec!["b"]), (9, 0, vec![])]
    {
        let script = "@stub bytes=200 out=a\n@stub bytes=100 out=b\n@stub answer=done";
        let job = supervisor.start_with(script, granted(files, file_bytes)).await;
        let (heard, ended) = supervisor.finish(job).await;
        assert_eq!(heard.files.keys().collect::<Vec<_>>(), expected, "{files} files, {file_bytes} bytes");
        assert_eq!(ended.outcome().end, End::Completed);
    }

    // A job that fails hands back nothing.
    let job = supervisor.start_with("@stub bytes=5 out=a\n@stub fail=steps", granted(9, 100)).await;
    assert!(supervisor.finish(job).await.0.files.is_empty());
    worker.until_no_scratch().await;
}

#[tokio::test]
async fn files_that_come_with_a_message_lie_where_the_prompt_says() {
    let worker = Worker::start(programs!(), Settings::default()).await;
    let mut supervisor = worker.supervisor().await;
    let job = supervisor
        .start_with("@stub read=in/harbour.txt", |start| {
            let mut parts = start.parts.clone().into_vec();
            parts.push(PromptPart::File {
                name: FileName::new("harbour.txt").unwrap(),
                media_type: Text::new("text/plain").unwrap(),
                bytes: Blob::new(&b"three lanterns"[..]).unwrap(),
            });
            start.parts = List::new(parts).unwrap();
        })
        .await;
    let (heard, _) = supervisor.finish(job).await;
    assert!(heard.text.contains("three lanterns"), "{}", heard.text);
}
