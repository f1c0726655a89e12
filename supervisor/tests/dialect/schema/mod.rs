//! What the specification says of each shape, as checks of our own: which members there are, which must be there, which
//! words they may hold. A member that an edition does not have is as wrong as one that is missing, since strict clients
//! refuse both.

use musegate_supervisor::dialect::{Binding, Version};
use serde_json::{Map, Value};

mod early;
mod v03;
mod v03_rest;
mod v1;

type Check = fn(&Value, &str);

/// An object with exactly these members, those with `!` always.
fn object<'v>(value: &'v Value, place: &str, members: &[(&str, Check)]) -> &'v Map<String, Value> {
    let object = value.as_object().unwrap_or_else(|| panic!("{place} is no object: {value}"));
    for name in object.keys() {
        assert!(members.iter().any(|(known, _)| known.trim_end_matches('!') == name), "{place} has {name}");
    }
    for (name, check) in members {
        let plain = name.trim_end_matches('!');
        match object.get(plain) {
            Some(member) => check(member, &format!("{place}.{plain}")),
            None => assert!(!name.ends_with('!'), "{place} lacks {plain}: {value}"),
        }
    }
    object
}

/// The same, when nothing more is to be asked of it.
fn exactly(value: &Value, place: &str, members: &[(&str, Check)]) {
    let _ = object(value, place, members);
}

fn array(value: &Value, place: &str, check: Check) {
    let items = value.as_array().unwrap_or_else(|| panic!("{place} is no array"));
    assert!(!items.is_empty(), "{place} is empty");
    items.iter().enumerate().for_each(|(n, item)| check(item, &format!("{place}[{n}]")));
}

fn word(value: &Value, place: &str, words: &[&str]) {
    assert!(value.as_str().is_some_and(|word| words.contains(&word)), "{place} is {value}");
}

fn one_of(object: &Map<String, Value>, place: &str, names: &[&str]) {
    let found = names.iter().filter(|name| object.contains_key(**name)).count();
    assert_eq!(found, 1, "{place} must have one of {names:?}");
}

fn string(value: &Value, place: &str) {
    assert!(value.is_string(), "{place} is {value}");
}

fn boolean(value: &Value, place: &str) {
    assert!(value.is_boolean(), "{place} is {value}");
}

fn number(value: &Value, place: &str) {
    assert!(value.is_u64(), "{place} is {value}");
}

fn any(_: &Value, _: &str) {}

fn open_object(value: &Value, place: &str) {
    assert!(value.is_object(), "{place} is {value}");
}

fn strings(value: &Value, place: &str) {
    array(value, place, string);
}

fn base64(value: &Value, place: &str) {
    let text = value.as_str().unwrap_or_else(|| panic!("{place} is {value}"));
    let legal = text.bytes().all(|b| b.is_ascii_alphanumeric() || b"+/=".contains(&b));
    assert!(legal && text.len().is_multiple_of(4), "{place} is {text}");
}

/// §5.6.1: UTC with milliseconds and `Z`.
fn timestamp(value: &Value, place: &str) {
    let text = value.as_str().unwrap_or_else(|| panic!("{place} is {value}"));
    let shape: String = text.chars().map(|c| if c.is_ascii_digit() { '0' } else { c }).collect();
    assert_eq!(shape, "0000-00-00T00:00:00.000Z", "{place}");
}

/// A part of 0.3 over JSON-RPC, and of 0.1, where the kind is called `type`.
fn old_part(value: &Value, place: &str, kind: &str) {
    let required = format!("{kind}!");
    let file: Check = |value, place| {
        let members: [(&str, Check); 4] = [("bytes", base64), ("uri", string), ("name", string), ("mimeType", string)];
        one_of(object(value, place, &members), place, &["bytes", "uri"]);
    };
    let content: (&str, Check) = match value[kind].as_str() {
        Some("text") => ("text!", string),
        Some("file") => ("file!", file),
        Some("data") => ("data!", open_object),
        other => panic!("{place} is a {other:?}"),
    };
    object(value, place, &[(&required, string), content, ("metadata", open_object)]);
}

fn old_push(value: &Value, place: &str) {
    let members: [(&str, Check); 3] = [
        ("id", string),
        ("url!", string),
        ("authentication", |value, place| exactly(value, place, &[("schemes!", strings)])),
    ];
    object(value, place, &members);
}

/// A Task on its own.
pub(crate) fn task(version: Version, binding: Binding, value: &Value) {
    match (version, binding) {
        (Version::V1, _) => v1::task(value, "task"),
        (Version::V03, Binding::JsonRpc) => v03::task(value, "task"),
        (Version::V03, Binding::Rest) => v03_rest::task(value, "task"),
        (Version::Early, _) => early::task(value, "task"),
    }
}

/// The answer to a message.
pub(crate) fn sent(version: Version, binding: Binding, value: &Value) {
    match (version, binding) {
        (Version::V1, _) => exactly(value, "sent", &[("task", v1::task), ("message", v1::message)]),
        (Version::V03, Binding::JsonRpc) if value["kind"] == "message" => v03::message(value, "sent"),
        (Version::V03, Binding::JsonRpc) => v03::task(value, "sent"),
        (Version::V03, Binding::Rest) => {
            exactly(value, "sent", &[("task", v03_rest::task), ("message", v03_rest::message)]);
        }
        (Version::Early, _) => early::task(value, "sent"),
    }
}

/// One event of a stream.
pub(crate) fn event(version: Version, binding: Binding, value: &Value) {
    match (version, binding) {
        (Version::V1, _) => v1::event(value, "event"),
        (Version::V03, Binding::JsonRpc) => v03::event(value, "event"),
        (Version::V03, Binding::Rest) => v03_rest::event(value, "event"),
        (Version::Early, _) => early::event(value, "event"),
    }
}

/// A push configuration.
pub(crate) fn push(version: Version, binding: Binding, value: &Value) {
    match (version, binding) {
        (Version::V1, _) => v1::push(value, "push"),
        (Version::V03, Binding::JsonRpc) => v03::push(value, "push"),
        (Version::V03, Binding::Rest) => v03_rest::push(value, "push"),
        (Version::Early, _) => early::push(value, "push"),
    }
}
