//! The shapes of 0.1.

use super::*;

fn part(value: &Value, place: &str) {
    super::old_part(value, place, "type");
}

fn message(value: &Value, place: &str) {
    let members: [(&str, Check); 3] = [
        ("role!", |value, place| word(value, place, &["user", "agent"])),
        ("parts!", |value, place| array(value, place, part)),
        ("metadata", open_object),
    ];
    object(value, place, &members);
}

fn state(value: &Value, place: &str) {
    v03::state(value, place);
    assert!(!matches!(value.as_str(), Some("rejected" | "auth-required")), "{place} is {value}");
}

fn status(value: &Value, place: &str) {
    object(value, place, &[("state!", state), ("message", message), ("timestamp", timestamp)]);
}

fn artifact(value: &Value, place: &str) {
    let members: [(&str, Check); 6] = [
        ("name", string),
        ("description", string),
        ("parts!", |value, place| array(value, place, part)),
        ("index!", number),
        ("append", boolean),
        ("lastChunk", boolean),
    ];
    object(value, place, &members);
}

pub(crate) fn task(value: &Value, place: &str) {
    let members: [(&str, Check); 6] = [
        ("id!", string),
        ("sessionId", string),
        ("status!", status),
        ("artifacts", |value, place| array(value, place, artifact)),
        ("history", |value, place| array(value, place, message)),
        ("metadata", open_object),
    ];
    object(value, place, &members);
}

pub(crate) fn event(value: &Value, place: &str) {
    let status_update: [(&str, Check); 4] =
        [("id!", string), ("status!", status), ("final!", boolean), ("metadata", open_object)];
    let artifact_update: [(&str, Check); 2] = [("id!", string), ("artifact!", artifact)];
    if value.get("artifact").is_some() {
        object(value, place, &artifact_update);
    } else {
        object(value, place, &status_update);
    }
}

pub(crate) fn push(value: &Value, place: &str) {
    let members: [(&str, Check); 2] = [("id!", string), ("pushNotificationConfig!", super::old_push)];
    object(value, place, &members);
}
