use super::*;
use proptest::prelude::*;
use zeroize::Zeroizing;

fn rules() -> Rules {
    Rules::new(&[Zeroizing::new("correct-horse-battery".to_owned())], &[]).unwrap()
}

fn complaints(stderr: &str) -> Complaints {
    let mut complaints = Complaints::default();
    for piece in stderr.as_bytes().chunks(7) {
        complaints.read(piece);
    }
    complaints.end();
    complaints
}

struct Case<'a> {
    stopped: Option<Stopped>,
    terminal: Option<(Verdict, Option<&'a str>)>,
    exit: Exit,
    stderr: &'a str,
}

const QUIET: Case<'static> = Case { stopped: None, terminal: None, exit: Exit::Code(1), stderr: "" };

fn judged(case: &Case<'_>) -> End {
    let complaints = complaints(case.stderr);
    let facts = Facts {
        stopped: case.stopped.clone(),
        terminal: case.terminal.map(|(verdict, reason)| (verdict, reason.map(str::to_owned))),
        exit: case.exit,
        environment: false,
        too_large: false,
        complaints: &complaints,
        max_steps: 50,
    };
    judge(&facts, &rules())
}

fn kind(case: &Case<'_>) -> FailureKind {
    match judged(case) {
        End::Failed { kind, sentence } => {
            assert!(sentence.len() > 20 && !sentence.contains('/'), "{}", &*sentence);
            kind
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn completed_needs_the_record_and_the_status() {
    let done = Some((Verdict::Completed, None));
    assert_eq!(judged(&Case { terminal: done, exit: Exit::Code(0), ..QUIET }), End::Completed);
    for exit in [Exit::Code(1), Exit::Signal(9), Exit::Unknown] {
        assert_ne!(judged(&Case { terminal: done, exit, ..QUIET }), End::Completed, "{exit:?}");
    }
    for terminal in [None, Some((Verdict::Failed, None)), Some((Verdict::Cancelled, None))] {
        assert_ne!(judged(&Case { terminal, exit: Exit::Code(0), ..QUIET }), End::Completed, "{terminal:?}");
    }
}

#[test]
fn what_we_did_comes_before_what_it_said() {
    let said = Case { terminal: Some((Verdict::Completed, None)), exit: Exit::Code(0), ..QUIET };
    let cancelled = Case { stopped: Some(Stopped::Cancelled(CancelReason::Caller)), ..said };
    assert_eq!(judged(&cancelled), End::Cancelled { reason: CancelReason::Caller });
    let breaches = [
        (Breach::FirstLine, FailureKind::TimedOutFirstLine),
        (Breach::Idle, FailureKind::TimedOutIdle),
        (Breach::Lingers, FailureKind::TimedOutIdle),
        (Breach::Wall, FailureKind::TimedOutWall),
        (Breach::WallAsleep, FailureKind::TimedOutWall),
        (Breach::Output, FailureKind::OutputTooLarge),
        (Breach::Stdout, FailureKind::OutputTooLarge),
        (Breach::Stderr, FailureKind::OutputTooLarge),
        (Breach::Retries { http_status: 0 }, FailureKind::TimedOutRetries),
        (Breach::Retries { http_status: 503 }, FailureKind::TimedOutRetries),
        (Breach::Retries { http_status: 429 }, FailureKind::ProviderRateLimit),
        (Breach::Retries { http_status: 402 }, FailureKind::Quota),
        (Breach::Retries { http_status: 401 }, FailureKind::CredentialRejected),
    ];
    for (breach, expected) in breaches {
        let case = Case { stopped: Some(Stopped::Breach(breach.clone())), exit: Exit::Signal(15), ..QUIET };
        assert_eq!(kind(&case), expected, "{breach:?}");
    }
}

#[test]
fn known_reasons_have_their_category() {
    let reasons = [
        ("API error 402 Payment Required (billing_error)", FailureKind::Quota),
        ("model `muse-x` does not exist or you lack access", FailureKind::ModelUnknown),
        ("model did not reach a terminal state within 2 step(s)", FailureKind::StepLimit),
        ("context compaction replacement still exceeds the hard threshold", FailureKind::Other),
        ("model failed: transport error: reset (after 10 provider attempts)", FailureKind::TimedOutRetries),
        ("API error 429: rate_limit_exceeded (after 10 provider attempts)", FailureKind::ProviderRateLimit),
        ("'required' is required to be supplied and to be an array", FailureKind::SchemaViolation),
        ("environment failure: sandbox enforcement unavailable", FailureKind::Environment),
        ("something never seen", FailureKind::Other),
    ];
    for (reason, expected) in reasons {
        let case = Case { terminal: Some((Verdict::Failed, Some(reason))), ..QUIET };
        assert_eq!(kind(&case), expected, "{reason}");
    }
    assert_eq!(kind(&Case { terminal: Some((Verdict::Failed, None)), ..QUIET }), FailureKind::Other);
    assert_eq!(kind(&Case { terminal: Some((Verdict::Cancelled, None)), ..QUIET }), FailureKind::Other);
}

#[test]
fn without_a_record_stderr_and_the_status_tell() {
    let said = |stderr| kind(&Case { stderr, ..QUIET });
    assert_eq!(
        said("muse: workspace root: /x\nmissing meta credentials: run `muse login`\n"),
        FailureKind::CredentialMissing
    );
    let rejected =
        "failed to fetch model catalog: authentication failed: your API key from META_API_KEY was rejected\ntbh: bye";
    assert_eq!(said(rejected), FailureKind::CredentialRejected);
    assert_eq!(said("thread 'main' panicked at src/main.rs:3:5\n"), FailureKind::Crashed);
    assert_eq!(said(""), FailureKind::Crashed);
    let ended = |exit| kind(&Case { exit, ..QUIET });
    assert_eq!(ended(Exit::Code(2)), FailureKind::CouldNotStart);
    assert_eq!(ended(Exit::Signal(9)), FailureKind::Killed);
    assert_eq!(ended(Exit::Signal(11)), FailureKind::Killed);
    assert_eq!(ended(Exit::Code(143)), FailureKind::Killed);
    assert_eq!(ended(Exit::Code(0)), FailureKind::Crashed);
    assert_eq!(ended(Exit::Unknown), FailureKind::Crashed);
}

#[test]
fn a_missing_environment_is_told_although_the_run_completed() {
    let facts = Facts {
        stopped: None,
        terminal: Some((Verdict::Completed, None)),
        exit: Exit::Code(0),
        environment: true,
        too_large: false,
        complaints: &Complaints::default(),
        max_steps: 1,
    };
    assert!(matches!(judge(&facts, &rules()), End::Failed { kind: FailureKind::Environment, .. }));
    assert!(matches!(
        judge(&Facts { environment: false, too_large: true, ..facts }, &rules()),
        End::Failed { kind: FailureKind::OutputTooLarge, .. }
    ));
}

#[test]
fn noise_is_no_complaint_and_the_newest_counts() {
    let complaints =
        complaints("first\nmuse: Agent delegation: off\nsecond\n\n  tbh: x\nmuse: retrying meta model stream\nlast");
    assert_eq!(complaints.all().collect::<Vec<_>>(), ["last", "second", "first"]);
    let mut flood = Complaints::default();
    for n in 0..100_000 {
        flood.read(format!("line {n} {}", "x".repeat(50)).as_bytes());
        if n % 2 == 0 {
            flood.read(b"\n");
        }
    }
    assert!(flood.lines.len() <= 16 && flood.lines.iter().all(|line| line.len() <= 2048) && flood.open.len() <= 2048);
}

#[test]
fn a_cleaned_line_has_no_path_no_address_and_no_secret() {
    let cases = [
        ("cannot open /home/user/.config/muse/auth.json: denied", "cannot open [path]: denied"),
        ("see https://api.meta.ai/v1/responses?x=1, then wait", "see [address], then wait"),
        ("root=\"/srv/jobs/job-01\" (~/.muse) C:\\Users\\me ../up", "root=\"[path]\" ([path]) C:[path] [path]"),
        ("attempt 4/10 and/or more", "attempt 4/10 and/or more"),
        ("a\tb\u{1b}[31mc\r\n d", "a bc d"),
        ("at src/bin/main.rs:3:5", "at [path]:3:5"),
    ];
    for (line, expected) in cases {
        assert_eq!(clean(line, &rules()), expected, "{line:?}");
    }
    assert!(!clean("key correct-horse-battery leaked", &rules()).contains("horse"));
    assert!(!clean("key correct-\u{200b}horse-battery leaked", &rules()).contains("horse"));
    assert!(clean(&"word ".repeat(1000), &rules()).len() <= 300);
}

proptest! {
    #[test]
    fn no_absolute_path_survives_between_any_marks(
        path in "(/[a-z0-9._-]{1,8}){1,5}",
        before in "[ \"'(\\[=:,;<`]{0,3}",
        after in "[ \"')\\],;:.>`]{0,3}",
    ) {
        let cleaned = clean(&format!("open {before}{path}{after} failed"), &rules());
        prop_assert!(!cleaned.contains('/'), "{}", cleaned);
    }

    #[test]
    fn a_sentence_never_passes_its_bound(reason in any::<String>()) {
        let reason = reason.repeat(40);
        let case = Case { terminal: Some((Verdict::Failed, Some(&reason))), ..QUIET };
        let End::Failed { sentence, .. } = judged(&case) else { panic!("failed") };
        prop_assert!(sentence.len() <= 512);
    }
}
