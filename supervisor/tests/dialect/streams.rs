//! Golden streams, and what holds for every stream.

use crate::sse::{Frame, read};
use crate::{SPOKEN, cases, golden, schema};
use bytes::{Bytes, BytesMut};
use hyper::HeaderMap;
use musegate_supervisor::a2a::{Cursor, Event, Part, Task, TaskState};
use musegate_supervisor::dialect::{Binding, ReplyTo, Version};
use musegate_supervisor::http::sse::{KEEP_ALIVE, Writer, headers, last_event_id};
use musegate_supervisor::refusal::Refusal;
use proptest::prelude::*;
use serde_json::Value;
use std::sync::Arc;

pub(crate) fn written(reply: &ReplyTo, events: &[(Cursor, Event)]) -> BytesMut {
    let task = cases::task(TaskState::Working, None);
    let mut writer = Writer::new(reply, &task.id, &task.context_id);
    let mut out = BytesMut::new();
    events.iter().for_each(|(cursor, event)| writer.write(*cursor, event, &mut out));
    out
}

/// What an event says, without its envelope.
pub(crate) fn said(frame: &Frame, binding: Binding) -> Value {
    let json: Value = serde_json::from_str(&frame.data).unwrap_or_else(|error| panic!("{error}: {}", frame.data));
    if binding == Binding::Rest {
        return json;
    }
    assert_eq!((&json["jsonrpc"], &json["id"]), (&"2.0".into(), &7.into()));
    json["result"].clone()
}

#[test]
fn a_stream_looks_as_its_edition_has_it() {
    for (version, binding) in SPOKEN {
        let out = written(&cases::reply(version, binding), &cases::stream());
        let (frames, _) = read(&out);
        for frame in &frames {
            let event = said(frame, binding);
            golden::no_null(&event, "");
            schema::event(version, binding, &event);
        }
        let file = format!("answers/{}/stream.sse", cases::folder(version, binding));
        golden::same_text(&file, std::str::from_utf8(&out).unwrap());
    }
}

#[test]
fn a_stream_that_is_one_message_looks_as_its_edition_has_it() {
    let message = Event::Message(Arc::new(cases::message(musegate_supervisor::a2a::Role::Agent, "Just this.")));
    for (version, binding) in SPOKEN {
        let out = written(&cases::reply(version, binding), &[(Cursor::default(), message.clone())]);
        let (frames, _) = read(&out);
        assert_eq!(frames.len(), 1);
        schema::event(version, binding, &said(&frames[0], binding));
    }
}

#[test]
fn every_event_carries_the_cursor_after_it_and_the_first_a_hint() {
    for (version, binding) in SPOKEN {
        let events = cases::stream();
        let (frames, _) = read(&written(&cases::reply(version, binding), &events));
        let ids: Vec<Cursor> = frames.iter().filter_map(|frame| Cursor::parse(frame.id.as_deref()?)).collect();
        assert_eq!(ids, events.iter().map(|(cursor, _)| *cursor).collect::<Vec<_>>());
        let hints: Vec<bool> = frames.iter().map(|frame| frame.retry.is_some()).collect();
        assert!(hints[0] && hints[1..].iter().all(|hint| !hint));
    }
}

#[test]
fn final_is_said_once_and_last_where_an_edition_has_it() {
    for (version, binding) in SPOKEN {
        let (frames, _) = read(&written(&cases::reply(version, binding), &cases::stream()));
        let finals: Vec<bool> = frames
            .iter()
            .map(|frame| said(frame, binding))
            .map(|event| event["final"] == true || event["statusUpdate"]["final"] == true)
            .collect();
        let (last, earlier) = finals.split_last().unwrap();
        assert_eq!(*last, version != Version::V1);
        assert!(!earlier.contains(&true));
    }
}

#[test]
fn a_snapshot_in_0_1_is_its_artifacts_and_then_its_status() {
    let snapshot: Task = cases::completed();
    let events = [(Cursor { marks: 4, bytes: 9, generation: 0 }, Event::Task(Arc::new(snapshot)))];
    let (frames, _) = read(&written(&cases::reply(Version::Early, Binding::JsonRpc), &events));
    let said: Vec<Value> = frames.iter().map(|frame| said(frame, Binding::JsonRpc)).collect();
    assert_eq!(said.len(), 3);
    assert_eq!((&said[0]["artifact"]["index"], &said[1]["artifact"]["index"]), (&0.into(), &1.into()));
    assert_eq!((&said[2]["status"]["state"], &said[2]["final"]), (&"completed".into(), &false.into()));
    let ids: Vec<_> = frames.iter().map(|frame| frame.id.as_deref()).collect();
    assert_eq!(ids, [None, None, Some("4-9-0")], "a client that breaks off between them must get them again");
}

#[test]
fn files_after_an_answer_in_pieces_are_numbered_from_one_in_0_1() {
    let file = |id: &str| Event::Artifact { artifact: cases::artifact(id, vec![Part::text("x")]), last: true };
    let answer = Event::Artifact { artifact: cases::artifact("answer", vec![Part::text("x")]), last: true };
    for first in [Some(answer), None] {
        let events: Vec<_> =
            first.into_iter().chain([file("a"), file("b")]).map(|event| (Cursor::default(), event)).collect();
        let (frames, _) = read(&written(&cases::reply(Version::Early, Binding::Rest), &events));
        let numbers: Vec<_> =
            frames.iter().map(|frame| said(frame, Binding::Rest)["artifact"]["index"].as_u64()).collect();
        assert_eq!(numbers[numbers.len() - 2..], [Some(1), Some(2)]);
    }
}

#[test]
fn a_keep_alive_is_a_comment_that_ends_nothing() {
    let reply = cases::reply(Version::V1, Binding::JsonRpc);
    let task = cases::task(TaskState::Working, None);
    let mut writer = Writer::new(&reply, &task.id, &task.context_id);
    let mut out = BytesMut::new();
    for (cursor, event) in cases::stream() {
        out.extend_from_slice(KEEP_ALIVE);
        writer.write(cursor, &event, &mut out);
    }
    let (frames, comments) = read(&out);
    assert_eq!((frames.len(), comments), (cases::stream().len(), cases::stream().len()));
    assert!(KEEP_ALIVE.starts_with(b":") && KEEP_ALIVE.iter().filter(|byte| **byte == b'\n').count() == 1);
}

#[test]
fn a_stream_that_cannot_go_on_says_why() {
    for (version, binding) in SPOKEN {
        let task = cases::task(TaskState::Working, None);
        let mut writer = Writer::new(&cases::reply(version, binding), &task.id, &task.context_id);
        let mut out = BytesMut::new();
        writer.refuse(&Refusal::Fault { incident: "1f".into() }, &mut out);
        let (frames, _) = read(&out);
        let json: Value = serde_json::from_str(&frames[0].data).unwrap();
        assert!(json["error"]["message"].as_str().unwrap().contains("1f"));
        assert_eq!(frames[0].id, None, "it is no place to come back to");
    }
}

#[test]
fn no_cache_and_no_proxy_may_hold_a_stream_back() {
    let headers = headers(&cases::reply(Version::V1, Binding::Rest));
    let named = |name: &str| headers.iter().find(|h| h.0.as_str() == name).map(|h| h.1.to_str().unwrap());
    assert_eq!(named("cache-control"), Some("no-cache"));
    assert_eq!(named("x-accel-buffering"), Some("no"));
}

#[test]
fn where_a_client_stands_is_read_from_its_header() {
    let read = |value: &str| {
        let mut headers = HeaderMap::new();
        headers.insert("last-event-id", value.parse().unwrap());
        last_event_id(&headers)
    };
    assert_eq!(read("3-120-1"), Some(Cursor { marks: 3, bytes: 120, generation: 1 }));
    for id in ["", "x", "1-2", "1-2-3-4", "-1-2-3", "99999999999-0-0"] {
        assert_eq!(read(id), None, "{id}");
    }
    assert_eq!(last_event_id(&HeaderMap::new()), None);
}

/// The text of a piece, wherever its edition has it.
pub(crate) fn piece_text(event: &Value) -> Option<&str> {
    let artifact = [&event["artifactUpdate"]["artifact"], &event["artifact"]].into_iter().find(|a| a.is_object())?;
    artifact["parts"][0]["text"].as_str()
}

proptest! {
    /// However an answer is cut, its pieces say it, and no piece can end its string, its line or its event.
    #[test]
    fn pieces_say_the_whole_answer(pieces in prop::collection::vec(any::<String>(), 1..20)) {
        for (version, binding) in SPOKEN {
            let count = pieces.len();
            let events: Vec<_> = pieces.iter().enumerate().map(|(n, piece)| {
                let text = Bytes::from(piece.clone());
                (Cursor::default(), Event::Chunk { text, append: n > 0, last: n + 1 == count })
            }).collect();
            let (frames, _) = read(&written(&cases::reply(version, binding), &events));
            let texts: Vec<String> = frames.iter().map(|frame| piece_text(&said(frame, binding)).unwrap().to_owned()).collect();
            prop_assert_eq!(&texts, &pieces);
        }
    }

    /// The quick way for pieces in the middle and the ordinary way say the same.
    #[test]
    fn a_piece_differs_from_the_last_one_only_in_being_last(text in any::<String>()) {
        for (version, binding) in SPOKEN {
            let event = |last| (Cursor::default(), Event::Chunk { text: Bytes::from(text.clone()), append: true, last });
            let quick = written(&cases::reply(version, binding), &[event(false)]);
            let slow = written(&cases::reply(version, binding), &[event(true)]);
            let slow = String::from_utf8(slow.to_vec()).unwrap().replace("\"lastChunk\":true", "\"lastChunk\":false");
            let quick = String::from_utf8(quick.to_vec()).unwrap();
            prop_assert_eq!(quick, slow);
        }
    }
}
