//! No process of a job outlives its end: eight hostile shapes, every way to end them, every sound way to kill.
//! Each trial runs in a pid namespace of its own, so that a tree that got away would still die with it.
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a test ends at what it does not expect")]

mod arena;

use arena::{Arena, Who, everybody};
use std::path::Path;
use std::sync::Mutex;

const SHAPES: [&str; 8] =
    ["simple", "children", "setsid", "daemon", "exit-orphan", "slow-runner", "fast-runner", "assassin"];
const MODES: [&str; 3] = ["pid-namespace", "landlock", "both"];

/// One trial's line.
fn trial(arena: &Arena, who: Who, end: &str, modes: &str, shape: &str) -> String {
    let (jail, scratch) = (arena.program("trial-jail"), arena.scratch());
    let words = [Path::new("referee"), end.as_ref(), &jail, modes.as_ref(), shape.as_ref(), scratch.path()];
    arena.run(who, &words).trim().to_owned()
}

/// Runs them all, four at a time, and tells all failures at once.
fn all<T: Sync>(cases: &[T], run: impl Fn(&T) -> Result<(), String> + Sync) {
    let (next, failures) = (Mutex::new(cases.iter()), Mutex::new(Vec::new()));
    let work = || {
        loop {
            let Some(case) = next.lock().unwrap().next() else { return };
            if let Err(failure) = run(case) {
                failures.lock().unwrap().push(failure);
            }
        }
    };
    std::thread::scope(|scope| (0..4).for_each(|_| drop(scope.spawn(work))));
    let failures = failures.into_inner().unwrap();
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn eight_hostile_shapes_die_by_every_sound_kill_and_with_their_worker() {
    let arena = Arena::new();
    let mut cases = Vec::new();
    for who in everybody() {
        for modes in MODES {
            for shape in SHAPES {
                cases.extend(["kill", "worker"].map(|end| (*who, end, modes, shape)));
            }
        }
    }
    all(&cases, |(who, end, modes, shape)| {
        let said = trial(&arena, *who, end, modes, shape);
        let told: &[&str] = match (*end, *shape) {
            ("worker", _) => &["worker killed"],
            // The program ends by itself at that very moment.
            (_, "exit-orphan") => &["reaped Code(0) Leftovers", "reaped Code(0) Killed", "reaped Signal(9) Killed"],
            _ => &["reaped Signal(9) Killed"],
        };
        let as_expected = told.iter().any(|told| said == format!("{told}: 0 alive at once, 0 afterwards"));
        if as_expected { Ok(()) } else { Err(format!("{who:?} {end} {modes} {shape}: {said}")) }
    });
}

#[test]
fn a_group_kill_leaves_all_but_the_harmless_shapes_alive() {
    let arena = Arena::new();
    for (shape, left) in [
        ("simple", "0"),
        ("children", "0"),
        ("setsid", "3"),
        ("daemon", "3"),
        ("exit-orphan", "1"),
        ("slow-runner", "1"),
    ] {
        let said = arena.run(Who::Me, &["control".as_ref(), shape.as_ref()]);
        let said = said.trim();
        assert_eq!(said, format!("{left} alive"), "{shape}");
    }
}

/// Trials of one shape by this process's uid, with both kill modes unless said otherwise.
fn expect(arena: &Arena, end: &str, modes: &str, shape: &str, expected: &str) {
    assert_eq!(trial(arena, Who::Me, end, modes, shape), expected, "{end} {modes} {shape}");
}

#[test]
fn a_program_that_ignores_sigterm_dies_by_the_kill_after_it() {
    expect(&Arena::new(), "term", "both", "deaf", "reaped Signal(9) Killed: 0 alive at once, 0 afterwards");
}

#[test]
fn a_program_that_heeds_sigterm_is_told_to_have_ended_by_it() {
    expect(&Arena::new(), "term", "both", "simple", "reaped Signal(15) Itself: 0 alive at once, 0 afterwards");
}

#[test]
fn a_stopped_tree_hears_sigterm_and_dies_by_the_kill() {
    let arena = Arena::new();
    expect(&arena, "kill", "both", "stopped", "reaped Signal(9) Killed: 0 alive at once, 0 afterwards");
    let said = trial(&arena, Who::Me, "term", "both", "stopped");
    // Its child hears the same signal, a moment earlier or later.
    assert!(said.starts_with("reaped Signal(15)"), "{said}");
    assert!(said.ends_with("0 alive at once, 0 afterwards"), "{said}");
}

#[test]
fn a_pipe_that_a_grandchild_holds_open_delays_nothing() {
    let expected = "reaped Code(0) Leftovers: 0 alive at once, 0 afterwards";
    expect(&Arena::new(), "wait", "both", "exit-orphan", expected);
}

#[test]
fn a_killed_jail_takes_no_job_with_it_and_is_not_needed_to_end_one() {
    let expected = "reaped Signal(9) Killed: 0 alive at once, 0 afterwards";
    for modes in MODES {
        expect(&Arena::new(), "jail", modes, "setsid", expected);
    }
}

#[test]
fn a_killed_job_init_takes_its_pid_namespace_with_it() {
    let expected = "reaped Unknown Killed: 0 alive at once, 0 afterwards";
    for modes in ["pid-namespace", "both"] {
        expect(&Arena::new(), "init", modes, "setsid", expected);
    }
}

/// Known gap: without a pid namespace, the program dies with its job-init and what left its group does not. No program
/// of the job can bring this about, and the worker is told.
#[test]
fn a_killed_job_init_without_a_pid_namespace_is_told_as_doubt() {
    expect(&Arena::new(), "init", "landlock", "setsid", "reaped Unknown Doubt: 3 alive at once, 3 afterwards");
}
