//! How output flows: at once, never beyond the credit, never at another job's expense, and in bounded memory.
#![expect(clippy::expect_used, reason = "a test ends at what it does not expect")]

use musegate_protocol::message::{End, FailureKind, FromWorker, INITIAL_CREDIT, MAX_CHUNK, ToWorker};
use musegate_tests::programs;
use musegate_tests::worker_bench::{Settings, Worker};
use std::time::Duration;
use tokio::time::{Instant, sleep, timeout};

/// All that comes of a job until nothing has come for a while; no credit is given.
async fn until_quiet(supervisor: &mut musegate_tests::worker_bench::Supervisor, span: Duration) -> Vec<FromWorker> {
    let mut all = Vec::new();
    while let Ok(message) = timeout(span, supervisor.hear()).await {
        all.push(message.expect("open"));
    }
    all
}

#[tokio::test]
async fn a_job_without_credit_stops_and_its_memory_stays_flat() {
    let limits = "output = \"64 MiB\"\nwall = 60\nidle = 1";
    let worker = Worker::start(programs!(), Settings { limits, ..Settings::default() }).await;
    let mut supervisor = worker.supervisor().await;
    let job = supervisor.start("@stub stream=16000 bytes=4096").await;
    let first = until_quiet(&mut supervisor, Duration::from_millis(500)).await;
    let cost: u32 = first.iter().map(FromWorker::cost).sum();
    assert!(cost <= INITIAL_CREDIT && cost > INITIAL_CREDIT - 4096, "{cost} of {INITIAL_CREDIT}");
    let before = worker.resident_kib();
    // Far beyond the idle limit: silence of a job that nobody reads is not its own.
    let quiet = until_quiet(&mut supervisor, Duration::from_millis(2500)).await;
    assert!(quiet.is_empty(), "{quiet:?}");
    let after = worker.resident_kib();
    assert!(after < before + 512, "{before} KiB, then {after} KiB");

    // The control path is open all the while.
    supervisor.say(&ToWorker::Ping { nonce: 9 }).await;
    let pong = supervisor.hear().await;
    assert!(matches!(pong, Some(FromWorker::Pong { nonce: 9, jobs: 1, .. })), "{pong:?}");

    supervisor.say(&ToWorker::Credit { job, bytes: cost }).await;
    let (heard, ended) = supervisor.finish(job).await;
    assert_eq!(ended.outcome().end, End::Completed);
    let all: usize = first.iter().map(|m| if let FromWorker::Output { text, .. } = m { text.len() } else { 0 }).sum();
    assert_eq!(all + heard.text.len(), 16000 * 4096, "nothing was lost on the way");
    let peak = worker.resident_kib();
    assert!(peak < 24 << 10, "{peak} KiB after 64 MiB");
}

#[tokio::test]
async fn a_stalled_job_does_not_hold_up_another() {
    let settings = Settings { jobs: "slots = 2", limits: "output = \"64 MiB\"", ..Settings::default() };
    let worker = Worker::start(programs!(), settings).await;
    let mut supervisor = worker.supervisor().await;
    let stalled = supervisor.start("@stub stream=16000 bytes=4096").await;
    until_quiet(&mut supervisor, Duration::from_millis(300)).await;
    let (heard, outcome) = supervisor.run("@stub stream=2000 bytes=1000").await;
    assert_eq!((heard.text.len(), &outcome.end), (2_000_000, &End::Completed));
    supervisor.cancel(stalled).await;
    let (_, ended) = supervisor.finish(stalled).await;
    assert!(matches!(ended.outcome().end, End::Cancelled { .. }));
}

#[tokio::test]
async fn a_stalled_job_still_meets_its_wall_clock() {
    let settings = Settings { limits: "output = \"64 MiB\"\nwall = 1", ..Settings::default() };
    let worker = Worker::start(programs!(), settings).await;
    let mut supervisor = worker.supervisor().await;
    for script in ["@stub stream=16000 bytes=4096", "@stub stream=40 bytes=4096"] {
        let job = supervisor.start(script).await;
        let ended = supervisor.until(job, |message| matches!(message, FromWorker::Finished { .. })).await;
        let FromWorker::Finished { outcome, .. } = ended else { panic!("the last word of a job") };
        let late = matches!(&outcome.end, End::Failed { kind: FailureKind::TimedOutWall, .. });
        assert!(late, "{script}: {:?}", outcome.end);
    }
}

#[tokio::test]
async fn a_supervisor_that_does_not_read_holds_no_memory() {
    let settings = Settings { limits: "output = \"64 MiB\"", ..Settings::default() };
    let worker = Worker::start(programs!(), settings).await;
    let mut supervisor = worker.supervisor().await;
    let job = supervisor.start("@stub stream=16000 bytes=4096").await;
    supervisor.say(&ToWorker::Credit { job, bytes: 512 << 10 }).await;
    sleep(Duration::from_millis(300)).await;
    let before = worker.resident_kib();
    sleep(Duration::from_millis(700)).await;
    assert!(worker.resident_kib() < before + 512);
    assert!(worker.resident_kib() < 16 << 10, "{} KiB", worker.resident_kib());
    let (heard, ended) = supervisor.finish(job).await;
    assert_eq!((heard.text.len(), ended.outcome().end), (16000 * 4096, End::Completed));
}

#[tokio::test]
async fn small_deltas_come_at_once_when_there_is_time_and_together_when_there_is_none() {
    let settings = Settings { limits: "output = \"64 MiB\"", ..Settings::default() };
    let worker = Worker::start(programs!(), settings).await;
    let mut supervisor = worker.supervisor().await;
    let job = supervisor.start("@stub stream=20 bytes=64 gap=20").await;
    let (heard, _) = supervisor.finish(job).await;
    assert!(heard.frames >= 18, "{} frames for 20 deltas that came one by one", heard.frames);

    let job = supervisor.start("@stub stream=100000 bytes=64").await;
    let began = Instant::now();
    let (heard, _) = supervisor.finish(job).await;
    assert_eq!(heard.text.len(), 6_400_000);
    assert!(heard.frames < 50_000, "{} frames for 100,000 deltas in {:?}", heard.frames, began.elapsed());
}

#[tokio::test]
async fn no_frame_is_over_its_bound_and_characters_stay_whole() {
    let settings = Settings { limits: "output = \"64 MiB\"", ..Settings::default() };
    let worker = Worker::start(programs!(), settings).await;
    let mut supervisor = worker.supervisor().await;
    let text = "語é😀x".repeat(9000);
    let job = supervisor.start(&format!("@stub answer: {text}")).await;
    let mut answer = String::new();
    let mut owed = 0;
    loop {
        let message = supervisor.hear().await.unwrap();
        owed += message.cost();
        match message {
            FromWorker::Output { text, .. } => {
                assert!(text.len() <= MAX_CHUNK);
                answer += &text;
            }
            FromWorker::Finished { .. } => break,
            _ => {}
        }
        if owed > 20_000 {
            supervisor.say(&ToWorker::Credit { job, bytes: owed }).await;
            owed = 0;
        }
    }
    assert_eq!(answer, text);
}
