//! A conversation: first half of the inputs as acts of two ends, the other half as raw frames, against the order table
//! and against a simple account of what each job was given and has taken.

use musegate_protocol::bounded::{Blob, FileName, Label, List, Text};
use musegate_protocol::codec::Wire;
use musegate_protocol::message::*;
use musegate_protocol::order::{Link, Order, Phase, Step, Violation};
use std::collections::BTreeMap;

/// What a job was given and has taken, counted without the order table.
#[derive(Debug, Default)]
struct Account {
    given: u64,
    taken: u64,
    answer: u64,
    files: u64,
    file_bytes: u64,
    limits: Option<JobLimits>,
    ended: bool,
    accepted: bool,
}

#[derive(Debug, Default)]
struct Watch {
    order: Order,
    jobs: BTreeMap<JobId, Account>,
    pings: u64,
    pongs: u64,
}

pub(crate) fn session(input: &[u8]) {
    let mut watch = Watch::default();
    let Some((kind, rest)) = input.split_first() else { return };
    if kind.is_multiple_of(2) {
        rest.chunks(4).for_each(|act| watch.act(act));
    } else {
        watch.frames(rest);
    }
}

impl Watch {
    /// Frames as they are, each with its direction and its length before it.
    fn frames(&mut self, mut rest: &[u8]) {
        while let Some(([direction, low, high], after)) = rest.split_first_chunk::<3>() {
            let len = usize::from(u16::from_le_bytes([*low, *high])).min(after.len());
            let (frame, after) = after.split_at(len);
            rest = after;
            if direction.is_multiple_of(2) {
                if let Ok(message) = ToWorker::from_bytes(frame) {
                    self.to_worker(&message);
                }
            } else if let Ok(message) = FromWorker::from_bytes(frame) {
                self.from_worker(&message);
            }
        }
    }

    /// Four bytes as a message that has a chance to be legal.
    fn act(&mut self, act: &[u8]) {
        let byte = |at: usize| act.get(at).copied().unwrap_or_default();
        let (job, small, big) = (JobId(u64::from(byte(1) % 8)), usize::from(byte(2)), usize::from(byte(3)) << 8);
        let bytes = small + big;
        let offset = self.jobs.get(&job).map_or(0, |account| account.answer) + u64::from(byte(1) >> 7);
        let limits = JobLimits { wall_seconds: 0, output_bytes: 0, files: byte(2) % 4, file_bytes: bytes as u32 };
        match byte(0) % 17 {
            0 => self.to_worker(&ToWorker::Hello(Hello { version: PROTOCOL, build: label(), instance: ID })),
            1 | 2 => self.to_worker(&start(job, limits)),
            3 => self.to_worker(&ToWorker::Cancel { job, reason: CancelReason::Caller }),
            4 => self.to_worker(&ToWorker::Credit { job, bytes: (bytes as u32) << (byte(1) >> 5) }),
            5 => self.to_worker(&ToWorker::Ping { nonce: u64::from(byte(1)) }),
            6 => self.to_worker(&ToWorker::Drain),
            7 => self.from_worker(&hello_ack(limits)),
            8 | 9 => self.from_worker(&FromWorker::Accepted { job }),
            10 => {
                let refused = FromWorker::Refused { job, reason: RefuseReason::Busy, detail: Text::default() };
                self.from_worker(&refused);
            }
            11 => {
                let fresh = small.is_multiple_of(5);
                let offset = if fresh { 0 } else { offset };
                let text = Text::cut(&"x".repeat(bytes % MAX_CHUNK));
                self.from_worker(&FromWorker::Output { job, offset, fresh, text });
            }
            12 => self.from_worker(&FromWorker::Progress { job, event: Progress::Started }),
            13 => {
                let name = FileName::new(if small.is_multiple_of(3) { "a" } else { "b" }).expect("a name");
                let blob = Blob::new(vec![0; bytes % 4096]).expect("within its bound");
                self.from_worker(&FromWorker::File { job, name, bytes: blob, last: small.is_multiple_of(2) });
            }
            14 => self.from_worker(&finished(job, offset)),
            15 => self.from_worker(&FromWorker::Pong {
                nonce: u64::from(byte(1)),
                jobs: 0,
                resident_kib: 0,
                descriptors: 0,
            }),
            _ => self.from_worker(&FromWorker::Bye { reason: ByeReason::Stopping }),
        }
    }

    fn to_worker(&mut self, message: &ToWorker) {
        let before = self.order.clone();
        let Some(step) = self.judged(before, |order| order.to_worker(message)) else { return };
        match message {
            ToWorker::Start(start) if step == Step::Job(Phase::Asked) => {
                let account = Account {
                    given: u64::from(INITIAL_CREDIT),
                    limits: Some(start.limits),
                    ..Account::default()
                };
                assert!(self.jobs.insert(start.job, account).is_none(), "a number is used once");
            }
            ToWorker::Credit { job, bytes } => {
                if let Some(account) = self.jobs.get_mut(job).filter(|account| !account.ended) {
                    account.given += u64::from(*bytes);
                }
            }
            ToWorker::Ping { .. } => self.pings += 1,
            _ => {}
        }
        self.holds();
    }

    fn from_worker(&mut self, message: &FromWorker) {
        let before = self.order.clone();
        let Some(step) = self.judged(before, |order| order.from_worker(message)) else { return };
        if let FromWorker::Pong { .. } = message {
            self.pongs += 1;
        }
        if let Some(job) = message.job() {
            let account = self.jobs.get_mut(&job).expect("only of a job that was asked for");
            assert!(!account.ended, "nothing after the end");
            account.take(message);
            account.ended = step == Step::Job(Phase::Ended);
        }
        self.holds();
    }

    /// A violation changes nothing.
    fn judged(
        &mut self,
        before: Order,
        say: impl FnOnce(&mut Order) -> Result<Step, Violation>,
    ) -> Option<Step> {
        match say(&mut self.order) {
            Ok(step) => Some(step),
            Err(_) => {
                assert_eq!(self.order, before, "a violation changes nothing");
                None
            }
        }
    }

    fn holds(&self) {
        let alive = self.jobs.values().filter(|account| !account.ended).count();
        assert!(alive == self.order.live() && alive <= MAX_JOBS);
        assert!(self.pongs <= self.pings && self.pings - self.pongs <= MAX_PINGS as u64);
        for (job, account) in &self.jobs {
            let left = account.given.checked_sub(account.taken).expect("never more than was given");
            assert!(left <= u64::from(MAX_CREDIT));
            if !account.ended {
                assert_eq!(u64::from(self.order.credit(*job)), left);
            }
            assert_eq!(self.order.phase(*job) == Phase::Ended, account.ended);
        }
        assert!(self.order.link() != Link::Fresh || self.jobs.is_empty());
    }
}

impl Account {
    fn take(&mut self, message: &FromWorker) {
        self.taken += u64::from(message.cost());
        let limits = self.limits.expect("it was started");
        match message {
            FromWorker::Accepted { .. } => {
                assert!(!self.accepted, "once");
                self.accepted = true;
            }
            FromWorker::Refused { .. } => assert!(!self.accepted, "not after Accepted"),
            FromWorker::Output { offset, fresh, text, .. } => {
                assert!(self.accepted && *offset == if *fresh { 0 } else { self.answer });
                self.answer = offset + text.len() as u64;
            }
            FromWorker::File { bytes, last, .. } => {
                self.files += u64::from(*last);
                self.file_bytes += bytes.len() as u64;
                assert!(self.accepted && self.files <= u64::from(limits.files));
                assert!(self.file_bytes <= u64::from(limits.file_bytes));
            }
            FromWorker::Finished { outcome, .. } => assert!(self.accepted && outcome.output_bytes == self.answer),
            _ => assert!(self.accepted),
        }
    }
}

const ID: InstanceId = InstanceId([1; 16]);

fn label() -> Label {
    Label::new("x").expect("a label")
}

fn start(job: JobId, limits: JobLimits) -> ToWorker {
    ToWorker::Start(Box::new(StartJob {
        job,
        caller: label(),
        task: label(),
        context: label(),
        message: Text::default(),
        trace: [0; 16],
        turns: List::default(),
        parts: List::default(),
        output_schema: None,
        structured: false,
        limits,
    }))
}

fn hello_ack(limits: JobLimits) -> FromWorker {
    FromWorker::HelloAck(Box::new(HelloAck {
        version: PROTOCOL,
        build: label(),
        instance: ID,
        slots: 1,
        backend: label(),
        backend_version: Text::default(),
        limits,
        report: Report::default(),
        own: Report::default(),
    }))
}

fn finished(job: JobId, output_bytes: u64) -> FromWorker {
    let outcome = Outcome {
        end: End::Completed,
        usage: None,
        redactions: List::default(),
        output_bytes,
        timing: Timing::default(),
        ended_by: EndedBy::Itself,
    };
    FromWorker::Finished { job, outcome: Box::new(outcome) }
}
