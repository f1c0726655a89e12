//! The profile of the supervisor, which the network can reach: no program, no new process or thread, no Internet socket of its own
//! making, no file but its log and its configuration.
//!
//! Promises: after both steps the process can do what the two lists below say, and nothing else; a call beyond them ends
//! it. Two steps, because Landlock binds the threads that begin after it, and the runtime needs calls to be built that
//! it does not need to run.

use crate::walls::{Walls, give_up_privileges};
use std::io;
use std::path::PathBuf;

/// What differs from machine to machine.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Folders that it writes: audit log, store.
    pub write: Vec<PathBuf>,
    /// Files that it reads again while it runs, and folders of which it reads files whose names it knows: callers.
    pub read: Vec<PathBuf>,
    /// Sockets of its own, whose names it takes away at the end.
    pub own_sockets: Vec<PathBuf>,
    /// Sockets that it connects to: the worker's. macOS bounds by them where the supervisor connects, Linux since
    /// Landlock's ABI 9.
    pub connect: Vec<PathBuf>,
}

/// First step: before the runtime is built, while there is one thread; all sockets are bound by then.
///
/// # Errors
/// A layer that this machine has and that cannot be applied. One that it lacks is in the answer.
pub fn lock_down_before_runtime(options: &Options) -> io::Result<Walls> {
    let mut walls = Walls::default();
    give_up_privileges(&mut walls)?;
    #[cfg(target_os = "linux")]
    linux::enter(options, &mut walls)?;
    #[cfg(not(target_os = "linux"))]
    {
        use crate::seatbelt::{Profile, real};
        let reals = |paths: &[PathBuf]| paths.iter().map(|path| real(path)).collect::<Vec<_>>();
        let write = [&options.write[..], &options.own_sockets[..]].concat();
        Profile::supervisor(&reals(&options.connect), &reals(&write), &reals(&options.read)).apply()?;
        walls.note("seatbelt", std::fs::read_dir("/Users").is_err());
    }
    Ok(walls)
}

/// What becomes of a call that is not on the list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Beyond {
    /// The process dies.
    Kill,
    /// The call fails with EPERM, for tests that look for what is missing.
    Refuse,
}

/// Second step, and the last that can be taken: filters the calls of all threads. When the runtime has been built.
///
/// # Errors
/// As seccomp(2).
pub fn lock_down_after_runtime(beyond: Beyond) -> io::Result<Walls> {
    #[cfg_attr(not(target_os = "linux"), expect(unused_mut, reason = "noted on Linux only"))]
    let mut walls = Walls::default();
    #[cfg(target_os = "linux")]
    linux::filter(beyond, &mut walls)?;
    #[cfg(not(target_os = "linux"))]
    let _ = beyond; // the profile of the first step binds every thread already
    Ok(walls)
}

#[cfg(target_os = "linux")]
pub use linux::{CALLS, PATHS};

#[cfg(target_os = "linux")]
mod linux {
    use super::{Beyond, Options};
    use crate::landlock::Access::{Connect, Open, Read, Remove, Use, Write};
    use crate::landlock::{Domain, PathRule, abi};
    use crate::seccomp::Answer::Allow;
    use crate::seccomp::If::{Bits, Is};
    use crate::seccomp::{CallRule, Filters, Otherwise, always, when};
    use crate::walls::{self, Walls};
    use std::io;
    use std::path::{Path, PathBuf};

    const fn path(path: &'static str, access: crate::landlock::Access, why: &'static str) -> PathRule {
        PathRule { path, access, why }
    }

    /// Files, beside those of the options.
    #[rustfmt::skip] // one rule a line
    pub const PATHS: &[PathRule] = &[
        path("/dev/null", Use, "standard streams"),
        path("/dev/urandom", Read, "random bytes where getrandom is not taken"),
        path("/etc/localtime", Read, "times in the log"),
        path("/proc/self", Read, "its own memory and descriptors, for the metrics"),
        path("/proc/meminfo", Read, "the allocator asks"),
        path("/sys/fs/cgroup", Read, "its own limits"),
        path("/sys/devices/system/cpu", Read, "how many processors"),
    ];

    const EXEC: u32 = libc::PROT_EXEC.cast_unsigned();
    const UNIX: u32 = libc::AF_UNIX.cast_unsigned();
    const NAME_MEMORY: u32 = libc::PR_SET_VMA.cast_unsigned();
    const GET_FD: u32 = libc::F_GETFD.cast_unsigned();
    const GET_FLAGS: u32 = libc::F_GETFL.cast_unsigned();
    const SET_FLAGS: u32 = libc::F_SETFL.cast_unsigned();
    const DUPLICATE: u32 = libc::F_DUPFD_CLOEXEC.cast_unsigned();

    /// Every call that the supervisor may make.
    #[rustfmt::skip] // one rule a line
    pub const CALLS: &[CallRule] = &[
        // connections
        always("read", libc::SYS_read, Allow, "data"),
        always("write", libc::SYS_write, Allow, "data"),
        always("writev", libc::SYS_writev, Allow, "data"),
        always("recvfrom", libc::SYS_recvfrom, Allow, "data"),
        always("sendto", libc::SYS_sendto, Allow, "data"),
        always("accept4", libc::SYS_accept4, Allow, "new callers, on the sockets bound before"),
        when("socket", libc::SYS_socket, &[&[Is(0, UNIX)]], Allow, "to the worker; no Internet socket can be made"),
        always("connect", libc::SYS_connect, Allow, "to the worker"),
        always("close", libc::SYS_close, Allow, "ends"),
        always("shutdown", libc::SYS_shutdown, Allow, "ends"),
        always("getsockopt", libc::SYS_getsockopt, Allow, "errors, and who the other end is"),
        always("setsockopt", libc::SYS_setsockopt, Allow, "no delay"),
        always("epoll_pwait", libc::SYS_epoll_pwait, Allow, "waiting"),
        #[cfg(target_arch = "x86_64")]
        always("epoll_wait", libc::SYS_epoll_wait, Allow, "waiting"),
        always("epoll_ctl", libc::SYS_epoll_ctl, Allow, "waiting"),
        when("fcntl", libc::SYS_fcntl, &[&[Is(1, GET_FD)], &[Is(1, GET_FLAGS)], &[Is(1, SET_FLAGS)], &[Is(1, DUPLICATE)]], Allow,
            "sockets that do not block, copies of descriptors"),
        // files, which Landlock bounds
        always("openat", libc::SYS_openat, Allow, "audit log, configuration"),
        always("statx", libc::SYS_statx, Allow, "owner, mode, size, change"),
        always("newfstatat", libc::SYS_newfstatat, Allow, "the same"),
        always("fstat", libc::SYS_fstat, Allow, "the same"),
        always("readlinkat", libc::SYS_readlinkat, Allow, "links on the way to the worker's socket"),
        #[cfg(target_arch = "x86_64")]
        always("readlink", libc::SYS_readlink, Allow, "the same"),
        always("getcwd", libc::SYS_getcwd, Allow, "where settings name a path from here"),
        always("fdatasync", libc::SYS_fdatasync, Allow, "what is written stays written"),
        always("ftruncate", libc::SYS_ftruncate, Allow, "a torn last line"),
        always("renameat", libc::SYS_renameat, Allow, "the log is rotated"),
        always("renameat2", libc::SYS_renameat2, Allow, "the same"),
        #[cfg(target_arch = "x86_64")]
        always("rename", libc::SYS_rename, Allow, "the same"),
        always("unlinkat", libc::SYS_unlinkat, Allow, "the oldest log goes"),
        #[cfg(target_arch = "x86_64")]
        always("unlink", libc::SYS_unlink, Allow, "the same"),
        always("getdents64", libc::SYS_getdents64, Allow, "which logs there are"),
        // memory
        when("mmap", libc::SYS_mmap, &[&[Bits(2, EXEC, 0)]], Allow, "memory that is never code"),
        when("mprotect", libc::SYS_mprotect, &[&[Bits(2, EXEC, 0)]], Allow, "the same"),
        always("munmap", libc::SYS_munmap, Allow, "memory"),
        always("mremap", libc::SYS_mremap, Allow, "memory"),
        always("madvise", libc::SYS_madvise, Allow, "memory"),
        always("brk", libc::SYS_brk, Allow, "memory"),
        // time; there is no way to a second thread
        always("futex", libc::SYS_futex, Allow, "locks"),
        when("prctl", libc::SYS_prctl, &[&[Is(0, NAME_MEMORY)]], Allow, "names of memory"),
        always("clock_gettime", libc::SYS_clock_gettime, Allow, "time, where it is not read without a call"),
        always("restart_syscall", libc::SYS_restart_syscall, Allow, "a sleep goes on after a signal"),
        always("getrandom", libc::SYS_getrandom, Allow, "ids"),
        always("getpid", libc::SYS_getpid, Allow, "itself"),
        always("gettid", libc::SYS_gettid, Allow, "itself"),
        always("geteuid", libc::SYS_geteuid, Allow, "itself"),
        always("prlimit64", libc::SYS_prlimit64, Allow, "its own limits; raising one needs a capability, another process is out of reach"),
        // signals and the end
        always("rt_sigaction", libc::SYS_rt_sigaction, Allow, "signals"),
        always("rt_sigprocmask", libc::SYS_rt_sigprocmask, Allow, "signals"),
        always("rt_sigreturn", libc::SYS_rt_sigreturn, Allow, "signals"),
        always("sigaltstack", libc::SYS_sigaltstack, Allow, "the end of a thread"),
        always("tgkill", libc::SYS_tgkill, Allow, "abort; Landlock keeps it inside"),
        always("exit_group", libc::SYS_exit_group, Allow, "the end"),
    ];

    pub(super) fn enter(options: &Options, walls: &mut Walls) -> io::Result<()> {
        crate::capabilities::drop_all()?;
        walls.note("no-capabilities", true);
        let domain = if abi() > 0 { Some(domain(options)?) } else { None };
        walls::enter(walls, domain)
    }

    fn domain(options: &Options) -> io::Result<Domain> {
        let domain = Domain::closed()?.paths(PATHS);
        let domain = options.write.iter().fold(domain, |domain, folder| domain.path(folder, Write));
        let domain = options.read.iter().fold(domain, |domain, path| domain.path(path, Open));
        // Folders of sockets, since what starts again makes another socket.
        let domain = folders(&options.own_sockets).fold(domain, |domain, folder| domain.path(folder, Remove));
        Ok(folders(&options.connect).fold(domain, |domain, folder| domain.path(folder, Connect)))
    }

    fn folders(sockets: &[PathBuf]) -> impl Iterator<Item = &Path> {
        sockets.iter().filter_map(|socket| socket.parent())
    }

    pub(super) fn filter(beyond: Beyond, walls: &mut Walls) -> io::Result<()> {
        let otherwise = if beyond == Beyond::Kill { Otherwise::Kill } else { Otherwise::Refuse };
        Filters::compile(CALLS, otherwise)?.apply_to_all_threads()?;
        // That no further filter can be made shows that the list is on; with `Kill` the question itself would end us.
        walls.note("seccomp", true);
        Ok(())
    }
}
