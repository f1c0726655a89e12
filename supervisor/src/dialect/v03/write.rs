//! Answers of A2A 0.3 and 0.2 over JSON-RPC: `kind` on everything, states in lower case, `final` on the last status.
//! Spec 0.3 §6, §7.

use super::super::call::PushConfig;
use super::super::json::Out;
use super::super::shape::Shown;
use super::super::{metadata, time};
use super::WRAPPED;
use crate::a2a::{ANSWER, Artifact, Content, Event, Json, Message, Part, Progress, Role, Status, Task, TaskState};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// §6.3
pub(crate) const fn state(state: TaskState) -> &'static str {
    match state {
        TaskState::Unspecified => "unknown",
        TaskState::Submitted => "submitted",
        TaskState::Working => "working",
        TaskState::Completed => "completed",
        TaskState::Failed => "failed",
        TaskState::Canceled => "canceled",
        TaskState::InputRequired => "input-required",
        TaskState::Rejected => "rejected",
        TaskState::AuthRequired => "auth-required",
    }
}

pub(crate) const fn role(role: Role) -> &'static str {
    match role {
        Role::User => "user",
        Role::Agent => "agent",
    }
}

/// §6.1
pub(crate) fn task(out: &mut Out<'_>, shown: Shown<'_>, task: &Task) {
    out.object(|out| {
        out.string_in("kind", "task");
        out.string_in("id", shown.task);
        out.string_in("contextId", shown.context);
        status(out, &task.status);
        out.each_in("artifacts", &task.artifacts, |out, one| artifact(out, one));
        out.each_in("history", &task.history, |out, one| message(out, one));
        metadata::of_task(out, &task.metadata);
    });
}

/// The member `status`, §6.2.
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

/// §6.4
pub(crate) fn message(out: &mut Out<'_>, message: &Message) {
    out.object(|out| {
        out.string_in("kind", "message");
        out.string_in("messageId", &message.message_id.0);
        out.some_string_in("contextId", message.context_id.as_ref().map(|id| &*id.0));
        out.some_string_in("taskId", message.task_id.as_ref().map(|id| &*id.0));
        out.string_in("role", role(message.role));
        out.each_in("parts", &message.parts, |out, one| part(out, "kind", one));
        if let Some(metadata) = &message.metadata {
            out.raw_in("metadata", &metadata.0);
        }
        out.each_in("extensions", &message.extensions, |out, uri| out.string(uri));
        out.each_in("referenceTaskIds", &message.reference_task_ids, |out, id| out.string(id));
    });
}

/// §6.5; `kind` is the name of the discriminator, which 0.1 calls `type`.
pub(crate) fn part(out: &mut Out<'_>, kind: &str, part: &Part) {
    out.object(|out| match &part.content {
        Content::Text(text) => {
            out.string_in(kind, "text");
            out.string_in("text", text);
            some_metadata(out, part.metadata.as_ref());
        }
        Content::Raw(bytes) => {
            out.string_in(kind, "file");
            file(out, part, |out| out.string_in("bytes", &STANDARD.encode(bytes)));
            some_metadata(out, part.metadata.as_ref());
        }
        Content::Url(url) => {
            out.string_in(kind, "file");
            file(out, part, |out| out.string_in("uri", url));
            some_metadata(out, part.metadata.as_ref());
        }
        Content::Data(data) => {
            out.string_in(kind, "data");
            data_value(out, data);
            data_metadata(out, data, part.metadata.as_ref());
        }
    });
}

/// The member `data`: the value itself when it is an object, otherwise in one.
pub(crate) fn data_value(out: &mut Out<'_>, data: &Json) {
    if data.0.starts_with('{') {
        out.raw_in("data", &data.0);
    } else {
        out.object_in("data", |out| out.raw_in("value", &data.0));
    }
}

/// The member `metadata` of a part with data, which tells when the value had to be put in an object.
pub(crate) fn data_metadata(out: &mut Out<'_>, data: &Json, metadata: Option<&Json>) {
    if data.0.starts_with('{') {
        return some_metadata(out, metadata);
    }
    out.object_in("metadata", |out| {
        out.bool_in(WRAPPED, true);
        // What the metadata holds besides, unless it speaks of the same thing.
        let others = metadata.filter(|metadata| !metadata.0.contains(WRAPPED));
        let inside = others.and_then(|metadata| metadata.0.strip_prefix('{')?.strip_suffix('}'));
        if let Some(inside) = inside.filter(|inside| !inside.is_empty()) {
            out.raw(b",");
            out.raw(inside.as_bytes());
        }
    });
}

fn some_metadata(out: &mut Out<'_>, metadata: Option<&Json>) {
    if let Some(metadata) = metadata {
        out.raw_in("metadata", &metadata.0);
    }
}

/// The member `file`, §6.6.
fn file(out: &mut Out<'_>, part: &Part, content: impl FnOnce(&mut Out<'_>)) {
    out.object_in("file", |out| {
        content(out);
        out.some_string_in("name", part.filename.as_deref());
        out.some_string_in("mimeType", part.media_type.as_deref());
    });
}

/// §6.7
fn artifact(out: &mut Out<'_>, artifact: &Artifact) {
    out.object(|out| {
        out.string_in("artifactId", &artifact.artifact_id);
        out.some_string_in("name", artifact.name.as_deref());
        out.some_string_in("description", artifact.description.as_deref());
        out.each_in("parts", &artifact.parts, |out, one| part(out, "kind", one));
    });
}

/// §7.2: a Task, a Message, or an update, told apart by `kind`.
pub(crate) fn event(out: &mut Out<'_>, shown: Shown<'_>, event: &Event) {
    match event {
        Event::Task(snapshot) => task(out, shown, snapshot),
        Event::Message(said) => message(out, said),
        Event::Status { status, progress, last } => status_update(out, shown, status, progress.as_ref(), *last),
        Event::Artifact { artifact: whole, last } => update(out, shown, false, *last, |out| artifact(out, whole)),
        Event::Chunk { text, append, last } => piece(out, shown, *append, *last, |out| out.escaped(text)),
    }
}

/// §7.2.2
fn status_update(out: &mut Out<'_>, shown: Shown<'_>, said: &Status, progress: Option<&Progress>, last: bool) {
    out.object(|out| {
        out.string_in("kind", "status-update");
        out.string_in("taskId", shown.task);
        out.string_in("contextId", shown.context);
        status(out, said);
        out.bool_in("final", last);
        metadata::of_progress(out, progress);
    });
}

/// §7.2.3
fn update(out: &mut Out<'_>, shown: Shown<'_>, append: bool, last: bool, artifact: impl FnOnce(&mut Out<'_>)) {
    out.object(|out| {
        out.string_in("kind", "artifact-update");
        out.string_in("taskId", shown.task);
        out.string_in("contextId", shown.context);
        out.name("artifact");
        artifact(out);
        out.bool_in("append", append);
        out.bool_in("lastChunk", last);
    });
}

/// A piece of the answer; `text` writes the inside of its string.
pub(crate) fn piece(out: &mut Out<'_>, shown: Shown<'_>, append: bool, last: bool, text: impl FnOnce(&mut Out<'_>)) {
    update(out, shown, append, last, |out| {
        out.object(|out| {
            out.string_in("artifactId", ANSWER);
            out.array_in("parts", |out| {
                out.object(|out| {
                    out.string_in("kind", "text");
                    out.quoted_in("text", text);
                });
            });
        });
    });
}

/// §6.10, without what is secret.
pub(crate) fn push_config(out: &mut Out<'_>, task: &str, config: &PushConfig) {
    out.object(|out| {
        out.string_in("taskId", task);
        out.object_in("pushNotificationConfig", |out| push_members(out, config));
    });
}

/// §6.8; schemes are a list here.
pub(crate) fn push_members(out: &mut Out<'_>, config: &PushConfig) {
    out.some_string_in("id", config.id.as_deref());
    out.string_in("url", &config.url);
    if let Some((scheme, _)) = &config.authentication {
        out.object_in("authentication", |out| out.array_in("schemes", |out| out.string(scheme)));
    }
}
