//! Answers of A2A 1.0 in ProtoJSON: no `kind`, no `final`, enums by name, empty arrays left out. Spec §4, §5.6.

use super::super::call::PushConfig;
use super::super::json::Out;
use super::super::shape::Shown;
use super::super::{metadata, time};
use crate::a2a::{ANSWER, Artifact, Content, Event, Message, Part, Progress, Role, Status, Task, TaskState};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// §4.1.3
pub(crate) const fn state(state: TaskState) -> &'static str {
    match state {
        TaskState::Unspecified => "TASK_STATE_UNSPECIFIED",
        TaskState::Submitted => "TASK_STATE_SUBMITTED",
        TaskState::Working => "TASK_STATE_WORKING",
        TaskState::Completed => "TASK_STATE_COMPLETED",
        TaskState::Failed => "TASK_STATE_FAILED",
        TaskState::Canceled => "TASK_STATE_CANCELED",
        TaskState::InputRequired => "TASK_STATE_INPUT_REQUIRED",
        TaskState::Rejected => "TASK_STATE_REJECTED",
        TaskState::AuthRequired => "TASK_STATE_AUTH_REQUIRED",
    }
}

/// §4.1.5
pub(crate) const fn role(role: Role) -> &'static str {
    match role {
        Role::User => "ROLE_USER",
        Role::Agent => "ROLE_AGENT",
    }
}

/// §4.1.1
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

/// The member `status`, §4.1.2.
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

/// §4.1.4
pub(crate) fn message(out: &mut Out<'_>, message: &Message) {
    out.object(|out| {
        out.string_in("messageId", &message.message_id.0);
        out.some_string_in("contextId", message.context_id.as_ref().map(|id| &*id.0));
        out.some_string_in("taskId", message.task_id.as_ref().map(|id| &*id.0));
        out.string_in("role", role(message.role));
        out.each_in("parts", &message.parts, part);
        if let Some(metadata) = &message.metadata {
            out.raw_in("metadata", &metadata.0);
        }
        out.each_in("extensions", &message.extensions, |out, uri| out.string(uri));
        out.each_in("referenceTaskIds", &message.reference_task_ids, |out, id| out.string(id));
    });
}

/// §4.1.6
fn part(out: &mut Out<'_>, part: &Part) {
    out.object(|out| {
        match &part.content {
            Content::Text(text) => out.string_in("text", text),
            Content::Raw(bytes) => out.string_in("raw", &STANDARD.encode(bytes)),
            Content::Url(url) => out.string_in("url", url),
            Content::Data(data) => out.raw_in("data", &data.0),
        }
        out.some_string_in("filename", part.filename.as_deref());
        out.some_string_in("mediaType", part.media_type.as_deref());
        if let Some(metadata) = &part.metadata {
            out.raw_in("metadata", &metadata.0);
        }
    });
}

/// §4.1.7
fn artifact(out: &mut Out<'_>, artifact: &Artifact) {
    out.object(|out| {
        out.string_in("artifactId", &artifact.artifact_id);
        out.some_string_in("name", artifact.name.as_deref());
        out.some_string_in("description", artifact.description.as_deref());
        out.each_in("parts", &artifact.parts, part);
    });
}

/// §3.2.3: one of `task`, `message`, `statusUpdate` and `artifactUpdate`.
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
        Event::Status { status, progress, .. } => status_update(out, shown, status, progress.as_ref()),
        Event::Artifact { artifact: whole, last } => {
            artifact_update(out, shown, false, *last, |out| artifact(out, whole));
        }
        Event::Chunk { text, append, last } => {
            piece(out, shown, *append, *last, |out| out.escaped(text));
        }
    });
}

/// §4.2.1
fn status_update(out: &mut Out<'_>, shown: Shown<'_>, said: &Status, progress: Option<&Progress>) {
    out.object_in("statusUpdate", |out| {
        out.string_in("taskId", shown.task);
        out.string_in("contextId", shown.context);
        status(out, said);
        metadata::of_progress(out, progress);
    });
}

/// §4.2.2
fn artifact_update(out: &mut Out<'_>, shown: Shown<'_>, append: bool, last: bool, artifact: impl FnOnce(&mut Out<'_>)) {
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
    artifact_update(out, shown, append, last, |out| {
        out.object(|out| {
            out.string_in("artifactId", ANSWER);
            out.array_in("parts", |out| out.object(|out| out.quoted_in("text", text)));
        });
    });
}

/// §4.3.1, without what is secret: neither the token nor the credentials are ever given back.
pub(crate) fn push_config(out: &mut Out<'_>, task: &str, config: &PushConfig) {
    out.object(|out| {
        out.some_string_in("id", config.id.as_deref());
        out.string_in("taskId", task);
        out.string_in("url", &config.url);
        if let Some((scheme, _)) = &config.authentication {
            out.object_in("authentication", |out| out.string_in("scheme", scheme));
        }
    });
}
