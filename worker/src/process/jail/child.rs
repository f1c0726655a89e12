//! What stands between the fork and the exec of a program. Each step that fails ends the start; none is skipped.

use super::super::record::{Record, Stage};
use super::init::Prepared;
use super::{Ends, at};
use musegate_sandbox_profiles::descriptors::{close_all_on_exec, set_standard};
use musegate_sandbox_profiles::fork::Failed;
use musegate_sandbox_profiles::signals;
use rlimit::Resource;
use std::convert::Infallible;
use std::ffi::{CStr, OsStr};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Becomes the program. Returns only when a step fails.
pub(super) fn become_program(prepared: &Prepared<'_>, record: &Record, ends: &Ends) -> Failed {
    match confine(prepared, record, ends).and_then(|()| exec(record)) {
        Ok(never) => match never {},
        Err(failed) => failed,
    }
}

/// All that holds the program.
pub(super) fn confine(prepared: &Prepared<'_>, record: &Record, ends: &Ends) -> Result<(), Failed> {
    at(Stage::Signals, nix::unistd::setsid())?;
    #[cfg(target_os = "linux")]
    at(Stage::Signals, nix::sys::prctl::set_pdeathsig(nix::sys::signal::Signal::SIGKILL))?;
    at(Stage::Descriptors, set_standard(&ends.stdin, 0))?;
    at(Stage::Descriptors, set_standard(&ends.stdout, 1))?;
    at(Stage::Descriptors, set_standard(&ends.stderr, 2))?;
    at(Stage::Folder, nix::unistd::chdir(record.cwd.as_c_str()))?;
    at(Stage::Limits, limit(record))?;
    at(Stage::Signals, signals::all_default())?;
    at(Stage::Descriptors, close_all_on_exec())?;
    apply(prepared, record)
}

/// System calls are filtered already.
#[cfg(target_os = "linux")]
fn apply(prepared: &Prepared<'_>, record: &Record) -> Result<(), Failed> {
    at(Stage::Landlock, prepared.walls.enter(path(&record.scratch), path(&record.program)))
}

/// Seatbelt sees real paths only.
#[cfg(not(target_os = "linux"))]
fn apply(prepared: &Prepared<'_>, record: &Record) -> Result<(), Failed> {
    use musegate_sandbox_profiles::seatbelt::{Profile, real};
    let Some(options) = &prepared.means.seatbelt else { return Ok(()) };
    let (scratch, program) = (real(path(&record.scratch)), real(path(&record.program)));
    at(Stage::Seatbelt, Profile::muse(options, &scratch, &program).apply())
}

fn path(text: &CStr) -> &Path {
    Path::new(OsStr::from_bytes(text.to_bytes()))
}

fn exec(record: &Record) -> Result<Infallible, Failed> {
    at(Stage::Exec, nix::unistd::execve(&record.program, &record.argv, &record.env))
}

/// Never above what was inherited, so that no privilege is needed.
fn limit(record: &Record) -> io::Result<()> {
    let limits = &record.limits;
    let mut wanted = vec![
        (Resource::CORE, 0),
        (Resource::CPU, limits.cpu_seconds),
        (Resource::FSIZE, limits.file_bytes),
        (Resource::NOFILE, limits.open_files),
    ];
    wanted.extend(limits.processes.map(|most| (Resource::NPROC, most)));
    for (resource, most) in wanted {
        let (_, hard) = resource.get()?;
        let most = most.min(hard);
        resource.set(most, most)?;
    }
    Ok(())
}
