//! Webhooks of a Task: set, shown, taken away. They live and go with their Task.
//!
//! Promises: a webhook is its Task's caller's only; one of the same id takes the place of the one before. Refuses to know
//! where they lead and how they are told.

use super::Tasks;
use super::entry::Inner;
use super::log::{Pace, Until};
use super::open::FULL;
use super::seat::Subscription;
use crate::a2a::TaskId;
use crate::dialect::PushConfig;
use crate::push::Told;
use crate::refusal::Refusal;
use musegate_protocol::bounded::Label;
use std::sync::Arc;

/// What one costs beside its texts, bytes.
const OVERHEAD: u64 = 1024;

#[derive(Debug)]
pub(super) struct Hook {
    config: Arc<PushConfig>,
    cost: u64,
    _told: Told,
}

impl Tasks {
    /// What a webhook of this Task is told: how it stands now, then every change until it has ended.
    ///
    /// # Errors
    /// [`Refusal::TaskNotFound`], also for somebody else's.
    pub fn watch(&self, caller: &Label, id: &TaskId) -> Result<Subscription, Refusal> {
        let entry = self.0.find(caller, id)?;
        let turns = entry.lock().turns;
        self.0.seat(&entry, turns).stream(Pace::Whole, Until::Terminal, None)
    }

    /// Whether there is room for a webhook of this id.
    ///
    /// # Errors
    /// [`Refusal::TaskNotFound`]; [`Refusal::InvalidParams`] when the Task has `most` others already.
    pub fn has_room_for(&self, caller: &Label, task: &TaskId, id: &str, most: usize) -> Result<(), Refusal> {
        let entry = self.0.find(caller, task)?;
        let others = entry.lock().hooks.iter().filter(|hook| hook.is_not(id)).count();
        if others < most {
            return Ok(());
        }
        let what = format!("this task has {most} webhooks already; delete one first");
        Err(Refusal::InvalidParams { field: "id".to_owned(), what })
    }

    /// Keeps a webhook, which has its id.
    ///
    /// # Errors
    /// [`Refusal::TaskNotFound`]; [`Refusal::Unavailable`] when there is no memory for it.
    pub fn hook(&self, caller: &Label, task: &TaskId, config: &Arc<PushConfig>, told: Told) -> Result<(), Refusal> {
        let entry = self.0.find(caller, task)?;
        let secrets = config.authentication.as_ref();
        let secrets = secrets.map_or(0, |(scheme, rest)| scheme.len() + rest.as_ref().map_or(0, String::len));
        let texts = config.url.len() + config.token.as_ref().map_or(0, String::len) + secrets;
        let cost = OVERHEAD.saturating_add(texts as u64);
        self.0.make_room_for(cost);
        let hook = Hook { config: Arc::clone(config), cost, _told: told };
        entry.lock().keep_hook(hook)
    }

    /// All of a Task, oldest first.
    ///
    /// # Errors
    /// [`Refusal::TaskNotFound`].
    pub fn hooks(&self, caller: &Label, task: &TaskId) -> Result<Vec<Arc<PushConfig>>, Refusal> {
        let entry = self.0.find(caller, task)?;
        let inner = entry.lock();
        Ok(inner.hooks.iter().map(|hook| Arc::clone(&hook.config)).collect())
    }

    /// Takes one away; one that is not there is away already.
    ///
    /// # Errors
    /// [`Refusal::TaskNotFound`].
    pub fn unhook(&self, caller: &Label, task: &TaskId, id: &str) -> Result<(), Refusal> {
        let entry = self.0.find(caller, task)?;
        entry.lock().drop_hook(id);
        Ok(())
    }
}

impl Hook {
    /// Whether it is another one than the one of this id.
    fn is_not(&self, id: &str) -> bool {
        self.config.id.as_deref() != Some(id)
    }
}

impl Inner {
    fn keep_hook(&mut self, hook: Hook) -> Result<(), Refusal> {
        self.drop_hook(hook.config.id.as_deref().unwrap_or_default());
        if !self.charge.grow(hook.cost) {
            return Err(FULL);
        }
        self.hooks.push(hook);
        Ok(())
    }

    fn drop_hook(&mut self, id: &str) {
        let mut freed: u64 = 0;
        self.hooks.retain(|hook| {
            freed = freed.saturating_add(if hook.is_not(id) { 0 } else { hook.cost });
            hook.is_not(id)
        });
        self.charge.shrink(freed);
    }
}
