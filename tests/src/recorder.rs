//! Which system calls a program makes once its filters are on, seen from outside by ptrace(2).
//!
//! Promises: every call of every thread is seen, also one that ends the process, since a tracer is asked before a filter
//! is; what came before the last filter does not count. Refuses to know which calls are good.

use nix::sys::ptrace::{self, Options};
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;
use std::collections::BTreeSet;
use std::process::Command;
use std::sync::mpsc::channel;
use std::thread::JoinHandle;

/// What ptrace calls the start of a system call.
const ENTRY: u8 = 1;

/// One call: its number, and its arguments as a filter reads them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Made {
    /// Of this architecture.
    pub number: i64,
    /// The lower half of each.
    pub arguments: [u32; 6],
}

/// A program that is being watched.
#[derive(Debug)]
pub struct Recorder {
    /// Its process id.
    pub pid: i32,
    thread: JoinHandle<Recorded>,
}

/// What was seen.
#[derive(Debug)]
pub struct Recorded {
    /// Calls since the last filter.
    pub calls: BTreeSet<Made>,
    /// The exit status; 128 and the number of the signal that ended it.
    pub status: i32,
}

impl Recorder {
    /// Starts a command under watch. It must be a shell that stops itself and then execs the program, so that nothing of
    /// the program is missed: see [`held`].
    #[must_use]
    pub fn start(mut command: Command) -> Self {
        let (says, hears) = channel();
        let thread = std::thread::spawn(move || {
            // Only the thread that traces may ask.
            #[expect(clippy::zombie_processes, reason = "`watch` waits for it, as its tracer")]
            let child = command.spawn().expect("a process");
            let pid = Pid::from_raw(child.id().try_into().expect("a pid"));
            says.send(pid.as_raw()).expect("somebody waits");
            watch(pid)
        });
        Self { pid: hears.recv().expect("a pid"), thread }
    }

    /// Waits for its end.
    #[must_use]
    pub fn finish(self) -> Recorded {
        self.thread.join().expect("a watcher")
    }
}

/// A command that stops before it becomes `program`.
#[must_use]
pub fn held(program: &std::path::Path) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", "kill -STOP $$; exec \"$@\"", "sh"]).arg(program);
    command
}

fn watch(main: Pid) -> Recorded {
    let stopped = waitpid(main, Some(WaitPidFlag::WUNTRACED)).expect("a child");
    assert!(matches!(stopped, WaitStatus::Stopped(..)), "{stopped:?}");
    let options = Options::PTRACE_O_TRACESYSGOOD | Options::PTRACE_O_TRACECLONE | Options::PTRACE_O_EXITKILL;
    ptrace::seize(main, options).expect("leave to watch a child");
    kill(main, Signal::SIGCONT).expect("a child");
    let mut calls = BTreeSet::new();
    loop {
        let flags = WaitPidFlag::__WALL | WaitPidFlag::__WNOTHREAD;
        let (pid, signal) = match waitpid(None, Some(flags)).expect("a traced thread") {
            WaitStatus::PtraceSyscall(pid) => {
                note(pid, &mut calls);
                (pid, None)
            }
            WaitStatus::PtraceEvent(pid, ..) => (pid, None),
            WaitStatus::Stopped(pid, signal) => (pid, Some(signal)),
            WaitStatus::Exited(pid, status) if pid == main => return Recorded { calls, status },
            WaitStatus::Signaled(pid, signal, _) if pid == main => {
                return Recorded { calls, status: 128 + signal as i32 };
            }
            _ => continue,
        };
        // It may have been killed meanwhile: then its end is the next that we hear.
        let _ = ptrace::syscall(pid, signal);
    }
}

fn note(pid: Pid, calls: &mut BTreeSet<Made>) {
    let Ok(info) = ptrace::syscall_info(pid) else { return };
    let Some(made) = made(pid).filter(|_| info.op == ENTRY) else { return };
    if made.number == nix::libc::SYS_seccomp {
        calls.clear();
    } else {
        calls.insert(made);
    }
}

#[cfg(target_arch = "x86_64")]
fn made(pid: Pid) -> Option<Made> {
    let regs = ptrace::getregs(pid).ok()?;
    let arguments = [regs.rdi, regs.rsi, regs.rdx, regs.r10, regs.r8, regs.r9].map(low);
    Some(Made { number: regs.orig_rax.cast_signed(), arguments })
}

#[cfg(target_arch = "aarch64")]
fn made(pid: Pid) -> Option<Made> {
    let regs = ptrace::getregset::<ptrace::regset::NT_PRSTATUS>(pid).ok()?.regs;
    let [a, b, c, d, e, f, _, _, number, ..] = regs;
    Some(Made { number: number.cast_signed(), arguments: [a, b, c, d, e, f].map(low) })
}

/// What a filter compares.
fn low(register: u64) -> u32 {
    u32::try_from(register & u64::from(u32::MAX)).unwrap_or_default()
}
