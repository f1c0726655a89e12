//! Room 9: a message becomes a turn of a Task, and with a slot a job.
//!
//! Promises: the same message of the same caller begins one turn, however often it comes; a Task that was opened and
//! never started ends all the same. The Task exists, and can be canceled, before its job starts.

use super::ending::Ending;
use super::entry::{Entry, Inner, OVERHEAD};
use super::ids;
use super::memory::Exchange;
use super::turn::{Over, Running, Turn};
use super::{Seat, Shared, Tasks};
use crate::a2a::{Content, ContextId, Message, MessageId, TaskId, TaskState};
use crate::admission::{Caller, Slot};
use crate::audit::Record;
use crate::link::{Frame, Start};
use crate::refusal::Refusal;
use crate::sanitize::Clean;
use crate::skills::Output;
use musegate_protocol::bounded::Label;
use std::sync::Arc;
use std::time::Duration;
use tracing::Instrument;

/// Most turns of one Task.
const MAX_TURNS: u32 = 256;
/// When memory is full of what running Tasks hold.
pub(super) const FULL: Refusal =
    Refusal::Unavailable { retry: Duration::from_secs(10), why: "its memory for tasks is full" };

/// A message on its way to become a turn.
#[derive(Debug)]
pub struct Opening {
    /// Who sends it.
    pub caller: Arc<Caller>,
    /// What is sent.
    pub message: Clean,
    /// Of the whole message as it came.
    pub digest: [u8; 32],
    /// Ties its logs together.
    pub trace: [u8; 16],
    /// The client's own name for the Task, in the early dialect.
    pub alias: Option<String>,
    /// Whether the answer may be structured.
    pub structured: bool,
    /// Media types that the client takes; empty: any.
    pub accepted: Vec<String>,
    /// What the answer must satisfy.
    pub output: Option<Arc<Output>>,
}

/// What became of it.
#[derive(Debug)]
pub enum Opened {
    /// A turn that can be started.
    New(Ticket),
    /// The message came before.
    Repeat(Seat),
}

impl Tasks {
    /// Whether this message came before, and where it led.
    ///
    /// # Errors
    /// [`Refusal::InvalidParams`] when another message came under the same id.
    pub fn repeated(&self, caller: &Label, message: &MessageId, digest: &[u8; 32]) -> Result<Option<Seat>, Refusal> {
        let store = self.0.store();
        let Some(said) = store.said(caller, message) else { return Ok(None) };
        if said.digest != *digest {
            return Err(invalid("message.messageId", "was used before, for another message"));
        }
        let seat = self.seat(&said.entry, said.turn);
        Ok(Some(seat))
    }

    /// Begins a turn, of a new Task or of one that waits for its client.
    ///
    /// # Errors
    /// As [`Tasks::repeated`]; [`Refusal::TaskNotFound`] for a Task that is not this caller's;
    /// [`Refusal::UnsupportedOperation`] for one that has ended or still works; [`Refusal::InvalidParams`] for a
    /// conversation that is not the Task's; [`Refusal::Unavailable`] when there is no room.
    pub fn open(&self, opening: Opening) -> Result<Opened, Refusal> {
        let shared = &self.0;
        let message = Arc::clone(opening.message.get());
        let size = size(&message);
        shared.make_room(1, size);
        let mut store = shared.store();
        if let Some(said) = store.said(&opening.caller.name, &message.message_id) {
            if said.digest != opening.digest {
                return Err(invalid("message.messageId", "was used before, for another message"));
            }
            return Ok(Opened::Repeat(self.seat(&said.entry, said.turn)));
        }
        let known = match (&opening.alias, &message.task_id) {
            (Some(alias), _) => store.find_alias(&opening.caller.name, alias).cloned(),
            (None, Some(id)) => Some(store.find(&opening.caller.name, id).cloned().ok_or(Refusal::TaskNotFound)?),
            (None, None) => None,
        };
        let (entry, new) = match known {
            Some(entry) => (entry, false),
            None => (Arc::new(shared.entry(&opening.caller.name, &message)?), true),
        };
        let turn = entry.lock().begin(&opening, &entry, size, shared)?;
        if new {
            store.keep(&entry, opening.alias.as_deref());
        } else {
            store.note(&entry);
        }
        store.note_message(&entry, message.message_id.clone(), opening.digest, turn);
        drop(store);
        let message = message.message_id.clone();
        let ticket = Ticket { shared: Arc::clone(shared), entry, turn, message, opening: Some(Box::new(opening)) };
        // Whoever hears the Task already hears that it goes on.
        ticket.shared.change(&ticket.entry, |_| ());
        Ok(Opened::New(ticket))
    }
}

impl Shared {
    fn entry(&self, caller: &Label, message: &Message) -> Result<Entry, Refusal> {
        let random =
            || ids::random().ok_or(Refusal::Unavailable { retry: Duration::from_secs(1), why: "no randomness" });
        let context = match &message.context_id {
            Some(context) => {
                Label::new(&*context.0).map_err(|unfit| invalid("message.contextId", &unfit.to_string()))?;
                context.clone()
            }
            None => ContextId(ids::uuid(random()?)),
        };
        let id = TaskId(ids::uuid(random()?));
        Ok(Entry::new(id, context, caller.clone(), self.clock.now(), &self.budget))
    }
}

impl Inner {
    /// The new turn's number.
    fn begin(&mut self, opening: &Opening, entry: &Entry, size: u64, shared: &Shared) -> Result<u32, Refusal> {
        let message = opening.message.get();
        let goes_on = self.turns > 0;
        if self.turn.is_some() {
            return Err(Refusal::UnsupportedOperation("a message to a task that is still working"));
        }
        if self.status.state.is_terminal() {
            return Err(Refusal::UnsupportedOperation("a message to a task that has ended"));
        }
        if message.context_id.as_ref().is_some_and(|context| *context != entry.context) {
            return Err(invalid("message.contextId", "is not the conversation of this task"));
        }
        if self.turns >= MAX_TURNS {
            return Err(Refusal::UnsupportedOperation("more messages to one task"));
        }
        if !self.charge.grow(size) {
            return Err(FULL);
        }
        if goes_on {
            self.reply = None;
            self.log.restart();
            self.charge.shrink(std::mem::take(&mut self.text_charge));
            self.history.extend(self.status.message.take());
            self.metadata.failure = None;
            self.metadata.retry_after = None;
        }
        let mut shown = Message::clone(message);
        shown.context_id = Some(entry.context.clone());
        shown.task_id = Some(entry.id.clone());
        self.history.push(Arc::new(shown));
        self.metadata.trace = ids::hex(opening.trace);
        self.metadata.add_sanitized(opening.message.counts().iter());
        self.turns = self.turns.saturating_add(1);
        self.turn = Some(Turn::new(opening));
        self.log.hold(opening.structured || opening.output.is_some());
        self.say(TaskState::Submitted, None, shared.clock.now());
        Ok(self.turns)
    }
}

/// A turn that was begun and waits to be started. Dropping it ends the Task.
#[derive(Debug)]
pub struct Ticket {
    shared: Arc<Shared>,
    entry: Arc<Entry>,
    turn: u32,
    message: MessageId,
    opening: Option<Box<Opening>>,
}

impl Ticket {
    /// A place at this turn.
    #[must_use]
    pub fn seat(&self) -> Seat {
        self.shared.seat(&self.entry, self.turn)
    }

    /// The Task.
    #[must_use]
    pub fn id(&self) -> &TaskId {
        &self.entry.id
    }

    /// Its conversation.
    #[must_use]
    pub fn context(&self) -> &ContextId {
        &self.entry.context
    }

    /// The client's name for the message.
    #[must_use]
    pub fn message(&self) -> &MessageId {
        &self.message
    }

    /// Hands the job over. The record is written when the turn is over.
    pub fn start(mut self, slot: Slot, record: Record) {
        let Some(opening) = self.opening.take() else { return };
        let turns = self.shared.turns(&self.entry, &opening);
        let start = Start::new(&slot, &opening.message, turns, frame(&self.entry, &opening));
        let span = tracing::Span::current();
        let running = Running { shared: Arc::clone(&self.shared), entry: Arc::clone(&self.entry), span };
        let (shared, now) = (&self.shared, self.shared.clock.now());
        let over = shared.change(&self.entry, |inner| {
            // Canceled while it waited: nothing is started.
            let Some(turn) = &mut inner.turn else { return Over::default() };
            (turn.slot, turn.record) = (Some(slot), Some(record));
            match shared.link.start(start, Box::new(move |heard| running.hear(heard))) {
                Ok(job) => {
                    turn.job = Some(job);
                    Over::default()
                }
                Err(_away) => inner.refused(&Ending::away(), now),
            }
        });
        shared.after(&self.entry, over);
    }

    /// Starts it when its slot comes, in the background: a client that leaves does not lose its turn in the row.
    pub fn start_with(self, slot: impl Future<Output = Result<Slot, Refusal>> + Send + 'static, mut record: Record) {
        let waiting = async move {
            let since = std::time::Instant::now();
            let mut seat = self.seat();
            let slot = tokio::select! {
                slot = slot => slot,
                () = seat.over() => {
                    record.waited(since.elapsed());
                    return record.verdict(seat.verdict());
                }
            };
            record.waited(since.elapsed());
            match slot {
                Ok(slot) => self.start(slot, record),
                Err(refusal) => {
                    record.refused(&refusal);
                    self.refuse(&refusal);
                }
            }
        };
        tokio::spawn(waiting.in_current_span());
    }

    /// There is no slot: the Task is rejected, and the message may come again.
    fn refuse(&self, refusal: &Refusal) {
        let seconds = refusal.retry_seconds().and_then(|seconds| u32::try_from(seconds).ok()).unwrap_or(5);
        let now = self.shared.clock.now();
        let over = self.shared.change(&self.entry, |inner| inner.refused(&Ending::busy(seconds), now));
        self.shared.after(&self.entry, over);
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        if self.opening.is_some() {
            let now = self.shared.clock.now();
            let over = self.shared.change(&self.entry, |inner| inner.refused(&Ending::busy(1), now));
            self.shared.after(&self.entry, over);
        }
    }
}

impl Shared {
    /// What was said before: in the conversation where the grant allows it, in this Task in any case.
    fn turns(&self, entry: &Entry, opening: &Opening) -> Vec<musegate_protocol::message::Turn> {
        let mut said = Vec::new();
        if opening.caller.grant.history {
            said = self.memory().of(&entry.caller, &entry.context);
            said.retain(|exchange| exchange.task != entry.id);
        }
        said.extend(entry.lock().exchanges.iter().cloned());
        said.iter().flat_map(Exchange::turns).collect()
    }
}

fn frame(entry: &Entry, opening: &Opening) -> Frame {
    Frame {
        caller: entry.caller.clone(),
        task: Label::near(&entry.id.0),
        context: Label::near(&entry.context.0),
        trace: opening.trace,
        output_schema: opening.output.as_ref().map(|output| output.text.clone()),
        structured: opening.structured,
        limits: opening.caller.grant.limits,
    }
}

/// What keeping a message costs, bytes.
fn size(message: &Message) -> u64 {
    let part = |part: &crate::a2a::Part| match &part.content {
        Content::Text(text) | Content::Url(text) => text.len(),
        Content::Raw(bytes) => bytes.len(),
        Content::Data(json) => json.0.len(),
    };
    let parts: usize = message.parts.iter().map(part).sum();
    OVERHEAD.saturating_add(parts as u64)
}

fn invalid(field: &str, what: &str) -> Refusal {
    Refusal::InvalidParams { field: field.to_owned(), what: what.to_owned() }
}
