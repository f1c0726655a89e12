//! What all jobs of this worker share, and who may have one more.
//!
//! Promises: no more jobs than slots; a job's number of one supervisor is never taken twice, also over a new connection;
//! after a tree that could not be proven dead nothing is started. Refuses to know about connections.

use crate::agent::{Agent, AgentError, Maker};
use crate::backend::muse::MuseError;
use crate::config::Config;
use crate::job::prompt::Unusable;
use crate::redact::Rules;
use crate::scratch::Base;
use musegate_protocol::bounded::{Label, Text};
use musegate_protocol::message::{HelloAck, InstanceId, JobId, Layer, Layers, PROTOCOL, RefuseReason, Report};
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Supervisors whose last job is remembered.
const REMEMBERED: usize = 16;

/// The right to run a job now. Free again when dropped.
pub(crate) type Slot = OwnedSemaphorePermit;

/// Everything that jobs share.
pub(crate) struct Worker {
    pub(crate) config: Config,
    pub(crate) base: Base,
    pub(crate) rules: Arc<Rules>,
    pub(crate) instance: InstanceId,
    maker: Maker,
    agent: tokio::sync::Mutex<Arc<Agent>>,
    report: Report,
    own: Report,
    slots: Arc<Semaphore>,
    /// The highest job of each supervisor, the newest supervisor last.
    last: Mutex<VecDeque<(InstanceId, JobId)>>,
    stopping: AtomicBool,
    doubt: AtomicBool,
}

/// What a [`Worker`] is made of.
pub(crate) struct Parts {
    pub(crate) config: Config,
    pub(crate) base: Base,
    pub(crate) rules: Arc<Rules>,
    pub(crate) maker: Maker,
    pub(crate) agent: Agent,
    pub(crate) instance: InstanceId,
    /// The supervisor has another uid.
    pub(crate) separate: bool,
    /// What holds the worker itself.
    pub(crate) own: Report,
}

impl Worker {
    pub(crate) fn new(parts: Parts) -> Self {
        let mut report = parts.agent.jail.report();
        let separation = if parts.separate { &mut report.holds } else { &mut report.lacks };
        *separation = separation.with(Layer::UidSeparation);
        Self {
            slots: Arc::new(Semaphore::new(parts.config.jobs.slots.into())),
            config: parts.config,
            base: parts.base,
            rules: parts.rules,
            maker: parts.maker,
            agent: tokio::sync::Mutex::new(Arc::new(parts.agent)),
            instance: parts.instance,
            report,
            own: parts.own,
            last: Mutex::new(VecDeque::new()),
            stopping: AtomicBool::new(false),
            doubt: AtomicBool::new(false),
        }
    }

    /// Names the layers that hold and those that lack, in the log.
    pub(crate) fn say_layers(&self) {
        let words = |layers: Layers| layers.iter().map(Layer::word).collect::<Vec<_>>().join(" ");
        let say = |report: &Report, whose| {
            tracing::info!(holds = words(report.holds), lacks = words(report.lacks), "confinement of {whose}");
        };
        say(&self.own, "this worker");
        say(&self.report, "its jobs");
    }

    /// What a supervisor is told first.
    pub(crate) async fn hello(&self) -> HelloAck {
        let muse = &self.agent.lock().await.muse;
        HelloAck {
            version: PROTOCOL,
            build: build(),
            instance: self.instance,
            slots: self.config.jobs.slots,
            backend: label(muse.label()),
            backend_version: Text::cut(muse.version()),
            limits: self.config.limits.for_hello(),
            report: self.report,
            own: self.own,
        }
    }

    /// A slot for this job of that supervisor.
    pub(crate) fn admit(
        &self,
        supervisor: InstanceId,
        job: JobId,
        usable: Result<(), Unusable>,
    ) -> Result<Slot, (RefuseReason, String)> {
        if !self.is_new(supervisor, job) {
            return Err((RefuseReason::Invalid, "this job's number was used before".to_owned()));
        }
        usable.map_err(|why| (RefuseReason::Invalid, why.to_string()))?;
        if self.stopping.load(Ordering::Relaxed) {
            return Err((RefuseReason::Draining, "the worker is stopping".to_owned()));
        }
        if self.doubt.load(Ordering::Relaxed) {
            let why = "an earlier job's processes could not be proven dead";
            return Err((RefuseReason::ContainmentDoubt, why.to_owned()));
        }
        let slot = Arc::clone(&self.slots).try_acquire_owned();
        slot.map_err(|_| (RefuseReason::Busy, "all slots are taken".to_owned()))
    }

    fn is_new(&self, supervisor: InstanceId, job: JobId) -> bool {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, highest)) = last.iter_mut().find(|(known, _)| *known == supervisor) {
            let new = job > *highest;
            *highest = job.max(*highest);
            return new;
        }
        if last.len() >= REMEMBERED {
            last.pop_front();
        }
        last.push_back((supervisor, job));
        true
    }

    /// The agent to run. Made anew where its file is another one now.
    pub(crate) async fn agent(&self) -> Result<Arc<Agent>, AgentError> {
        let mut agent = self.agent.lock().await;
        if !agent.muse.is_current().map_err(MuseError::from)? {
            let made = self.maker.make(&self.base).await?;
            tracing::info!(version = made.muse.version(), "muse was replaced");
            *agent = Arc::new(made);
        }
        Ok(Arc::clone(&agent))
    }

    /// Jobs that run.
    pub(crate) fn running(&self) -> usize {
        usize::from(self.config.jobs.slots).saturating_sub(self.slots.available_permits())
    }

    /// Returns when no job runs. No more may be admitted by then.
    pub(crate) async fn idle(&self) {
        let all = self.slots.acquire_many(self.config.jobs.slots.into()).await;
        drop(all);
    }

    /// From now on no job is admitted.
    pub(crate) fn stop(&self) {
        self.stopping.store(true, Ordering::Relaxed);
    }

    /// From now on no job is admitted: something may still be alive.
    pub(crate) fn doubt(&self) {
        self.doubt.store(true, Ordering::Relaxed);
        tracing::error!("a job's processes could not be proven dead; no job is taken until this worker is restarted");
    }
}

/// This program, for people.
pub(crate) fn build() -> Label {
    label(concat!("musegate-worker-", env!("CARGO_PKG_VERSION")))
}

/// For texts of our own, which are short and plain.
fn label(text: &'static str) -> Label {
    Label::new(text).unwrap_or_else(|_| label("unknown"))
}
