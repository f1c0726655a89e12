//! When each message is legal: one table, used by both ends for what they send and for what they receive.
//!
//! A job's number only grows on a connection, so "has ended" needs no memory: a number not above the last one and not
//! alive has ended. The supervisor may still speak of a job that has ended (its words were under way); the worker may
//! not. Whatever the table does not permit is a [`Violation`], and both ends answer it by closing the connection.

use crate::message::{FromWorker, INITIAL_CREDIT, JobId, MAX_CREDIT, MAX_JOBS, ToWorker};
use std::collections::HashMap;

/// How far a connection has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Link {
    /// The preambles are exchanged.
    Fresh,
    /// The supervisor has said hello.
    Greeted,
    /// The worker has answered; jobs may run.
    Open,
    /// The supervisor has said `Drain`.
    Draining,
    /// The worker has said `Bye`.
    Closed,
}

/// How far a job has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Phase {
    /// Its number was never used.
    New,
    /// `Start` was said, the worker has not answered.
    Asked,
    /// `Accepted` was said.
    Running,
    /// `Refused` or `Finished` was said.
    Ended,
}

/// What a message says, without its content: the columns of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    Hello,
    Start,
    Cancel,
    Credit,
    Ping,
    Drain,
    HelloAck,
    Accepted,
    Refused,
    Output,
    Progress,
    File,
    Finished,
    Pong,
    Bye,
}

impl Kind {
    /// All of them, those of the supervisor first.
    pub const ALL: [Self; 15] = [
        Self::Hello,
        Self::Start,
        Self::Cancel,
        Self::Credit,
        Self::Ping,
        Self::Drain,
        Self::HelloAck,
        Self::Accepted,
        Self::Refused,
        Self::Output,
        Self::Progress,
        Self::File,
        Self::Finished,
        Self::Pong,
        Self::Bye,
    ];
}

impl From<&ToWorker> for Kind {
    fn from(message: &ToWorker) -> Self {
        match message {
            ToWorker::Hello(_) => Self::Hello,
            ToWorker::Start(_) => Self::Start,
            ToWorker::Cancel { .. } => Self::Cancel,
            ToWorker::Credit { .. } => Self::Credit,
            ToWorker::Ping { .. } => Self::Ping,
            ToWorker::Drain => Self::Drain,
        }
    }
}

impl From<&FromWorker> for Kind {
    fn from(message: &FromWorker) -> Self {
        match message {
            FromWorker::HelloAck(_) => Self::HelloAck,
            FromWorker::Accepted { .. } => Self::Accepted,
            FromWorker::Refused { .. } => Self::Refused,
            FromWorker::Output { .. } => Self::Output,
            FromWorker::Progress { .. } => Self::Progress,
            FromWorker::File { .. } => Self::File,
            FromWorker::Finished { .. } => Self::Finished,
            FromWorker::Pong { .. } => Self::Pong,
            FromWorker::Bye { .. } => Self::Bye,
        }
    }
}

/// What a legal message does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// The connection goes on in this state.
    Link(Link),
    /// The job goes on in this phase.
    Job(Phase),
    /// Nothing: it came too late to matter, or only asks whether somebody is there.
    Stay,
}

/// The table. `job` is [`Phase::New`] for messages about no job. `None`: not permitted.
#[must_use]
pub fn step(link: Link, job: Phase, kind: Kind) -> Option<Step> {
    use {Kind as K, Link as L, Phase as P};
    Some(match (link, kind, job) {
        (L::Fresh, K::Hello, P::New) => Step::Link(L::Greeted),
        (L::Greeted, K::HelloAck, P::New) => Step::Link(L::Open),

        (L::Open, K::Start, P::New) => Step::Job(P::Asked),
        (L::Open, K::Drain, P::New) => Step::Link(L::Draining),
        (L::Open | L::Draining, K::Cancel | K::Credit, P::Asked | P::Running | P::Ended) => Step::Stay,
        (L::Open | L::Draining, K::Ping | K::Pong, P::New) => Step::Stay,

        (L::Open | L::Draining, K::Accepted, P::Asked) => Step::Job(P::Running),
        (L::Open | L::Draining, K::Refused, P::Asked) => Step::Job(P::Ended),
        (L::Open | L::Draining, K::Output | K::Progress | K::File, P::Running) => Step::Stay,
        (L::Open | L::Draining, K::Finished, P::Running) => Step::Job(P::Ended),
        (L::Greeted | L::Open | L::Draining, K::Bye, P::New) => Step::Link(L::Closed),
        // What the supervisor said before it read the worker's Bye.
        (L::Closed, K::Start | K::Drain | K::Ping, P::New) => Step::Stay,
        (L::Closed, K::Cancel | K::Credit, P::Asked | P::Running | P::Ended) => Step::Stay,
        _ => return None,
    })
}

/// A message that the table does not permit.
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
    /// More credit than [`MAX_CREDIT`].
    #[error("credit over the limit")]
    CreditOverflow,
    /// More jobs than [`MAX_JOBS`].
    #[error("too many jobs")]
    TooManyJobs,
    /// A job's number is not above the last one.
    #[error("a job's number was used again")]
    JobReused,
    /// An answer to a `Ping` that was not said.
    #[error("pong without a ping")]
    Pong,
    /// `Output` does not continue where the last one ended.
    #[error("output at {said}, expected at {expected}")]
    Gap {
        /// Offset in the message.
        said: u64,
        /// Offset that continues the answer.
        expected: u64,
    },
}

#[derive(Debug)]
struct Live {
    phase: Phase,
    credit: u32,
    offset: u64,
}

/// The state of one connection, seen from one end.
#[derive(Debug)]
pub struct Order {
    link: Link,
    last: Option<JobId>,
    live: HashMap<JobId, Live>,
    pings: u32,
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
        Self { link: Link::Fresh, last: None, live: HashMap::new(), pings: 0 }
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
    /// [`Violation`]: close the connection.
    pub fn to_worker(&mut self, message: &ToWorker) -> Result<Step, Violation> {
        let step = self.permit(message.into(), message.job())?;
        match message {
            ToWorker::Start(start) if step == Step::Job(Phase::Asked) => {
                if self.live.len() >= MAX_JOBS {
                    return Err(Violation::TooManyJobs);
                }
                self.last = Some(start.job);
                self.live.insert(start.job, Live { phase: Phase::Asked, credit: INITIAL_CREDIT, offset: 0 });
            }
            ToWorker::Credit { job, bytes } => {
                if let Some(live) = self.live.get_mut(job) {
                    let credit = live.credit.checked_add(*bytes).filter(|sum| *sum <= MAX_CREDIT);
                    live.credit = credit.ok_or(Violation::CreditOverflow)?;
                }
            }
            ToWorker::Ping { .. } => self.pings = self.pings.saturating_add(1),
            _ => {}
        }
        Ok(step)
    }

    /// The worker says this.
    ///
    /// # Errors
    /// [`Violation`]: close the connection.
    pub fn from_worker(&mut self, message: &FromWorker) -> Result<Step, Violation> {
        let kind = message.into();
        let step = self.permit(kind, message.job())?;
        if let FromWorker::Pong { .. } = message {
            self.pings = self.pings.checked_sub(1).ok_or(Violation::Pong)?;
        }
        let Some(job) = message.job() else { return Ok(step) };
        if let Some(live) = self.live.get_mut(&job) {
            let cost = message.cost();
            let credit = live.credit;
            live.credit = credit.checked_sub(cost).ok_or(Violation::Overdraft { kind, cost, credit })?;
            if let FromWorker::Output { offset, fresh, text, .. } = message {
                let expected = if *fresh { 0 } else { live.offset };
                if *offset != expected {
                    return Err(Violation::Gap { said: *offset, expected });
                }
                live.offset = expected.saturating_add(text.len() as u64);
            }
        }
        Ok(step)
    }

    fn permit(&mut self, kind: Kind, job: Option<JobId>) -> Result<Step, Violation> {
        let phase = job.map_or(Phase::New, |job| self.phase(job));
        let Some(step) = step(self.link, phase, kind) else {
            if kind == Kind::Start && phase != Phase::New {
                return Err(Violation::JobReused);
            }
            return Err(Violation::Order { kind, link: self.link, phase });
        };
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
            _ => {}
        }
        Ok(step)
    }
}
