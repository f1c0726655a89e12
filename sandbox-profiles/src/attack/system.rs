//! Other processes, privileges, and the kernel's back doors.

use super::{Attempt, Target, from_io};
use crate::signals::{Fate, set};
use nix::errno::Errno::{self, EFBIG, EMFILE, ENOSYS, EPERM, ESRCH};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::fs::File;

const SECCOMP: &str = "seccomp";
const SCOPE: &str = "landlock-scope";
const LIMITS: &str = "resource-limits";

#[rustfmt::skip] // one attempt a line
pub(super) const ATTEMPTS: &[Attempt] = &[
    Attempt { name: "signal-others", held_by: SCOPE, expected: &[EPERM, ESRCH], run: |t| kill(Pid::from_raw(t.victim), None) },
    Attempt { name: "ptrace-others", held_by: SECCOMP, expected: &[EPERM], run: ptrace_others },
    Attempt { name: "read-memory-of-others", held_by: SECCOMP, expected: &[EPERM], run: |t| raw(libc::SYS_process_vm_readv, [i64::from(t.victim), 0, 0]) },
    Attempt { name: "io-uring", held_by: SECCOMP, expected: &[ENOSYS], run: io_uring },
    Attempt { name: "file-in-memory", held_by: SECCOMP, expected: &[ENOSYS], run: file_in_memory },
    Attempt { name: "shared-memory", held_by: SECCOMP, expected: &[EPERM], run: |_| raw(libc::SYS_shmget, [0, 4096, 0o600]) },
    Attempt { name: "message-queue", held_by: SECCOMP, expected: &[EPERM], run: |_| raw(libc::SYS_msgget, [0, 0o600, 0]) },
    Attempt { name: "session-keyring", held_by: SECCOMP, expected: &[EPERM], run: |_| raw(libc::SYS_keyctl, [0, -3, 0]) },
    Attempt { name: "file-over-limit", held_by: LIMITS, expected: &[EFBIG], run: file_over_limit },
    Attempt { name: "descriptors-over-limit", held_by: LIMITS, expected: &[EMFILE], run: descriptors_over_limit },
    Attempt { name: "raise-limits", held_by: "no-capabilities", expected: &[EPERM], run: raise_limits },
    Attempt { name: "set-groups", held_by: "no-capabilities", expected: &[EPERM], run: |_| from_io(clear_groups()) },
    // The last: where it comes through, it takes privileges away.
    Attempt { name: "new-user-namespace", held_by: SECCOMP, expected: &[EPERM], run: |_| raw(libc::SYS_unshare, [i64::from(libc::CLONE_NEWUSER), 0, 0]) },
];

/// A system call with numbers only. Attempts that pass no pointer cannot touch memory of ours.
pub(super) fn raw(number: libc::c_long, [a, b, c]: [i64; 3]) -> nix::Result<()> {
    // SAFETY: every caller in this module passes calls and numbers that name no memory of this process.
    let done = unsafe { libc::syscall(number, a, b, c, 0_i64, 0_i64, 0_i64) };
    Errno::result(done).map(drop)
}

fn ptrace_others(target: &Target) -> nix::Result<()> {
    raw(libc::SYS_ptrace, [i64::from(libc::PTRACE_SEIZE), i64::from(target.victim), 0])?;
    // Let go again, so that the control leaves the victim as it was.
    let _ = raw(libc::SYS_ptrace, [i64::from(libc::PTRACE_INTERRUPT), i64::from(target.victim), 0]);
    Ok(())
}

fn io_uring(_: &Target) -> nix::Result<()> {
    // Without a structure the kernel says EFAULT where the call exists.
    match raw(libc::SYS_io_uring_setup, [1, 0, 0]) {
        Err(Errno::EFAULT) => Ok(()),
        other => other,
    }
}

fn file_in_memory(_: &Target) -> nix::Result<()> {
    match raw(libc::SYS_memfd_create, [0, 0, 0]) {
        Err(Errno::EFAULT) => Ok(()),
        other => other,
    }
}

fn file_over_limit(target: &Target) -> nix::Result<()> {
    from_io(set(Signal::SIGXFSZ, Fate::Ignore))?;
    let file = from_io(File::create(target.scratch.join("large")))?;
    from_io(file.set_len(1 << 40))
}

fn descriptors_over_limit(_: &Target) -> nix::Result<()> {
    let mut held = Vec::new();
    while held.len() < 5_000 {
        held.push(from_io(File::open("/dev/null"))?);
    }
    Ok(())
}

fn raise_limits(_: &Target) -> nix::Result<()> {
    let (soft, hard) = from_io(rlimit::Resource::NOFILE.get())?;
    from_io(rlimit::Resource::NOFILE.set(soft, hard.saturating_add(1)))
}

fn clear_groups() -> std::io::Result<()> {
    Ok(nix::unistd::setgroups(&[])?)
}
