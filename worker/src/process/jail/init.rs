//! Job-init: the parent of one program and of all that it leaves behind. Nobody in that tree can signal it.
//!
//! Promises: it enters its own walls before anything hostile runs; a step that fails is told with its name, and then
//! nothing runs.

use super::super::record::{Record, Stage, Status};
use super::probe::Means;
use super::tree::Tree;
use super::watch::Watch;
use super::{Ends, NOT_UNDERSTOOD, at, child, receive, say, say_failed, take};
use musegate_sandbox_profiles::descriptors::set_standard;
use musegate_sandbox_profiles::fork::{Failed, SingleThreaded, fork_for_exec};
use musegate_sandbox_profiles::signals::{Fate, set};
use nix::sys::signal::Signal;
use std::cell::Cell;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;

/// A job-init that has done all that is the same for every job.
pub(super) struct Prepared<'a> {
    pub(super) means: &'a Means,
    #[cfg(target_os = "linux")]
    pub(super) walls: musegate_sandbox_profiles::muse::Walls<'a>,
    watch: Watch,
}

/// The whole life of a job-init; what it returns is its exit status.
pub(super) fn run(alone: &SingleThreaded, prepared: Result<Prepared<'_>, Failed>, record: &Record, ends: Ends) -> u8 {
    let begun = prepared.and_then(|prepared| {
        let seen = Cell::new(0);
        let become_program = || {
            seen.set(number_outside());
            child::become_program(&prepared, record, &ends)
        };
        let started = at(Stage::Fork, fork_for_exec(alone, become_program))?;
        Ok((started?, prepared, seen.get()))
    });
    let Ends { line, lock, stdin, stdout, stderr } = ends;
    let (program, Prepared { means, watch, .. }, number) = match begun {
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

/// The same for a job-init that was made before there was a job: it waits for its launch at `seat`. The end of the
/// jail is its end.
pub(super) fn wait(alone: &SingleThreaded, means: &Means, seat: UnixStream) -> u8 {
    let prepared = prepare(means);
    let Ok(Some((bytes, descriptors))) = receive(seat.as_fd()) else { return 0 };
    drop(seat);
    let Some(ends) = take(descriptors) else { return 1 };
    match Record::decode(&bytes) {
        Some(record) => run(alone, prepared, &record, ends),
        None => {
            say_failed(ends.line.as_fd(), NOT_UNDERSTOOD);
            1
        }
    }
}

/// Everything between the fork and the first hostile instruction that does not depend on the job.
pub(super) fn prepare(means: &Means) -> Result<Prepared<'_>, Failed> {
    // The jail's channel is not ours: as long as it were open here, a dead jail could not be told from a slow one.
    at(Stage::Descriptors, set_standard(io::stdout(), 0))?;
    at(Stage::Signals, set(Signal::SIGCHLD, Fate::Default))?;
    at(Stage::Signals, nix::unistd::setsid())?;
    enter(means)?;
    Ok(Prepared {
        means,
        #[cfg(target_os = "linux")]
        walls: at(Stage::Landlock, means.profile.for_one_job())?,
        watch: at(Stage::Signals, Watch::new())?,
    })
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
    // Of what it denies, this process needs nothing from here on, and the kernel compiles it before there is a hurry.
    at(Stage::Seccomp, means.profile.enter_own_seccomp())
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
