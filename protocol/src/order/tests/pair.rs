//! Two ends that keep the order when they send, and a socket between them that is slow in both directions: neither ever
//! takes the other for a violator, whatever crosses on the way.

use super::*;
use std::collections::VecDeque;

#[derive(Debug)]
struct Pair {
    supervisor: Order,
    worker: Order,
    to_worker: VecDeque<ToWorker>,
    from_worker: VecDeque<FromWorker>,
    next: u64,
}

impl Pair {
    fn new() -> Self {
        let (to_worker, from_worker) = (VecDeque::new(), VecDeque::new());
        Self { supervisor: Order::new(), worker: Order::new(), to_worker, from_worker, next: 1 }
    }

    /// The supervisor says it if it may.
    fn supervisor_says(&mut self, message: ToWorker) {
        if self.supervisor.to_worker(&message).is_ok() {
            self.next += u64::from(matches!(message, ToWorker::Start(_)));
            self.to_worker.push_back(message);
        }
    }

    /// The worker says it if it may.
    fn worker_says(&mut self, message: FromWorker) {
        if self.worker.from_worker(&message).is_ok() {
            self.from_worker.push_back(message);
        }
    }

    fn worker_hears(&mut self) {
        if let Some(message) = self.to_worker.pop_front() {
            self.worker.to_worker(&message).unwrap_or_else(|error| panic!("{error}: {message:?}"));
        }
    }

    fn supervisor_hears(&mut self) {
        if let Some(message) = self.from_worker.pop_front() {
            self.supervisor.from_worker(&message).unwrap_or_else(|error| panic!("{error}: {message:?}"));
        }
    }

    /// One act of either end; most are not legal at the moment and then not done.
    fn act(&mut self, choice: u8, job: u64, bytes: usize) {
        let job = self.next.saturating_sub(job);
        let offset = self.worker.clone().live.get(&JobId(job)).map_or(0, live_offset);
        match choice {
            0..=5 => self.worker_hears(),
            6..=11 => self.supervisor_hears(),
            12 => self.supervisor_says(hello()),
            13 => self.supervisor_says(start(self.next)),
            14 => self.supervisor_says(ToWorker::Cancel { job: JobId(job), reason: CancelReason::Caller }),
            15 => self.supervisor_says(credit(job, u32::try_from(bytes).unwrap())),
            16 => self.supervisor_says(ToWorker::Ping { nonce: bytes as u64 }),
            17 => self.supervisor_says(ToWorker::Drain),
            18 => self.worker_says(hello_ack()),
            19 | 20 => self.worker_says(accepted(job)),
            21 => {
                let (job, reason, detail) = (JobId(job), RefuseReason::Busy, Text::default());
                self.worker_says(FromWorker::Refused { job, reason, detail });
            }
            22 | 23 => self.worker_says(output(job, offset, false, bytes % MAX_CHUNK)),
            24 => self.worker_says(output(job, 0, true, bytes % MAX_CHUNK)),
            25 => self.worker_says(file(job, "f", bytes % 60, bytes.is_multiple_of(2))),
            26 => self.worker_says(finished(job, offset)),
            27 => {
                let nonce = self.worker.pings.front().copied().unwrap_or_default();
                self.worker_says(FromWorker::Pong { nonce, jobs: 0, resident_kib: 0, descriptors: 0 });
            }
            _ => self.worker_says(FromWorker::Progress { job: JobId(job), event: Progress::Started }),
        }
    }
}

/// What `Live` keeps to itself, by the one number that continues it.
fn live_offset(live: &Live) -> u64 {
    let mut copy = live.clone();
    match copy.spend(&output(0, u64::MAX, false, 0)) {
        Err(Violation::Gap { expected, .. }) => expected,
        _ => 0,
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]
    #[test]
    fn an_honest_pair_never_violates(
        acts in prop::collection::vec((0u8..29, 0u64..4, 0usize..70_000), 0..400),
        bye in any::<prop::sample::Index>(),
    ) {
        let mut pair = Pair::new();
        let bye = bye.index(acts.len() + 1);
        for (at, (choice, job, bytes)) in acts.iter().enumerate() {
            pair.act(*choice, *job, *bytes);
            if at == bye {
                pair.worker_says(FromWorker::Bye { reason: ByeReason::Stopping });
            }
        }
        while !pair.to_worker.is_empty() || !pair.from_worker.is_empty() {
            pair.worker_hears();
            pair.supervisor_hears();
        }
        if pair.worker.link() == Link::Closed {
            // A job that was asked for while the worker said Bye lives in the supervisor's mind only.
            pair.supervisor.live.retain(|job, _| pair.worker.live.contains_key(job));
        }
        prop_assert_eq!(pair.supervisor, pair.worker, "with nothing under way both ends know the same");
    }
}

/// The random walk above does reach what it is about.
#[test]
fn the_walk_gets_to_the_end_of_a_job() {
    let mut pair = Pair::new();
    for choice in [12, 0, 18, 6, 13, 0, 19, 6, 22, 25, 15, 26, 6, 6, 6, 0] {
        pair.act(choice, u64::from(choice > 13), 100);
    }
    assert_eq!(pair.supervisor.phase(JobId(1)), Phase::Ended);
    assert_eq!(pair.supervisor, pair.worker);
}
