//! The operations on webhooks, spec §3.1.7 to §3.1.10, and a webhook that comes with a message.
//!
//! Promises: without the setting they do not exist; without the grant none is set; somebody else's Task is no Task.

use super::walk::{Answer, Walk};
use crate::a2a::TaskId;
use crate::dialect::PushConfig;
use crate::push::{Live, Pushes};
use crate::refusal::Refusal;
use std::sync::Arc;

/// A webhook that may be set, and the right to it.
pub(super) struct Wanted {
    config: PushConfig,
    live: Live,
}

impl Walk {
    pub(super) fn create_push(&mut self, task: &TaskId, config: PushConfig) -> Result<Answer, Refusal> {
        self.pushes()?;
        let task = self.ours(task)?;
        let wanted = self.want_push(config, Some(&task))?;
        let config = self.set_push(&task, wanted)?;
        Ok(Answer::Ready(self.reply.push_config(&task, &config)))
    }

    pub(super) fn get_push(&mut self, task: &TaskId, config: Option<&str>) -> Result<Answer, Refusal> {
        self.pushes()?;
        let task = self.ours(task)?;
        let all = self.serve.tasks.hooks(&self.caller().name, &task)?;
        let wanted = config.unwrap_or(&task.0);
        let found = all.iter().find(|known| known.id.as_deref() == Some(wanted));
        // 0.3 and earlier may ask for the only one.
        let found = found.or_else(|| all.first().filter(|_| config.is_none()));
        let found = found.ok_or(Refusal::TaskNotFound)?;
        Ok(Answer::Ready(self.reply.push_config(&task, found)))
    }

    pub(super) fn list_push(&mut self, task: &TaskId) -> Result<Answer, Refusal> {
        self.pushes()?;
        let task = self.ours(task)?;
        let all = self.serve.tasks.hooks(&self.caller().name, &task)?;
        Ok(Answer::Ready(self.reply.push_list(&task, &all)))
    }

    pub(super) fn delete_push(&mut self, task: &TaskId, config: &str) -> Result<Answer, Refusal> {
        self.pushes()?;
        let task = self.ours(task)?;
        self.serve.tasks.unhook(&self.caller().name, &task, config)?;
        Ok(Answer::Ready(self.reply.empty()))
    }

    /// Everything that can be wrong with a webhook, before anything is begun. `task`: one that is there already.
    pub(super) fn want_push(&self, config: PushConfig, task: Option<&TaskId>) -> Result<Wanted, Refusal> {
        let pushes = self.pushes()?;
        let caller = self.caller();
        if !caller.grant.push {
            return Err(Refusal::Forbidden("push notifications"));
        }
        if let Some(task) = task {
            let id = config.id.as_deref().unwrap_or(&task.0);
            self.serve.tasks.has_room_for(&caller.name, task, id, pushes.per_task())?;
        }
        pushes.check(&config)?;
        let live = pushes.admit(&caller.name)?;
        Ok(Wanted { config, live })
    }

    /// Sets it. One without an id has its Task's, as in the official SDKs, so that setting it again replaces it.
    pub(super) fn set_push(&self, task: &TaskId, wanted: Wanted) -> Result<Arc<PushConfig>, Refusal> {
        let Wanted { mut config, live } = wanted;
        config.id.get_or_insert_with(|| task.0.to_string());
        let config = Arc::new(config);
        let caller = &self.caller().name;
        let story = self.serve.tasks.watch(caller, task)?;
        let told = self.pushes()?.tell(live, self.reply.clone(), Arc::clone(&config), story);
        self.serve.tasks.hook(caller, task, &config, told)?;
        Ok(config)
    }

    fn pushes(&self) -> Result<&Pushes, Refusal> {
        self.serve.rooms.pushes.as_ref().ok_or(Refusal::PushNotSupported)
    }
}
