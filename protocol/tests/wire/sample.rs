//! Messages by hand: every variant of everything, so that a change of any of them shows in the recorded bytes.

use musegate_protocol::bounded::{Blob, FileName, Label, List, Text};
use musegate_protocol::message::*;

/// All values of an enum without content. A new one that is not in the list does not compile.
macro_rules! every {
    ($name:ident: $type:ident { $($variant:ident),+ $(,)? }) => {
        pub(crate) const $name: &[$type] = &[$($type::$variant),+];
        const _: fn($type) = |value| match value { $($type::$variant)|+ => () };
    };
}
every!(CANCEL_REASONS: CancelReason { Caller, CallerLeft, Operator, WorkerStops, SupervisorLost });
every!(REFUSE_REASONS: RefuseReason { Busy, Draining, Invalid, Weak, ContainmentDoubt });
every!(BYE_REASONS: ByeReason { Stopping, Replaced, Violation });
every!(ENDED_BY: EndedBy { Itself, Leftovers, Term, Kill, NotStarted, Doubt });
every!(FAILURE_KINDS: FailureKind {
    CredentialMissing, CredentialRejected, Quota, ProviderRateLimit, ModelUnknown, StepLimit, TimedOutFirstLine,
    TimedOutIdle, TimedOutWall, TimedOutRetries, OutputTooLarge, CouldNotStart, Environment, Killed, Crashed,
    SchemaViolation, Other,
});

pub(crate) fn text<const MAX: usize>(text: &str) -> Text<MAX> {
    Text::new(text).unwrap()
}

pub(crate) fn label(text: &str) -> Label {
    Label::new(text).unwrap()
}

pub(crate) fn name(text: &str) -> FileName {
    FileName::new(text).unwrap()
}

pub(crate) const JOB: JobId = JobId(0x0102_0304_0506_0708);
const INSTANCE: InstanceId = InstanceId(*b"0123456789abcdef");
const LIMITS: JobLimits = JobLimits { wall_seconds: 600, output_bytes: 1 << 33, files: 3, file_bytes: 70_000 };

/// A job with one of each kind of part, and both roles.
pub(crate) fn full_job() -> StartJob {
    let turn = |role, said: &str| Turn { role, text: text(said) };
    StartJob {
        job: JOB,
        caller: label("hermes"),
        task: label("8c1f2f6e-9a63-4f9b-8a5e-0d6f6f0a2b11"),
        context: label("ctx:1"),
        message: text("m-1 ✓"),
        trace: *b"trace of 16 byte",
        turns: List::new(vec![turn(Role::Caller, "What is 6 × 7?"), turn(Role::Agent, "42")]).unwrap(),
        parts: List::new(vec![
            PromptPart::Text(text("And 7 × 7?")),
            PromptPart::Data(text(r#"{"a":1}"#)),
            PromptPart::File {
                name: name("notes.txt"),
                media_type: text("text/plain"),
                bytes: Blob::new(b"\0\xff bytes".to_vec()).unwrap(),
            },
            PromptPart::Link { url: text("https://example.org/x"), media_type: text("") },
        ])
        .unwrap(),
        output_schema: Some(text(r#"{"type":"object"}"#)),
        structured: true,
        limits: LIMITS,
    }
}

/// A job with nothing that can be left out.
pub(crate) fn bare_job(job: JobId) -> StartJob {
    StartJob {
        job,
        message: text(""),
        turns: List::default(),
        parts: List::default(),
        output_schema: None,
        structured: false,
        limits: JobLimits { wall_seconds: 0, output_bytes: 0, files: 0, file_bytes: 0 },
        ..full_job()
    }
}

pub(crate) fn hello() -> Hello {
    Hello { version: PROTOCOL, build: label("0.1.0-abc"), instance: INSTANCE }
}

pub(crate) fn hello_ack() -> HelloAck {
    HelloAck {
        version: PROTOCOL,
        build: label("0.1.0-abc"),
        instance: INSTANCE,
        slots: 2,
        backend: label("muse"),
        backend_version: text("Muse Code 1.2.3"),
        limits: LIMITS,
        report: Report {
            holds: Layers::default().with(Layer::Seccomp).with(Layer::NoNewPrivileges),
            lacks: Layers::default().with(Layer::UidSeparation),
            landlock_abi: 7,
        },
        own: Report {
            holds: Layers::default().with(Layer::LandlockFiles),
            lacks: Layers::default().with(Layer::NoCapabilities),
            landlock_abi: 7,
        },
    }
}

fn outcome(end: End, ended_by: EndedBy, usage: Option<Usage>) -> Outcome {
    let redaction = Redaction { kind: label("api-key"), count: 2 };
    let redactions = if usage.is_some() { vec![redaction] } else { Vec::new() };
    Outcome {
        end,
        usage,
        redactions: List::new(redactions).unwrap(),
        output_bytes: 5,
        timing: Timing { first_line_ms: 250, wall_ms: 90_000, awake_ms: 1_000 },
        ended_by,
    }
}

/// Every variant of what the supervisor may say, by the name of its file.
pub(crate) fn to_worker() -> Vec<(&'static str, Vec<ToWorker>)> {
    let cancel = |reason: &CancelReason| ToWorker::Cancel { job: JOB, reason: *reason };
    vec![
        ("hello", vec![ToWorker::Hello(hello())]),
        ("start", vec![ToWorker::Start(Box::new(full_job())), ToWorker::Start(Box::new(bare_job(JobId(1))))]),
        ("cancel", CANCEL_REASONS.iter().map(cancel).collect()),
        ("credit", vec![ToWorker::Credit { job: JOB, bytes: 16_448 }]),
        ("ping", vec![ToWorker::Ping { nonce: u64::MAX - 1 }]),
        ("drain", vec![ToWorker::Drain]),
    ]
}

/// Every variant of what the worker may say, by the name of its file.
pub(crate) fn from_worker() -> Vec<(&'static str, Vec<FromWorker>)> {
    let refused =
        |reason: &RefuseReason| FromWorker::Refused { job: JOB, reason: *reason, detail: text("no, because") };
    let progress = |event: Progress| FromWorker::Progress { job: JOB, event };
    let bye = |reason: &ByeReason| FromWorker::Bye { reason: *reason };
    vec![
        ("hello-ack", vec![FromWorker::HelloAck(Box::new(hello_ack()))]),
        ("accepted", vec![FromWorker::Accepted { job: JOB }]),
        ("refused", REFUSE_REASONS.iter().map(refused).collect()),
        (
            "output",
            vec![
                FromWorker::Output { job: JOB, offset: 0, fresh: true, text: text("49") },
                FromWorker::Output { job: JOB, offset: 2, fresh: false, text: text(" ☺") },
            ],
        ),
        ("progress", events().into_iter().map(progress).collect()),
        (
            "file",
            vec![FromWorker::File {
                job: JOB,
                name: name("result.csv"),
                bytes: Blob::new(b"1;2\n".to_vec()).unwrap(),
                last: true,
            }],
        ),
        ("finished", finished()),
        ("pong", vec![FromWorker::Pong { nonce: u64::MAX - 1, jobs: 2, resident_kib: 0x0102_0304, descriptors: 77 }]),
        ("bye", BYE_REASONS.iter().map(bye).collect()),
    ]
}

/// One of each, in the order of their numbers.
fn events() -> Vec<Progress> {
    let all = vec![
        Progress::Started,
        Progress::Model { id: text("muse-spark") },
        Progress::ToolStarted { name: text("web_search") },
        Progress::ToolEnded { name: text("web_search"), ok: false },
        Progress::Retry { attempt: 1, of: 5, http_status: 429, kind: text("rate_limit") },
        Progress::Slept { seconds: 3600 },
    ];
    for event in &all {
        match event {
            Progress::Started
            | Progress::Model { .. }
            | Progress::ToolStarted { .. }
            | Progress::ToolEnded { .. }
            | Progress::Retry { .. }
            | Progress::Slept { .. } => {} // a new one belongs above too
        }
    }
    all
}

fn finished() -> Vec<FromWorker> {
    let usage = Usage { calls: 2, input_tokens: 1000, cached_tokens: 900, output_tokens: 50, reasoning_tokens: 7 };
    let mut all = vec![outcome(End::Completed, EndedBy::Itself, Some(usage))];
    for kind in FAILURE_KINDS {
        all.push(outcome(End::Failed { kind: *kind, sentence: text("it did not work") }, EndedBy::Kill, None));
    }
    for (reason, ended_by) in CANCEL_REASONS.iter().zip(ENDED_BY.iter().cycle()) {
        all.push(outcome(End::Cancelled { reason: *reason }, *ended_by, None));
    }
    all.push(outcome(End::Cancelled { reason: CancelReason::Caller }, EndedBy::Doubt, None));
    all.into_iter().map(|outcome| FromWorker::Finished { job: JOB, outcome: Box::new(outcome) }).collect()
}
