//! The table of docs/BOUNDARY.md, written for people and independently of the code, against the code: each message in
//! each state of the connection and of the job. A cell that differs fails the test; so does a missing row or column.

use super::*;

const PAGE: &str = include_str!("../../../../docs/BOUNDARY.md");
const LINKS: [Link; 5] = [Link::Fresh, Link::Greeted, Link::Open, Link::Draining, Link::Closed];
const PHASES: [Phase; 4] = [Phase::New, Phase::Asked, Phase::Running, Phase::Ended];

fn cell(cell: &str) -> Option<Step> {
    Some(match cell {
        "=" => Step::Stay,
        "G" => Step::Link(Link::Greeted),
        "O" => Step::Link(Link::Open),
        "D" => Step::Link(Link::Draining),
        "C" => Step::Link(Link::Closed),
        "a" => Step::Job(Phase::Asked),
        "r" => Step::Job(Phase::Running),
        "e" => Step::Job(Phase::Ended),
        "." => return None,
        other => panic!("{other:?} in the grid"),
    })
}

/// All 300 cells.
fn cells() -> Vec<(Link, Phase, Kind, Option<Step>)> {
    let grid = PAGE.split("```grid\n").nth(1).and_then(|rest| rest.split("```").next()).expect("a grid in the page");
    let mut lines = grid.lines();
    let links: Vec<String> = LINKS.iter().map(|link| format!("{link:?}")).collect();
    assert_eq!(lines.next().unwrap().split_whitespace().collect::<Vec<_>>(), links);
    assert_eq!(lines.next().unwrap().split_whitespace().collect::<String>(), "NARE".repeat(5));
    let mut all = Vec::new();
    for kind in Kind::ALL {
        let mut row = lines.next().expect("a row for each message").split_whitespace();
        assert_eq!(row.next().unwrap(), format!("{kind:?}"));
        for link in LINKS {
            all.extend(PHASES.map(|phase| (link, phase, kind, cell(row.next().expect("a cell for each state")))));
        }
        assert_eq!(row.next(), None);
    }
    assert_eq!(lines.next(), None);
    all
}

#[test]
fn the_code_has_the_table_that_is_written_here() {
    let cells = cells();
    assert_eq!(cells.len(), 300);
    for (link, phase, kind, expected) in cells {
        assert_eq!(step(link, phase, kind), expected, "{kind:?} in {link:?}, job {phase:?}");
    }
}

fn message(kind: Kind, job: u64) -> Result<ToWorker, FromWorker> {
    Ok(match kind {
        Kind::Hello => hello(),
        Kind::Start => start(job),
        Kind::Cancel => ToWorker::Cancel { job: JobId(job), reason: CancelReason::Caller },
        Kind::Credit => credit(job, 1),
        Kind::Ping => ToWorker::Ping { nonce: 5 },
        Kind::Drain => ToWorker::Drain,
        Kind::HelloAck => return Err(hello_ack()),
        Kind::Accepted => return Err(accepted(job)),
        Kind::Refused => {
            let (job, reason, detail) = (JobId(job), RefuseReason::Weak, Text::default());
            return Err(FromWorker::Refused { job, reason, detail });
        }
        Kind::Output => return Err(output(job, 0, false, 1)),
        Kind::Progress => return Err(FromWorker::Progress { job: JobId(job), event: Progress::Started }),
        Kind::File => return Err(file(job, "f", 1, true)),
        Kind::Finished => return Err(finished(job, 0)),
        Kind::Pong => return Err(FromWorker::Pong { nonce: 5, jobs: 0, resident_kib: 0, descriptors: 0 }),
        Kind::Bye => return Err(FromWorker::Bye { reason: ByeReason::Stopping }),
    })
}

/// An `Order` in each state, reached by legal messages only, with a ping that waits for its pong. Job 1 has ended, 2
/// runs, 3 was asked, 4 is new.
fn reach(link: Link) -> Order {
    let mut order = Order::new();
    if link == Link::Fresh {
        return order;
    }
    order.to_worker(&hello()).unwrap();
    if link == Link::Greeted {
        return order;
    }
    order.from_worker(&hello_ack()).unwrap();
    (1..=3).for_each(|job| assert!(order.to_worker(&start(job)).is_ok()));
    (1..=2).for_each(|job| assert!(order.from_worker(&accepted(job)).is_ok()));
    order.from_worker(&finished(1, 0)).unwrap();
    order.to_worker(&ToWorker::Ping { nonce: 5 }).unwrap();
    match link {
        Link::Draining => assert!(order.to_worker(&ToWorker::Drain).is_ok()),
        Link::Closed => assert!(order.from_worker(&FromWorker::Bye { reason: ByeReason::Stopping }).is_ok()),
        _ => {}
    }
    assert_eq!(order.link(), link);
    order
}

/// The whole grid once more, by messages and a real connection.
#[test]
fn every_message_in_every_state_does_what_the_table_says() {
    for (link, phase, kind, expected) in cells() {
        let mut order = reach(link);
        let about_a_job = message(kind, 1).map_or_else(|m| m.job(), |m| m.job()).is_some();
        let job = match phase {
            Phase::New => 4,
            Phase::Asked => 3,
            Phase::Running => 2,
            Phase::Ended => 1,
        };
        if order.phase(JobId(job)) != phase || (!about_a_job && phase != Phase::New) {
            assert!(link == Link::Fresh || link == Link::Greeted || !about_a_job);
            assert_eq!(expected, None, "{kind:?} in {link:?}, job {phase:?}: cannot be reached");
            continue;
        }
        let before = order.clone();
        let said = match message(kind, job) {
            Ok(message) => order.to_worker(&message),
            Err(message) => order.from_worker(&message),
        };
        match (said, expected) {
            (Ok(step), Some(expected)) => {
                assert_eq!(step, expected);
                let (link, phase) = match step {
                    Step::Link(link) => (link, phase),
                    Step::Job(phase) => (link, phase),
                    Step::Stay => (link, phase),
                };
                assert_eq!((order.link(), order.phase(JobId(job))), (link, phase), "{kind:?}");
            }
            (Err(Violation::JobReused), None) => assert!(kind == Kind::Start && phase != Phase::New),
            (Err(violation), None) => assert_eq!(violation, Violation::Order { kind, link, phase }),
            (said, expected) => panic!("{kind:?} in {link:?}, job {phase:?}: {said:?}, not {expected:?}"),
        }
        if expected.is_none() {
            assert_eq!(order, before, "a violation changes nothing");
        }
    }
}

#[test]
fn each_message_has_its_kind() {
    for kind in Kind::ALL {
        let found = message(kind, 1).map_or_else(|m| Kind::from(&m), |m| Kind::from(&m));
        assert_eq!(found, kind);
    }
}

#[test]
fn the_page_has_the_limits_of_the_code() {
    let limits = [
        ("MAX_TO_WORKER", MAX_TO_WORKER),
        ("MAX_FROM_WORKER", MAX_FROM_WORKER),
        ("MAX_TEXT", MAX_TEXT),
        ("MAX_INPUT_FILE", MAX_INPUT_FILE),
        ("MAX_CHUNK", MAX_CHUNK),
        ("INITIAL_CREDIT", INITIAL_CREDIT as usize),
        ("MAX_CREDIT", MAX_CREDIT as usize),
        ("MAX_JOBS", MAX_JOBS),
        ("MAX_TURNS", MAX_TURNS),
        ("MAX_PARTS", MAX_PARTS),
        ("MAX_STRUCTURED", MAX_STRUCTURED),
        ("MAX_PINGS", MAX_PINGS),
    ];
    for (name, value) in limits {
        assert!(PAGE.contains(&format!("| `{name}` | {value} | ")), "{name} is {value}");
    }
    let declared = include_str!("../../message.rs").matches("pub const ").count();
    assert_eq!(declared, limits.len() + 1, "each constant of message.rs but PROTOCOL is in the page");
    assert!(PAGE.contains(&format!("`protocol/golden/v{PROTOCOL}/`")));
}
