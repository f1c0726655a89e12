//! The link against a worker's end that lies, floods, stalls and vanishes.

use super::hand::{Hand, Place, ack, job, soon, until};
use super::{Heard, Link, Sink, Start};
use musegate_protocol::bounded::Text;
use musegate_protocol::message::{CancelReason, End, FromWorker, InstanceId, JobId, Progress, RefuseReason, ToWorker};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::Instant;

/// What a job heard, in words.
type Ear = Arc<Mutex<Vec<String>>>;

fn ear() -> (Ear, Sink) {
    let ear = Ear::default();
    let heard = Arc::clone(&ear);
    let sink = move |event: Heard| {
        heard.lock().unwrap().push(match event {
            Heard::Accepted => "accepted".into(),
            Heard::Refused { reason } => format!("refused {reason:?}"),
            Heard::Output { fresh, text, cost } => format!("output {fresh} {} {cost}", &*text),
            Heard::Progress { .. } => "progress".into(),
            Heard::File { name, bytes, last, .. } => format!("file {} {} {last}", &*name, bytes.len()),
            Heard::Finished(outcome) => format!("finished {:?}", outcome.end),
            Heard::Lost => "lost".into(),
        });
    };
    (ear, Box::new(sink))
}

fn start(link: &Link) -> (JobId, Ear) {
    let (ear, sink) = ear();
    (link.start(Start(job()), sink).unwrap(), ear)
}

async fn heard(ear: &Ear, last: &str) -> Vec<String> {
    until(|| ear.lock().unwrap().last().is_some_and(|word| word.starts_with(last))).await;
    ear.lock().unwrap().clone()
}

/// The supervisor closes; what it had to say before is skipped.
async fn closed(hand: &mut Hand) {
    while hand.try_hear().await.is_some() {}
}

#[tokio::test]
async fn a_job_goes_out_and_its_events_come_back_in_order() {
    let place = Place::new();
    let (link, mut hand) = place.connected().await;
    let (id, ear) = start(&link);
    assert_eq!(hand.start().await.job, id);
    hand.say(&FromWorker::Accepted { job: id }).await;
    hand.output(id, "one").await;
    hand.output_as(id, true, "two").await;
    hand.say(&FromWorker::Progress { job: id, event: Progress::Started }).await;
    hand.finish(id, End::Completed).await;
    let heard = heard(&ear, "finished").await;
    assert_eq!(heard, ["accepted", "output false one 67", "output true two 67", "progress", "finished Completed"]);
}

#[tokio::test]
async fn numbers_of_jobs_grow_over_connections_and_a_refused_job_ends() {
    let mut place = Place::new();
    let (link, mut hand) = place.connected().await;
    let (first, ear) = start(&link);
    hand.start().await;
    let refused = FromWorker::Refused { job: first, reason: RefuseReason::Busy, detail: Text::cut("full") };
    hand.say(&refused).await;
    assert_eq!(heard(&ear, "refused").await, ["refused Busy"]);
    drop(hand);
    place.listen();
    let mut hand = place.accept().await;
    until(|| link.worker().is_some()).await;
    let (second, _ear) = start(&link);
    assert!(second > first);
    assert_eq!(hand.start().await.job, second);
    link.credit(first, 4096);
    link.cancel(first, CancelReason::Caller);
    link.cancel(second, CancelReason::Caller);
    // Nothing is said of a job of an earlier connection: it would break the order.
    assert_eq!(hand.hear().await, ToWorker::Cancel { job: second, reason: CancelReason::Caller });
}

#[tokio::test]
async fn a_lost_worker_loses_its_jobs_also_those_it_never_heard_of_and_new_ones_are_refused() {
    let mut place = Place::new();
    let (link, mut hand) = place.connected().await;
    let (id, running) = start(&link);
    hand.start().await;
    hand.say(&FromWorker::Accepted { job: id }).await;
    heard(&running, "accepted").await;
    let (_, asked) = start(&link);
    place.vanish();
    drop(hand);
    assert_eq!(heard(&running, "lost").await, ["accepted", "lost"]);
    assert_eq!(heard(&asked, "lost").await, ["lost"]);
    assert!(link.worker().is_none());
    let (late, sink) = ear();
    assert!(link.start(Start(job()), sink).is_err());
    let back = Instant::now();
    place.listen();
    let _hand = place.accept().await;
    until(|| link.worker().is_some()).await;
    assert!(back.elapsed() < Duration::from_secs(5));
    assert!(late.lock().unwrap().is_empty(), "a job that was not handed over hears nothing");
}

#[tokio::test]
async fn every_lie_of_a_worker_ends_the_connection_and_its_jobs() {
    let lies: [fn(JobId) -> FromWorker; 8] = [
        |job| FromWorker::Accepted { job },
        |_| FromWorker::Accepted { job: JobId(77) },
        |_| FromWorker::Finished { job: JobId(77), outcome: Box::new(outcome()) },
        |job| FromWorker::Output { job, offset: 5, fresh: false, text: Text::cut("gap") },
        |job| FromWorker::Refused { job, reason: RefuseReason::Busy, detail: Text::cut("late") },
        |_| FromWorker::Pong { nonce: 9, jobs: 0, resident_kib: 0, descriptors: 0 },
        |_| FromWorker::HelloAck(Box::new(ack())),
        |_| FromWorker::Progress { job: JobId(2), event: Progress::Started },
    ];
    for (n, lie) in lies.into_iter().enumerate() {
        let place = Place::new();
        let (link, mut hand) = place.connected().await;
        let (id, ear) = start(&link);
        hand.start().await;
        hand.say(&FromWorker::Accepted { job: id }).await;
        hand.say(&lie(id)).await;
        assert_eq!(heard(&ear, "lost").await, ["accepted", "lost"], "lie {n}");
        closed(&mut hand).await;
    }
}

fn outcome() -> musegate_protocol::message::Outcome {
    let (one, _) = tokio::net::UnixStream::pair().unwrap();
    Hand::new(one).outcome(JobId(0), End::Completed)
}

#[tokio::test]
async fn output_without_credit_ends_the_connection() {
    let place = Place::new();
    let (link, mut hand) = place.connected().await;
    let (id, ear) = start(&link);
    hand.start().await;
    hand.say(&FromWorker::Accepted { job: id }).await;
    for _ in 0..9 {
        hand.output(id, &"x".repeat(16 * 1024)).await;
    }
    let heard = heard(&ear, "lost").await;
    assert_eq!(heard.iter().filter(|word| word.starts_with("output")).count(), 7, "128 KiB of credit and no more");
}

#[tokio::test]
async fn bytes_that_are_no_frames_end_the_connection() {
    let half = [0, 0, 0, 40, 1, 0, 0, 0, 9];
    for (garbage, eof) in [(&[0xff; 64][..], false), (b"GET / HTTP/1.1\r\n\r\n", false), (&half, true)] {
        let place = Place::new();
        let (link, mut hand) = place.connected().await;
        let (_, ear) = start(&link);
        hand.start().await;
        hand.stream.write_all(garbage).await.unwrap();
        if eof {
            hand.stream.shutdown().await.unwrap();
        }
        heard(&ear, "lost").await;
        closed(&mut hand).await;
    }
}

#[tokio::test]
async fn a_hello_that_is_wrong_or_too_late_is_no_worker() {
    let place = Place::new();
    let (link, connector) = Link::new(place.spec());
    tokio::spawn(connector.run());
    // Not our protocol.
    let mut stream = place.stream().await;
    stream.write_all(&[b'x'; 32]).await.unwrap();
    while !matches!(soon(stream.read(&mut [0; 64])).await, Ok(0) | Err(_)) {}
    // Another instance than the preamble named.
    let mut hand = Hand::new(place.stream().await);
    hand.preamble().await;
    hand.hear().await;
    let mut other = ack();
    other.instance = InstanceId([8; 16]);
    hand.say(&FromWorker::HelloAck(Box::new(other))).await;
    closed(&mut hand).await;
    // Silence.
    let mut stream = place.stream().await;
    let since = Instant::now();
    while !matches!(soon(stream.read(&mut [0; 64])).await, Ok(0) | Err(_)) {}
    assert!(since.elapsed() < Duration::from_secs(10));
    assert!(link.worker().is_none());
    let _hand = place.accept().await;
    until(|| link.worker().is_some()).await;
}

#[tokio::test]
async fn a_worker_that_answers_no_ping_is_gone() {
    let place = Place::new();
    let mut spec = place.spec();
    spec.heartbeat = Duration::from_millis(20);
    let (link, connector) = Link::new(spec);
    tokio::spawn(connector.run());
    let mut hand = place.accept().await;
    until(|| link.worker().is_some()).await;
    let (_, ear) = start(&link);
    for _ in 0..5 {
        loop {
            if let ToWorker::Ping { nonce } = hand.hear().await {
                hand.say(&FromWorker::Pong { nonce, jobs: 1, resident_kib: 0, descriptors: 0 }).await;
                break;
            }
        }
    }
    assert!(ear.lock().unwrap().is_empty(), "answered pings keep it alive");
    let mut pings = 0;
    while let Some(message) = hand.try_hear().await {
        pings += usize::from(matches!(message, ToWorker::Ping { .. }));
    }
    assert_eq!(pings, 3);
    heard(&ear, "lost").await;
}

#[tokio::test]
async fn a_worker_that_does_not_read_cannot_stop_us_from_reading() {
    let place = Place::new();
    let (link, mut hand) = place.connected().await;
    let (id, ear) = start(&link);
    hand.start().await;
    hand.say(&FromWorker::Accepted { job: id }).await;
    // More than the socket holds: these cannot all be written while nobody reads.
    let mut all = Vec::new();
    for _ in 0..64 {
        let mut large = job();
        let text = Text::cut(&"x".repeat(200_000));
        large.parts = musegate_protocol::List::new(vec![musegate_protocol::message::PromptPart::Text(text)]).unwrap();
        let (ear, sink) = self::ear();
        link.start(Start(large), sink).unwrap();
        all.push(ear);
    }
    hand.output(id, "still here").await;
    heard(&ear, "output").await;
    for _ in 0..64 {
        hand.start().await;
    }
    drop(hand);
    for ear in all {
        heard(&ear, "lost").await;
    }
}

#[tokio::test]
async fn credit_for_many_deltas_is_one_frame_while_it_waits() {
    let place = Place::new();
    let (link, mut hand) = place.connected().await;
    let (id, _ear) = start(&link);
    hand.start().await;
    hand.say(&FromWorker::Accepted { job: id }).await;
    hand.output(id, &"x".repeat(1000)).await;
    until(|| _ear.lock().unwrap().len() == 2).await;
    for _ in 0..1064 {
        link.credit(id, 1);
    }
    assert_eq!(hand.hear().await, ToWorker::Credit { job: id, bytes: 1064 });
}
