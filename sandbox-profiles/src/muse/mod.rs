//! The profile of a job: what Muse, and whatever a prompt makes of it, can reach. Data, with a reason beside each rule.
//!
//! Promises: files only by Landlock's list, TCP only to named ports, signals only inside the job, system calls without
//! the ones below. Refuses to promise that no new code runs: a dynamic loader runs any file that can be read.

mod calls;
mod paths;

pub use calls::{CALLS, NEW_CODE, SOCKETS, SOCKETS_WITH_UDP};
pub use paths::PATHS;

use crate::landlock::Access::{Execute, List, Read};
use crate::landlock::{Access, Domain, Udp};
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
    filters: Filters,
}

impl Profile {
    /// Opens the paths and compiles the filters. `landlock`: whether this machine has enough of it.
    ///
    /// # Errors
    /// An architecture without filters, or no Landlock where it was said that there is.
    pub fn prepare(options: &Options, landlock: bool) -> io::Result<Self> {
        let domain = if landlock { Some(domain(options)?) } else { None };
        Ok(Self { domain, filters: Filters::compile(&calls(options), Otherwise::Allow)? })
    }

    /// Confines files, ports and signals of this process. Only `scratch` can be written.
    ///
    /// # Errors
    /// As landlock_restrict_self(2).
    pub fn enter_landlock(&self, scratch: &Path, program: &Path) -> io::Result<()> {
        // Its own entry in /proc is another one for each process.
        let own = (Path::new("/proc/self"), Read);
        let also = [(scratch, Access::Write), (program, Execute), own];
        self.domain.as_ref().map_or(Ok(()), |domain| domain.enter(&also))
    }

    /// Filters the system calls of this process.
    ///
    /// # Errors
    /// As seccomp(2).
    pub fn enter_seccomp(&self) -> io::Result<()> {
        self.filters.apply()
    }
}

fn domain(options: &Options) -> io::Result<Domain> {
    let mut domain = Domain::closed()?.paths(PATHS);
    for path in &options.read {
        domain = domain.path(path, Read);
    }
    for path in &options.exec {
        domain = domain.path(path, Execute);
    }
    if options.list_folders {
        domain = domain.path("/", List);
    }
    Ok(domain.connect(&options.connect, if options.udp { Udp::Open } else { Udp::Closed }))
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
