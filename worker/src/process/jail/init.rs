//! Job-init: the parent of one program and of all that it leaves behind. Nobody in that tree can signal it.
//!
//! Promises: it enters its own walls before anything hostile runs; a step that fails is told with its name, and then
//! nothing runs.

use super::super::record::{Record, Stage, Status};
use super::probe::Means;
use super::tree::Tree;
use super::watch::Watch;
use super::{Ends, at, child, say, say_failed};
use musegate_sandbox_profiles::descriptors::set_standard;
use musegate_sandbox_profiles::fork::{Failed, SingleThreaded, fork_for_exec};
use musegate_sandbox_profiles::signals::{Fate, set};
use nix::sys::signal::Signal;
use std::cell::Cell;
use std::io;
use std::os::fd::{AsFd, OwnedFd};

/// The whole life of a job-init; what it returns is its exit status.
pub(super) fn run(alone: &SingleThreaded, means: &Means, record: &Record, ends: Ends) -> u8 {
    let begun = settle_in(means).and_then(|watch| {
        let seen = Cell::new(0);
        let become_program = || {
            seen.set(number_outside());
            child::become_program(means, record, &ends)
        };
        let started = at(Stage::Fork, fork_for_exec(alone, become_program))?;
        Ok((watch, started?, seen.get()))
    });
    let Ends { line, lock, stdin, stdout, stderr } = ends;
    let (watch, program, number) = match begun {
        Ok(begun) => begun,
        Err(failed) => {
            say_failed(line.as_fd(), failed);
            return 1;
        }
    };
    // The program's streams must be open nowhere else, or the worker would not read their end.
    drop((stdin, stdout, stderr));
    let number = if number > 0 { number } else { program.as_raw() };
    say(line.as_fd(), Status::Started { pid: number }, &handle());
    let gone = Tree::new(means.kill, program, &line, &watch).keep();
    drop(lock);
    match gone {
        Some(gone) => {
            say(line.as_fd(), Status::Reaped(gone), &[]);
            0
        }
        None => 2, // the worker reads the end of the line without a last word: doubt
    }
}

/// Everything between the fork and the first hostile instruction.
pub(super) fn settle_in(means: &Means) -> Result<Watch, Failed> {
    // The jail's channel is not ours: as long as it were open here, a dead jail could not be told from a slow one.
    at(Stage::Descriptors, set_standard(io::stdout(), 0))?;
    at(Stage::Signals, set(Signal::SIGCHLD, Fate::Default))?;
    at(Stage::Signals, nix::unistd::setsid())?;
    enter(means)?;
    at(Stage::Signals, Watch::new())
}

#[cfg(target_os = "linux")]
fn enter(means: &Means) -> Result<(), Failed> {
    use super::tree::Kill;
    use musegate_sandbox_profiles::namespaces::map_ids;
    use nix::errno::Errno;
    if means.namespaces.user_and_pid {
        at(Stage::Namespaces, map_ids(means.ids))?;
    }
    at(Stage::Scope, nix::sys::prctl::set_child_subreaper(true))?;
    if let Some(scope) = &means.scope {
        at(Stage::Scope, scope.enter())?;
    }
    at(Stage::Capabilities, musegate_sandbox_profiles::capabilities::drop_quickly())?;
    // A kill(-1) without these bounds would end everything that this uid runs.
    if means.kill == Kill::Bounded {
        let first = nix::unistd::getpid().as_raw() == 1;
        let bounded = first || nix::sys::signal::kill(nix::unistd::getppid(), None) == Err(Errno::EPERM);
        at(Stage::Scope, if bounded { Ok(()) } else { Err(Errno::ENOSYS) })?;
    }
    Ok(())
}

#[cfg(not(target_os = "linux"))]
fn enter(_: &Means) -> Result<(), Failed> {
    Ok(())
}

/// This job-init, held so that the worker can tell its end and bring it about without trusting a number.
#[cfg(target_os = "linux")]
fn handle() -> Vec<OwnedFd> {
    musegate_sandbox_profiles::pidfd::open(nix::unistd::getpid()).into_iter().collect()
}

#[cfg(not(target_os = "linux"))]
fn handle() -> Vec<OwnedFd> {
    Vec::new()
}

/// This process's number as /proc has it, which is that of the namespace of the worker; 0: nobody says.
#[cfg(target_os = "linux")]
fn number_outside() -> i32 {
    let link = std::fs::read_link("/proc/self").ok();
    link.and_then(|number| number.to_str()?.parse().ok()).unwrap_or(0)
}

/// Seen by nobody: the child has memory of its own.
#[cfg(not(target_os = "linux"))]
fn number_outside() -> i32 {
    0
}
