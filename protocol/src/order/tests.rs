//! The table over the whole grid, then what it cannot say: credit, gaps, numbers, files, pings.

use super::*;
use crate::bounded::{Blob, FileName, Label, List, Text};
use crate::message::*;
use proptest::prelude::*;

mod grid;
mod pair;

fn hello() -> ToWorker {
    ToWorker::Hello(Hello { version: PROTOCOL, build: label("t"), instance: InstanceId([1; 16]) })
}

fn label(text: &str) -> Label {
    Label::new(text).unwrap()
}

fn hello_ack() -> FromWorker {
    FromWorker::HelloAck(Box::new(HelloAck {
        version: PROTOCOL,
        build: label("t"),
        instance: InstanceId([2; 16]),
        slots: 1,
        backend: label("stub"),
        backend_version: Text::default(),
        limits: limits(0, 0),
        report: Report::default(),
        own: Report::default(),
    }))
}

fn limits(files: u8, file_bytes: u32) -> JobLimits {
    JobLimits { wall_seconds: 0, output_bytes: 0, files, file_bytes }
}

fn start_with(job: u64, limits: JobLimits) -> ToWorker {
    ToWorker::Start(Box::new(StartJob {
        job: JobId(job),
        caller: label("c"),
        task: label("t"),
        context: label("x"),
        message: Text::default(),
        trace: [0; 16],
        turns: List::default(),
        parts: List::default(),
        output_schema: None,
        structured: false,
        limits,
    }))
}

fn start(job: u64) -> ToWorker {
    start_with(job, limits(2, 100))
}

fn accepted(job: u64) -> FromWorker {
    FromWorker::Accepted { job: JobId(job) }
}

fn credit(job: u64, bytes: u32) -> ToWorker {
    ToWorker::Credit { job: JobId(job), bytes }
}

fn output(job: u64, offset: u64, fresh: bool, len: usize) -> FromWorker {
    FromWorker::Output { job: JobId(job), offset, fresh, text: Text::new("x".repeat(len)).unwrap() }
}

fn file(job: u64, name: &str, len: usize, last: bool) -> FromWorker {
    let bytes = Blob::new(vec![0; len]).unwrap();
    FromWorker::File { job: JobId(job), name: FileName::new(name).unwrap(), bytes, last }
}

fn finished(job: u64, output_bytes: u64) -> FromWorker {
    FromWorker::Finished {
        job: JobId(job),
        outcome: Box::new(Outcome {
            end: End::Completed,
            usage: None,
            redactions: List::default(),
            output_bytes,
            timing: Timing::default(),
            ended_by: EndedBy::Itself,
        }),
    }
}

fn open() -> Order {
    let mut order = Order::new();
    order.to_worker(&hello()).unwrap();
    order.from_worker(&hello_ack()).unwrap();
    order
}

/// An open connection on which job 1 runs.
fn running() -> Order {
    let mut order = open();
    order.to_worker(&start(1)).unwrap();
    order.from_worker(&accepted(1)).unwrap();
    order
}

/// The worker says it and may not; nothing has changed.
#[track_caller]
fn not_from(order: &mut Order, message: &FromWorker, violation: Violation) {
    let before = order.clone();
    assert_eq!(order.from_worker(message), Err(violation));
    assert_eq!(*order, before, "a violation changes nothing");
}

/// The supervisor says it and may not; nothing has changed.
#[track_caller]
fn not_to(order: &mut Order, message: &ToWorker, violation: Violation) {
    let before = order.clone();
    assert_eq!(order.to_worker(message), Err(violation));
    assert_eq!(*order, before, "a violation changes nothing");
}

#[test]
fn a_job_walks_from_new_to_ended() {
    let mut order = open();
    let job = JobId(7);
    assert_eq!((order.phase(job), order.live(), order.credit(job)), (Phase::New, 0, 0));
    assert_eq!(order.to_worker(&start(7)), Ok(Step::Job(Phase::Asked)));
    assert_eq!((order.phase(job), order.live(), order.credit(job)), (Phase::Asked, 1, INITIAL_CREDIT));
    assert_eq!(order.from_worker(&accepted(7)), Ok(Step::Job(Phase::Running)));
    assert_eq!(order.from_worker(&output(7, 0, false, 10)), Ok(Step::Stay));
    assert_eq!(order.credit(job), INITIAL_CREDIT - 74);
    assert_eq!(order.from_worker(&finished(7, 10)), Ok(Step::Job(Phase::Ended)));
    assert_eq!((order.phase(job), order.live(), order.credit(job)), (Phase::Ended, 0, 0));
    assert_eq!(order.phase(JobId(6)), Phase::Ended, "a number that was passed over is used up");
    assert_eq!(order.phase(JobId(8)), Phase::New);
}

#[test]
fn a_refused_job_has_ended() {
    let mut order = open();
    order.to_worker(&start(1)).unwrap();
    let refused = FromWorker::Refused { job: JobId(1), reason: RefuseReason::Busy, detail: Text::default() };
    assert_eq!(order.from_worker(&refused), Ok(Step::Job(Phase::Ended)));
    assert_eq!(order.live(), 0);
    let (kind, link) = (Kind::Accepted, Link::Open);
    not_from(&mut order, &accepted(1), Violation::Order { kind, link, phase: Phase::Ended });
}

#[test]
fn output_beyond_the_credit_is_a_violation() {
    let mut order = running();
    let cost = MAX_CHUNK as u32 + 64;
    let full = INITIAL_CREDIT / cost;
    for chunk in 0..full {
        order.from_worker(&output(1, u64::from(chunk) * MAX_CHUNK as u64, false, MAX_CHUNK)).unwrap();
    }
    let (credit, offset) = (order.credit(JobId(1)), u64::from(full) * MAX_CHUNK as u64);
    assert_eq!(credit, INITIAL_CREDIT - full * cost);
    not_from(
        &mut order,
        &output(1, offset, false, MAX_CHUNK),
        Violation::Overdraft { kind: Kind::Output, cost, credit },
    );
    let fits = credit as usize - 64;
    order.from_worker(&output(1, offset, false, fits)).unwrap();
    assert_eq!(order.credit(JobId(1)), 0, "to the last byte");
    let started = FromWorker::Progress { job: JobId(1), event: Progress::Started };
    not_from(&mut order, &started, Violation::Overdraft { kind: Kind::Progress, cost: 256, credit: 0 });
    not_from(&mut order, &file(1, "a", 0, true), Violation::Overdraft { kind: Kind::File, cost: 64, credit: 0 });
    order.from_worker(&finished(1, offset + fits as u64)).unwrap(); // the end needs no credit
}

#[test]
fn credit_over_the_limit_is_a_violation() {
    let mut order = running();
    order.to_worker(&credit(1, MAX_CREDIT - INITIAL_CREDIT)).unwrap();
    assert_eq!(order.credit(JobId(1)), MAX_CREDIT);
    not_to(&mut order, &credit(1, 1), Violation::CreditOverflow);
    not_to(&mut order, &credit(1, u32::MAX), Violation::CreditOverflow);
    order.to_worker(&credit(1, 0)).unwrap();
    order.from_worker(&finished(1, 0)).unwrap();
    order.to_worker(&credit(1, u32::MAX)).unwrap(); // too late to matter
}

#[test]
fn a_gap_or_an_overlap_in_the_answer_is_a_violation() {
    let mut order = running();
    not_from(&mut order, &output(1, 1, false, 1), Violation::Gap { said: 1, expected: 0 });
    order.from_worker(&output(1, 0, false, 5)).unwrap();
    for said in [0, 4, 6, u64::MAX] {
        not_from(&mut order, &output(1, said, false, 1), Violation::Gap { said, expected: 5 });
    }
    not_from(&mut order, &output(1, 5, true, 1), Violation::Gap { said: 5, expected: 0 });
    order.from_worker(&output(1, 5, false, 5)).unwrap();
    order.from_worker(&output(1, 0, true, 3)).unwrap();
    not_from(&mut order, &finished(1, 10), Violation::Gap { said: 10, expected: 3 });
    order.from_worker(&finished(1, 3)).unwrap();
}

#[test]
fn a_number_is_never_used_again() {
    let mut order = running();
    not_to(&mut order, &start(1), Violation::JobReused);
    not_to(&mut order, &start(0), Violation::JobReused);
    order.from_worker(&finished(1, 0)).unwrap();
    not_to(&mut order, &start(1), Violation::JobReused);
    order.to_worker(&start(u64::MAX)).unwrap();
    not_to(&mut order, &start(2), Violation::JobReused);
}

#[test]
fn no_more_jobs_than_the_limit_are_alive() {
    let mut order = open();
    for job in 0..MAX_JOBS as u64 {
        order.to_worker(&start(job)).unwrap();
    }
    not_to(&mut order, &start(5000), Violation::TooManyJobs);
    order.from_worker(&accepted(3)).unwrap();
    order.from_worker(&finished(3, 0)).unwrap();
    order.to_worker(&start(5000)).unwrap();
    assert_eq!(order.live(), MAX_JOBS);
}

#[test]
fn pongs_answer_pings_in_their_order() {
    let mut order = open();
    let pong = |nonce| FromWorker::Pong { nonce, jobs: 0, resident_kib: 0, descriptors: 0 };
    not_from(&mut order, &pong(1), Violation::Pong);
    for nonce in 1..=MAX_PINGS as u64 {
        order.to_worker(&ToWorker::Ping { nonce }).unwrap();
    }
    not_to(&mut order, &ToWorker::Ping { nonce: 99 }, Violation::TooManyPings);
    not_from(&mut order, &pong(2), Violation::Pong);
    order.from_worker(&pong(1)).unwrap();
    order.to_worker(&ToWorker::Ping { nonce: 99 }).unwrap();
    for nonce in (2..=MAX_PINGS as u64).chain([99]) {
        order.from_worker(&pong(nonce)).unwrap();
    }
    not_from(&mut order, &pong(99), Violation::Pong);
}

#[test]
fn files_keep_to_the_jobs_limits() {
    let mut order = running(); // two files, 100 bytes
    order.from_worker(&file(1, "a", 30, false)).unwrap();
    not_from(&mut order, &file(1, "b", 1, true), Violation::FileInFile);
    order.from_worker(&output(1, 0, false, 1)).unwrap(); // other words may come between
    order.from_worker(&file(1, "a", 30, true)).unwrap();
    order.from_worker(&file(1, "a", 40, true)).unwrap(); // the same name again is another file
    not_from(&mut order, &file(1, "c", 0, true), Violation::TooManyFiles);
    order.from_worker(&finished(1, 1)).unwrap();

    order.to_worker(&start(2)).unwrap();
    order.from_worker(&accepted(2)).unwrap();
    order.from_worker(&file(2, "a", 100, false)).unwrap();
    not_from(&mut order, &file(2, "a", 1, true), Violation::TooManyFiles);
    order.from_worker(&finished(2, 0)).unwrap(); // a file without its last piece does not count
    order.to_worker(&start_with(3, limits(0, 1000))).unwrap();
    order.from_worker(&accepted(3)).unwrap();
    not_from(&mut order, &file(3, "a", 0, true), Violation::TooManyFiles);
}

#[test]
fn what_contradicts_itself_is_a_violation() {
    let mut order = Order::new();
    let other = |version| ToWorker::Hello(Hello { version, build: label("t"), instance: InstanceId([1; 16]) });
    not_to(&mut order, &other(PROTOCOL + 1), Flaw::Version.into());
    order.to_worker(&hello()).unwrap();
    let FromWorker::HelloAck(ack) = hello_ack() else { panic!() };
    let both = Layers::default().with(Layer::Seccomp);
    let report = Report { holds: both, lacks: both, landlock_abi: 0 };
    let wrong = [
        (HelloAck { version: 0, ..*ack.clone() }, Flaw::Version),
        (HelloAck { slots: 0, ..*ack.clone() }, Flaw::Slots),
        (HelloAck { slots: MAX_JOBS as u16 + 1, ..*ack.clone() }, Flaw::Slots),
        (HelloAck { report, ..*ack.clone() }, Flaw::Report),
        (HelloAck { own: report, ..*ack.clone() }, Flaw::Report),
    ];
    for (ack, flaw) in wrong {
        not_from(&mut order, &FromWorker::HelloAck(Box::new(ack)), flaw.into());
    }
    order.from_worker(&FromWorker::HelloAck(ack)).unwrap();
    order.to_worker(&start(1)).unwrap();
    for reason in [CancelReason::WorkerStops, CancelReason::SupervisorLost] {
        not_to(&mut order, &ToWorker::Cancel { job: JobId(1), reason }, Flaw::Reason.into());
    }
}

#[test]
fn a_job_with_more_than_it_may_hold_is_a_violation() {
    let half = || Text::new("x".repeat(MAX_TEXT / 2)).unwrap();
    let part = |len| PromptPart::File {
        name: FileName::new("f").unwrap(),
        media_type: Text::default(),
        bytes: Blob::new(vec![0; len]).unwrap(),
    };
    let job = |turns: Vec<Turn>, parts: Vec<PromptPart>| {
        let ToWorker::Start(start) = start(1) else { panic!() };
        let (turns, parts) = (List::new(turns).unwrap(), List::new(parts).unwrap());
        ToWorker::Start(Box::new(StartJob { turns, parts, ..*start }))
    };
    let turn = || Turn { role: Role::Agent, text: half() };
    let x = || PromptPart::Data(Text::new("x").unwrap());
    let mut order = open();
    not_to(&mut order, &job(vec![turn(), turn()], vec![x()]), Flaw::Text.into());
    not_to(&mut order, &job(vec![turn()], vec![PromptPart::Text(half()), x()]), Flaw::Text.into());
    not_to(&mut order, &job(vec![], vec![part(MAX_INPUT_FILE), part(1)]), Flaw::Files.into());
    order.to_worker(&job(vec![turn()], vec![PromptPart::Text(half()), part(MAX_INPUT_FILE - 1), part(1)])).unwrap();
}

#[test]
fn words_under_way_when_the_worker_said_bye_do_no_harm() {
    let mut order = running();
    order.from_worker(&FromWorker::Bye { reason: ByeReason::Stopping }).unwrap();
    assert_eq!(order.link(), Link::Closed);
    assert_eq!(order.to_worker(&start(2)), Ok(Step::Job(Phase::Ended)));
    assert_eq!(order.phase(JobId(2)), Phase::Ended, "it never runs");
    for job in [1, 2] {
        let cancel = ToWorker::Cancel { job: JobId(job), reason: CancelReason::Caller };
        assert_eq!(order.to_worker(&cancel), Ok(Step::Stay));
    }
    not_to(&mut order, &start(2), Violation::JobReused);
    let (kind, link) = (Kind::Accepted, Link::Closed);
    not_from(&mut order, &accepted(2), Violation::Order { kind, link, phase: Phase::Ended });
}
