//! Answers of A2A 0.3 over HTTP+JSON: the JSON of its protocol buffers. A message has `content`, a canceled task is
//! `TASK_STATE_CANCELLED` with two Ls, and there is no `kind`.

use super::super::call::PushConfig;
use super::super::json::Out;
use super::super::shape::Shown;
use super::super::v1::write as v1;
use super::super::{metadata, time};
use super::write::{data_metadata, data_value, push_members};
use crate::a2a::{ANSWER, Artifact, Content, Event, Message, Part, Progress, Status, Task, TaskState};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

const fn state(state: TaskState) -> &'static str {
    match state {
        TaskState::Canceled => "TASK_STATE_CANCELLED",
        other => v1::state(other),
    }
}

pub(crate) fn task(out: &mut Out<'_>, shown: Shown<'_>, task: &Task) {
    out.object(|out| {
        out.string_in("id", shown.task);
        out.string_in("contextId", shown.context);
        status(out, &task.status);
        out.each_in("artifacts", &task.artifacts, |out, one| artifact(out, one));
        out.each_in("history", &task.history, |out, one| message(out, one));
        metadata::of_task(out, &task.metadata);
    });
}

fn status(out: &mut Out<'_>, status: &Status) {
    out.object_in("status", |out| {
        out.string_in("state", state(status.state));
        if let Some(said) = &status.message {
            out.name("message");
            message(out, said);
        }
        out.string_in("timestamp", &time::shown(status.timestamp));
    });
}

/// Its protocol buffer has no place for the Tasks that a message refers to.
pub(crate) fn message(out: &mut Out<'_>, message: &Message) {
    out.object(|out| {
        out.string_in("messageId", &message.message_id.0);
        out.some_string_in("contextId", message.context_id.as_ref().map(|id| &*id.0));
        out.some_string_in("taskId", message.task_id.as_ref().map(|id| &*id.0));
        out.string_in("role", v1::role(message.role));
        out.each_in("content", &message.parts, part);
        if let Some(metadata) = &message.metadata {
            out.raw_in("metadata", &metadata.0);
        }
        out.each_in("extensions", &message.extensions, |out, uri| out.string(uri));
    });
}

fn part(out: &mut Out<'_>, part: &Part) {
    out.object(|out| {
        match &part.content {
            Content::Text(text) => out.string_in("text", text),
            Content::Raw(bytes) => file(out, part, |out| out.string_in("fileWithBytes", &STANDARD.encode(bytes))),
            Content::Url(url) => file(out, part, |out| out.string_in("fileWithUri", url)),
            Content::Data(data) => {
                out.object_in("data", |out| data_value(out, data));
                return data_metadata(out, data, part.metadata.as_ref());
            }
        }
        if let Some(metadata) = &part.metadata {
            out.raw_in("metadata", &metadata.0);
        }
    });
}

fn file(out: &mut Out<'_>, part: &Part, content: impl FnOnce(&mut Out<'_>)) {
    out.object_in("file", |out| {
        content(out);
        out.some_string_in("mimeType", part.media_type.as_deref());
        out.some_string_in("name", part.filename.as_deref());
    });
}

fn artifact(out: &mut Out<'_>, artifact: &Artifact) {
    out.object(|out| {
        out.string_in("artifactId", &artifact.artifact_id);
        out.some_string_in("name", artifact.name.as_deref());
        out.some_string_in("description", artifact.description.as_deref());
        out.each_in("parts", &artifact.parts, part);
    });
}

/// One of `task`, `message`, `statusUpdate` and `artifactUpdate`.
pub(crate) fn event(out: &mut Out<'_>, shown: Shown<'_>, event: &Event) {
    out.object(|out| match event {
        Event::Task(snapshot) => {
            out.name("task");
            task(out, shown, snapshot);
        }
        Event::Message(said) => {
            out.name("message");
            message(out, said);
        }
        Event::Status { status, progress, last } => status_update(out, shown, status, progress.as_ref(), *last),
        Event::Artifact { artifact: whole, last } => update(out, shown, false, *last, |out| artifact(out, whole)),
        Event::Chunk { text, append, last } => piece(out, shown, *append, *last, |out| out.escaped(text)),
    });
}

fn status_update(out: &mut Out<'_>, shown: Shown<'_>, said: &Status, progress: Option<&Progress>, last: bool) {
    out.object_in("statusUpdate", |out| {
        out.string_in("taskId", shown.task);
        out.string_in("contextId", shown.context);
        status(out, said);
        out.bool_in("final", last);
        metadata::of_progress(out, progress);
    });
}

fn update(out: &mut Out<'_>, shown: Shown<'_>, append: bool, last: bool, artifact: impl FnOnce(&mut Out<'_>)) {
    out.object_in("artifactUpdate", |out| {
        out.string_in("taskId", shown.task);
        out.string_in("contextId", shown.context);
        out.name("artifact");
        artifact(out);
        out.bool_in("append", append);
        out.bool_in("lastChunk", last);
    });
}

/// The member of a piece of the answer; `text` writes the inside of its string.
pub(crate) fn piece(out: &mut Out<'_>, shown: Shown<'_>, append: bool, last: bool, text: impl FnOnce(&mut Out<'_>)) {
    update(out, shown, append, last, |out| {
        out.object(|out| {
            out.string_in("artifactId", ANSWER);
            out.array_in("parts", |out| out.object(|out| out.quoted_in("text", text)));
        });
    });
}

/// Its id is a resource's name, and there is no other.
pub(crate) fn push_config(out: &mut Out<'_>, task: &str, config: &PushConfig) {
    let id = config.id.as_deref().unwrap_or_default();
    out.object(|out| {
        out.string_in("name", &format!("tasks/{task}/pushNotificationConfigs/{id}"));
        out.object_in("pushNotificationConfig", |out| push_members(out, config));
    });
}
