//! What holds on this machine, found by doing it in a throw-away child, never by asking for a version alone.

use super::super::record::Setup;
use super::tree::Kill;
use super::{ALL_NAMESPACES, init, verify};
use musegate_protocol::message::{Layer, Report};
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
    #[cfg(target_os = "linux")]
    pub(super) profile: musegate_sandbox_profiles::muse::Profile,
    /// `None`: this Mac cannot apply a profile.
    #[cfg(not(target_os = "linux"))]
    pub(super) seatbelt: Option<musegate_sandbox_profiles::seatbelt::Options>,
}

/// Tries everything that the setup wants.
pub(super) fn try_all(alone: &SingleThreaded, setup: &Setup) -> io::Result<(Means, Report)> {
    let mut means = Means::none(setup)?;
    #[cfg(target_os = "linux")]
    means.profile.enter_shared_seccomp()?;
    let pid_namespace = setup.kill.pid_namespace && means.with_pid_namespace() && kills(alone, &means);
    means.without_kill();
    let landlock = setup.kill.landlock && means.with_scope() && kills(alone, &means);
    means.without_kill();
    if pid_namespace {
        means.with_pid_namespace();
    }
    if landlock {
        means.with_scope();
    }
    let mut report = Report { landlock_abi: abi(), ..Report::default() };
    let mut note = |layer, held| {
        let set = if held { &mut report.holds } else { &mut report.lacks };
        *set = set.with(layer);
    };
    note(Layer::ResourceLimits, true);
    note(Layer::ClosedDescriptors, true);
    if cfg!(target_os = "linux") {
        note(Layer::KillByPidNamespace, pid_namespace);
        note(Layer::KillByLandlock, landlock);
        note(Layer::UserNamespace, pid_namespace);
        note(Layer::IpcNamespace, pid_namespace);
    }
    let held = verify::held(alone, &means);
    for layer in verify::LAYERS {
        note(layer, held.has(layer));
    }
    #[cfg(not(target_os = "linux"))]
    if !held.has(Layer::Seatbelt) {
        means.seatbelt = None;
    }
    Ok((means, report))
}

#[cfg(target_os = "linux")]
fn abi() -> u8 {
    musegate_sandbox_profiles::landlock::abi()
}

#[cfg(not(target_os = "linux"))]
fn abi() -> u8 {
    0
}

impl Means {
    /// Everything but a sound way to kill.
    fn none(setup: &Setup) -> io::Result<Self> {
        #[cfg(target_os = "linux")]
        let profile = {
            use musegate_sandbox_profiles::{landlock, muse};
            let options = muse::Options {
                read: setup.read.clone(),
                exec: setup.exec.clone(),
                connect: setup.ports.clone(),
                udp: setup.udp,
                memfd: setup.memfd,
                list_folders: setup.list_folders,
            };
            muse::Profile::prepare(&options, landlock::abi() > 0)?
        };
        #[cfg(not(target_os = "linux"))]
        let seatbelt = Some(musegate_sandbox_profiles::seatbelt::Options {
            read: setup.read.clone(),
            exec: setup.exec.clone(),
            connect: setup.ports.clone(),
            names: setup.udp,
        });
        Ok(Self {
            namespaces: Namespaces::default(),
            kill: Kill::Listed,
            #[cfg(target_os = "linux")]
            ids: musegate_sandbox_profiles::namespaces::Ids::current(),
            #[cfg(target_os = "linux")]
            scope: None,
            #[cfg(target_os = "linux")]
            profile,
            #[cfg(not(target_os = "linux"))]
            seatbelt,
        })
    }

    fn without_kill(&mut self) {
        self.namespaces = Namespaces::default();
        self.kill = Kill::Listed;
        #[cfg(target_os = "linux")]
        {
            self.scope = None;
        }
    }

    /// Whether this system has such a thing at all.
    fn with_pid_namespace(&mut self) -> bool {
        if cfg!(target_os = "linux") {
            self.namespaces = ALL_NAMESPACES;
            self.kill = Kill::Bounded;
        }
        cfg!(target_os = "linux")
    }

    /// Whether this system has such a thing at all.
    fn with_scope(&mut self) -> bool {
        #[cfg(target_os = "linux")]
        if let Ok(scope) = musegate_sandbox_profiles::landlock::SignalScope::new() {
            self.scope = Some(scope);
            self.kill = Kill::Bounded;
            return true;
        }
        false
    }
}

/// Whether a job-init with these means kills a process that has left its group and session, and nothing else.
fn kills(alone: &SingleThreaded, means: &Means) -> bool {
    let init = |alone: &SingleThreaded| {
        if means.kill != Kill::Bounded || init::prepare(means).is_err() {
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
