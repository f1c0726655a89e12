//! The profile of a job: what Muse, and whatever a prompt makes of it, can reach. Data, with a reason beside each rule.
//!
//! Promises: files only by Landlock's list, TCP only to named ports, signals only inside the job, system calls without
//! the ones below. Refuses to promise that no new code runs: a dynamic loader runs any file that can be read.

mod calls;
mod paths;

pub use calls::{CALLS, NEW_CODE, SOCKETS, SOCKETS_WITH_UDP};
pub use paths::PATHS;

use crate::landlock::Access::{Execute, List, Read};
use crate::landlock::{Access, Domain, Rules, Udp};
use crate::seccomp::{CallRule, Filters, Otherwise};
use std::io;
use std::path::{Path, PathBuf};

/// What differs from machine to machine.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Files and folders to read, beside [`PATHS`].
    pub read: Vec<PathBuf>,
    /// Files and folders to execute.
    pub exec: Vec<PathBuf>,
    /// TCP ports to connect to.
    pub connect: Vec<u16>,
    /// Whether UDP sockets may be made, for names to be asked for. Before Landlock's ABI 10 nothing bounds where they
    /// send.
    pub udp: bool,
    /// Whether memfd_create may be called, which makes code out of memory.
    pub memfd: bool,
    /// Whether every folder may be listed, for a program that opens the ancestors of its own. Names, no contents.
    pub list_folders: bool,
}

/// The profile, prepared once and applied to each job.
#[derive(Debug)]
pub struct Profile {
    domain: Option<Domain>,
    shared: Filters,
    own: Filters,
}

impl Profile {
    /// Opens the paths and compiles the filters. `landlock`: whether this machine has enough of it.
    ///
    /// # Errors
    /// An architecture without filters, or no Landlock where it was said that there is.
    pub fn prepare(options: &Options, landlock: bool) -> io::Result<Self> {
        let domain = if landlock { Some(domain(options)?) } else { None };
        let (own, shared): (Vec<_>, Vec<_>) =
            calls(options).into_iter().partition(|rule| STARTERS.contains(&rule.call.name));
        let shared = Filters::compile(&shared, Otherwise::Allow)?;
        Ok(Self { domain, shared, own: Filters::compile_inside(&own, Otherwise::Allow)? })
    }

    /// Makes the rules for one job, ahead of time.
    ///
    /// # Errors
    /// As landlock_add_rule(2).
    pub fn for_one_job(&self) -> io::Result<Walls<'_>> {
        let Some(domain) = &self.domain else { return Ok(Walls(None)) };
        Ok(Walls(Some((domain, domain.rules()?))))
    }

    /// Filters the system calls of the process that starts jobs, which they all inherit: everything but what such a
    /// process needs itself. Once, because the kernel compiles a filter each time that it is applied.
    ///
    /// # Errors
    /// As seccomp(2).
    pub fn enter_shared_seccomp(&self) -> io::Result<()> {
        self.shared.apply()
    }

    /// Filters the rest of the system calls of a job, in the process that will be its parent.
    ///
    /// # Errors
    /// As seccomp(2).
    pub fn enter_own_seccomp(&self) -> io::Result<()> {
        self.own.apply()
    }
}

/// What confines the files, ports and signals of one job. Empty where it was said that there is no Landlock.
#[derive(Debug)]
pub struct Walls<'a>(Option<(&'a Domain, Rules)>);

impl Walls<'_> {
    /// Confines this process. Only `scratch` can be written.
    ///
    /// # Errors
    /// As landlock_restrict_self(2).
    pub fn enter(&self, scratch: &Path, program: &Path) -> io::Result<()> {
        let Some((domain, rules)) = &self.0 else { return Ok(()) };
        // Its own entry in /proc is another one for each process.
        let own = (Path::new("/proc/self"), Read);
        rules.enter(domain, &[(scratch, Access::Write), (program, Execute), own])
    }
}

/// Calls whose rules the process that starts jobs would break: it begins new namespaces.
const STARTERS: [&str; 1] = ["clone"];

fn domain(options: &Options) -> io::Result<Domain> {
    Ok(with_options(Domain::closed()?.paths(PATHS), options))
}

/// What the options add, also to the domain of the worker, which a job inherits.
pub(crate) fn with_options(mut domain: Domain, options: &Options) -> Domain {
    for path in &options.read {
        domain = domain.path(path, Read);
    }
    for path in &options.exec {
        domain = domain.path(path, Execute);
    }
    if options.list_folders {
        domain = domain.path("/", List);
    }
    domain.connect(&options.connect, if options.udp { Udp::Open } else { Udp::Closed })
}

/// The rules about system calls that these options come to.
#[must_use]
pub fn calls(options: &Options) -> Vec<CallRule> {
    let mut rules = CALLS.to_vec();
    rules.extend_from_slice(if options.udp { SOCKETS_WITH_UDP } else { SOCKETS });
    if !options.memfd {
        rules.extend_from_slice(NEW_CODE);
    }
    rules
}
