//! One turn of a Task while it runs: what the link delivers becomes the Task's story.
//!
//! Promises: text is cleaned a second time before it is kept; what is within the kept length is paid back at once, what
//! is beyond it when the attached readers have it; files and progress are bounded. A turn holds its slot and its audit
//! record for exactly as long as it lives. Refuses to know sockets and HTTP.

use super::Shared;
use super::ending::Ending;
use super::entry::{Entry, Inner};
use super::files::Files;
use super::log::Log;
use super::memory::Exchange;
use super::open::Opening;
use super::readers::Kind;
use crate::a2a::{MessageId, Metadata, Progress, TaskState, Timestamp};
use crate::admission::{Caller, Slot};
use crate::audit::Record;
use crate::link::Heard;
use crate::sanitize::{Counts, Outgoing, outgoing};
use crate::skills::Output;
use musegate_protocol::bounded::Text;
use musegate_protocol::message::{CancelReason, End, JobId, Outcome};
use std::sync::Arc;

/// With this begins the kind of what was hidden, among what was redacted.
const HIDDEN: &str = "hidden-";

/// A turn that was begun and is not over.
#[derive(Debug)]
pub(super) struct Turn {
    /// Once it was handed over.
    pub(super) job: Option<JobId>,
    pub(super) cancel: Option<CancelReason>,
    pub(super) caller: Arc<Caller>,
    pub(super) message: MessageId,
    /// What was asked, as one entry of the conversation.
    pub(super) asked: String,
    pub(super) slot: Option<Slot>,
    pub(super) record: Option<Record>,
    /// Whether the answer may be structured.
    pub(super) structured: bool,
    /// What the answer must satisfy.
    pub(super) output: Option<Arc<Output>>,
    /// Media types that the client takes; empty: any.
    pub(super) accepted: Vec<String>,
    pub(super) text: Outgoing,
    pub(super) files: Files,
    /// Somebody looks after readers that stall.
    watched: bool,
}

impl Turn {
    pub(super) fn new(opening: &Opening) -> Self {
        Self {
            job: None,
            cancel: None,
            caller: Arc::clone(&opening.caller),
            message: opening.message.get().message_id.clone(),
            asked: opening.message.as_turn(),
            slot: None,
            record: None,
            structured: opening.structured,
            output: opening.output.clone(),
            accepted: opening.accepted.clone(),
            text: Outgoing::default(),
            files: Files::default(),
            watched: false,
        }
    }

    /// What the cleaning held back comes now.
    pub(super) fn finish_text(&mut self, log: &mut Log) {
        log.rope_mut().append(|out| self.text.finish(out));
    }

    /// Writes the end into the audit record. `awaited`: somebody gets it as the answer to an open request.
    pub(super) fn note(&mut self, ending: &Ending, metadata: &Metadata, awaited: bool) {
        if let Some(record) = &mut self.record {
            if awaited {
                record.answered(200);
            }
            record.metadata(metadata);
            record.verdict(ending.verdict());
        }
    }
}

/// What is left of a turn when it is over: to be dropped, and remembered, when no lock is held.
#[derive(Debug, Default)]
pub(super) struct Over {
    turn: Option<Turn>,
    exchange: Option<Exchange>,
    /// Nothing was started: the message may come again.
    unsaid: bool,
}

/// Where the link delivers what it hears of a job.
#[derive(Debug)]
pub(super) struct Running {
    pub(super) shared: Arc<Shared>,
    pub(super) entry: Arc<Entry>,
    /// The request's.
    pub(super) span: tracing::Span,
}

impl Running {
    pub(super) fn hear(&self, heard: Heard) {
        // Nothing is logged of a piece of answer, and there are many.
        let _inside = (!matches!(heard, Heard::Output { .. })).then(|| self.span.enter());
        let now = self.shared.clock.now();
        match heard {
            Heard::Accepted => self.change(|inner| inner.say(TaskState::Working, None, now)),
            Heard::Output { fresh, text, cost } => self.output(fresh, &text, cost),
            Heard::Progress { event, cost } => self.change(|inner| {
                inner.flow.settled(cost);
                inner.step(event, now);
            }),
            Heard::File { name, bytes, last, cost } => {
                self.shared.make_room_for(bytes.len() as u64);
                self.change(|inner| {
                    inner.flow.settled(cost);
                    if let Some(turn) = &mut inner.turn {
                        turn.files.piece(name, &bytes, last, &turn.caller.grant.file_types, &mut inner.charge);
                    }
                });
            }
            Heard::Refused { reason } => self.over(|inner| inner.refused(&Ending::refused(reason), now)),
            Heard::Finished(outcome) => {
                let bytes = self.shared.bounds.kept.context_bytes;
                self.over(|inner| inner.finished(&outcome, bytes, now));
            }
            Heard::Lost => self.over(|inner| {
                // Who asked for the end gets it: a worker that is gone has ended its jobs.
                let asked = inner.turn.as_ref().and_then(|turn| turn.cancel);
                Over { turn: inner.stop(&asked.map_or_else(Ending::lost, Ending::canceled), now), ..Over::default() }
            }),
        }
    }

    fn output(&self, fresh: bool, text: &str, cost: u32) {
        self.shared.make_room_for(text.len() as u64);
        let most = self.shared.bounds.kept.answer_bytes;
        let watch = self.change(|inner| inner.output(fresh, text, cost, most));
        if watch {
            self.shared.watch_stalls(&self.entry);
        }
    }

    fn change<R>(&self, change: impl FnOnce(&mut Inner) -> R) -> R {
        self.shared.change(&self.entry, change)
    }

    fn over(&self, end: impl FnOnce(&mut Inner) -> Over) {
        let over = self.change(end);
        if over.turn.is_some() {
            let (end, why) = self.entry.lock().how();
            tracing::info!(task = %self.entry.id, end, why, "task over");
        }
        self.shared.after(&self.entry, over);
    }
}

impl Inner {
    /// More of the answer. Whether a reader that stalls has to be looked after from now on.
    fn output(&mut self, fresh: bool, text: &str, cost: u32, most: u64) -> bool {
        let Some(turn) = &mut self.turn else { return false };
        if fresh {
            self.log.restart();
            self.flow.taken(u64::MAX);
            self.charge.shrink(std::mem::take(&mut self.text_charge));
            turn.text = Outgoing::default();
        }
        let keeps = self.log.rope().keeps();
        let added = self.log.rope_mut().append(|out| turn.text.push(text, out));
        // A structured answer begins with a brace; until that is known, and then until the end, nobody hears it in pieces.
        let may_be_structured = || self.log.rope().opens_with().is_none_or(|byte| byte == b'{');
        let held = turn.output.is_some() || (turn.structured && may_be_structured());
        self.log.hold(held && keeps);
        if keeps {
            self.flow.settled(cost);
            if self.charge.grow(added) {
                self.text_charge = self.text_charge.saturating_add(added);
            } else {
                self.log.rope_mut().stop_keeping();
            }
            if self.log.rope().end() >= most {
                self.log.rope_mut().stop_keeping();
            }
            return false;
        }
        self.flow.passing(self.log.rope().end(), cost);
        self.let_pass();
        self.flow.is_waiting() && self.turn.as_mut().is_some_and(|turn| !std::mem::replace(&mut turn.watched, true))
    }

    /// Something happened inside of the job.
    fn step(&mut self, event: Progress, now: Timestamp) {
        let (event, sentence) = match event {
            Progress::Started => (Progress::Started, "the agent has started".to_owned()),
            Progress::Model { id } => {
                let id = outgoing(&id);
                self.metadata.model = Some(id.clone());
                (Progress::Model { id: Text::cut(&id) }, format!("model: {id}"))
            }
            Progress::ToolStarted { name } => {
                let name = outgoing(&name);
                (Progress::ToolStarted { name: Text::cut(&name) }, format!("tool started: {name}"))
            }
            Progress::ToolEnded { name, ok } => {
                let (name, how) = (outgoing(&name), if ok { "ended" } else { "failed" });
                (Progress::ToolEnded { name: Text::cut(&name), ok }, format!("tool {how}: {name}"))
            }
            Progress::Retry { attempt, of, http_status, kind } => {
                let kind = outgoing(&kind);
                let sentence = format!("the model's provider is asked again, {attempt} of {of}: {kind}");
                (Progress::Retry { attempt, of, http_status, kind: Text::cut(&kind) }, sentence)
            }
            Progress::Slept { seconds } => {
                (Progress::Slept { seconds }, format!("the agent's machine was asleep for {seconds} s"))
            }
        };
        self.progress(event, sentence, now);
    }

    pub(super) fn refused(&mut self, ending: &Ending, now: Timestamp) -> Over {
        let unsaid = ending.state == TaskState::Rejected && ending.retry_after.is_some();
        Over { turn: self.stop(ending, now), unsaid, ..Over::default() }
    }

    /// The job is over: the answer, files, then the last status.
    fn finished(&mut self, outcome: &Outcome, exchange_bytes: usize, now: Timestamp) -> Over {
        let Some(mut turn) = self.turn.take() else { return Over::default() };
        turn.finish_text(&mut self.log);
        self.measure(outcome, &turn);
        let (ending, message, said) = match &outcome.end {
            End::Completed => {
                let said = self.conclude_completed(&mut turn);
                let exchange = Exchange::new(self.id().clone(), &turn.asked, &said.text, exchange_bytes);
                (said.ending, said.message, Some(exchange))
            }
            End::Failed { kind, sentence } => {
                let end = End::Failed { kind: *kind, sentence: Text::cut(&outgoing(sentence)) };
                (Ending::of(&end, turn.cancel), None, None)
            }
            end @ End::Cancelled { .. } => (Ending::of(end, turn.cancel), None, None),
        };
        // What was said counts as said only where the conversation can go on from it.
        let goes_on = matches!(ending.state, TaskState::Completed | TaskState::InputRequired);
        let exchange = said.filter(|_| goes_on);
        self.remember(exchange.clone());
        self.conclude(&ending, message, now);
        turn.note(&ending, &self.metadata, self.is_awaited());
        Over { turn: Some(turn), exchange, unsaid: false }
    }

    fn measure(&mut self, outcome: &Outcome, turn: &Turn) {
        self.metadata.usage = outcome.usage;
        self.metadata.timing = Some(outcome.timing);
        self.metadata.redactions = Vec::new();
        for redaction in outcome.redactions.iter() {
            // What the worker dropped before it looked for secrets is no secret.
            match redaction.kind.strip_prefix(HIDDEN).map(Counts::class) {
                Some(Some(class)) => self.metadata.add_sanitized([(class, redaction.count)].into_iter()),
                Some(None) => {}
                None => self.metadata.redactions.push((redaction.kind.to_string(), redaction.count)),
            }
        }
        if turn.text.masked() > 0 {
            self.metadata.redactions.push(("musegate".to_owned(), turn.text.masked()));
        }
        self.metadata.add_sanitized(turn.text.counts().iter());
    }

    /// Looks after readers that stall. Whether somebody still has to.
    pub(super) fn look_after_stalled(&mut self, longest: std::time::Duration) -> bool {
        if self.readers.cut_stalled(&self.log, longest) {
            self.let_pass();
        }
        let waiting = self.flow.is_waiting();
        if let Some(turn) = &mut self.turn {
            turn.watched = waiting;
        }
        waiting && self.turn.is_some()
    }

    /// Somebody waits for this turn's end in an open request.
    pub(super) fn is_awaited(&self) -> bool {
        self.readers.any(|kind| matches!(kind, Kind::Waits(_)))
    }
}

impl Shared {
    /// Does what has to be done about a turn that is over, when no lock is held.
    pub(super) fn after(&self, entry: &Arc<Entry>, over: Over) {
        let Some(turn) = over.turn else { return };
        if over.unsaid {
            self.store().forget_message(entry, &turn.message);
        }
        if let Some(exchange) = over.exchange {
            self.memory().add(&entry.caller, &entry.context, exchange);
        }
        drop(turn);
    }
}
