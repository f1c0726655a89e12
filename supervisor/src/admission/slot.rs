//! The right to run a job now.
//!
//! Promises: never more slots are held than there are; who waits is served in order, but never beyond its caller's own
//! bound, and a row is bounded for each caller and for all; a slot comes back by itself when it is dropped, whatever
//! ends the request. Refuses to know jobs.

#[cfg(test)]
#[path = "slot_tests.rs"]
mod tests;

use super::grant::{Busy, Caller};
use crate::refusal::Refusal;
use musegate_protocol::bounded::Label;
use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::oneshot;

/// The right to run one job. Dropping it gives it to the next in the row, or back.
#[derive(Debug)]
pub struct Slot {
    slots: Arc<Slots>,
    caller: Label,
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.slots.release(&self.caller);
    }
}

#[derive(Debug)]
pub(super) struct Slots {
    retry: Duration,
    max_waiting: usize,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    total: usize,
    used: usize,
    by_caller: HashMap<Label, usize>,
    row: VecDeque<Waiting>,
}

#[derive(Debug)]
struct Waiting {
    caller: Label,
    concurrency: usize,
    turn: oneshot::Sender<Slot>,
}

impl State {
    fn free(&self, caller: &Label, concurrency: usize) -> bool {
        self.used < self.total && self.by_caller.get(caller).copied().unwrap_or_default() < concurrency
    }

    fn take(&mut self, caller: &Label) {
        self.used += 1;
        *self.by_caller.entry(caller.clone()).or_default() += 1;
    }
}

impl Slots {
    pub(super) fn new(total: usize, max_waiting: usize, retry: Duration) -> Arc<Self> {
        let state = State { total, used: 0, by_caller: HashMap::new(), row: VecDeque::new() };
        Arc::new(Self { retry, max_waiting, state: Mutex::new(state) })
    }

    /// A slot now, or not.
    pub(super) fn take(self: &Arc<Self>, caller: &Caller) -> Result<Slot, Refusal> {
        let mut state = self.state();
        let before = state.row.iter().any(|waiting| state.free(&waiting.caller, waiting.concurrency));
        if before || !state.free(&caller.name, caller.grant.concurrency.into()) {
            return Err(self.busy(caller));
        }
        state.take(&caller.name);
        Ok(self.slot(&caller.name))
    }

    /// A slot now, or after a wait where the caller's grant says so.
    pub(super) async fn wait(self: &Arc<Self>, caller: &Caller) -> Result<Slot, Refusal> {
        let turn = match self.take(caller) {
            Err(_) if caller.grant.busy == Busy::Wait => self.join(caller)?,
            other => return other,
        };
        match tokio::time::timeout(caller.grant.wait_time, turn).await {
            Ok(Ok(slot)) => Ok(slot),
            _ => Err(self.busy(caller)),
        }
    }

    /// How many are held, and how many requests wait.
    pub(super) fn counts(&self) -> (usize, usize) {
        let state = self.state();
        (state.used, state.row.iter().filter(|waiting| !waiting.turn.is_closed()).count())
    }

    /// Changes how many there are. Held ones stay; more are handed out at once.
    pub(super) fn set_total(self: &Arc<Self>, total: usize) {
        self.state().total = total;
        self.hand_out();
    }

    fn join(&self, caller: &Caller) -> Result<oneshot::Receiver<Slot>, Refusal> {
        let mut state = self.state();
        state.row.retain(|waiting| !waiting.turn.is_closed());
        let own = state.row.iter().filter(|waiting| waiting.caller == caller.name).count();
        if own >= caller.grant.wait_depth || state.row.len() >= self.max_waiting {
            return Err(self.busy(caller));
        }
        let (turn, receiver) = oneshot::channel();
        let concurrency = caller.grant.concurrency.into();
        state.row.push_back(Waiting { caller: caller.name.clone(), concurrency, turn });
        Ok(receiver)
    }

    fn release(self: &Arc<Self>, caller: &Label) {
        {
            let mut state = self.state();
            state.used = state.used.saturating_sub(1);
            if let Some(count) = state.by_caller.get_mut(caller) {
                *count = count.saturating_sub(1);
                if *count == 0 {
                    state.by_caller.remove(caller);
                }
            }
        }
        self.hand_out();
    }

    /// Serves the row, first come first, as far as there is something free.
    fn hand_out(self: &Arc<Self>) {
        while let Some(waiting) = self.next() {
            let slot = self.slot(&waiting.caller);
            // Whoever left the row in this very moment sends the slot back, and its drop serves the next.
            drop(waiting.turn.send(slot));
        }
    }

    fn next(&self) -> Option<Waiting> {
        let mut state = self.state();
        state.row.retain(|waiting| !waiting.turn.is_closed());
        let at = state.row.iter().position(|waiting| state.free(&waiting.caller, waiting.concurrency))?;
        let waiting = state.row.remove(at)?;
        state.take(&waiting.caller);
        Some(waiting)
    }

    fn slot(self: &Arc<Self>, caller: &Label) -> Slot {
        Slot { slots: Arc::clone(self), caller: caller.clone() }
    }

    fn busy(&self, caller: &Caller) -> Refusal {
        Refusal::Busy { retry: self.retry, in_band: caller.grant.busy == Busy::Rpc }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
