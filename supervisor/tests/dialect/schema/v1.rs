//! The shapes of 1.0, spec §4.

use super::*;

fn state(value: &Value, place: &str) {
    let states = ["UNSPECIFIED", "SUBMITTED", "WORKING", "COMPLETED", "FAILED", "CANCELED", "INPUT_REQUIRED"];
    let words: Vec<String> =
        states.iter().chain(&["REJECTED", "AUTH_REQUIRED"]).map(|s| format!("TASK_STATE_{s}")).collect();
    word(value, place, &words.iter().map(String::as_str).collect::<Vec<_>>());
}

pub(crate) fn role(value: &Value, place: &str) {
    word(value, place, &["ROLE_USER", "ROLE_AGENT"]);
}

fn part(value: &Value, place: &str) {
    let members: [(&str, Check); 7] = [
        ("text", string),
        ("raw", base64),
        ("url", string),
        ("data", any),
        ("metadata", open_object),
        ("filename", string),
        ("mediaType", string),
    ];
    one_of(object(value, place, &members), place, &["text", "raw", "url", "data"]);
}

fn parts(value: &Value, place: &str) {
    array(value, place, part);
}

pub(crate) fn message(value: &Value, place: &str) {
    let members: [(&str, Check); 8] = [
        ("messageId!", string),
        ("contextId", string),
        ("taskId", string),
        ("role!", role),
        ("parts!", parts),
        ("metadata", open_object),
        ("extensions", strings),
        ("referenceTaskIds", strings),
    ];
    object(value, place, &members);
}

fn artifact(value: &Value, place: &str) {
    let members: [(&str, Check); 6] = [
        ("artifactId!", string),
        ("name", string),
        ("description", string),
        ("parts!", parts),
        ("metadata", open_object),
        ("extensions", strings),
    ];
    object(value, place, &members);
}

fn status(value: &Value, place: &str) {
    object(value, place, &[("state!", state), ("message", message), ("timestamp", timestamp)]);
}

pub(crate) fn task(value: &Value, place: &str) {
    let members: [(&str, Check); 6] = [
        ("id!", string),
        ("contextId", string),
        ("status!", status),
        ("artifacts", |value, place| array(value, place, artifact)),
        ("history", |value, place| array(value, place, message)),
        ("metadata", open_object),
    ];
    object(value, place, &members);
}

fn status_update(value: &Value, place: &str) {
    let members: [(&str, Check); 4] =
        [("taskId!", string), ("contextId!", string), ("status!", status), ("metadata", open_object)];
    object(value, place, &members);
}

fn artifact_update(value: &Value, place: &str) {
    let members: [(&str, Check); 6] = [
        ("taskId!", string),
        ("contextId!", string),
        ("artifact!", artifact),
        ("append", boolean),
        ("lastChunk", boolean),
        ("metadata", open_object),
    ];
    object(value, place, &members);
}

pub(crate) fn event(value: &Value, place: &str) {
    let members: [(&str, Check); 4] =
        [("task", task), ("message", message), ("statusUpdate", status_update), ("artifactUpdate", artifact_update)];
    assert_eq!(object(value, place, &members).len(), 1, "{place}");
}

pub(crate) fn push(value: &Value, place: &str) {
    let members: [(&str, Check); 4] = [
        ("id", string),
        ("taskId", string),
        ("url!", string),
        ("authentication", |value, place| exactly(value, place, &[("scheme!", string)])),
    ];
    object(value, place, &members);
}
