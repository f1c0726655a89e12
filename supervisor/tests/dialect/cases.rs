//! Tasks, messages and events to say in every dialect.

use bytes::Bytes;
use musegate_protocol::bounded::Text;
use musegate_supervisor::a2a::*;
use musegate_supervisor::dialect::{Binding, PushConfig, ReplyTo, Version};
use std::sync::Arc;
use std::time::Duration;

/// 2026-11-30T19:24:05.123Z
pub(crate) const NOW: Timestamp = Timestamp(Duration::from_millis(1_796_066_645_123));

pub(crate) fn reply(version: Version, binding: Binding) -> ReplyTo {
    let early_id = (version == Version::Early).then(|| "my-task".to_owned());
    ReplyTo {
        version,
        binding,
        id: Json("7".into()),
        extensions: Vec::new(),
        early_id,
        a2a_json: false,
        streams: false,
    }
}

/// The name of a shape's folder.
pub(crate) fn folder(version: Version, binding: Binding) -> String {
    let binding = if binding == Binding::Rest { "rest" } else { "jsonrpc" };
    format!("{}-{binding}", version.word())
}

pub(crate) fn message(role: Role, text: &str) -> Message {
    Message {
        message_id: MessageId("m-1".into()),
        context_id: Some(ContextId("c-1".into())),
        task_id: Some(TaskId("t-1".into())),
        role,
        parts: vec![Part::text(text)],
        metadata: None,
        extensions: Vec::new(),
        reference_task_ids: Vec::new(),
    }
}

pub(crate) fn status(state: TaskState, text: Option<&str>) -> Status {
    Status { state, message: text.map(|text| Arc::new(message(Role::Agent, text))), timestamp: NOW }
}

pub(crate) fn artifact(id: &str, parts: Vec<Part>) -> Arc<Artifact> {
    Arc::new(Artifact { artifact_id: id.to_owned(), name: None, description: None, parts })
}

pub(crate) fn task(state: TaskState, text: Option<&str>) -> Task {
    Task {
        id: TaskId("t-1".into()),
        context_id: ContextId("c-1".into()),
        status: status(state, text),
        artifacts: Vec::new(),
        history: Vec::new(),
        metadata: Metadata { trace: "0123456789abcdef0123456789abcdef".into(), ..Metadata::default() },
    }
}

/// A part of every kind, with everything that can be said about it.
pub(crate) fn all_parts() -> Vec<Part> {
    let part = |content| Part { content, media_type: None, filename: None, metadata: None };
    vec![
        Part::text("a \"quoted\" line\nand ไทย 😀"),
        Part {
            media_type: Some("image/png".into()),
            filename: Some("a.png".into()),
            metadata: Some(Json(r#"{"n":1}"#.into())),
            ..part(Content::Raw(Bytes::from_static(&[0, 255, 16, 250])))
        },
        Part { media_type: Some("text/html".into()), ..part(Content::Url("https://example.org/x?y=z".into())) },
        part(Content::Data(Json(r#"{"answer":42,"list":[true,null,"x"]}"#.into()))),
        Part { metadata: Some(Json(r#"{"n":2}"#.into())), ..part(Content::Data(Json("[1,2]".into()))) },
    ]
}

pub(crate) fn completed() -> Task {
    let mut said = message(Role::User, "What is 6 × 7?");
    said.extensions = vec!["urn:x".into()];
    said.reference_task_ids = vec!["t-0".into()];
    said.metadata = Some(Json(r#"{"from":"hermes"}"#.into()));
    Task {
        artifacts: vec![artifact(ANSWER, all_parts()), artifact("file-1", vec![Part::text("second")])],
        history: vec![Arc::new(said), Arc::new(message(Role::Agent, "Thinking."))],
        metadata: Metadata {
            usage: Some(Usage {
                calls: 2,
                input_tokens: 1200,
                cached_tokens: 800,
                output_tokens: 90,
                reasoning_tokens: 30,
            }),
            redactions: vec![("github".into(), 2)],
            sanitized: vec![("tag", 5)],
            timing: Some(Timing { first_line_ms: 310, wall_ms: 2400, awake_ms: 2390 }),
            model: Some("muse-large".into()),
            truncated: true,
            ..task(TaskState::Completed, None).metadata
        },
        ..task(TaskState::Completed, None)
    }
}

pub(crate) fn failed() -> Task {
    let mut task = task(TaskState::Failed, Some("The worker restarted while this ran; send it again."));
    task.metadata.failure = Some("worker-restarted");
    task.metadata.retry_after = Some(5);
    task
}

/// A Task in each of the nine states.
pub(crate) fn every_state() -> Vec<(&'static str, Task)> {
    vec![
        ("unspecified", task(TaskState::Unspecified, None)),
        ("submitted", task(TaskState::Submitted, Some("Waiting for a slot."))),
        ("working", task(TaskState::Working, Some("Running a tool."))),
        ("completed", completed()),
        ("failed", failed()),
        ("canceled", task(TaskState::Canceled, Some("Canceled by its caller."))),
        ("input-required", task(TaskState::InputRequired, Some("Which file?"))),
        ("rejected", task(TaskState::Rejected, Some("Not allowed here."))),
        ("auth-required", task(TaskState::AuthRequired, Some("The agent's credential has expired."))),
    ]
}

pub(crate) fn push_config() -> PushConfig {
    PushConfig {
        id: Some("cfg-1".into()),
        url: "https://example.org/hook".into(),
        token: Some("secret-token".into()),
        authentication: Some(("Bearer".into(), Some("secret-credentials".into()))),
    }
}

/// A stream with an event of every kind: progress of every kind, pieces, a whole artifact, the end.
pub(crate) fn stream() -> Vec<(Cursor, Event)> {
    let text = |text: &str| Text::new(text).unwrap();
    let working = |said: &str, progress| Event::Status {
        status: status(TaskState::Working, Some(said)),
        progress: Some(progress),
        last: false,
    };
    let piece =
        |text: &'static str, append, last| Event::Chunk { text: Bytes::from_static(text.as_bytes()), append, last };
    let events = vec![
        (0, Event::Task(Arc::new(task(TaskState::Submitted, None)))),
        (0, working("Started.", Progress::Started)),
        (0, working("Model muse-large.", Progress::Model { id: text("muse-large") })),
        (0, working("Tool bash.", Progress::ToolStarted { name: text("bash") })),
        (0, working("Tool bash ended.", Progress::ToolEnded { name: text("bash"), ok: true })),
        (
            0,
            working(
                "Again.",
                Progress::Retry { attempt: 1, of: 5, http_status: 529, kind: Text::new("overloaded").unwrap() },
            ),
        ),
        (0, working("The machine slept.", Progress::Slept { seconds: 60 })),
        (6, piece("Hello ", false, false)),
        (12, piece("\"wör", true, false)),
        (17, piece("ld\"\n", true, false)),
        (18, piece(".", true, true)),
        (18, Event::Artifact { artifact: artifact("file-1", vec![Part::text("second")]), last: true }),
        (18, Event::Status { status: status(TaskState::Completed, None), progress: None, last: true }),
    ];
    let mut cursor = Cursor::default();
    events
        .into_iter()
        .map(|(bytes, event)| {
            cursor.bytes = bytes;
            cursor.marks += u32::from(!matches!(event, Event::Chunk { .. }));
            (cursor, event)
        })
        .collect()
}
