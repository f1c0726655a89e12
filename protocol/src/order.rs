//! When each message is legal: one table, used by both ends for what they send and for what they receive.
//!
//! A job's number only grows on a connection, so "has ended" needs no memory: a number not above the last one and not
//! alive has ended. The supervisor may still speak of a job that has ended (its words were under way); the worker may
//! not. Whatever is not permitted is a [`Violation`]: the end that received it closes the connection, the end that was
//! about to send it does not. Promises: a violation changes nothing; memory is bounded by [`MAX_JOBS`].

mod live;
mod table;
#[cfg(test)]
mod tests;

use crate::message::{Flaw, FromWorker, JobId, MAX_JOBS, MAX_PINGS, ToWorker};
use live::Live;
use std::collections::{BTreeMap, VecDeque};
pub use table::{Kind, Link, Phase, Step, step};

/// A message that is not permitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Violation {
    /// Not legal now.
    #[error("{kind:?} is not legal in {link:?}, job {phase:?}")]
    Order {
        /// The message.
        kind: Kind,
        /// The connection's state.
        link: Link,
        /// The job's phase.
        phase: Phase,
    },
    /// It contradicts itself.
    #[error(transparent)]
    Flaw(#[from] Flaw),
    /// More bytes than the job had credit for.
    #[error("{kind:?} costs {cost}, the credit is {credit}")]
    Overdraft {
        /// The message.
        kind: Kind,
        /// What it costs.
        cost: u32,
        /// What there was.
        credit: u32,
    },
    /// More credit than [`MAX_CREDIT`](crate::message::MAX_CREDIT).
    #[error("credit over the limit")]
    CreditOverflow,
    /// More jobs than [`MAX_JOBS`].
    #[error("too many jobs")]
    TooManyJobs,
    /// A job's number is not above the last one.
    #[error("a job's number was used again")]
    JobReused,
    /// More than [`MAX_PINGS`] without an answer.
    #[error("too many pings without an answer")]
    TooManyPings,
    /// An answer to no `Ping`, or not to the oldest.
    #[error("pong without its ping")]
    Pong,
    /// `Output` does not continue where the last one ended, or `Finished` counts otherwise.
    #[error("output at {said}, expected at {expected}")]
    Gap {
        /// Offset in the message.
        said: u64,
        /// Offset that continues the answer.
        expected: u64,
    },
    /// A piece of another file before the last piece of this one.
    #[error("a file inside another")]
    FileInFile,
    /// More files, or more bytes of them, than the job's limits permit.
    #[error("more files than the job may send")]
    TooManyFiles,
}

/// The state of one connection, seen from one end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Order {
    link: Link,
    last: Option<JobId>,
    live: BTreeMap<JobId, Live>,
    /// Nonces without an answer, oldest first.
    pings: VecDeque<u64>,
}

impl Default for Order {
    fn default() -> Self {
        Self::new()
    }
}

impl Order {
    /// After the preambles.
    #[must_use]
    pub fn new() -> Self {
        Self { link: Link::Fresh, last: None, live: BTreeMap::new(), pings: VecDeque::new() }
    }

    /// The connection's state.
    #[must_use]
    pub fn link(&self) -> Link {
        self.link
    }

    /// Jobs that have begun and not ended.
    #[must_use]
    pub fn live(&self) -> usize {
        self.live.len()
    }

    /// A job's phase.
    #[must_use]
    pub fn phase(&self, job: JobId) -> Phase {
        match self.live.get(&job) {
            Some(live) => live.phase,
            None if self.last.is_some_and(|last| job <= last) => Phase::Ended,
            None => Phase::New,
        }
    }

    /// What the worker may still send of a job, as [`FromWorker::cost`] counts.
    #[must_use]
    pub fn credit(&self, job: JobId) -> u32 {
        self.live.get(&job).map_or(0, |live| live.credit)
    }

    /// The supervisor says this.
    ///
    /// # Errors
    /// [`Violation`]: nothing has changed. Received: close the connection.
    pub fn to_worker(&mut self, message: &ToWorker) -> Result<Step, Violation> {
        message.check()?;
        let step = self.permitted(message.into(), message.job())?;
        match message {
            ToWorker::Start(start) => {
                if step == Step::Job(Phase::Asked) {
                    if self.live.len() >= MAX_JOBS {
                        return Err(Violation::TooManyJobs);
                    }
                    self.live.insert(start.job, Live::new(start.limits));
                }
                self.last = Some(start.job);
            }
            ToWorker::Credit { job, bytes } => {
                if let Some(live) = self.live.get_mut(job) {
                    live.add_credit(*bytes)?;
                }
            }
            ToWorker::Ping { nonce } => {
                if self.pings.len() >= MAX_PINGS {
                    return Err(Violation::TooManyPings);
                }
                self.pings.push_back(*nonce);
            }
            ToWorker::Hello(_) | ToWorker::Cancel { .. } | ToWorker::Drain => {}
        }
        self.follow(step, message.job());
        Ok(step)
    }

    /// The worker says this.
    ///
    /// # Errors
    /// [`Violation`]: nothing has changed. Received: close the connection.
    pub fn from_worker(&mut self, message: &FromWorker) -> Result<Step, Violation> {
        message.check()?;
        let step = self.permitted(message.into(), message.job())?;
        if let FromWorker::Pong { nonce, .. } = message {
            self.pings.pop_front_if(|oldest| oldest == nonce).ok_or(Violation::Pong)?;
        }
        if let Some(live) = message.job().and_then(|job| self.live.get_mut(&job)) {
            live.spend(message)?;
        }
        self.follow(step, message.job());
        Ok(step)
    }

    fn permitted(&self, kind: Kind, job: Option<JobId>) -> Result<Step, Violation> {
        let phase = job.map_or(Phase::New, |job| self.phase(job));
        match step(self.link, phase, kind) {
            Some(step) => Ok(step),
            None if kind == Kind::Start && phase != Phase::New => Err(Violation::JobReused),
            None => Err(Violation::Order { kind, link: self.link, phase }),
        }
    }

    fn follow(&mut self, step: Step, job: Option<JobId>) {
        match (step, job) {
            (Step::Link(link), _) => self.link = link,
            (Step::Job(Phase::Ended), Some(job)) => {
                self.live.remove(&job);
            }
            (Step::Job(phase), Some(job)) => {
                if let Some(live) = self.live.get_mut(&job) {
                    live.phase = phase;
                }
            }
            (Step::Job(_), None) | (Step::Stay, _) => {}
        }
    }
}
