//! The worker's door: who is let in, what ends a connection, and what the end of a connection ends.
#![expect(clippy::expect_used, clippy::unwrap_used, reason = "a test ends at what it does not expect")]

use bytes::{BufMut, BytesMut};
use musegate_protocol::codec::SupervisorCodec;
use musegate_protocol::message::{ByeReason, CancelReason, End, FromWorker, InstanceId, JobId, RefuseReason, ToWorker};
use musegate_tests::programs;
use musegate_tests::worker_bench::{Ended, PATIENCE, Settings, Supervisor, Worker, exchange_preambles, hello, job};
use nix::sys::signal::Signal;
use nix::unistd::Uid;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;
use tokio::time::{Instant, sleep, timeout};
use tokio_util::codec::Encoder;

const HANG: &str = "@stub answer=\"Ready. \" hang";

fn frame(message: &ToWorker) -> BytesMut {
    let mut bytes = BytesMut::new();
    SupervisorCodec::default().encode(message, &mut bytes).unwrap();
    bytes
}

/// Waits until the other end is closed; what it says before does not matter.
async fn closed(stream: &mut UnixStream) {
    let all = async { while stream.read(&mut [0; 4096]).await.is_ok_and(|count| count > 0) {} };
    timeout(PATIENCE, all).await.expect("the worker keeps the connection");
}

async fn until(what: &str, mut is: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !is() {
        assert!(Instant::now() < deadline, "{what}");
        sleep(Duration::from_millis(10)).await;
    }
}

/// A job of this supervisor that runs.
async fn running(supervisor: &mut Supervisor) -> JobId {
    let job = supervisor.start(HANG).await;
    supervisor.until(job, |message| matches!(message, FromWorker::Output { .. })).await;
    job
}

/// Processes that run in one of the worker's job folders.
fn alive(worker: &Worker) -> usize {
    let folder = worker.folder.path().join("jobs").to_str().unwrap().as_bytes().to_vec();
    let all = fs::read_dir("/proc").unwrap().flatten();
    let lines = all.filter_map(|entry| fs::read(entry.path().join("cmdline")).ok());
    lines.filter(|line| line.windows(folder.len()).any(|part| part == folder)).count()
}

#[tokio::test]
async fn whatever_breaks_the_protocol_closes_the_connection_and_ends_its_jobs() {
    let worker = Worker::start(programs!(), Settings::default()).await;
    let start = |number, text| ToWorker::Start(Box::new(job(number, text)));
    let mut long = BytesMut::new();
    long.put_u32(u32::MAX);
    long.put_bytes(0, 64);
    let mut unknown = BytesMut::new();
    unknown.put_u32(4);
    unknown.put_u32_le(99);
    let mut trailing = frame(&ToWorker::Drain);
    trailing.put_u8(0);
    trailing[3] += 1;
    let mut huge_control = BytesMut::new();
    huge_control.put_u32(8192);
    huge_control.put_u32_le(4);
    huge_control.put_bytes(0, 8188);
    let credit = |bytes| frame(&ToWorker::Credit { job: JobId(1), bytes });
    let hostile = [
        ("hello twice", frame(&hello(InstanceId([1; 16])))),
        ("a job's number again", frame(&start(1, "x"))),
        ("cancel of a job that never was", frame(&ToWorker::Cancel { job: JobId(7), reason: CancelReason::Caller })),
        ("a reason of the worker's", frame(&ToWorker::Cancel { job: JobId(1), reason: CancelReason::WorkerStops })),
        ("credit without end", credit(u32::MAX)),
        ("credit for no job", frame(&ToWorker::Credit { job: JobId(9), bytes: 1 })),
        ("drain twice", [frame(&ToWorker::Drain), frame(&ToWorker::Drain)].concat().as_slice().into()),
        ("a job after drain", {
            let both = [frame(&ToWorker::Drain), frame(&start(0, "x"))].concat();
            both.as_slice().into()
        }),
        ("a frame of 4 GiB", long),
        ("a frame of no message", BytesMut::from(&[0u8, 0, 0, 0][..])),
        ("an unknown message", unknown),
        ("bytes left over", trailing),
        ("a control frame of 8 KiB", huge_control),
        ("noise", BytesMut::from(&b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"[..])),
    ];
    for (turn, (what, bytes)) in (1u8..).zip(hostile) {
        let mut supervisor = Supervisor::connect(&worker.socket(), InstanceId([turn; 16])).await;
        running(&mut supervisor).await;
        assert_eq!(alive(&worker), 1, "{what}");
        supervisor.stream.write_all(&bytes).await.unwrap();
        closed(&mut supervisor.stream).await;
        until(what, || alive(&worker) == 0 && worker.scratch().is_empty()).await;
    }
    let log = worker.log();
    assert_eq!(log.matches("broke the protocol").count(), 14, "{log}");
}

#[tokio::test]
async fn a_violation_is_told_before_the_end() {
    let worker = Worker::start(programs!(), Settings::default()).await;
    let mut supervisor = worker.supervisor().await;
    supervisor.say_anyway(&ToWorker::Credit { job: JobId(3), bytes: 1 }).await;
    assert_eq!(supervisor.hear().await, Some(FromWorker::Bye { reason: ByeReason::Violation }));
    assert_eq!(supervisor.hear().await, None);
}

#[tokio::test]
async fn frames_may_come_in_any_cutting() {
    let worker = Worker::start(programs!(), Settings::default()).await;
    let mut supervisor = worker.supervisor().await;
    let start = ToWorker::Start(Box::new(job(1, "@stub answer=whole")));
    let bytes = [frame(&start), frame(&ToWorker::Ping { nonce: 5 })].concat();
    for byte in &bytes {
        supervisor.stream.write_all(&[*byte]).await.unwrap();
        tokio::task::yield_now().await;
    }
    // The order table of this end must know of them too.
    let mut text = String::new();
    let mut buffer = BytesMut::new();
    let mut codec = SupervisorCodec::default();
    loop {
        use tokio_util::codec::Decoder;
        match codec.decode(&mut buffer).unwrap() {
            Some(FromWorker::Output { text: more, .. }) => text += &more,
            Some(FromWorker::Finished { .. }) => break,
            Some(_) => {}
            None => assert!(timeout(PATIENCE, supervisor.stream.read_buf(&mut buffer)).await.unwrap().unwrap() > 0),
        }
    }
    assert_eq!(text, "whole");
}

#[tokio::test]
async fn a_stranger_who_says_no_hello_is_dropped_and_disturbs_nobody() {
    let worker = Worker::start(programs!(), Settings::default()).await;
    let mut supervisor = worker.supervisor().await;
    let job = running(&mut supervisor).await;
    let mut strangers = Vec::new();
    for n in 0..20 {
        let mut stranger = UnixStream::connect(worker.socket()).await.unwrap();
        let _ = match n % 4 {
            0 => stranger.write_all(b"muse").await,
            1 => stranger.write_all(&[0; 32]).await,
            2 => stranger.write_all(&musegate_protocol::preamble::ask([0; 8])).await,
            _ => Ok(()),
        };
        strangers.push(stranger);
    }
    supervisor.say(&ToWorker::Ping { nonce: 1 }).await;
    let Some(FromWorker::Pong { nonce: 1, jobs: 1, resident_kib, descriptors }) = supervisor.hear().await else {
        panic!("no pong");
    };
    if cfg!(target_os = "linux") {
        assert!((500..200_000).contains(&resident_kib), "its own memory: {resident_kib} KiB");
        assert!((5..200).contains(&descriptors), "its own descriptors: {descriptors}");
    }
    for stranger in &mut strangers {
        closed(stranger).await;
    }
    supervisor.cancel(job).await;
    assert!(matches!(supervisor.finish(job).await.1.outcome().end, End::Cancelled { .. }));
}

#[tokio::test]
async fn a_newer_supervisor_takes_over_and_the_old_ones_jobs_end() {
    let worker = Worker::start(programs!(), Settings::default()).await;
    let mut old = worker.supervisor().await;
    running(&mut old).await;
    let mut newer = Supervisor::connect(&worker.socket(), InstanceId([2; 16])).await;
    loop {
        match old.hear().await {
            Some(FromWorker::Bye { reason }) => assert_eq!(reason, ByeReason::Replaced),
            Some(_) => {}
            None => break,
        }
    }
    until("the old job ends", || alive(&worker) == 0 && worker.scratch().is_empty()).await;
    let (heard, _) = newer.run("@stub answer=mine").await;
    assert_eq!(heard.text, "mine");
}

#[tokio::test]
async fn a_supervisor_that_goes_takes_its_jobs_with_it() {
    let worker = Worker::start(programs!(), Settings::default()).await;
    let mut supervisor = worker.supervisor().await;
    running(&mut supervisor).await;
    drop(supervisor);
    until("the job ends", || alive(&worker) == 0 && worker.scratch().is_empty()).await;
    let mut again = worker.supervisor().await;
    let job = again.start_with("@stub answer=again", |start| start.job = JobId(2)).await;
    assert_eq!(again.finish(job).await.0.text, "again");
}

#[tokio::test]
async fn a_supervisor_that_falls_silent_is_gone() {
    let worker = Worker::start(programs!(), Settings { socket: "silence = 1", ..Settings::default() }).await;
    let mut supervisor = worker.supervisor().await;
    running(&mut supervisor).await;
    for nonce in 0..4 {
        sleep(Duration::from_millis(400)).await;
        supervisor.say(&ToWorker::Ping { nonce }).await;
    }
    assert_eq!(alive(&worker), 1, "pings are signs of life");
    closed(&mut supervisor.stream).await;
    until("the job ends", || alive(&worker) == 0).await;
}

#[tokio::test]
async fn a_job_is_never_run_twice_not_even_over_a_new_connection() {
    let worker = Worker::start(programs!(), Settings::default()).await;
    let mut supervisor = worker.supervisor().await;
    let job = supervisor.start_with("@stub answer=once", |start| start.job = JobId(5)).await;
    assert_eq!(supervisor.finish(job).await.0.text, "once");
    for (number, new) in [(5, false), (4, false), (6, true)] {
        let mut again = worker.supervisor().await;
        let job = again.start_with("@stub answer=twice", |start| start.job = JobId(number)).await;
        match again.finish(job).await.1 {
            Ended::Refused(reason, _) => assert!(!new && reason == RefuseReason::Invalid),
            Ended::Finished(_) => assert!(new, "job {number} ran twice"),
        }
    }
    let mut other = Supervisor::connect(&worker.socket(), InstanceId([9; 16])).await;
    assert_eq!(other.run("@stub answer=other").await.0.text, "other");
}

#[tokio::test]
async fn drain_finishes_what_runs_refuses_what_comes_and_says_bye() {
    let settings = Settings { jobs: "slots = 2", ..Settings::default() };
    let worker = Worker::start(programs!(), settings).await;
    let mut supervisor = worker.supervisor().await;
    let job = supervisor.start("@stub stream=10 gap=50 bytes=10").await;
    supervisor.until(job, |message| matches!(message, FromWorker::Output { .. })).await;
    supervisor.say(&ToWorker::Drain).await;
    let outcome = supervisor.finish(job).await.1.outcome();
    assert_eq!(outcome.end, End::Completed);
    assert_eq!(supervisor.hear().await, Some(FromWorker::Bye { reason: ByeReason::Stopping }));
    assert_eq!(supervisor.hear().await, None);
    // The worker itself stays: only this supervisor has gone.
    let mut next = Supervisor::connect(&worker.socket(), InstanceId([3; 16])).await;
    assert_eq!(next.run("@stub answer=next").await.0.text, "next");
}

#[tokio::test]
async fn sigterm_drains_the_worker_and_leaves_nothing() {
    let settings = Settings { jobs: "drain_timeout = 10\nslots = 2", ..Settings::default() };
    let mut worker = Worker::start(programs!(), settings).await;
    let mut supervisor = worker.supervisor().await;
    let job = supervisor.start("@stub stream=10 gap=50 bytes=10").await;
    supervisor.until(job, |message| matches!(message, FromWorker::Output { .. })).await;
    worker.signal(Signal::SIGTERM);
    until("draining is logged", || worker.log().contains("draining")).await;
    let late = supervisor.start("@stub answer=late").await;
    let mut refused = None;
    let mut end = None;
    while let Some(message) = supervisor.hear().await {
        match message {
            FromWorker::Refused { job, reason, .. } if job == late => refused = Some(reason),
            FromWorker::Finished { outcome, .. } => end = Some(outcome.end),
            FromWorker::Bye { reason } => assert_eq!(reason, ByeReason::Stopping),
            _ => {}
        }
    }
    assert_eq!((refused, end), (Some(RefuseReason::Draining), Some(End::Completed)));
    assert!(worker.ended().await.success());
    assert!(!worker.socket().exists() && worker.scratch().is_empty() && alive(&worker) == 0);
}

#[tokio::test]
async fn what_does_not_finish_in_time_is_ended_by_the_drain() {
    let settings = Settings { jobs: "drain_timeout = \"300ms\"", ..Settings::default() };
    let mut worker = Worker::start(programs!(), settings).await;
    let mut supervisor = worker.supervisor().await;
    let job = running(&mut supervisor).await;
    worker.signal(Signal::SIGTERM);
    let outcome = supervisor.finish(job).await.1.outcome();
    assert_eq!(outcome.end, End::Cancelled { reason: CancelReason::WorkerStops });
    assert_eq!(supervisor.hear().await, Some(FromWorker::Bye { reason: ByeReason::Stopping }));
    assert!(worker.ended().await.success());
    assert!(worker.scratch().is_empty() && alive(&worker) == 0);
}

#[tokio::test]
async fn a_worker_that_is_killed_leaves_no_process_and_the_next_one_no_folder() {
    let settings = Settings { jobs: "slots = 3", ..Settings::default() };
    let mut worker = Worker::start(programs!(), settings).await;
    let mut supervisor = worker.supervisor().await;
    let tag = format!("killed-{}", std::process::id());
    for script in
        [HANG.to_owned(), format!("{HANG} tag={tag}"), format!("@stub tag={tag} shape=setsid answer=\"Ready. \" hang")]
    {
        let job = supervisor.start(&script).await;
        supervisor.until(job, |message| matches!(message, FromWorker::Progress { .. })).await;
    }
    until("all run", || alive(&worker) >= 3).await;
    worker.signal(Signal::SIGKILL);
    worker.ended().await;
    until("no process is left", || alive(&worker) == 0).await;
    worker.restart().await;
    until("no folder is left", || worker.scratch().is_empty()).await;
    let mut supervisor = worker.supervisor().await;
    assert_eq!(supervisor.run("@stub answer=alive").await.0.text, "alive");
}

/// Where the client of [`only_the_configured_user_is_let_in`] finds the socket.
const CLIENT: &str = "WORKER_LINK_CLIENT";

#[tokio::test]
async fn only_the_configured_user_is_let_in() {
    if let Some(socket) = std::env::var_os(CLIENT) {
        return exchange_preambles(&mut UnixStream::connect(socket).await.unwrap()).await;
    }
    if !Uid::effective().is_root() {
        println!("skipped: another uid needs root");
        return;
    }
    let blocks =
        |folder: &&std::path::Path| fs::metadata(folder).is_ok_and(|meta| meta.permissions().mode() & 0o001 == 0);
    if let Some(closed) = std::path::Path::new(programs!().folder).ancestors().skip(1).find(blocks) {
        println!("skipped 1: another uid cannot get through {}", closed.display());
        return;
    }
    let settings = Settings { socket: "supervisor_user = \"60001\"", ..Settings::default() };
    let worker = Worker::start(programs!(), settings).await;
    // Modes that let everybody through: the uid is what counts.
    let open = |path: &std::path::Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    open(worker.folder.path(), 0o711);
    open(&worker.folder.path().join("run"), 0o711);
    open(&worker.socket(), 0o666);
    let client = worker.folder.path().join("bin/client");
    fs::hard_link(std::env::current_exe().unwrap(), &client).unwrap();
    let enters = |uid| {
        let test = ["--exact", "only_the_configured_user_is_let_in", "--nocapture"];
        let client = std::process::Command::new(&client).args(test).env(CLIENT, worker.socket()).uid(uid).output();
        client.unwrap().status.success()
    };
    assert!(!enters(0), "root is not the supervisor");
    assert!(!enters(60002));
    assert!(enters(60001), "the configured user");
    for uid in [0, 60002] {
        assert!(worker.log().contains(&format!("uid {uid} is not the supervisor's")), "{}", worker.log());
    }
}
