//! Tasks: what callers see of their jobs, from the first message to the last event.
//!
//! Read in this order: `rope` and `log` (the story of a Task), `readers` and `flow` (who hears it, and what that costs
//! the worker), `entry` and `turn` (a Task, and what happens in it), `store` and `memory` (what is kept), `open`, `seat`
//! and `list` (what a request can do).
//!
//! Promises: a Task belongs to one caller, and to every other it does not exist; it ends in exactly one terminal state;
//! nothing that a client does or fails to do ends somebody else's. No lock is held across an await, and locks nest only
//! as store → entry → outbox.

mod answer;
mod budget;
mod clock;
mod ending;
mod entry;
mod files;
mod flow;
mod hooks;
mod ids;
mod list;
mod log;
mod memory;
mod open;
mod readers;
mod rope;
mod seat;
mod store;
#[cfg(test)]
mod tests;
mod turn;

pub use list::Listed;
pub use log::{MAX_CHUNK, MAX_PROGRESS, Pace, Until};
pub use open::{Opened, Opening, Ticket};
pub use seat::{Seat, Subscription};

use crate::a2a::{Task, TaskId};
use crate::config;
use crate::link::Link;
use crate::refusal::Refusal;
use budget::Budget;
use clock::Clock;
use ending::Ending;
use entry::{Cancel, Entry, Inner};
use memory::Memory;
use musegate_protocol::bounded::Label;
use musegate_protocol::message::CancelReason;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use store::Store;

/// What is kept, and how long is waited.
#[derive(Clone, Debug)]
pub struct Bounds {
    /// Of Tasks and conversations.
    pub kept: config::Tasks,
    /// A reader in pieces that takes nothing for so long, while its child waits for it, is cut off.
    pub stall: Duration,
    /// Longest wait of CancelTask for the processes' end.
    pub cancel: Duration,
}

/// All Tasks. Clones are the same.
#[derive(Clone, Debug)]
pub struct Tasks(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    store: Mutex<Store>,
    memory: Mutex<Memory>,
    budget: Arc<Budget>,
    clock: Clock,
    link: Link,
    bounds: Bounds,
}

impl Tasks {
    /// None yet. Run [`Tasks::tend`] beside it.
    #[must_use]
    pub fn new(bounds: Bounds, link: Link) -> Self {
        let kept = &bounds.kept;
        let budget = Budget::new(kept.max_bytes);
        let limits = memory::Limits {
            exchanges: kept.turns,
            bytes: kept.context_bytes,
            // Conversations have their own part beside the Tasks'.
            all_bytes: kept.context_bytes.max(usize::try_from(kept.max_bytes / 8).unwrap_or(usize::MAX)),
            contexts: kept.contexts,
            age: kept.context_keep,
        };
        Self(Arc::new(Shared {
            store: Mutex::new(Store::new(kept.max, kept.keep, Arc::clone(&budget))),
            memory: Mutex::new(Memory::new(limits)),
            budget,
            clock: Clock::default(),
            link,
            bounds,
        }))
    }

    /// Lets old Tasks go although nobody asks for anything. Never returns.
    pub async fn tend(self) {
        let pause = (self.0.bounds.kept.keep / 16).clamp(Duration::from_secs(1), Duration::from_secs(60));
        loop {
            tokio::time::sleep(pause).await;
            self.0.make_room(0, 0);
        }
    }

    /// GetTask, spec §3.1.3.
    ///
    /// # Errors
    /// [`Refusal::TaskNotFound`], also for somebody else's.
    pub fn get(&self, caller: &Label, id: &TaskId, history: Option<u32>) -> Result<Arc<Task>, Refusal> {
        Ok(self.0.find(caller, id)?.task(history))
    }

    /// Our id of the Task that this caller gave this name, in the early dialect.
    #[must_use]
    pub fn named(&self, caller: &Label, alias: &str) -> Option<TaskId> {
        self.0.store().find_alias(caller, alias).map(|entry| entry.id.clone())
    }

    /// CancelTask, spec §3.1.5: ends the job's processes, and answers when they are gone. A Task that is canceled already
    /// is answered as it is. When the end cannot be proven within the bound the Task is still WORKING, and says so.
    ///
    /// # Errors
    /// [`Refusal::TaskNotFound`]; [`Refusal::TaskNotCancelable`] when it ended otherwise, or ended so meanwhile.
    pub async fn cancel(&self, caller: &Label, id: &TaskId) -> Result<Arc<Task>, Refusal> {
        let entry = self.0.find(caller, id)?;
        match self.0.cancel(&entry, CancelReason::Caller) {
            Cancel::Over => Ok(entry.task(None)),
            Cancel::TooLate => Err(Refusal::TaskNotCancelable),
            Cancel::Running(_, turn) => {
                let mut seat = self.0.seat(&entry, turn);
                let ended = tokio::time::timeout(self.0.bounds.cancel, seat.over()).await;
                let task = entry.task(None);
                let canceled = task.status.state == crate::a2a::TaskState::Canceled;
                if canceled || ended.is_err() { Ok(task) } else { Err(Refusal::TaskNotCancelable) }
            }
        }
    }

    /// SubscribeToTask, spec §3.1.6; with `after`, what came after that event, also when the Task has ended.
    ///
    /// # Errors
    /// [`Refusal::TaskNotFound`]; [`Refusal::UnsupportedOperation`] for a Task that has ended, or when what comes after
    /// the event is no longer kept.
    pub fn subscribe(
        &self,
        caller: &Label,
        id: &TaskId,
        pace: Pace,
        until: Until,
        after: Option<crate::a2a::Cursor>,
    ) -> Result<Subscription, Refusal> {
        let entry = self.0.find(caller, id)?;
        if after.is_none() && entry.lock().status.state.is_terminal() {
            return Err(Refusal::UnsupportedOperation("subscribing to a task that has ended"));
        }
        let turns = entry.lock().turns;
        self.0.seat(&entry, turns).stream(pace, until, after)
    }

    /// How many Tasks are kept, and how many bytes.
    #[must_use]
    pub fn kept(&self) -> (usize, u64) {
        (self.0.store().len(), self.0.budget.used())
    }

    /// Ends everything that runs, because the supervisor stops.
    pub fn cancel_all(&self) {
        let running = self.0.store().running();
        for entry in running {
            self.0.cancel(&entry, CancelReason::Operator);
        }
    }

    /// Tasks that are submitted or working.
    #[must_use]
    pub fn running(&self) -> usize {
        self.0.store().running().len()
    }
}

impl Shared {
    fn find(&self, caller: &Label, id: &TaskId) -> Result<Arc<Entry>, Refusal> {
        self.store().find(caller, id).cloned().ok_or(Refusal::TaskNotFound)
    }

    fn seat(self: &Arc<Self>, entry: &Arc<Entry>, turn: u32) -> Seat {
        Seat::new(Arc::clone(self), Arc::clone(entry), turn)
    }

    /// Changes a Task, then does what follows from it when its lock is free again.
    fn change<R>(&self, entry: &Arc<Entry>, change: impl FnOnce(&mut Inner) -> R) -> R {
        let mut inner = entry.lock();
        let result = change(&mut inner);
        let (moved, woken, due) = inner.settle();
        drop(inner);
        if moved {
            self.store().note(entry);
        }
        woken.into_iter().for_each(std::task::Waker::wake);
        if let Some((job, bytes)) = due {
            self.link.credit(job, bytes);
        }
        result
    }

    fn cancel(&self, entry: &Arc<Entry>, reason: CancelReason) -> Cancel {
        let now = self.clock.now();
        let (cancel, turn) = self.change(entry, |inner| inner.cancel(reason, now));
        drop(turn);
        if let Cancel::Running(job, _) = cancel {
            self.link.cancel(job, reason);
        }
        cancel
    }

    /// Lets Tasks go until there is room. Those that waited for their client end.
    fn make_room(&self, tasks: usize, bytes: u64) {
        let gone = self.store().make_room(tasks, bytes);
        for entry in gone {
            let now = self.clock.now();
            self.change(&entry, |inner| {
                if inner.status.state.is_interrupted() {
                    inner.conclude(&Ending::expired(), None, now);
                }
            });
        }
    }

    /// The same for bytes of something that goes on, when there is no room already.
    fn make_room_for(&self, bytes: u64) {
        if !self.budget.has_room(bytes) {
            self.make_room(0, bytes);
        }
    }

    /// Cuts off readers of this Task that stall, for as long as its child waits for one.
    fn watch_stalls(self: &Arc<Self>, entry: &Arc<Entry>) {
        let (shared, entry) = (Arc::clone(self), Arc::clone(entry));
        let longest = self.bounds.stall;
        tokio::spawn(async move {
            let pause = (longest / 4).max(Duration::from_millis(10));
            loop {
                tokio::time::sleep(pause).await;
                if !shared.change(&entry, |inner| inner.look_after_stalled(longest)) {
                    break;
                }
            }
        });
    }

    fn store(&self) -> MutexGuard<'_, Store> {
        self.store.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn memory(&self) -> MutexGuard<'_, Memory> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
