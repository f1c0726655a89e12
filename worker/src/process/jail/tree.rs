//! One job's process tree, as its job-init keeps it.
//!
//! Promises: the program's own end is told at once; the tree is called gone only when the kernel says that job-init has
//! no child left, which, since every orphan below becomes its child, means that nothing is left at all (on macOS, which
//! hands orphans to process 1, only that nothing is found).

use super::super::record::{Gone, KILL, Status, TERM};
use super::say;
#[cfg(target_os = "macos")]
use super::watch::Ready;
use super::watch::Watch;
use musegate_sandbox_profiles::tree::{How, Waited, wait_for_any};
use nix::errno::Errno;
use nix::sys::signal::{Signal, kill, killpg};
use nix::sys::socket::{MsgFlags, recv};
use nix::unistd::Pid;
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::net::UnixStream;
use std::time::Duration;

/// How a tree is killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kill {
    /// By kill(-1), which cannot leave the pid namespace or the Landlock domain, and which no fork can race.
    Bounded,
    /// The group, and what the system lists as descendants, again and again. A tree that forks faster than it is listed
    /// gets away; settings must allow this by name.
    Listed,
}

/// So often is a tree listed and killed before it is given up.
const ROUNDS: u32 = 200;
const BETWEEN_ROUNDS: Duration = Duration::from_millis(10);

enum Command {
    Nothing,
    Term,
    Kill,
}

pub(super) struct Tree<'a> {
    kill: Kill,
    program: Pid,
    line: &'a UnixStream,
    watch: &'a Watch,
    exit: Option<How>,
    #[cfg(target_os = "macos")]
    followed: super::follow::Followed,
}

impl<'a> Tree<'a> {
    pub(super) fn new(kill: Kill, program: Pid, line: &'a UnixStream, watch: &'a Watch) -> Self {
        Self {
            kill,
            program,
            line,
            watch,
            exit: None,
            #[cfg(target_os = "macos")]
            followed: super::follow::Followed::default(),
        }
    }

    /// Until the program ends or the worker wants it to, then until nothing is left. `None`: something may be.
    pub(super) fn keep(mut self) -> Option<Gone> {
        #[cfg(target_os = "macos")]
        self.follow(&Ready { forked: vec![self.program], ..Ready::default() });
        while let Ok(ready) = self.watch.wait(self.line.as_fd()) {
            #[cfg(target_os = "macos")]
            self.follow(&ready);
            if ready.children {
                self.reap();
                if self.exit.is_some() {
                    break;
                }
            }
            if ready.line {
                match self.command() {
                    Command::Nothing => {}
                    Command::Term => self.term(),
                    Command::Kill => break,
                }
            }
        }
        if !self.reap() && self.listed().is_empty() {
            return Some(Gone::Itself);
        }
        let gone = if self.exit.is_some() { Gone::Leftovers } else { Gone::Killed };
        let empty = match self.kill {
            Kill::Bounded => self.kill_bounded(),
            Kill::Listed => self.kill_listed(),
        };
        empty.then_some(gone)
    }

    /// The strongest of what was said; the end of the line is the strongest of all.
    fn command(&self) -> Command {
        let mut said = [0; 16];
        match recv(self.line.as_raw_fd(), &mut said, MsgFlags::MSG_DONTWAIT) {
            Ok(0) => Command::Kill,
            Ok(_) if said.contains(&KILL) => Command::Kill,
            Ok(_) if said.contains(&TERM) => Command::Term,
            Ok(_) | Err(Errno::EAGAIN | Errno::EINTR) => Command::Nothing,
            Err(_) => Command::Kill,
        }
    }

    /// To the program's own group; a stopped process must run to see it. The program has not been waited for, so that
    /// its number is still its own.
    fn term(&self) {
        let _ = killpg(self.program, Signal::SIGTERM);
        let _ = killpg(self.program, Signal::SIGCONT);
    }

    /// Reaps whatever has ended. Whether anything is left.
    fn reap(&mut self) -> bool {
        loop {
            match wait_for_any(false) {
                Ok(Waited::Ended(ended)) => self.note(ended.pid, ended.how),
                Ok(Waited::Childless) => return false,
                Ok(Waited::Alive) | Err(_) => return true,
            }
        }
    }

    fn note(&mut self, pid: Pid, how: How) {
        if pid != self.program || self.exit.is_some() {
            return;
        }
        self.exit = Some(how);
        let status = match how {
            How::Code(code) => Status::Exited { code },
            How::Signal(signal) => Status::Signaled { signal },
        };
        say(self.line.as_fd(), status, &[]);
    }

    /// True when proven empty. Nothing can be born below after the first round; further ones cost nothing.
    fn kill_bounded(&mut self) -> bool {
        loop {
            let _ = kill(Pid::from_raw(-1), Signal::SIGKILL);
            match wait_for_any(true) {
                Ok(Waited::Ended(ended)) => self.note(ended.pid, ended.how),
                Ok(Waited::Childless) => return true,
                Ok(Waited::Alive) => {}
                Err(_) => return false,
            }
        }
    }

    fn kill_listed(&mut self) -> bool {
        for _ in 0..ROUNDS {
            if self.exit.is_none() {
                let _ = killpg(self.program, Signal::SIGKILL);
            }
            for pid in self.listed() {
                let _ = kill(pid, Signal::SIGKILL);
            }
            if !self.reap() && self.listed().is_empty() {
                return true;
            }
            std::thread::sleep(BETWEEN_ROUNDS);
        }
        false
    }

    /// Who is below, beside what waiting tells: on Linux everybody, since orphans come here.
    #[cfg(target_os = "linux")]
    fn listed(&self) -> Vec<Pid> {
        match self.kill {
            Kill::Bounded => Vec::new(),
            Kill::Listed => musegate_sandbox_profiles::tree::descendants_of(nix::unistd::getpid()),
        }
    }

    /// Who was seen being forked and not seen ending.
    #[cfg(target_os = "macos")]
    fn listed(&mut self) -> Vec<Pid> {
        if let Ok(ready) = self.watch.look() {
            self.follow(&ready);
        }
        for pid in self.followed.all() {
            if kill(pid, None) == Err(Errno::ESRCH) {
                self.followed.ended(pid);
            }
        }
        self.followed.all()
    }

    #[cfg(target_os = "macos")]
    fn follow(&mut self, ready: &Ready) {
        use musegate_sandbox_profiles::tree::children_of;
        for pid in &ready.forked {
            let new = self.followed.seen(*pid, children_of);
            new.into_iter().for_each(|pid| self.watch.follow(pid));
        }
        for pid in &ready.ended {
            self.followed.ended(*pid);
        }
    }
}
