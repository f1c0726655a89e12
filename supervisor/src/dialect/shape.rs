//! The four shapes that an answer can have: 1.0 has one for both bindings, 0.3 one for each, and 0.1 one. What is asked
//! of them is the same; each is written in the folder of its edition, and here is the `match`.

use super::call::PushConfig;
use super::json::Out;
use super::{early, v1, v03};
use crate::a2a::{Event, Message, Task};
use std::sync::Arc;
use v03::rest_write as v03_rest;

/// One of the four.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    V1,
    V03,
    V03Rest,
    Early,
}

/// The ids of a Task as its client knows them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shown<'t> {
    pub(crate) task: &'t str,
    pub(crate) context: &'t str,
    /// Place of an artifact among the Task's, for the edition that counts them.
    pub(crate) index: usize,
}

/// One page of ListTasks, spec §3.1.4.
#[derive(Clone, Copy, Debug)]
pub struct Page<'p> {
    /// Newest status first, without artifacts unless they were asked for.
    pub tasks: &'p [Task],
    /// For the next page; empty on the last.
    pub next_page_token: &'p str,
    /// As asked for, or the default.
    pub page_size: u32,
    /// All that match.
    pub total_size: usize,
}

impl Shape {
    pub(crate) fn task(self, out: &mut Out<'_>, shown: Shown<'_>, task: &Task) {
        match self {
            Self::V1 => v1::write::task(out, shown, task),
            Self::V03 => v03::write::task(out, shown, task),
            Self::V03Rest => v03_rest::task(out, shown, task),
            Self::Early => early::write::task(out, shown, task),
        }
    }

    /// The answer to a message: bare, or named in an object where it could be one of two things.
    pub(crate) fn sent_task(self, out: &mut Out<'_>, shown: Shown<'_>, task: &Task) {
        match self {
            Self::V1 | Self::V03Rest => out.object(|out| {
                out.name("task");
                self.task(out, shown, task);
            }),
            Self::V03 | Self::Early => self.task(out, shown, task),
        }
    }

    pub(crate) fn sent_message(self, out: &mut Out<'_>, shown: Shown<'_>, said: &Message) {
        match self {
            Self::V1 => out.object(|out| {
                out.name("message");
                v1::write::message(out, said);
            }),
            Self::V03 => v03::write::message(out, said),
            Self::V03Rest => out.object(|out| {
                out.name("message");
                v03_rest::message(out, said);
            }),
            Self::Early => early::write::said(out, shown, said),
        }
    }

    /// 1.0 §3.1.4. `nextPageToken` is always there; the older editions have no list of their own.
    pub(crate) fn page(self, out: &mut Out<'_>, page: &Page<'_>) {
        out.object(|out| {
            out.array_in("tasks", |out| {
                for task in page.tasks {
                    self.task(out, Shown { task: &task.id.0, context: &task.context_id.0, index: 0 }, task);
                }
            });
            out.string_in("nextPageToken", page.next_page_token);
            out.number_in("pageSize", page.page_size);
            out.number_in("totalSize", page.total_size);
        });
    }

    pub(crate) fn event(self, out: &mut Out<'_>, shown: Shown<'_>, event: &Event) {
        match self {
            Self::V1 => v1::write::event(out, shown, event),
            Self::V03 => v03::write::event(out, shown, event),
            Self::V03Rest => v03_rest::event(out, shown, event),
            Self::Early => early::write::event(out, shown, event),
        }
    }

    /// The event of a piece of answer that follows one and is followed by one; `text` writes the inside of its string.
    pub(crate) fn piece(self, out: &mut Out<'_>, shown: Shown<'_>, text: impl FnOnce(&mut Out<'_>)) {
        match self {
            Self::V1 => out.object(|out| v1::write::piece(out, shown, true, false, text)),
            Self::V03 => v03::write::piece(out, shown, true, false, text),
            Self::V03Rest => out.object(|out| v03_rest::piece(out, shown, true, false, text)),
            Self::Early => early::write::piece(out, shown, true, false, text),
        }
    }

    pub(crate) fn push_config(self, out: &mut Out<'_>, shown: Shown<'_>, config: &PushConfig) {
        match self {
            Self::V1 => v1::write::push_config(out, shown.task, config),
            Self::V03 => v03::write::push_config(out, shown.task, config),
            Self::V03Rest => v03_rest::push_config(out, shown.task, config),
            Self::Early => early::write::push_config(out, shown.task, config),
        }
    }

    /// A bare array over JSON-RPC of 0.3, an object everywhere else.
    pub(crate) fn push_list(self, out: &mut Out<'_>, shown: Shown<'_>, configs: &[Arc<PushConfig>]) {
        let all = |out: &mut Out<'_>| configs.iter().for_each(|config| self.push_config(out, shown, config));
        match self {
            Self::V03 => out.array(all),
            Self::V1 | Self::V03Rest | Self::Early => out.object(|out| {
                out.array_in("configs", all);
                out.string_in("nextPageToken", "");
            }),
        }
    }

    /// Nothing to say. JSON-RPC of 0.3 §7.8 wants the one `null` that we ever write.
    pub(crate) fn empty(self, out: &mut Out<'_>) {
        match self {
            Self::V03 => out.raw(b"null"),
            Self::V1 | Self::V03Rest | Self::Early => out.object(|_| {}),
        }
    }
}
