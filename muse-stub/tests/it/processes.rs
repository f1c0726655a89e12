//! Signals, time, and processes that outlive the run. Everything found here is ended by its number.

use crate::job::Job;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ExitStatus};
use std::time::{Duration, Instant};

const SOON: Duration = Duration::from_secs(20);

/// Waits for a condition, not for a time.
fn until<T>(mut look: impl FnMut() -> Option<T>) -> T {
    let end = Instant::now() + SOON;
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(Instant::now() < end, "it did not come to that");
        std::thread::sleep(Duration::from_millis(2));
    }
}

fn spawn(script: &str) -> (Job, Child) {
    let job = Job::of(script);
    let child = job.command().spawn().unwrap();
    (job, child)
}

/// Reads lines until one has been said.
fn first_delta(child: &mut Child) -> String {
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    lines.find(|line| line.as_ref().unwrap().contains("run.output.delta")).unwrap().unwrap()
}

fn signal(child: &Child, signal: Signal) {
    kill(Pid::from_raw(i32::try_from(child.id()).unwrap()), signal).unwrap();
}

fn exit(mut child: Child) -> ExitStatus {
    until(|| child.try_wait().unwrap())
}

#[test]
fn term_and_interrupt_end_a_run_with_their_codes_and_no_terminal_record() {
    for (name, code) in [(Signal::SIGTERM, 143), (Signal::SIGINT, 130)] {
        let (_job, mut child) = spawn("@stub answer=begun hang");
        let mut out = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        while !line.contains("run.output.delta") {
            line.clear();
            out.read_line(&mut line).unwrap();
        }
        signal(&child, name);
        assert_eq!(exit(child).code(), Some(code));
        let mut rest = String::new();
        out.read_to_string(&mut rest).unwrap();
        assert!(!rest.contains("run.terminal"));
    }
}

#[test]
fn ignoring_term_means_that_only_kill_ends_it() {
    for script in ["@stub ignore-term answer=begun hang", "@fm noterm=1 hang=1 events=1"] {
        let (_job, mut child) = spawn(script);
        first_delta(&mut child);
        signal(&child, Signal::SIGTERM);
        signal(&child, Signal::SIGINT);
        std::thread::sleep(Duration::from_millis(50));
        assert!(child.try_wait().unwrap().is_none(), "{script}");
        signal(&child, Signal::SIGKILL);
        assert_eq!(exit(child).signal(), Some(9));
    }
}

#[test]
fn a_crash_is_a_death_by_that_signal() {
    for (name, number) in [("ABRT", 6), ("SEGV", 11), ("KILL", 9), ("BUS", 7)] {
        if cfg!(target_os = "macos") && name == "BUS" {
            continue;
        }
        let done = Job::of(&format!("@stub answer=x crash={name}")).run();
        assert_eq!(done.0.status.signal(), Some(number), "{name}");
        assert!(!done.records().is_empty(), "what was said before is out");
    }
}

#[test]
fn nothing_is_written_before_a_quiet_start_is_over_and_an_exit_may_linger() {
    let began = Instant::now(); // before the start, so that a slow machine only ever makes it longer
    let (_job, mut child) = spawn("@stub quiet=150 answer=x linger=150");
    let mut out = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    out.read_line(&mut line).unwrap();
    assert!(began.elapsed() >= Duration::from_millis(150));
    while !line.contains("run.terminal") {
        line.clear();
        out.read_line(&mut line).unwrap();
    }
    exit(child);
    assert!(began.elapsed() >= Duration::from_millis(300));
}

#[test]
fn a_flood_does_not_end_and_a_reader_that_leaves_ends_it() {
    for what in ["deltas", "line", "junk", "tools"] {
        let (_job, mut child) = spawn(&format!("@stub flood={what}"));
        let mut out = child.stdout.take().unwrap();
        let mut some = vec![0; 3 << 20];
        out.read_exact(&mut some).unwrap();
        drop(out);
        assert_eq!(exit(child).code(), Some(74), "{what}");
    }
    let (_job, mut child) = spawn("@stub flood=stderr");
    let mut some = vec![0; 1 << 20];
    child.stderr.take().unwrap().read_exact(&mut some).unwrap();
    assert_eq!(exit(child).code(), Some(74));
}

#[cfg(target_os = "linux")]
mod tagged {
    use super::*;

    /// Processes with this word among their arguments.
    fn find(tag: &str) -> Vec<i32> {
        let pids =
            std::fs::read_dir("/proc").unwrap().filter_map(|entry| entry.unwrap().file_name().to_str()?.parse().ok());
        let tagged = |pid: &i32| {
            let args = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            args.split(|byte| *byte == 0).any(|arg| arg == tag.as_bytes())
        };
        pids.filter(tagged).collect()
    }

    fn stat(pid: i32, field: usize) -> Option<String> {
        let text = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        Some(text.rsplit(") ").next()?.split(' ').nth(field)?.to_owned())
    }

    /// Ends whatever bears the tag, even what is born meanwhile.
    struct Clean(String);

    impl Drop for Clean {
        fn drop(&mut self) {
            until(|| {
                let found = find(&self.0);
                found.iter().for_each(|pid| {
                    let _ = kill(Pid::from_raw(*pid), Signal::SIGKILL);
                });
                found.is_empty().then_some(())
            });
        }
    }

    fn shape(name: &str, rest: &str) -> (Clean, crate::job::Done, String) {
        let tag = format!("tag-{name}-{}", std::process::id());
        let clean = Clean(tag.clone());
        let done = Job::of(&format!("@stub shape={name} tag={tag} {rest}")).run();
        (clean, done, tag)
    }

    #[test]
    fn children_outlive_the_run_in_its_group_or_in_a_session_of_their_own() {
        for (name, count) in
            [("children", 3), ("setsid", 1), ("daemon", 1), ("orphan", 3), ("stubborn", 1), ("stopped", 1)]
        {
            let (_clean, done, tag) = shape(name, "life=20");
            assert_eq!((done.code(), done.answer()), (Some(0), format!("started {count} of {name}\n")));
            let found = until(|| Some(find(&tag)).filter(|found| found.len() == count));
            let apart = ["setsid", "daemon"].contains(&name);
            for pid in found {
                // Group and session: a leader of its own session has its own number in both.
                until(|| {
                    let own = stat(pid, 2)? == pid.to_string() && stat(pid, 3)? == pid.to_string();
                    let detached = name != "daemon" || stat(pid, 2)? == stat(pid, 3)?;
                    (own == (name == "setsid") || apart && detached).then_some(())
                });
            }
        }
    }

    #[test]
    fn a_runner_is_never_the_same_process_twice() {
        for name in ["slow-runner", "fast-runner"] {
            let (_clean, _, tag) = shape(name, "life=20");
            let mut seen = std::collections::HashSet::new();
            until(|| {
                seen.extend(find(&tag));
                (seen.len() > 5).then_some(())
            });
        }
    }

    #[test]
    fn whatever_is_started_ends_by_itself() {
        for name in ["children", "daemon", "fast-runner", "stubborn"] {
            let (_clean, _, tag) = shape(name, "life=1");
            until(|| find(&tag).is_empty().then_some(()));
        }
        let role = |end: &str| {
            std::process::Command::new(crate::job::STUB).args(["__role", "sleeper", end, "t"]).status().unwrap()
        };
        assert_eq!(role("99999999999999999").code(), Some(2), "no life beyond a minute");
        assert_eq!(role("0").code(), Some(0));
    }

    #[test]
    fn a_grandchild_can_hold_the_pipe_open_after_the_exit() {
        let tag = format!("tag-hold-{}", std::process::id());
        let _clean = Clean(tag.clone());
        let (_job, mut child) = spawn(&format!("@stub shape=hold-stdout tag={tag} life=30"));
        let mut out = child.stdout.take().unwrap();
        assert!(exit(child).success());
        let (sender, ended) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            let mut all = String::new();
            out.read_to_string(&mut all).unwrap();
            let _ = sender.send(all);
        });
        assert!(ended.recv_timeout(Duration::from_millis(100)).is_err(), "the pipe is still open");
        drop(_clean);
        assert!(ended.recv_timeout(SOON).unwrap().contains("run.terminal.completed"));
    }

    #[test]
    fn a_stopped_run_goes_on_when_continued() {
        let (_job, child) = spawn("@stub stop answer=on");
        let pid = i32::try_from(child.id()).unwrap();
        until(|| (stat(pid, 0)? == "T").then_some(()));
        signal(&child, Signal::SIGCONT);
        assert!(crate::job::Done(child.wait_with_output().unwrap()).answer() == "on");
    }

    #[test]
    fn a_bomb_tells_how_far_it_got() {
        let (_clean, done, tag) = shape("bomb", "count=12 life=20");
        assert_eq!(done.answer(), "started 12 of bomb\n");
        until(|| (find(&tag).len() == 12).then_some(()));
    }

    #[test]
    fn an_assassin_ends_what_started_the_run_and_nothing_else() {
        let job = Job::of("@stub shape=assassin life=1 tag=tag-assassin");
        let mut shell = std::process::Command::new("/bin/sh");
        // The shell waits for the stand-in, which is not its last command, and so stays its parent.
        shell.arg("-c").arg("\"$0\" exec --json --prompt-file \"$1\" >/dev/null 2>&1; exit 0");
        shell.arg(crate::job::STUB).arg(job.folder.path().join("prompt")).current_dir(job.ws());
        assert_eq!(shell.status().unwrap().signal(), Some(9));
        until(|| find("tag-assassin").is_empty().then_some(()));
    }
}
