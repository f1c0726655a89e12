//! The operations of the specification, from the admitted call to its answer.
//!
//! Promises: what a caller's grant does not allow is not done; the record of a call is written when it is answered, and
//! that of a call that started a job when the job is over. Refuses to know bytes of bodies.

use super::body::Body;
use super::reply::{Reply, respond};
use super::serve::Serve;
use super::sse::{EVENT_STREAM, Writer, headers, last_event_id};
use super::stream::Events;
use crate::a2a::{Cursor, TaskId};
use crate::admission::{Admitted, Caller, Chunks};
use crate::audit::{Record, Verdict};
use crate::card::Form;
use crate::dialect::{ListTasks, Operation, Page, ReplyTo, Version, extension};
use crate::refusal::Refusal;
use crate::tasks::{Pace, Subscription, Until};
use crate::trace::Trace;
use hyper::{HeaderMap, Response, StatusCode};
use std::sync::Arc;

/// One admitted call on its walk.
pub(super) struct Walk {
    pub(super) serve: Arc<Serve>,
    pub(super) admitted: Admitted,
    pub(super) trace: Trace,
    pub(super) reply: ReplyTo,
    /// Goes with the job, if one is started.
    pub(super) record: Option<Record>,
    /// What the client called us.
    pub(super) host: String,
    /// How the call is noted when it is answered.
    pub(super) verdict: Verdict,
}

/// What a call comes to.
pub(super) enum Answer {
    Ready(Reply),
    Stream(Box<Subscription>),
}

impl Walk {
    /// Performs the call.
    pub(super) async fn perform(mut self, operation: Operation, headers: &HeaderMap) -> Response<Body> {
        match self.answer(operation, last_event_id(headers)).await {
            Ok(Answer::Ready(reply)) => {
                self.note(reply.status, self.verdict);
                reply.into_response()
            }
            Ok(Answer::Stream(story)) => {
                self.note(StatusCode::OK, self.verdict);
                stream(*story, &self.reply)
            }
            Err(refusal) => {
                tracing::debug!(word = refusal.row().word, "refused");
                let reply = self.reply.refusal(&refusal);
                self.note(reply.status, Verdict::Refused(refusal.row().word));
                reply.into_response()
            }
        }
    }

    async fn answer(&mut self, operation: Operation, after: Option<Cursor>) -> Result<Answer, Refusal> {
        self.caller().grant.may(operation.name())?;
        match operation {
            Operation::SendMessage(send) => self.send(*send, false, None).await,
            Operation::SendStreamingMessage(send) => self.send(*send, true, after).await,
            Operation::GetTask { id, history_length } => self.get(&id, history_length),
            Operation::ListTasks(list) => self.list(&list),
            Operation::CancelTask { id } => self.cancel(&id).await,
            Operation::SubscribeToTask { id } => self.subscribe(&id, after),
            Operation::GetExtendedAgentCard => Ok(self.extended_card()),
            Operation::CreatePushConfig { task, config } => self.create_push(&task, config),
            Operation::GetPushConfig { task, config } => self.get_push(&task, config.as_deref()),
            Operation::ListPushConfigs { task } => self.list_push(&task),
            Operation::DeletePushConfig { task, config } => self.delete_push(&task, &config),
        }
    }

    fn get(&mut self, id: &TaskId, history: Option<u32>) -> Result<Answer, Refusal> {
        let id = self.ours(id)?;
        let task = self.serve.tasks.get(&self.caller().name, &id, history)?;
        Ok(Answer::Ready(self.reply.task(&task)))
    }

    fn list(&self, asked: &ListTasks) -> Result<Answer, Refusal> {
        let listed = self.serve.tasks.list(&self.caller().name, asked)?;
        let page = Page {
            tasks: &listed.tasks,
            next_page_token: &listed.next,
            page_size: listed.page_size,
            total_size: listed.total,
        };
        Ok(Answer::Ready(self.reply.list(&page)))
    }

    async fn cancel(&mut self, id: &TaskId) -> Result<Answer, Refusal> {
        let id = self.ours(id)?;
        let task = self.serve.tasks.cancel(&self.caller().name, &id).await?;
        Ok(Answer::Ready(self.reply.task(&task)))
    }

    fn subscribe(&mut self, id: &TaskId, after: Option<Cursor>) -> Result<Answer, Refusal> {
        let id = self.ours(id)?;
        // 0.3 says `final` at an interruption and its clients leave there; in 1.0 the stream stays, §3.1.6.
        let until = if self.reply.version == Version::V1 { Until::Terminal } else { Until::Interrupted };
        let story = self.serve.tasks.subscribe(&self.caller().name, &id, self.pace(), until, after)?;
        Ok(Answer::Stream(Box::new(story)))
    }

    fn extended_card(&self) -> Answer {
        let form = if self.reply.version == Version::V1 { Form::Strict } else { Form::Legacy };
        let card = self.serve.rooms.cards.extended(form, &self.host, self.caller());
        Answer::Ready(self.reply.card(&card))
    }

    /// Our id of the Task that is asked for. In the early dialect its name is the caller's own; where 0.3 and 0.1 have a
    /// method in common the name decides which of the two is spoken.
    pub(super) fn ours(&mut self, id: &TaskId) -> Result<TaskId, Refusal> {
        let named = self.reply.early_id.as_deref().and_then(|name| self.serve.tasks.named(&self.caller().name, name));
        let id = match (self.reply.version, named) {
            (Version::Early, named) => named.ok_or(Refusal::TaskNotFound)?,
            (_, Some(named)) => {
                self.reply = self.reply.clone().as_early();
                named
            }
            (_, None) => id.clone(),
        };
        if let Some(record) = &mut self.record {
            record.task(&id);
        }
        Ok(id)
    }

    /// In pieces if the client says so, else as its grant says.
    pub(super) fn pace(&self) -> Pace {
        let asked = |uri| self.reply.extensions.contains(&uri);
        match self.caller().grant.chunks {
            _ if asked(extension::CHUNKS_RAW) => Pace::Raw,
            _ if asked(extension::CHUNKS_LINES) => Pace::Lines,
            Chunks::Whole => Pace::Whole,
            Chunks::Lines => Pace::Lines,
            Chunks::Raw => Pace::Raw,
        }
    }

    pub(super) const fn caller(&self) -> &Arc<Caller> {
        self.admitted.caller()
    }

    fn note(&mut self, status: StatusCode, verdict: Verdict) {
        if let Some(record) = &mut self.record {
            record.answered(status.as_u16());
            record.verdict(verdict);
        }
    }
}

fn stream(story: Subscription, reply: &ReplyTo) -> Response<Body> {
    let writer = Writer::new(reply, story.id(), story.context());
    respond(StatusCode::OK, EVENT_STREAM, headers(reply), Body::stream(Events::new(story, writer)))
}
