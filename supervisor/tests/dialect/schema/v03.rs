//! The shapes of 0.3 over JSON-RPC, spec 0.3 §6 and §7.

use super::*;

fn kind(value: &Value, place: &str, kind: &str) {
    assert_eq!(value["kind"], kind, "{place}");
}

pub(crate) fn state(value: &Value, place: &str) {
    let early = ["submitted", "working", "input-required", "completed", "canceled", "failed", "unknown"];
    word(value, place, &[&early[..], &["rejected", "auth-required"]].concat());
}

fn part(value: &Value, place: &str) {
    super::old_part(value, place, "kind");
}

pub(crate) fn message(value: &Value, place: &str) {
    kind(value, place, "message");
    let members: [(&str, Check); 9] = [
        ("kind!", string),
        ("messageId!", string),
        ("contextId", string),
        ("taskId", string),
        ("role!", |value, place| word(value, place, &["user", "agent"])),
        ("parts!", |value, place| array(value, place, part)),
        ("metadata", open_object),
        ("extensions", strings),
        ("referenceTaskIds", strings),
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
    kind(value, place, "task");
    let members: [(&str, Check); 7] = [
        ("kind!", string),
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
    let status_update: [(&str, Check); 6] = [
        ("kind!", string),
        ("taskId!", string),
        ("contextId!", string),
        ("status!", status),
        ("final!", boolean),
        ("metadata", open_object),
    ];
    let artifact_update: [(&str, Check); 6] = [
        ("kind!", string),
        ("taskId!", string),
        ("contextId!", string),
        ("artifact!", artifact),
        ("append", boolean),
        ("lastChunk", boolean),
    ];
    match value["kind"].as_str() {
        Some("task") => task(value, place),
        Some("message") => message(value, place),
        Some("status-update") => exactly(value, place, &status_update),
        Some("artifact-update") => exactly(value, place, &artifact_update),
        other => panic!("{place} is a {other:?}"),
    }
}

pub(crate) fn push(value: &Value, place: &str) {
    let members: [(&str, Check); 2] = [("taskId!", string), ("pushNotificationConfig!", super::old_push)];
    object(value, place, &members);
}
