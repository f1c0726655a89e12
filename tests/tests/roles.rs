//! What a supervisor or a worker that was taken over cannot do, and that each can still do its work.
#![cfg(target_os = "linux")]

mod arena;

use arena::{Arena, Who, everybody};
use musegate_sandbox_profiles::attack::attempts;
use std::path::Path;

fn supervisor(arena: &Arena, who: Who, last_words: &str) -> String {
    let scratch = arena.scratch();
    let words = ["supervisor".as_ref(), scratch.path(), last_words.as_ref()];
    arena.run(who, &words)
}

fn assert_says(said: &str, lines: &[&str]) {
    for line in lines {
        assert!(said.lines().any(|said| said == *line), "no {line:?} in:\n{said}");
    }
}

const HOLDS: [&str; 7] = [
    "holds not-dumpable",
    "holds no-new-privileges",
    "holds no-capabilities",
    "holds landlock-files",
    "holds landlock-tcp",
    "holds landlock-scope",
    "holds seccomp",
];

#[test]
fn a_supervisor_that_was_taken_over_serves_and_does_nothing_else() {
    let arena = Arena::new();
    for who in everybody() {
        let said = supervisor(&arena, *who, "refuse");
        assert_says(&said, &["control-read-secret ok", "control-spawn ok", "control-socket ok"]);
        assert_says(&said, &HOLDS);
        assert_says(&said, &["before-read-secret EACCES", "before-bind EACCES"]);
        assert_says(&said, &["read ok", "write ok", "rename ok", "serve ok"]);
        assert_says(&said, &["read-secret EACCES", "write-elsewhere EACCES"]);
        assert_says(&said, &["socket EPERM", "thread EPERM", "spawn EPERM", "signal EPERM", "dumpable EPERM"]);
    }
}

#[test]
fn a_supervisor_that_makes_a_call_beyond_its_list_dies_by_it() {
    let arena = Arena::new();
    let said = supervisor(&arena, Who::Me, "kill");
    assert_says(&said, &["serve ok", "write-elsewhere EACCES", "ended by signal 31"]);
    assert!(!said.contains("\nsocket"), "{said}");
}

#[test]
fn a_worker_that_was_taken_over_reaches_only_its_own_and_its_jobs_are_held_as_before() {
    let arena = Arena::new();
    for who in everybody() {
        let (jail, scratch) = (arena.program("trial-jail"), arena.scratch());
        let said = arena.run(*who, &[Path::new("worker"), &jail, scratch.path()]);
        assert_says(&said, &["control-read-secret ok", "control-bind ok", "control-signal ok"]);
        let root_keeps_one = *who == Who::Me && nix::unistd::geteuid().is_root();
        let layers = HOLDS.iter().filter(|layer| !(root_keeps_one && layer.ends_with("capabilities")));
        assert_says(&said, &layers.copied().collect::<Vec<_>>());
        assert_says(&said, &["read ok", "write ok", "serve ok"]);
        assert_says(&said, &["read-secret EACCES", "write-elsewhere EACCES", "bind EACCES", "signal EPERM"]);
        for attempt in attempts() {
            let held =
                attempt.expected.iter().any(|errno| said.contains(&format!("inside {} {errno:?}\n", attempt.name)));
            assert!(held, "{} {who:?}:\n{said}", attempt.name);
            assert_says(&said, &[&format!("holds {} ok", attempt.held_by)]);
        }
    }
}
