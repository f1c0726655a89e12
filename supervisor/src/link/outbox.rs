//! What waits to be said to the worker.
//!
//! Promises: bounded without a limit of its own, since jobs are bounded by slots, and of each job at most its start, one
//! cancel and one sum of credit wait; the numbers of jobs grow in the order in which their starts are said, over the
//! supervisor's whole life. Refuses to know sockets.

use super::{Away, Sink};
use musegate_protocol::message::{CancelReason, JobId, StartJob};
use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};
use tokio::sync::Notify;

/// One thing to say.
pub(super) enum Word {
    Start(Box<StartJob>, Sink),
    Cancel(JobId, CancelReason),
    Credit(JobId, u32),
}

#[derive(Default)]
struct State {
    open: bool,
    last: u64,
    starts: VecDeque<(Box<StartJob>, Sink)>,
    cancels: BTreeMap<JobId, CancelReason>,
    credits: BTreeMap<JobId, u32>,
}

#[derive(Default)]
pub(super) struct Outbox {
    state: Mutex<State>,
    filled: Notify,
}

impl fmt::Debug for Outbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Outbox")
    }
}

impl Outbox {
    /// A worker is there.
    pub(super) fn open(&self) {
        self.state().open = true;
    }

    /// It is gone. What was to be said to it is dropped; returns the sinks of jobs that it never heard of.
    pub(super) fn close(&self) -> Vec<Sink> {
        let mut state = self.state();
        state.open = false;
        state.cancels.clear();
        state.credits.clear();
        state.starts.drain(..).map(|(_, sink)| sink).collect()
    }

    pub(super) fn start(&self, mut start: Box<StartJob>, sink: Sink) -> Result<JobId, Away> {
        let mut state = self.state();
        if !state.open {
            return Err(Away);
        }
        state.last = state.last.saturating_add(1);
        start.job = JobId(state.last);
        let job = start.job;
        state.starts.push_back((start, sink));
        drop(state);
        self.filled.notify_one();
        Ok(job)
    }

    /// The first reason stands.
    pub(super) fn cancel(&self, job: JobId, reason: CancelReason) {
        let mut state = self.state();
        if state.open {
            state.cancels.entry(job).or_insert(reason);
            drop(state);
            self.filled.notify_one();
        }
    }

    pub(super) fn credit(&self, job: JobId, bytes: u32) {
        let mut state = self.state();
        if state.open {
            let sum = state.credits.entry(job).or_default();
            *sum = sum.saturating_add(bytes);
            drop(state);
            self.filled.notify_one();
        }
    }

    /// Returns when something was put in since the last time.
    pub(super) async fn filled(&self) {
        self.filled.notified().await;
    }

    /// The next thing to say: starts first, so that nothing is said of a job before its start.
    pub(super) fn take(&self) -> Option<Word> {
        let mut state = self.state();
        if let Some((start, sink)) = state.starts.pop_front() {
            return Some(Word::Start(start, sink));
        }
        if let Some((job, reason)) = state.cancels.pop_first() {
            return Some(Word::Cancel(job, reason));
        }
        state.credits.pop_first().map(|(job, bytes)| Word::Credit(job, bytes))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
