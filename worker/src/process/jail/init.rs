//! Job-init: the parent of one program and of all that it leaves behind. Nobody in that tree can signal it.
//!
//! Promises: it enters its own walls before anything hostile runs; a step that fails is told with its name, and then
//! nothing runs.

use super::super::record::{Record, Stage, Status};
use super::probe::Means;
use super::tree::{Kill, Tree};
use super::watch::Watch;
use super::{Ends, at, child, say, say_failed};
use musegate_sandbox_profiles::descriptors::set_standard;
use musegate_sandbox_profiles::fork::{Failed, SingleThreaded, fork_for_exec};
use musegate_sandbox_profiles::signals::{Fate, set};
use nix::sys::signal::Signal;
use nix::unistd::Pid;
use std::io;
use std::os::fd::{AsFd, OwnedFd};

/// The whole life of a job-init; what it returns is its exit status.
pub(super) fn run(alone: &SingleThreaded, means: &Means, record: &Record, ends: Ends) -> u8 {
    let begun = settle_in(means).and_then(|watch| {
        let started = at(Stage::Fork, fork_for_exec(alone, || child::become_program(means, record, &ends)))?;
        Ok((watch, started?))
    });
    let Ends { line, lock, stdin, stdout, stderr } = ends;
    let (watch, program) = match begun {
        Ok(begun) => begun,
        Err(failed) => {
            say_failed(line.as_fd(), failed);
            return 1;
        }
    };
    // The program's streams must be open nowhere else, or the worker would not read their end.
    drop((stdin, stdout, stderr));
    say(line.as_fd(), Status::Started { pid: program.as_raw() }, &handles(program));
    let gone = Tree::new(means.kill, program, &line).keep(&watch);
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
    use musegate_sandbox_profiles::namespaces::map_ids;
    use nix::errno::Errno;
    if means.namespaces.user_and_pid {
        at(Stage::Namespaces, map_ids(means.ids))?;
    }
    at(Stage::Scope, nix::sys::prctl::set_child_subreaper(true))?;
    if let Some(scope) = &means.scope {
        at(Stage::Scope, scope.enter())?;
    }
    at(Stage::Capabilities, musegate_sandbox_profiles::capabilities::drop_all())?;
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

/// Job-init and program, held so that the worker can tell and end them without trusting a number.
#[cfg(target_os = "linux")]
fn handles(program: Pid) -> Vec<OwnedFd> {
    use musegate_sandbox_profiles::pidfd;
    let both = [nix::unistd::getpid(), program].map(pidfd::open);
    both.into_iter().collect::<Result<_, _>>().unwrap_or_default()
}

#[cfg(not(target_os = "linux"))]
fn handles(_: Pid) -> Vec<OwnedFd> {
    Vec::new()
}
