//! Ends a trial in one of the ways, and counts the hostile processes that are left. Prints one line for the test.

use nix::sys::signal::{Signal, kill, killpg};
use nix::unistd::Pid;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdout, Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

/// A tree that is dead is dead at once; one whose worker died, within this.
const PATIENCE: Duration = Duration::from_secs(5);
/// Whoever hides for a moment is counted afterwards.
const AFTERWARDS: Duration = Duration::from_millis(150);

/// One trial with our jail.
pub(crate) fn judge(end: &str, jail: &str, modes: &str, shape: &str, scratch: &str) -> ExitCode {
    let mut host = start(&["host", jail, modes, shape, scratch], false);
    let mut said = BufReader::new(host.stdout.take().unwrap());
    let up = line(&mut said);
    assert!(up.starts_with("up"), "{up}");
    let word = match end {
        "worker" => {
            host.kill().unwrap();
            await_none();
            "worker killed".to_owned()
        }
        "jail" => {
            kill_one_named("trial-jail", &host, true);
            say(&mut host, "kill");
            line(&mut said)
        }
        "init" => {
            kill_one_named("trial-jail", &host, false);
            say(&mut host, "wait");
            let word = line(&mut said);
            await_none();
            word
        }
        word => {
            say(&mut host, word);
            if word == "term" {
                say(&mut host, if shape == "deaf" { "kill" } else { "wait" });
            }
            line(&mut said)
        }
    };
    let at_once = alive("hostile").len();
    std::thread::sleep(AFTERWARDS);
    println!("{}: {} alive at once, {} afterwards", word.trim(), at_once, alive("hostile").len());
    drop(host.stdin.take());
    let _ = host.wait();
    // Neither the jail nor the job-init that it made in advance outlives the worker.
    let deadline = Instant::now() + PATIENCE;
    while !list("trial-jail", true).is_empty() {
        assert!(Instant::now() < deadline, "a jail or a job-init is left");
        std::thread::sleep(Duration::from_millis(1));
    }
    0.into()
}

/// The same shapes under what an ordinary program does: its own group, and SIGKILL for the group.
pub(crate) fn control(shape: &str) -> ExitCode {
    let mut hostile = start(&["hostile", shape], true);
    let mut said = BufReader::new(hostile.stdout.take().unwrap());
    assert_eq!(line(&mut said), "up\n");
    let _ = killpg(Pid::from_raw(i32::try_from(hostile.id()).unwrap()), Signal::SIGKILL);
    std::thread::sleep(AFTERWARDS);
    println!("{} alive", alive("hostile").len());
    let _ = hostile.wait();
    0.into()
}

fn start(words: &[&str], own_group: bool) -> Child {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(words).stdin(Stdio::piped()).stdout(Stdio::piped());
    if own_group {
        command.process_group(0);
    }
    command.spawn().unwrap()
}

fn say(host: &mut Child, word: &str) {
    writeln!(host.stdin.as_mut().unwrap(), "{word}").unwrap();
}

fn line(said: &mut BufReader<ChildStdout>) -> String {
    let mut line = String::new();
    said.read_line(&mut line).unwrap();
    line
}

fn await_none() {
    let deadline = Instant::now() + PATIENCE;
    while !alive("hostile").is_empty() && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Processes with this word in their command line; those that only wait to be waited for do not count. Listed twice:
/// a runner can be missed by one listing.
fn alive(word: &str) -> Vec<i32> {
    let first = list(word, false);
    if first.is_empty() { list(word, false) } else { first }
}

fn list(word: &str, as_program: bool) -> Vec<i32> {
    let me = std::process::id();
    let pids = std::fs::read_dir("/proc").unwrap().flatten();
    let pids = pids.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    pids.filter(|pid| u32::try_from(*pid) != Ok(me) && matches(*pid, word, as_program)).collect()
}

fn matches(pid: i32, word: &str, as_program: bool) -> bool {
    let read = |file: &str| std::fs::read_to_string(format!("/proc/{pid}/{file}")).unwrap_or_default();
    let zombie = read("stat").rsplit(')').next().is_some_and(|rest| rest.trim_start().starts_with('Z'));
    let words = read("cmdline");
    let many = if as_program { 1 } else { usize::MAX };
    !zombie && words.split('\0').take(many).any(|argument| argument.rsplit('/').next() == Some(word))
}

/// SIGKILL for the jail, which is the host's child, or else for the one job-init that has a job.
fn kill_one_named(program: &str, host: &Child, is_child_of_host: bool) {
    let host = host.id().to_string();
    let is_jail = |pid: i32| parent(pid).as_deref() == Some(&*host);
    let wanted = |pid: &i32| is_jail(*pid) == is_child_of_host && (is_child_of_host || has_children(*pid));
    let found: Vec<i32> = list(program, true).into_iter().filter(wanted).collect();
    assert_eq!(found.len(), 1, "one process to kill");
    kill(Pid::from_raw(*found.first().unwrap()), Signal::SIGKILL).unwrap();
}

fn has_children(pid: i32) -> bool {
    let pid = pid.to_string();
    let all = std::fs::read_dir("/proc").unwrap().flatten();
    let mut all = all.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    all.any(|one| parent(one).as_deref() == Some(&*pid))
}

fn parent(pid: i32) -> Option<String> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit(')').next()?.split_ascii_whitespace().nth(1).map(str::to_owned)
}
