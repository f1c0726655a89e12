//! Processes of the kinds that are hard to end, and deaths of this one.
//!
//! Promises: whatever is started ends by itself at its deadline, at most a minute away, however often it forks; it
//! carries a tag in its arguments, by which a test finds it; nothing is signalled but this process and, by `assassin`,
//! the one that started it.

use crate::clock::{Deadline, nap};
use crate::play::{Flow, Run};
use crate::script::{How, Step};
use nix::sys::signal::{SigSet, Signal, kill, raise};
use nix::unistd::{Pid, getppid, setsid};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::str::FromStr;
use std::time::Duration;

/// First argument of a process of ours that plays a role.
pub(crate) const ROLE: &str = "__role";
/// Most processes of a bomb.
const MAX_BOMB: u64 = 4096;

/// Starts this program in a role. `hold`: it keeps standard output and standard error open.
pub(crate) fn start(role: &str, end: Deadline, tag: &str, hold: bool) -> std::io::Result<u32> {
    let mut command = Command::new(std::env::current_exe()?);
    command.arg0("muse-stub").args([ROLE, role, &end.0.to_string(), tag]).stdin(Stdio::null());
    if !hold {
        command.stdout(Stdio::null()).stderr(Stdio::null());
    }
    command.spawn().map(|child| child.id())
}

/// Plays a role: the words after [`ROLE`]. Returns the exit code.
pub(crate) fn act(words: &[String]) -> u8 {
    let [role, end, tag] = words else { return 2 };
    let Ok(end) = end.parse().map(Deadline) else { return 2 };
    if end.0 > Deadline::after(crate::clock::LONGEST_LIFE).0 {
        return 2;
    }
    match role.as_str() {
        "setsid" => {
            let _ = setsid();
        }
        "daemon" => detach(end, tag),
        "slow-runner" => run_away(2, end, tag),
        "fast-runner" => run_away(0, end, tag),
        "stubborn" => {
            let _ = SigSet::all().thread_block();
        }
        "stopped" => {
            let _ = raise(Signal::SIGSTOP);
        }
        _ => {}
    }
    end.wait();
    0
}

/// Becomes a child of whoever collects orphans, in a session of its own.
#[cfg(not(target_vendor = "apple"))]
fn detach(_: Deadline, _: &str) {
    let _ = nix::unistd::daemon(true, true);
}

/// Becomes a child of whoever collects orphans, in a session of its own.
#[cfg(target_vendor = "apple")]
fn detach(end: Deadline, tag: &str) {
    let _ = setsid();
    if start("sleeper", end, tag, true).is_ok() {
        std::process::exit(0);
    }
}

/// Forks, lets the parent end, and so on: never two looks find the same process.
#[cfg(not(target_vendor = "apple"))]
fn run_away(pause_millis: u64, end: Deadline, _: &str) {
    while !end.passed() {
        if nix::unistd::daemon(true, true).is_err() {
            nap(1);
        }
        nap(pause_millis);
    }
}

/// Forks, lets the parent end, and so on: never two looks find the same process.
#[cfg(target_vendor = "apple")]
fn run_away(pause_millis: u64, end: Deadline, tag: &str) {
    let _ = setsid();
    nap(pause_millis);
    let role = if pause_millis == 0 { "fast-runner" } else { "slow-runner" };
    if !end.passed() && start(role, end, tag, true).is_ok() {
        std::process::exit(0);
    }
}

pub(crate) fn perform(run: &mut Run<'_>, step: &Step, how: &How) -> Flow {
    match step.name.as_str() {
        "stop" => {
            let _ = raise(Signal::SIGSTOP);
        }
        "crash" => crash(&step.value),
        _ => return shape(run, &step.value, how),
    }
    Flow::On
}

/// Dies by a signal; the handlers that this program or its runtime has for it are used up by the first.
fn crash(name: &str) {
    let Ok(signal) = Signal::from_str(&format!("SIG{name}")) else { return };
    if signal == Signal::SIGABRT {
        std::process::abort();
    }
    for _ in 0..2 {
        let _ = kill(Pid::this(), signal);
        nap(1);
    }
}

fn shape(run: &mut Run<'_>, name: &str, how: &How) -> Flow {
    let end = Deadline::after(how.life.unwrap_or(crate::clock::LONGEST_LIFE));
    let (role, count, hold) = match name {
        "children" | "orphan" => ("sleeper", how.count.min(3), false),
        "assassin" => ("sleeper", 1, false),
        "hold-stdout" => ("daemon", 1, true),
        "bomb" => ("sleeper", how.count.min(MAX_BOMB), false),
        known @ ("setsid" | "daemon" | "slow-runner" | "fast-runner" | "stubborn" | "stopped") => (known, 1, false),
        other => {
            run.fail(&format!("muse-stub: no such shape: {other}"));
            return Flow::On;
        }
    };
    let mut started = 0;
    let mut refused = None;
    for _ in 0..count {
        match start(role, end, &how.tag, hold) {
            Ok(_) => started += 1,
            Err(error) => refused = Some(error),
        }
    }
    let note = refused.map_or(String::new(), |error| format!(", then: {error}"));
    run.say(&format!("started {started} of {name}{note}\n"));
    if name == "assassin" {
        assassinate();
    }
    if name == "orphan" { Flow::Exit(run.end_now()) } else { Flow::On }
}

/// Tries to kill what started this program, unless that is the machine's first process.
fn assassinate() {
    let victim = getppid();
    if victim.as_raw() > 1 {
        let _ = kill(victim, Signal::SIGKILL);
        nap(20);
    }
}

/// Longest time that the program itself hangs.
pub(crate) const LONGEST_HANG: Duration = Duration::from_secs(600);
