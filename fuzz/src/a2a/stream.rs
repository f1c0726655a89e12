//! Event streams: where a client says it stands, and what we write to it.

use crate::pieces::text_pieces;
use bytes::{Bytes, BytesMut};
use hyper::{HeaderMap, Method};
use musegate_supervisor::a2a::{ContextId, Cursor, Event, TaskId};
use musegate_supervisor::dialect::{ReplyTo, Version};
use musegate_supervisor::http::router::route;
use musegate_supervisor::http::sse::{Writer, last_event_id};

/// `Last-Event-ID`: ours or none, and ours comes back as it was.
pub(crate) fn resume(input: &[u8]) {
    let mut headers = HeaderMap::new();
    if let Ok(value) = input.try_into() {
        headers.insert("last-event-id", value);
    }
    if let Some(cursor) = last_event_id(&headers) {
        assert_eq!(Cursor::parse(&cursor.to_string()), Some(cursor));
    }
    if let Ok(text) = std::str::from_utf8(input) {
        if let Some(cursor) = Cursor::parse(text) {
            assert_eq!(Cursor::parse(&cursor.to_string()), Some(cursor));
            assert!(text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-'));
        }
    }
}

/// An answer in pieces, in every edition: each event is framed, numbered and JSON, and the pieces are the answer.
pub(crate) fn stream(input: &[u8]) {
    let Some((shape, rest)) = input.split_first() else { return };
    let Some((whole, pieces)) = text_pieces(rest) else { return };
    let path = ["/", "/message:stream", "/v1/message:stream", "/tasks/sendSubscribe"][usize::from(shape % 4)];
    let route = route(&Method::POST, path).expect("a path of ours");
    let mut reply = ReplyTo::for_route(&route);
    if shape & 16 > 0 {
        reply = reply.as_early();
    } else if shape & 32 > 0 {
        reply.version = Version::V03;
    }
    let mut writer = Writer::new(&reply, &TaskId("t1".into()), &ContextId("c1".into()));
    let mut out = BytesMut::new();
    let mut cursor = Cursor::default();
    for (at, piece) in pieces.iter().enumerate() {
        cursor.bytes += piece.len() as u64;
        let text = Bytes::copy_from_slice(piece.as_bytes());
        let event = Event::Chunk { text, append: at > 0, last: at + 1 == pieces.len() };
        writer.write(cursor, &event, &mut out);
    }
    let out = std::str::from_utf8(&out).expect("text");
    let mut said = String::new();
    let mut ids = 0;
    for event in out.split("\n\n").filter(|event| !event.is_empty()) {
        for line in event.lines() {
            match line.split_once(": ").expect("a field") {
                ("data", data) => said.push_str(&text_of(&serde_json::from_str(data).expect("JSON"))),
                ("id", id) => {
                    ids += 1;
                    assert!(Cursor::parse(id).is_some());
                }
                ("retry", _) => {}
                (field, _) => panic!("{field}"),
            }
        }
    }
    assert_eq!(ids, pieces.len());
    assert_eq!(said, whole);
    assert!(out.is_empty() || out.ends_with("\n\n"));
}

/// The text of the one part of the one artifact, wherever this edition puts it.
fn text_of(value: &serde_json::Value) -> String {
    match value {
        serde_json::Value::Object(members) => match members.get("parts") {
            Some(parts) => parts[0]["text"].as_str().or(parts[0]["content"]["text"].as_str()).unwrap_or_default().into(),
            None => members.values().map(text_of).collect(),
        },
        serde_json::Value::Array(items) => items.iter().map(text_of).collect(),
        _ => String::new(),
    }
}
