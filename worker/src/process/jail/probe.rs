//! What holds on this machine, found by doing it in a throw-away child, never by asking for a version alone.

use super::super::record::Setup;
use super::tree::Kill;
use super::{ALL_NAMESPACES, init};
use musegate_protocol::message::{Layer, Layers, Report};
use musegate_sandbox_profiles::fork::{Namespaces, SingleThreaded, fork};
use musegate_sandbox_profiles::tree::{Waited, wait_for_any};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::io;

/// With what a job is held here.
pub(super) struct Means {
    pub(super) namespaces: Namespaces,
    pub(super) kill: Kill,
    #[cfg(target_os = "linux")]
    pub(super) ids: musegate_sandbox_profiles::namespaces::Ids,
    #[cfg(target_os = "linux")]
    pub(super) scope: Option<musegate_sandbox_profiles::landlock::SignalScope>,
}

/// Tries everything that the setup wants.
pub(super) fn try_all(alone: &SingleThreaded, setup: &Setup) -> io::Result<(Means, Report)> {
    let pid_namespace = setup.kill.pid_namespace && kills(alone, &Means::with(true, false));
    let landlock = setup.kill.landlock && Means::has_scope() && kills(alone, &Means::with(false, true));
    let mut means = Means::with(pid_namespace, landlock);
    if !pid_namespace && !landlock {
        means.kill = Kill::Listed;
    }
    let report = report(pid_namespace, landlock);
    Ok((means, report))
}

fn report(pid_namespace: bool, landlock: bool) -> Report {
    let mut holds = Layers::default().with(Layer::ResourceLimits).with(Layer::ClosedDescriptors);
    let mut lacks = Layers::default();
    let mut note = |layer, held| if held { holds = holds.with(layer) } else { lacks = lacks.with(layer) };
    note(Layer::KillByPidNamespace, pid_namespace);
    if cfg!(target_os = "linux") {
        note(Layer::KillByLandlock, landlock);
        note(Layer::NoNewPrivileges, true);
        note(Layer::NoCapabilities, true);
        note(Layer::NotDumpable, true);
        note(Layer::UserNamespace, pid_namespace);
        note(Layer::IpcNamespace, pid_namespace);
        note(Layer::LandlockScope, landlock);
    }
    Report { holds, lacks, landlock_abi: abi() }
}

#[cfg(target_os = "linux")]
fn abi() -> u8 {
    musegate_sandbox_profiles::landlock::abi()
}

#[cfg(not(target_os = "linux"))]
fn abi() -> u8 {
    0
}

#[cfg(target_os = "linux")]
impl Means {
    fn with(pid_namespace: bool, landlock: bool) -> Self {
        use musegate_sandbox_profiles::{landlock::SignalScope, namespaces::Ids};
        Self {
            namespaces: if pid_namespace { ALL_NAMESPACES } else { Namespaces::default() },
            kill: Kill::Bounded,
            ids: Ids::current(),
            scope: if landlock { SignalScope::new().ok() } else { None },
        }
    }

    fn has_scope() -> bool {
        Self::with(false, true).scope.is_some()
    }
}

#[cfg(not(target_os = "linux"))]
impl Means {
    fn with(_: bool, _: bool) -> Self {
        Self { namespaces: Namespaces::default(), kill: Kill::Listed }
    }

    fn has_scope() -> bool {
        false
    }
}

/// Whether a job-init with these means kills a process that has left its group and session, and nothing else.
fn kills(alone: &SingleThreaded, means: &Means) -> bool {
    let init = |alone: &SingleThreaded| {
        if means.kill != Kill::Bounded || init::settle_in(means).is_err() {
            return 1;
        }
        let orphan = |_: &SingleThreaded| {
            let _ = nix::unistd::setsid();
            loop {
                nix::unistd::pause();
            }
        };
        if fork(alone, Namespaces::default(), orphan).is_err() {
            return 2;
        }
        if kill(Pid::from_raw(-1), Signal::SIGKILL).is_err() {
            return 3;
        }
        let dead = matches!(wait_for_any(true), Ok(Waited::Ended(_)));
        let alone = matches!(wait_for_any(true), Ok(Waited::Childless));
        if dead && alone { 0 } else { 4 }
    };
    let Ok(child) = fork(alone, means.namespaces, init) else { return false };
    matches!(nix::sys::wait::waitpid(child, None), Ok(nix::sys::wait::WaitStatus::Exited(_, 0)))
}
