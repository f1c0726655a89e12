//! Answers of A2A 0.1. A message has neither an id nor a Task, an artifact has a number, and an event is known by what
//! it holds.
//!
//! Two states came later and are told as what a client of this edition can do about them: a rejected Task has failed,
//! and one that waits for a credential waits for its client.

use super::super::call::PushConfig;
use super::super::json::Out;
use super::super::shape::Shown;
use super::super::v03::write as v03;
use super::super::{metadata, time};
use crate::a2a::{Artifact, Event, Message, Progress, Status, Task, TaskState};

const fn state(state: TaskState) -> &'static str {
    match state {
        TaskState::Rejected => "failed",
        TaskState::AuthRequired => "input-required",
        other => v03::state(other),
    }
}

/// The only result there is.
pub(crate) fn task(out: &mut Out<'_>, shown: Shown<'_>, task: &Task) {
    out.object(|out| {
        out.string_in("id", shown.task);
        out.string_in("sessionId", shown.context);
        status(out, &task.status);
        let mut index = 0;
        out.each_in("artifacts", &task.artifacts, |out, one| {
            artifact(out, Shown { index, ..shown }, one);
            index += 1;
        });
        out.each_in("history", &task.history, |out, one| message(out, one));
        metadata::of_task(out, &task.metadata);
    });
}

/// A Message instead of a Task does not exist in this edition: it is the status of a Task that is complete.
pub(crate) fn said(out: &mut Out<'_>, shown: Shown<'_>, said: &Message) {
    out.object(|out| {
        out.string_in("id", shown.task);
        out.string_in("sessionId", shown.context);
        said_status(out, said);
    });
}

fn said_status(out: &mut Out<'_>, said: &Message) {
    out.object_in("status", |out| {
        out.string_in("state", state(TaskState::Completed));
        out.name("message");
        message(out, said);
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

fn message(out: &mut Out<'_>, message: &Message) {
    out.object(|out| {
        out.string_in("role", v03::role(message.role));
        out.each_in("parts", &message.parts, |out, one| v03::part(out, "type", one));
        if let Some(metadata) = &message.metadata {
            out.raw_in("metadata", &metadata.0);
        }
    });
}

fn artifact(out: &mut Out<'_>, shown: Shown<'_>, artifact: &Artifact) {
    out.object(|out| {
        out.some_string_in("name", artifact.name.as_deref());
        out.some_string_in("description", artifact.description.as_deref());
        out.each_in("parts", &artifact.parts, |out, one| v03::part(out, "type", one));
        out.number_in("index", shown.index);
    });
}

/// `{id, status, final}` or `{id, artifact}`. A whole Task is shown by its status.
pub(crate) fn event(out: &mut Out<'_>, shown: Shown<'_>, event: &Event) {
    match event {
        Event::Task(task) => status_update(out, shown, &task.status, None, false),
        Event::Message(said) => out.object(|out| {
            out.string_in("id", shown.task);
            said_status(out, said);
            out.bool_in("final", true);
        }),
        Event::Status { status, progress, last } => status_update(out, shown, status, progress.as_ref(), *last),
        Event::Artifact { artifact: whole, .. } => out.object(|out| {
            out.string_in("id", shown.task);
            out.name("artifact");
            artifact(out, shown, whole);
        }),
        Event::Chunk { text, append, last } => piece(out, shown, *append, *last, |out| out.escaped(text)),
    }
}

fn status_update(out: &mut Out<'_>, shown: Shown<'_>, said: &Status, progress: Option<&Progress>, last: bool) {
    out.object(|out| {
        out.string_in("id", shown.task);
        status(out, said);
        out.bool_in("final", last);
        metadata::of_progress(out, progress);
    });
}

/// A piece of the answer, which is the artifact 0; `text` writes the inside of its string.
pub(crate) fn piece(out: &mut Out<'_>, shown: Shown<'_>, append: bool, last: bool, text: impl FnOnce(&mut Out<'_>)) {
    out.object(|out| {
        out.string_in("id", shown.task);
        out.object_in("artifact", |out| {
            out.array_in("parts", |out| {
                out.object(|out| {
                    out.string_in("type", "text");
                    out.quoted_in("text", text);
                });
            });
            out.number_in("index", 0);
            out.bool_in("append", append);
            out.bool_in("lastChunk", last);
        });
    });
}

/// Without what is secret; a Task has at most one.
pub(crate) fn push_config(out: &mut Out<'_>, task: &str, config: &PushConfig) {
    out.object(|out| {
        out.string_in("id", task);
        out.object_in("pushNotificationConfig", |out| v03::push_members(out, config));
    });
}
