//! The table of permitted messages: (connection, job, message) → what follows, or nothing. Content, credit and counts
//! are order.rs's business.

use crate::message::{FromWorker, ToWorker};

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
    /// [`ToWorker::Hello`]
    Hello,
    /// [`ToWorker::Start`]
    Start,
    /// [`ToWorker::Cancel`]
    Cancel,
    /// [`ToWorker::Credit`]
    Credit,
    /// [`ToWorker::Ping`]
    Ping,
    /// [`ToWorker::Drain`]
    Drain,
    /// [`FromWorker::HelloAck`]
    HelloAck,
    /// [`FromWorker::Accepted`]
    Accepted,
    /// [`FromWorker::Refused`]
    Refused,
    /// [`FromWorker::Output`]
    Output,
    /// [`FromWorker::Progress`]
    Progress,
    /// [`FromWorker::File`]
    File,
    /// [`FromWorker::Finished`]
    Finished,
    /// [`FromWorker::Pong`]
    Pong,
    /// [`FromWorker::Bye`]
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
        // What the supervisor said before it read the worker's Bye. A job asked for so late never runs.
        (L::Closed, K::Start, P::New) => Step::Job(P::Ended),
        (L::Closed, K::Drain | K::Ping, P::New) => Step::Stay,
        (L::Closed, K::Cancel | K::Credit, P::Asked | P::Running | P::Ended) => Step::Stay,
        _ => return None,
    })
}
