//! The dialects tell the same story of the same Task: which state it is in as far as its client has to act, what was
//! answered, what was said, and what it cost. Each answer is read back by a reader of its own edition.

use crate::answers::result;
use crate::sse::read;
use crate::streams::{piece_text, said, written};
use crate::{SPOKEN, cases, schema};
use bytes::Bytes;
use musegate_supervisor::a2a::*;
use musegate_supervisor::dialect::{Binding, Version};
use proptest::prelude::*;
use serde_json::Value;
use std::sync::Arc;

/// What a client has to know of a state.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Stands {
    Unknown,
    Waits,
    Runs,
    Asks,
    Done,
    Failed,
    Canceled,
}

fn stands(word: &str) -> Stands {
    let word = word.trim_start_matches("TASK_STATE_").to_ascii_lowercase().replace('_', "-");
    match word.as_str() {
        "submitted" => Stands::Waits,
        "working" => Stands::Runs,
        "input-required" | "auth-required" => Stands::Asks,
        "completed" => Stands::Done,
        "failed" | "rejected" => Stands::Failed,
        "canceled" | "cancelled" => Stands::Canceled,
        "unspecified" | "unknown" => Stands::Unknown,
        other => panic!("{other}"),
    }
}

/// What a part says, without the names that an edition has for it.
fn part(part: &Value) -> Value {
    let file = &part["file"];
    let wrapped = part["metadata"]["data_part_compat"] == true;
    let data = if part["data"]["data"].is_object() && part.get("kind").is_none() && part.get("type").is_none() {
        &part["data"]["data"]
    } else {
        &part["data"]
    };
    let first =
        |values: &[&Value]| values.iter().find(|value| !value.is_null()).map_or(Value::Null, |value| (*value).clone());
    serde_json::json!([
        part["text"],
        first(&[&part["raw"], &file["bytes"], &file["fileWithBytes"]]),
        first(&[&part["url"], &file["uri"], &file["fileWithUri"]]),
        if wrapped { &data["value"] } else { data },
        first(&[&part["filename"], &file["name"]]),
        first(&[&part["mediaType"], &file["mimeType"]]),
    ])
}

fn parts(holder: &Value) -> Vec<Value> {
    let parts = if holder["content"].is_array() { &holder["content"] } else { &holder["parts"] };
    parts.as_array().into_iter().flatten().map(part).collect()
}

fn message(message: &Value) -> (String, Vec<Value>) {
    let role = message["role"].as_str().unwrap_or_default().trim_start_matches("ROLE_").to_ascii_lowercase();
    (role, parts(message))
}

#[derive(Debug, PartialEq)]
struct Story {
    context: String,
    stands: Stands,
    since: String,
    status: (String, Vec<Value>),
    artifacts: Vec<(Value, Vec<Value>)>,
    history: Vec<(String, Vec<Value>)>,
    metadata: Value,
}

fn told(task: &Value) -> Story {
    let list = |name: &str| task[name].as_array().cloned().unwrap_or_default();
    let context = if task["contextId"].is_string() { &task["contextId"] } else { &task["sessionId"] };
    Story {
        context: context.as_str().unwrap().to_owned(),
        stands: stands(task["status"]["state"].as_str().unwrap()),
        since: task["status"]["timestamp"].as_str().unwrap().to_owned(),
        status: message(&task["status"]["message"]),
        artifacts: list("artifacts").iter().map(|one| (one["name"].clone(), parts(one))).collect(),
        history: list("history").iter().map(message).collect(),
        metadata: task["metadata"].clone(),
    }
}

fn any_part() -> impl Strategy<Value = Part> {
    let plain = |content| Part { content, ..Part::text("") };
    let name = proptest::option::of(any::<String>());
    prop_oneof![
        any::<String>().prop_map(Part::text),
        (prop::collection::vec(any::<u8>(), 0..20), name.clone(), name.clone()).prop_map(
            move |(bytes, filename, media_type)| {
                Part { filename, media_type, ..plain(Content::Raw(Bytes::from(bytes))) }
            }
        ),
        (any::<String>(), name).prop_map(move |(url, filename)| Part { filename, ..plain(Content::Url(url)) }),
        prop_oneof![Just("{}"), Just("{\"a\":[null,1.5]}"), Just("[1]"), Just("\"w\""), Just("7"), Just("true")]
            .prop_map(move |json| plain(Content::Data(Json(json.into())))),
    ]
}

fn any_state() -> impl Strategy<Value = TaskState> {
    prop::sample::select(cases::every_state().into_iter().map(|(_, task)| task.status.state).collect::<Vec<_>>())
}

fn any_message() -> impl Strategy<Value = Arc<Message>> {
    (any::<bool>(), prop::collection::vec(any_part(), 1..4)).prop_map(|(user, parts)| {
        let role = if user { Role::User } else { Role::Agent };
        Arc::new(Message { parts, ..cases::message(role, "") })
    })
}

fn any_task() -> impl Strategy<Value = Task> {
    let name = proptest::option::of(any::<String>());
    let artifact = (name.clone(), name, prop::collection::vec(any_part(), 1..4));
    let artifacts = prop::collection::vec(artifact, 0..3);
    let status = (any_state(), proptest::option::of(any_message()), 0_u64..4_000_000_000_000);
    let history = prop::collection::vec(any_message(), 0..4);
    (status, artifacts, history, any::<bool>()).prop_map(|((state, message, millis), artifacts, history, rich)| {
        let artifacts = artifacts.into_iter().enumerate().map(|(n, (name, description, parts))| {
            Arc::new(Artifact { artifact_id: format!("a{n}"), name, description, parts })
        });
        let timestamp = Timestamp(std::time::Duration::from_millis(millis));
        let metadata = if rich { cases::completed().metadata } else { cases::failed().metadata };
        Task {
            status: Status { state, message, timestamp },
            artifacts: artifacts.collect(),
            history,
            metadata,
            ..cases::task(state, None)
        }
    })
}

proptest! {
    #[test]
    fn all_dialects_tell_the_same_story_of_a_task(task in any_task()) {
        let tell = |(version, binding)| {
            let told_as = result(&cases::reply(version, binding).task(&task), binding);
            schema::task(version, binding, &told_as);
            prop_assert_eq!(&told_as["id"], if version == Version::Early { "my-task" } else { "t-1" });
            Ok(told(&told_as))
        };
        let first = tell(SPOKEN[0])?;
        for spoken in &SPOKEN[1..] {
            prop_assert_eq!(&tell(*spoken)?, &first, "{:?}", spoken);
        }
    }

    #[test]
    fn all_dialects_tell_the_same_story_of_a_stream(
        pieces in prop::collection::vec(any::<String>(), 0..6),
        files in prop::collection::vec(prop::collection::vec(any_part(), 1..3), 0..3),
        state in any_state(),
        last_words in proptest::option::of(any_message()),
    ) {
        let mut events = vec![Event::Task(Arc::new(cases::task(TaskState::Submitted, None)))];
        events.push(Event::Status { status: cases::status(TaskState::Working, Some("x")), progress: Some(Progress::Started), last: false });
        let count = pieces.len();
        events.extend(pieces.iter().enumerate().map(|(n, piece)| {
            Event::Chunk { text: Bytes::from(piece.clone()), append: n > 0, last: n + 1 == count }
        }));
        events.extend(files.iter().enumerate().map(|(n, parts)| {
            Event::Artifact { artifact: cases::artifact(&format!("f{n}"), parts.clone()), last: true }
        }));
        let status = Status { state, message: last_words, timestamp: cases::NOW };
        events.push(Event::Status { status, progress: None, last: true });
        let events: Vec<_> = events.into_iter().map(|event| (Cursor::default(), event)).collect();
        let first = heard(SPOKEN[0], &events);
        for spoken in &SPOKEN[1..] {
            prop_assert_eq!(&heard(*spoken, &events), &first, "{:?}", spoken);
        }
        prop_assert_eq!(&first.0, &pieces.concat());
    }
}

/// The answer in pieces, the files, and every status, as a client of that edition gathers them.
type Heard = (String, Vec<Vec<Value>>, Vec<(Stands, (String, Vec<Value>), Value)>);

fn heard((version, binding): (Version, Binding), events: &[(Cursor, Event)]) -> Heard {
    let (frames, _) = read(&written(&cases::reply(version, binding), events));
    let mut heard: Heard = (String::new(), Vec::new(), Vec::new());
    for event in frames.iter().map(|frame| said(frame, binding)) {
        schema::event(version, binding, &event);
        let update = [&event["artifactUpdate"]["artifact"], &event["artifact"]].into_iter().find(|it| it.is_object());
        let holder =
            ["task", "statusUpdate"].iter().map(|name| &event[*name]).find(|it| it.is_object()).unwrap_or(&event);
        match update {
            // The answer is the artifact `answer`, or number 0 where artifacts have numbers.
            Some(artifact) if artifact["artifactId"] == "answer" || artifact["index"] == 0 => {
                heard.0.push_str(piece_text(&event).unwrap());
            }
            Some(artifact) => heard.1.push(parts(artifact)),
            None => {
                let status = &holder["status"];
                let progress = holder["metadata"]["musegate"]["progress"].clone();
                heard.2.push((stands(status["state"].as_str().unwrap()), message(&status["message"]), progress));
            }
        }
    }
    heard
}
