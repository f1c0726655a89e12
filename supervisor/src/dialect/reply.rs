//! The core's answer in the shape that was asked for: envelope, content type, headers. What stands inside, the folder of
//! the edition writes.

use super::call::{Binding, PushConfig, ReplyTo, Version};
use super::json::Out;
use super::refuse;
use super::shape::{Page, Shape, Shown};
use crate::a2a::{Event, Json, Message, Task, TaskId};
use crate::http::reply::Reply;
use crate::http::router::Route;
use crate::refusal::Refusal;
use bytes::{Bytes, BytesMut};
use hyper::StatusCode;
use hyper::header::{HeaderName, HeaderValue};
use std::sync::Arc;

/// `Content-Type` of a stream.
pub const EVENT_STREAM: &str = "text/event-stream";
const JSON: &str = "application/json";
const A2A_JSON: &str = "application/a2a+json";

/// A no, and the shape to say it in.
#[derive(Clone, Debug, PartialEq)]
pub struct Rejection {
    /// The shape.
    pub reply: ReplyTo,
    /// The no.
    pub refusal: Refusal,
}

impl Rejection {
    pub(super) const fn new(reply: ReplyTo, refusal: Refusal) -> Self {
        Self { reply, refusal }
    }
}

impl ReplyTo {
    /// The shape of what is said before the body is read: the edition of the path, and no id.
    #[must_use]
    pub fn for_route(route: &Route) -> Self {
        let (version, binding) = match route {
            Route::Rpc => (Version::V1, Binding::JsonRpc),
            Route::Rest { version, .. } => (*version, Binding::Rest),
            Route::Card(_) => (Version::V1, Binding::Rest),
        };
        Self::new(version, binding)
    }

    pub(super) fn new(version: Version, binding: Binding) -> Self {
        let id = Json("null".into());
        Self { version, binding, id, extensions: Vec::new(), early_id: None, a2a_json: false, streams: false }
    }

    /// The same for a Task that was made in the early dialect.
    #[must_use]
    pub fn as_early(mut self) -> Self {
        self.version = Version::Early;
        self
    }

    /// The answer to SendMessage, when it is a Task.
    #[must_use]
    pub fn sent_task(&self, task: &Task) -> Reply {
        self.ok(|out| self.shape().sent_task(out, self.shown(task), task))
    }

    /// The answer to SendMessage, when it is a Message and no Task is shown.
    #[must_use]
    pub fn sent_message(&self, message: &Message) -> Reply {
        let task = message.task_id.as_ref().map_or("", |id| &id.0);
        let context = message.context_id.as_ref().map_or("", |id| &id.0);
        self.ok(|out| self.shape().sent_message(out, self.shown_as(task, context), message))
    }

    /// The answer to GetTask and CancelTask.
    #[must_use]
    pub fn task(&self, task: &Task) -> Reply {
        self.ok(|out| self.shape().task(out, self.shown(task), task))
    }

    /// The answer to ListTasks.
    #[must_use]
    pub fn list(&self, page: &Page<'_>) -> Reply {
        self.ok(|out| self.shape().page(out, page))
    }

    /// The answer to the making and to the getting of a push configuration. Secrets are left out.
    #[must_use]
    pub fn push_config(&self, task: &TaskId, config: &PushConfig) -> Reply {
        self.ok(|out| self.shape().push_config(out, self.shown_as(&task.0, ""), config))
    }

    /// The answer to ListTaskPushNotificationConfigs.
    #[must_use]
    pub fn push_list(&self, task: &TaskId, configs: &[Arc<PushConfig>]) -> Reply {
        self.ok(|out| self.shape().push_list(out, self.shown_as(&task.0, ""), configs))
    }

    /// The answer to DeleteTaskPushNotificationConfig.
    #[must_use]
    pub fn empty(&self) -> Reply {
        self.ok(|out| self.shape().empty(out))
    }

    /// The answer to GetExtendedAgentCard: a card that is JSON already.
    #[must_use]
    pub fn card(&self, card: &Bytes) -> Reply {
        if self.binding == Binding::Rest {
            return self.finish(StatusCode::OK, card.clone());
        }
        self.ok(|out| out.raw(card))
    }

    /// What a webhook is told, and its media type: the event itself since 1.0 (§4.3.3), before that the whole Task
    /// (0.3 §9.5).
    #[must_use]
    pub fn notification(&self, task: &Task, event: &Event) -> (&'static str, Bytes) {
        let mut body = BytesMut::with_capacity(1024);
        let mut out = Out(&mut body);
        let media_type = match self.version {
            Version::V1 => {
                Shape::V1.event(&mut out, self.shown(task), event);
                A2A_JSON
            }
            Version::V03 => {
                Shape::V03.task(&mut out, self.shown(task), task);
                JSON
            }
            Version::Early => {
                Shape::Early.task(&mut out, self.shown(task), task);
                JSON
            }
        };
        (media_type, body.freeze())
    }

    /// A no. Complete in every case: also a 401 or a 503 of the JSON-RPC binding has an error object, with the
    /// request's id where it is known.
    #[must_use]
    pub fn refusal(&self, refusal: &Refusal) -> Reply {
        let row = refusal.row();
        let status = if self.binding == Binding::JsonRpc { row.rpc_http } else { row.http };
        // A client that waits for events finds an error only in an event.
        let as_event = self.streams && self.binding == Binding::JsonRpc && status == 200;
        let mut body = BytesMut::with_capacity(512);
        body.extend_from_slice(if as_event { b"data: " } else { b"" });
        self.error(&mut Out(&mut body), refusal);
        body.extend_from_slice(if as_event { b"\n\n" } else { b"" });
        let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let mut reply = self.finish(status, body.freeze()).with_refusal_headers(refusal);
        if as_event {
            reply.content_type = EVENT_STREAM;
        }
        reply
    }

    /// The inside of a no.
    pub(crate) fn error(&self, out: &mut Out<'_>, refusal: &Refusal) {
        match (self.binding, self.version) {
            (Binding::JsonRpc, version) => {
                self.envelope(out, "error", |out| refuse::rpc_error(out, version, refusal));
            }
            (Binding::Rest, Version::V1) => refuse::status_body(out, refusal),
            (Binding::Rest, version) => refuse::old_body(out, version, refusal),
        }
    }

    /// Headers that belong to every answer in this shape, streams included.
    #[must_use]
    pub fn headers(&self) -> Vec<(HeaderName, HeaderValue)> {
        let name = match self.version {
            Version::V1 => "a2a-extensions",
            Version::V03 | Version::Early => "x-a2a-extensions",
        };
        let activated = self.extensions.join(", ");
        let value = HeaderValue::from_str(&activated).ok().filter(|_| !activated.is_empty());
        value.map(|value| (HeaderName::from_static(name), value)).into_iter().collect()
    }

    /// The ids under which this client knows a Task.
    pub(crate) fn shown<'t>(&'t self, task: &'t Task) -> Shown<'t> {
        self.shown_as(&task.id.0, &task.context_id.0)
    }

    pub(crate) const fn shape(&self) -> Shape {
        match (self.version, self.binding) {
            (Version::V1, _) => Shape::V1,
            (Version::V03, Binding::JsonRpc) => Shape::V03,
            (Version::V03, Binding::Rest) => Shape::V03Rest,
            (Version::Early, _) => Shape::Early,
        }
    }

    pub(crate) fn shown_as<'t>(&'t self, task: &'t str, context: &'t str) -> Shown<'t> {
        let early = self.early_id.as_deref().filter(|_| self.version == Version::Early);
        Shown { task: early.unwrap_or(task), context, index: 0 }
    }

    /// `{"jsonrpc":"2.0","id":…,"result":…}`
    pub(crate) fn envelope(&self, out: &mut Out<'_>, member: &str, inside: impl FnOnce(&mut Out<'_>)) {
        out.object(|out| {
            out.string_in("jsonrpc", "2.0");
            out.raw_in("id", &self.id.0);
            out.name(member);
            inside(out);
        });
    }

    /// What `inside` writes, bare or in the envelope.
    pub(crate) fn result(&self, out: &mut Out<'_>, inside: impl FnOnce(&mut Out<'_>)) {
        match self.binding {
            Binding::JsonRpc => self.envelope(out, "result", inside),
            Binding::Rest => inside(out),
        }
    }

    fn ok(&self, inside: impl FnOnce(&mut Out<'_>)) -> Reply {
        let mut body = BytesMut::with_capacity(1024);
        self.result(&mut Out(&mut body), inside);
        self.finish(StatusCode::OK, body.freeze())
    }

    fn finish(&self, status: StatusCode, body: Bytes) -> Reply {
        let content_type = if self.a2a_json && self.binding == Binding::Rest { A2A_JSON } else { JSON };
        Reply { status, content_type, headers: self.headers(), body }
    }
}
