//! SendMessage and SendStreamingMessage, spec §3.1.1 and §3.1.2: rooms 7 to 10, and the way back.
//!
//! Promises: a repeat of a message needs no slot and starts nothing; a job is started only behind every door before it;
//! a stream hears its Task from before the start; who leaves while it waits loses neither its turn nor its Task.

use super::walk::{Answer, Walk};
use crate::a2a::{Content, Cursor, Message};
use crate::admission::{Busy, Slot};
use crate::audit::Verdict;
use crate::config::Unicode;
use crate::dialect::{SendMessage, Version};
use crate::refusal::Refusal;
use crate::sanitize::{Clean, Mode};
use crate::skills::Ready;
use crate::tasks::{Opened, Opening, Seat, Ticket, Until};
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;

/// A slot, or the wait for one.
enum Right {
    Now(Slot),
    Later(Pin<Box<dyn Future<Output = Result<Slot, Refusal>> + Send>>),
}

/// How the answer is to come.
#[derive(Clone, Copy)]
struct Wish {
    stream: bool,
    immediately: bool,
    history: Option<u32>,
    /// Where a client stands that sends its message again to hear the rest.
    after: Option<Cursor>,
}

impl Walk {
    pub(super) async fn send(
        &mut self,
        mut send: SendMessage,
        stream: bool,
        after: Option<Cursor>,
    ) -> Result<Answer, Refusal> {
        self.note_message(&send.message);
        let wish = Wish { stream, immediately: send.return_immediately, history: send.history_length, after };
        let caller = &self.caller().name;
        if let Some(seat) = self.serve.tasks.repeated(caller, &send.message.message_id, &send.digest)? {
            return self.repeat(seat, wish).await;
        }
        let serve = self.serve.clone();
        let skill = serve.skills.pick(&send.message, &self.caller().grant)?;
        self.can_answer(&send, skill)?;
        let webhook = send.push.take().map(|push| self.want_push(push, send.message.task_id.as_ref())).transpose()?;
        let right = self.right().await?;
        match self.open(send, skill)? {
            Opened::New(ticket) => {
                if let Some(webhook) = webhook {
                    self.set_push(ticket.id(), webhook)?;
                }
                self.begin(ticket, right, wish).await
            }
            // Between the first look and this one the same message came on another connection.
            Opened::Repeat(seat) => {
                drop(right);
                self.repeat(seat, wish).await
            }
        }
    }

    async fn repeat(&mut self, seat: Seat, wish: Wish) -> Result<Answer, Refusal> {
        self.verdict = Verdict::Repeated;
        if let Some(record) = &mut self.record {
            record.task(seat.id());
        }
        if wish.stream {
            let story = seat.stream(self.pace(), Until::Interrupted, wish.after)?;
            return Ok(Answer::Stream(Box::new(story)));
        }
        self.attend(seat, wish).await
    }

    /// Starts the job, and answers as was asked.
    async fn begin(&mut self, ticket: Ticket, right: Right, wish: Wish) -> Result<Answer, Refusal> {
        let seat = ticket.seat();
        let mut story = None;
        if wish.stream {
            story = Some(ticket.seat().stream(self.pace(), Until::Interrupted, None)?);
        }
        if let Some(mut record) = self.record.take() {
            record.ids(ticket.id(), ticket.context(), Some(ticket.message()));
            // Where the answer does not wait for the job, it goes out now.
            if wish.stream || wish.immediately {
                record.answered(200);
            }
            match right {
                Right::Now(slot) => ticket.start(slot, record),
                Right::Later(slot) => ticket.start_with(slot, record),
            }
        }
        match story {
            Some(story) => Ok(Answer::Stream(Box::new(story))),
            None => self.attend(seat, wish).await,
        }
    }

    /// The Task, or the Message that it came to.
    async fn attend(&self, mut seat: Seat, wish: Wish) -> Result<Answer, Refusal> {
        if !wish.immediately {
            seat.over().await;
            if let Some(retry) = seat.was_busy() {
                return Err(Refusal::Busy { retry, in_band: self.caller().grant.busy == Busy::Rpc });
            }
            if let Some(message) = seat.reply() {
                return Ok(Answer::Ready(self.reply.sent_message(&message)));
            }
        }
        Ok(Answer::Ready(self.reply.sent_task(&seat.task(wish.history))))
    }

    /// What can be said before anything is taken.
    fn can_answer(&self, send: &SendMessage, skill: Option<&Ready>) -> Result<(), Refusal> {
        let config = &self.serve.rooms.config;
        let modes = &send.accepted_output_modes;
        let given = skill.map(|ready| &ready.skill.output_modes).filter(|modes| !modes.is_empty());
        let given = given.unwrap_or(&config.agent.output_modes);
        let ours = |mode: &&String| given.iter().any(|ours| takes(mode, ours));
        if !modes.is_empty() && !modes.iter().any(|mode| ours(&mode)) {
            return Err(Refusal::ContentTypeNotSupported(modes.join(", ")));
        }
        if self.serve.link.worker().is_none() {
            return Err(Refusal::WorkerAway { retry: config.worker.away_retry });
        }
        Ok(())
    }

    /// Room 7.
    async fn right(&self) -> Result<Right, Refusal> {
        let admission = Arc::clone(&self.serve.rooms.admission);
        match admission.slot(&self.admitted) {
            Ok(slot) => return Ok(Right::Now(slot)),
            Err(refusal) if self.caller().grant.busy != Busy::Wait => return Err(refusal),
            Err(_) => {}
        }
        let admitted = self.admitted.clone();
        let mut later: Pin<Box<dyn Future<Output = _> + Send>> =
            Box::pin(async move { admission.wait_slot(&admitted).await });
        // Asked once, it has its place in the row, or says at once that the row is full.
        match poll_fn(|cx| Poll::Ready(later.as_mut().poll(cx))).await {
            Poll::Ready(slot) => slot.map(Right::Now),
            Poll::Pending => Ok(Right::Later(later)),
        }
    }

    /// Rooms 8 and 9.
    fn open(&self, send: SendMessage, skill: Option<&Ready>) -> Result<Opened, Refusal> {
        let caller = self.caller();
        let mode = match self.serve.rooms.config.unicode {
            Unicode::Strip => Mode::Strip,
            Unicode::Mark => Mode::Mark,
            Unicode::Reject => Mode::Reject,
        };
        let message = Clean::message(send.message, mode, caller.grant.files_in)?;
        skill.map_or(Ok(()), |skill| skill.takes(message.get()))?;
        let output = skill.and_then(Ready::output).cloned();
        self.serve.tasks.open(Opening {
            caller: Arc::clone(caller),
            message,
            digest: send.digest,
            trace: self.trace.id(),
            alias: self.reply.early_id.clone().filter(|_| self.reply.version == Version::Early),
            structured: caller.grant.structured && output.is_none(),
            accepted: send.accepted_output_modes,
            output,
        })
    }

    /// How much was said, and a digest under the trail's key.
    fn note_message(&mut self, message: &Message) {
        let Some(record) = &mut self.record else { return };
        let mut digester = record.digester();
        for part in &message.parts {
            match &part.content {
                Content::Text(text) | Content::Url(text) => digester.update(text.as_bytes()),
                Content::Raw(bytes) => digester.update(bytes),
                Content::Data(json) => digester.update(json.0.as_bytes()),
            }
        }
        record.message(message.parts.len(), digester);
    }
}

/// Whether a media type that a client takes, such as `text/*`, covers one of ours.
fn takes(mode: &str, ours: &str) -> bool {
    let mode = mode.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    match mode.split_once('/') {
        Some(("*", "*")) => true,
        Some((family, "*")) => ours.split('/').next() == Some(family),
        Some(_) => mode == ours,
        // Old clients name families: `text`.
        None => ours.split('/').next() == Some(&mode),
    }
}

#[cfg(test)]
mod tests {
    use super::takes;

    #[test]
    fn media_types_of_clients_cover_ours_as_they_mean_it() {
        for mode in ["text/plain", "TEXT/Plain; charset=utf-8", "text/*", "*/*", "text"] {
            assert!(takes(mode, "text/plain"), "{mode}");
        }
        for mode in ["image/png", "image/*", "text/html", "", "*", "plain"] {
            assert!(!takes(mode, "text/plain"), "{mode}");
        }
    }
}
