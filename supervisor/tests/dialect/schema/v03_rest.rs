//! The shapes of 0.3 over HTTP+JSON: the JSON of its protocol buffers.

use super::*;

fn state(value: &Value, place: &str) {
    let states = ["UNSPECIFIED", "SUBMITTED", "WORKING", "COMPLETED", "FAILED", "CANCELLED", "INPUT_REQUIRED"];
    let words: Vec<String> =
        states.iter().chain(&["REJECTED", "AUTH_REQUIRED"]).map(|s| format!("TASK_STATE_{s}")).collect();
    word(value, place, &words.iter().map(String::as_str).collect::<Vec<_>>());
}

fn part(value: &Value, place: &str) {
    let file: Check = |value, place| {
        let members: [(&str, Check); 4] =
            [("fileWithBytes", base64), ("fileWithUri", string), ("name", string), ("mimeType", string)];
        one_of(object(value, place, &members), place, &["fileWithBytes", "fileWithUri"]);
    };
    let data: Check = |value, place| exactly(value, place, &[("data!", open_object)]);
    let members: [(&str, Check); 4] = [("text", string), ("file", file), ("data", data), ("metadata", open_object)];
    one_of(object(value, place, &members), place, &["text", "file", "data"]);
}

pub(crate) fn message(value: &Value, place: &str) {
    let members: [(&str, Check); 7] = [
        ("messageId!", string),
        ("contextId", string),
        ("taskId", string),
        ("role!", v1::role),
        ("content!", |value, place| array(value, place, part)),
        ("metadata", open_object),
        ("extensions", strings),
    ];
    object(value, place, &members);
}

fn status(value: &Value, place: &str) {
    object(value, place, &[("state!", state), ("message", message), ("timestamp", timestamp)]);
}

fn artifact(value: &Value, place: &str) {
    let members: [(&str, Check); 4] = [
        ("artifactId!", string),
        ("name", string),
        ("description", string),
        ("parts!", |value, place| array(value, place, part)),
    ];
    object(value, place, &members);
}

pub(crate) fn task(value: &Value, place: &str) {
    let members: [(&str, Check); 6] = [
        ("id!", string),
        ("contextId!", string),
        ("status!", status),
        ("artifacts", |value, place| array(value, place, artifact)),
        ("history", |value, place| array(value, place, message)),
        ("metadata", open_object),
    ];
    object(value, place, &members);
}

pub(crate) fn event(value: &Value, place: &str) {
    let status_update: Check = |value, place| {
        let members: [(&str, Check); 5] = [
            ("taskId!", string),
            ("contextId!", string),
            ("status!", status),
            ("final!", boolean),
            ("metadata", open_object),
        ];
        object(value, place, &members);
    };
    let artifact_update: Check = |value, place| {
        let members: [(&str, Check); 5] = [
            ("taskId!", string),
            ("contextId!", string),
            ("artifact!", artifact),
            ("append", boolean),
            ("lastChunk", boolean),
        ];
        object(value, place, &members);
    };
    let members: [(&str, Check); 4] =
        [("task", task), ("message", message), ("statusUpdate", status_update), ("artifactUpdate", artifact_update)];
    assert_eq!(object(value, place, &members).len(), 1, "{place}");
}

pub(crate) fn push(value: &Value, place: &str) {
    let members: [(&str, Check); 2] = [("name!", string), ("pushNotificationConfig!", super::old_push)];
    object(value, place, &members);
}
