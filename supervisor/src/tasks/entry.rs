//! One Task: what it says of itself, what it holds, and the turn that runs.
//!
//! Promises: a Task ends in exactly one terminal state, and nothing follows it; every change that somebody could see is
//! in the log before anybody is woken. All of it is behind one lock that is held for short sections only. Refuses to know
//! other Tasks.

use super::budget::{Budget, Charge};
use super::ending::Ending;
use super::flow::Flow;
use super::hooks::Hook;
use super::log::Log;
use super::memory::Exchange;
use super::readers::Readers;
use super::turn::Turn;
use crate::a2a::{
    Artifact, ContextId, Message, MessageId, Metadata, Part, Progress, Role, Status, Task, TaskId, TaskState, Timestamp,
};
use musegate_protocol::bounded::Label;
use musegate_protocol::message::{CancelReason, JobId, MAX_TURNS};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Waker;

/// What a Task costs besides its texts, bytes.
pub(super) const OVERHEAD: u64 = 2048;
/// The same for one mark.
const MARK: u64 = 512;

#[derive(Debug)]
pub(super) struct Entry {
    pub(super) id: TaskId,
    pub(super) context: ContextId,
    pub(super) caller: Label,
    inner: Mutex<Inner>,
}

#[derive(Debug)]
pub(super) struct Inner {
    id: TaskId,
    context: ContextId,
    pub(super) log: Log,
    pub(super) readers: Readers,
    pub(super) flow: Flow,
    pub(super) charge: Charge,
    /// What of the charge is the present answer's.
    pub(super) text_charge: u64,
    pub(super) status: Status,
    pub(super) history: Vec<Arc<Message>>,
    pub(super) artifacts: Vec<Arc<Artifact>>,
    /// The answer as one message, where the agent asked for that.
    pub(super) reply: Option<Arc<Message>>,
    pub(super) metadata: Metadata,
    /// Webhooks.
    pub(super) hooks: Vec<Hook>,
    pub(super) turn: Option<Turn>,
    /// What was said in this Task before: it goes on with it whatever the conversation has forgotten.
    pub(super) exchanges: Vec<Exchange>,
    /// Turns that have begun.
    pub(super) turns: u32,
    /// Messages of ours.
    said: u32,
    /// The status has changed since somebody asked.
    moved: bool,
    /// Of a terminal Task, with its whole history.
    whole: Option<Arc<Task>>,
}

impl Entry {
    pub(super) fn new(id: TaskId, context: ContextId, caller: Label, now: Timestamp, budget: &Arc<Budget>) -> Self {
        let inner = Inner {
            id: id.clone(),
            context: context.clone(),
            log: Log::default(),
            readers: Readers::default(),
            flow: Flow::default(),
            charge: Charge::new(budget),
            text_charge: 0,
            status: Status { state: TaskState::Submitted, message: None, timestamp: now },
            history: Vec::new(),
            artifacts: Vec::new(),
            reply: None,
            metadata: Metadata::default(),
            hooks: Vec::new(),
            turn: None,
            exchanges: Vec::new(),
            turns: 0,
            said: 0,
            moved: false,
            whole: None,
        };
        Self { id, context, caller, inner: Mutex::new(inner) }
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// As it stands now, with at most so many entries of history.
    pub(super) fn task(&self, history: Option<u32>) -> Arc<Task> {
        let mut inner = self.lock();
        if history.is_some() || !inner.status.state.is_terminal() {
            return Arc::new(inner.task(history, true));
        }
        if let Some(whole) = &inner.whole {
            return Arc::clone(whole);
        }
        let whole = Arc::new(inner.task(None, true));
        inner.whole = Some(Arc::clone(&whole));
        whole
    }
}

/// What a cancel finds.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Cancel {
    /// Nothing runs: it is over, by this cancel or by an earlier one.
    Over,
    /// It ended otherwise.
    TooLate,
    /// This job has to be ended first, the number of its turn.
    Running(JobId, u32),
}

impl Inner {
    /// State, and since when.
    pub(super) const fn stands(&self) -> (TaskState, Timestamp) {
        (self.status.state, self.status.timestamp)
    }

    /// How it stands, in the words of the audit, and why if it failed.
    pub(super) fn how(&self) -> (&'static str, Option<&'static str>) {
        let end = match self.status.state {
            TaskState::Completed => "completed",
            TaskState::Canceled => "canceled",
            TaskState::Rejected => "rejected",
            TaskState::InputRequired => "input_required",
            TaskState::AuthRequired => "auth_required",
            TaskState::Failed => "failed",
            _ => "working",
        };
        (end, self.metadata.failure)
    }

    pub(super) fn charged(&self) -> u64 {
        self.charge.bytes()
    }

    /// Turns that are over.
    pub(super) fn over(&self) -> u32 {
        self.turns.saturating_sub(u32::from(self.turn.is_some()))
    }

    /// A snapshot.
    pub(super) fn task(&self, history: Option<u32>, artifacts: bool) -> Task {
        let skip = history.map_or(0, |most| self.history.len().saturating_sub(most as usize));
        Task {
            id: self.id.clone(),
            context_id: self.context.clone(),
            status: self.status.clone(),
            artifacts: if artifacts { self.artifacts.clone() } else { Vec::new() },
            history: self.history.iter().skip(skip).cloned().collect(),
            metadata: self.metadata.clone(),
        }
    }

    pub(super) const fn id(&self) -> &TaskId {
        &self.id
    }

    /// Remembers an exchange of this Task.
    pub(super) fn remember(&mut self, exchange: Option<Exchange>) {
        self.exchanges.extend(exchange);
        let surplus = self.exchanges.len().saturating_sub(MAX_TURNS / 2);
        self.exchanges.drain(..surplus);
    }

    /// A message of ours about this Task.
    pub(super) fn message(&mut self, parts: Vec<Part>) -> Arc<Message> {
        self.said = self.said.saturating_add(1);
        Arc::new(Message {
            message_id: MessageId(format!("{}-{}", self.id, self.said).into()),
            context_id: Some(self.context.clone()),
            task_id: Some(self.id.clone()),
            role: Role::Agent,
            parts,
            metadata: None,
            extensions: Vec::new(),
            reference_task_ids: Vec::new(),
        })
    }

    /// A new status.
    pub(super) fn say(&mut self, state: TaskState, message: Option<Arc<Message>>, now: Timestamp) {
        self.status = Status { state, message, timestamp: now };
        self.moved = true;
        let _ = self.charge.grow(MARK);
        self.log.status(self.status.clone(), None);
    }

    /// Progress while it works. Dropped when there is no room for it.
    pub(super) fn progress(&mut self, progress: Progress, sentence: String, now: Timestamp) {
        if self.charge.grow(MARK) {
            let message = Some(self.message(vec![Part::text(sentence)]));
            self.status = Status { state: TaskState::Working, message, timestamp: now };
            self.moved = true;
            self.log.status(self.status.clone(), Some(progress));
        }
    }

    /// The last words of a turn. Everything else of it must have been said before.
    pub(super) fn conclude(&mut self, ending: &Ending, message: Option<Arc<Message>>, now: Timestamp) {
        self.metadata.failure = ending.word.filter(|_| ending.state != TaskState::InputRequired);
        self.metadata.retry_after = ending.retry_after;
        self.metadata.truncated = self.log.rope().is_cut();
        let message = match message {
            None if ending.sentence.is_empty() => None,
            None => Some(self.message(vec![Part::text(ending.sentence.clone())])),
            message => message,
        };
        self.say(ending.state, message, now);
        self.flow = Flow::default();
    }

    /// Asks for its end. The first reason stands.
    pub(super) fn cancel(&mut self, reason: CancelReason, now: Timestamp) -> (Cancel, Option<Turn>) {
        let turns = self.turns;
        match &mut self.turn {
            Some(turn) => match turn.job {
                Some(job) => {
                    turn.cancel.get_or_insert(reason);
                    (Cancel::Running(job, turns), None)
                }
                None => (Cancel::Over, self.stop(&Ending::canceled(reason), now)),
            },
            None if self.status.state == TaskState::Canceled => (Cancel::Over, None),
            None if self.status.state.is_terminal() => (Cancel::TooLate, None),
            None => {
                self.conclude(&Ending::canceled(reason), None, now);
                (Cancel::Over, None)
            }
        }
    }

    /// Ends the turn that runs, without an answer.
    pub(super) fn stop(&mut self, ending: &Ending, now: Timestamp) -> Option<Turn> {
        let mut turn = self.turn.take()?;
        turn.finish_text(&mut self.log);
        self.conclude(ending, None, now);
        turn.note(ending, &self.metadata, self.is_awaited());
        Some(turn)
    }

    /// Whether the status has changed since the last time, who has to be woken, and what credit goes back.
    pub(super) fn settle(&mut self) -> (bool, Vec<Waker>, Option<(JobId, u32)>) {
        let over = self.over();
        let woken = self.readers.woken(&self.log, over);
        let job = self.turn.as_ref().and_then(|turn| turn.job);
        let due = job.and_then(|job| self.flow.due().map(|bytes| (job, bytes)));
        (std::mem::take(&mut self.moved), woken, due)
    }

    /// Lets go of passing text that everybody has.
    pub(super) fn let_pass(&mut self) {
        let taken = self.readers.taken(&self.log).unwrap_or(u64::MAX);
        self.log.rope_mut().forget(taken);
        self.flow.taken(taken);
    }
}
