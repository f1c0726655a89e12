//! The walls around the worker itself: what it locks itself into before it hears of a job.
//!
//! Promises: from then on it can write its scratch folders, run its jail and its Muse, connect where a job may, take away
//! its socket's name, and no more; what holds is what was tried, and a layer that this machine lacks ends the start
//! unless the settings excuse it. Refuses to know what holds a job: the jail says that.

use crate::WorkerError;
use crate::agent::confinement;
use crate::backend::check;
use crate::backend::muse::MuseError;
use crate::config::Config;
use crate::process::JailCommand;
use crate::scratch::Base;
use musegate_protocol::message::{Layers, Report};
use musegate_sandbox_profiles::Walls;
use musegate_sandbox_profiles::worker::{Options, lock_down};
use std::path::{Path, PathBuf};

/// Locks this process and all that it starts. For a process of one thread, whose sockets and folders are open by now.
/// `socket`: the one whose name is ours to take away.
///
/// # Errors
/// [`WorkerError`]: there is no Muse, or a layer is missing or cannot be applied.
pub(crate) fn stand_behind(
    config: &Config,
    jail: &JailCommand,
    base: &Base,
    socket: Option<&Path>,
) -> Result<Report, WorkerError> {
    let binary = check::judge(&config.muse.path).map_err(MuseError::from)?;
    let options = Options {
        scratch: vec![base.path().to_owned()],
        read: Vec::new(),
        exec: vec![jail.program.clone(), binary.program.clone()],
        updates: binary
            .program
            .parent()
            .filter(|folder| is_of_programs(folder, config))
            .map(Path::to_owned)
            .into_iter()
            .collect(),
        remove: socket.and_then(Path::parent).map(Path::to_owned).into_iter().collect(),
        #[cfg(target_os = "linux")]
        job: {
            let job = confinement(config, &binary);
            musegate_sandbox_profiles::muse::Options {
                read: job.read,
                exec: job.exec,
                connect: job.connect_ports,
                udp: job.udp,
                memfd: job.memfd,
                list_folders: job.list_folders,
            }
        },
    };
    let walls = lock_down(&options).map_err(|error| WorkerError::Os { what: "the worker's own confinement", error })?;
    let report = report(&walls);
    match report.missing(&config.allow_weak) {
        missing if missing.is_empty() => Ok(report),
        missing => Err(WorkerError::Weak(missing)),
    }
}

/// Whether a folder holds programs, and not what must stay closed as well: then an update of Muse, which is another file
/// in its place, can be run without a restart.
fn is_of_programs(folder: &Path, config: &Config) -> bool {
    let home = nix::unistd::User::from_uid(nix::unistd::geteuid()).ok().flatten().map(|user| user.dir);
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let closed = home.iter().chain(&config.muse.api_key_file).map(|path| real(path));
    !closed.chain([PathBuf::from("/etc/ssh")]).any(|path| path.starts_with(folder))
}

fn report(walls: &Walls) -> Report {
    Report {
        holds: Layers::of_words(&walls.holds),
        lacks: Layers::of_words(&walls.lacks),
        landlock_abi: walls.landlock_abi,
    }
}
