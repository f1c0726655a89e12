//! The profile of the worker. Its jobs inherit it, so that it is the union of both, and each job narrows it.
//!
//! Promises: after [`lock_down`] the worker can write its scratch folders, run the jail and Muse, take away its socket's
//! name, connect only where a job may; never read its settings or its credential again, never bind a port, never
//! signal or read other processes.

use crate::walls::{Walls, give_up_privileges};
use std::io;
use std::path::PathBuf;

/// What differs from machine to machine.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Folders that jobs live in.
    pub scratch: Vec<PathBuf>,
    /// Files that it reads while it runs, and folders of which it reads files whose names it knows.
    pub read: Vec<PathBuf>,
    /// Programs that it starts: the jail, Muse.
    pub exec: Vec<PathBuf>,
    /// Folders in which a program may be put in the place of one of these, by an update.
    pub updates: Vec<PathBuf>,
    /// The folder of its socket, whose name it takes away at the end.
    pub remove: Vec<PathBuf>,
    /// What each job may have besides.
    #[cfg(target_os = "linux")]
    pub job: crate::muse::Options,
}

/// Locks this process and all that it starts. Call it before there is a second thread, when all sockets are bound.
///
/// # Errors
/// A layer that this machine has and that cannot be applied. One that it lacks is in the answer.
pub fn lock_down(options: &Options) -> io::Result<Walls> {
    let mut walls = Walls::default();
    give_up_privileges(&mut walls)?;
    #[cfg(target_os = "linux")]
    linux::lock_down(options, &mut walls)?;
    #[cfg(not(target_os = "linux"))]
    let _ = options;
    Ok(walls)
}

#[cfg(target_os = "linux")]
pub use linux::{CALLS, PATHS};

#[cfg(target_os = "linux")]
mod linux {
    use super::Options;
    use crate::landlock::Access::{Execute, List, Open, Remove, Run, Use, Write};
    use crate::landlock::{Domain, PathRule, abi};
    use crate::muse;
    use crate::seccomp::{CallRule, Filters, Otherwise};
    use crate::walls::{Walls, enter};
    use std::io;

    const fn path(path: &'static str, access: crate::landlock::Access, why: &'static str) -> PathRule {
        PathRule { path, access, why }
    }

    /// What the worker and its jail need with files, beside what a job needs.
    #[rustfmt::skip] // one rule a line
    pub const PATHS: &[PathRule] = &[
        path("/proc", List, "the jail counts its threads; a job cannot list it"),
        path("/proc", Use, "a job-init maps its own uid, under a number that nobody knows before"),
    ];

    /// Calls of the profile of jobs that the jail needs, so that the worker's own filter must let them through.
    const THE_JAILS: [&str; 2] = ["clone", "clone3"];

    /// What is refused to the worker, and so to all that it starts.
    pub static CALLS: std::sync::LazyLock<Vec<CallRule>> = std::sync::LazyLock::new(|| {
        muse::CALLS.iter().filter(|rule| !THE_JAILS.contains(&rule.call.name)).copied().collect()
    });

    pub(super) fn lock_down(options: &Options, walls: &mut Walls) -> io::Result<()> {
        // Nothing is said of root, which keeps one: its jobs have none all the same, as the jail reports.
        if crate::capabilities::drop_all_but_for_mapping()? {
            walls.note("no-capabilities", true);
        }
        let domain = if abi() > 0 { Some(domain(options)?) } else { None };
        enter(walls, domain)?;
        Filters::compile(&CALLS, Otherwise::Allow)?.apply()?;
        walls.note("seccomp", nix::sys::prctl::get_no_new_privs()? && is_filtered());
        Ok(())
    }

    fn domain(options: &Options) -> io::Result<Domain> {
        let mut domain = muse::with_options(Domain::closed()?.paths(muse::PATHS).paths(PATHS), &options.job);
        for folder in &options.scratch {
            domain = domain.path(folder, Write);
        }
        let lists =
            [(&options.read, Open), (&options.exec, Execute), (&options.updates, Run), (&options.remove, Remove)];
        for (paths, access) in lists {
            domain = paths.iter().fold(domain, |domain, path| domain.path(path, access));
        }
        Ok(domain)
    }

    /// Tried, not believed.
    fn is_filtered() -> bool {
        let null = std::ptr::null::<libc::c_void>();
        // SAFETY: were the call let through, it would refuse these numbers without touching memory.
        let done = unsafe { libc::syscall(libc::SYS_ptrace, -1_i64, 0_i64, null, null) };
        done == -1 && nix::errno::Errno::last() == nix::errno::Errno::EPERM
    }
}
