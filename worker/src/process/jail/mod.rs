//! The jail: one thread, no runtime, started once by the worker. It reads launches from its stdin and forks a job-init
//! for each; a fork of this small process costs little, where one of the worker would copy its page tables. One job-init
//! is always made in advance, so that a job need not wait for its namespaces and rules.
//!
//! Promises: it keeps no descriptor of a job after the fork; it ends when its channel does, and no job depends on it.
//! Refuses to know what it starts.

mod child;
#[cfg(any(target_os = "macos", test))]
mod follow;
mod init;
mod probe;
mod spare;
mod tree;
mod verify;
mod watch;

use super::record::{DESCRIPTORS, MAX_FRAME, QUIET, Record, Setup, Stage, Status, write_report};
use musegate_sandbox_profiles::fork::{Failed, Namespaces, SingleThreaded, fork};
use musegate_sandbox_profiles::signals::{Fate, set};
use musegate_sandbox_profiles::{descriptors, set_not_dumpable};
use nix::sys::signal::Signal;
use nix::sys::socket::{ControlMessage, MsgFlags, sendmsg};
use nix::sys::stat::{Mode as FileMode, umask};
use probe::Means;
use spare::Spare;
use std::io::{self, IoSlice, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::process::ExitCode;

/// The descriptors of a launch.
struct Ends {
    stdin: OwnedFd,
    stdout: OwnedFd,
    stderr: OwnedFd,
    line: UnixStream,
    /// Held, never used: its lock lives as long as the job-init.
    lock: OwnedFd,
}

/// The whole program `musegate-jail`. Its stdin is the channel.
#[must_use]
pub fn jail_main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(io::stderr(), "musegate-jail: {error}; only musegate-worker starts it");
            ExitCode::from(70)
        }
    }
}

fn run() -> io::Result<()> {
    let alone = SingleThreaded::prove()?;
    settle_in()?;
    let Some((setup, _)) = receive(io::stdin().as_fd())? else { return Ok(()) };
    let setup = Setup::decode(&setup).ok_or_else(|| io::Error::other("the setup is not understood"))?;
    let (means, report) = probe::try_all(&alone, &setup)?;
    set(Signal::SIGCHLD, Fate::Ignore)?; // job-inits are nobody's to wait for
    nix::sys::socket::send(libc::STDIN_FILENO, &write_report(report), QUIET)?;
    let mut spare = Spare::make(&alone, &means);
    while let Some((bytes, descriptors)) = receive(io::stdin().as_fd())? {
        if let Some(ends) = take(descriptors) {
            launch(&alone, &means, spare.take(), &bytes, ends);
            spare = Spare::make(&alone, &means);
        }
    }
    Ok(())
}

/// What every process below inherits. Signals are for the worker: it ends its jobs, then the channel.
fn settle_in() -> io::Result<()> {
    for signal in [Signal::SIGPIPE, Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP, Signal::SIGQUIT] {
        set(signal, Fate::Ignore)?;
    }
    // Fails only for the leader of a group, which then has it already.
    let _ = nix::unistd::setsid();
    umask(FileMode::from_bits_truncate(0o077));
    nix::unistd::chdir("/")?;
    #[cfg(target_os = "linux")]
    nix::sys::prctl::set_no_new_privs()?;
    set_not_dumpable()?;
    descriptors::close_all_on_exec()
}

/// By the job-init that was made in advance, or by a new one where that is gone.
fn launch(alone: &SingleThreaded, means: &Means, spare: Option<Spare>, bytes: &[u8], ends: Ends) {
    if spare.is_some_and(|spare| spare.hand_over(bytes, &ends).is_ok()) {
        return;
    }
    let Ok(line) = ends.line.try_clone() else { return };
    let begin = |record: Record| {
        let init = move |alone: &SingleThreaded| init::run(alone, init::prepare(means), &record, ends);
        fork(alone, means.namespaces, init)
    };
    let failed = match Record::decode(bytes) {
        None => NOT_UNDERSTOOD,
        Some(record) => match begin(record) {
            Ok(_) => return,
            Err(error) => Failed { step: Stage::Fork as u8, errno: errno(&error) },
        },
    };
    say_failed(line.as_fd(), failed);
}

/// One frame, or `None` at the end of the socket.
fn receive(socket: BorrowedFd<'_>) -> io::Result<Option<(Vec<u8>, Vec<OwnedFd>)>> {
    let mut head = [0; 4];
    let (read, descriptors) = loop {
        match descriptors::receive(socket, &mut head) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            other => break other?,
        }
    };
    if read == 0 {
        return Ok(None);
    }
    read_all(socket, head.get_mut(read..).unwrap_or_default())?;
    let len = usize::try_from(u32::from_ne_bytes(head)).unwrap_or(usize::MAX);
    if len > MAX_FRAME {
        return Err(io::Error::other("a launch over the limit"));
    }
    let mut bytes = vec![0; len];
    read_all(socket, &mut bytes)?;
    Ok(Some((bytes, descriptors)))
}

/// By the system call: a reader that buffers would take bytes, and lose descriptors, of the next frame.
fn read_all(socket: BorrowedFd<'_>, mut buffer: &mut [u8]) -> io::Result<()> {
    while !buffer.is_empty() {
        match nix::unistd::read(socket, buffer) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(read) => buffer = buffer.get_mut(read..).unwrap_or_default(),
            Err(nix::errno::Errno::EINTR) => {}
            Err(errno) => return Err(errno.into()),
        }
    }
    Ok(())
}

fn take(descriptors: Vec<OwnedFd>) -> Option<Ends> {
    let all: [OwnedFd; DESCRIPTORS] = descriptors.try_into().ok()?;
    let [stdin, stdout, stderr, line, lock] = all;
    Some(Ends { stdin, stdout, stderr, line: line.into(), lock })
}

/// Says a status; a worker that is gone, or does not read, does not hold its job-inits up.
fn say(line: BorrowedFd<'_>, status: Status, descriptors: &[OwnedFd]) {
    let numbers: Vec<_> = descriptors.iter().map(AsRawFd::as_raw_fd).collect();
    let rights = [ControlMessage::ScmRights(&numbers)];
    let rights = if numbers.is_empty() { &[][..] } else { &rights };
    let flags = QUIET | MsgFlags::MSG_DONTWAIT;
    let _ = sendmsg::<()>(line.as_raw_fd(), &[IoSlice::new(&status.encode())], rights, flags, None);
}

fn say_failed(line: BorrowedFd<'_>, Failed { step, errno }: Failed) {
    let stage = Stage::from_number(step).unwrap_or(Stage::Exec);
    say(line, Status::Failed { stage, errno }, &[]);
}

fn errno(error: &io::Error) -> i32 {
    error.raw_os_error().unwrap_or(libc::EPERM)
}

/// What came is no launch.
const NOT_UNDERSTOOD: Failed = Failed { step: Stage::Record as u8, errno: libc::EBADMSG };

/// Ties a step that failed to its stage.
fn at<T, E: Into<io::Error>>(stage: Stage, result: Result<T, E>) -> Result<T, Failed> {
    result.map_err(|error| Failed { step: stage as u8, errno: errno(&error.into()) })
}

/// Namespaces of a job, all or none.
const ALL_NAMESPACES: Namespaces = Namespaces { user_and_pid: true, ipc: true };
