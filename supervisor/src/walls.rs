//! The walls around the supervisor itself: what it locks itself into before it hears of a request.
//!
//! Promises: from then on it can serve, append to its audit trail, read its callers again, connect to its worker and,
//! where push is on, to its pusher, and no more; a system call beyond its list ends it; what holds is what was tried, and a layer that this machine lacks
//! ends the start unless the settings excuse it. Refuses to know requests.

use crate::config::Config;
use musegate_protocol::message::{Layer, Layers, Report, losses};
use musegate_sandbox_profiles::fork::SingleThreaded;
use musegate_sandbox_profiles::supervisor::{self, Beyond, Options};
use musegate_settings::{Section, Settings};
use std::io;
use std::path::{Path, PathBuf};

/// Section `[confinement]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Confinement {
    /// Layers that may be missing on this machine.
    pub allow_weak: Vec<Layer>,
    /// What becomes of a system call that is not on the list.
    pub beyond: Beyond,
}

impl Confinement {
    pub(crate) fn read(settings: &mut Settings) -> Self {
        let mut s = settings.section("confinement");
        Self { allow_weak: allow_weak(&mut s), beyond: beyond(&mut s) }
    }
}

fn allow_weak(section: &mut Section<'_>) -> Vec<Layer> {
    let known = |text: &str| Layer::of_word(text).ok_or_else(|| "is no layer, see docs/confinement.md".to_owned());
    section.list(
        "allow_weak",
        &[],
        "words of the layers, see docs/confinement.md",
        "layers of the supervisor's own confinement that may be missing here; it refuses to start without the others",
        known,
    )
}

fn beyond(section: &mut Section<'_>) -> Beyond {
    let words = [("kill", Beyond::Kill), ("refuse", Beyond::Refuse)];
    let help = "what happens at a system call that is not on the supervisor's list: it dies, or the call fails";
    section.word("unknown_calls", Beyond::Kill, &words, help)
}

/// Why it does not start.
#[derive(Debug, thiserror::Error)]
pub enum WallsError {
    /// A layer that this machine has cannot be applied.
    #[error("its own confinement: {0}")]
    Io(#[from] io::Error),
    /// This machine lacks layers.
    #[error("this machine lacks {}; see docs/confinement.md, or name them in confinement.allow_weak", losses(.0))]
    Weak(Vec<Layer>),
}

/// Locks this process, for ever. For a process of one thread, whose sockets and files are open by now.
///
/// # Errors
/// [`WallsError`].
pub fn stand_behind(config: &Config) -> Result<Report, WallsError> {
    // Landlock binds this thread and those that it starts.
    SingleThreaded::prove()?;
    let walls = supervisor::lock_down_before_runtime(&options(config))?;
    let report = |walls: &musegate_sandbox_profiles::Walls| Report {
        holds: Layers::of_words(&walls.holds),
        lacks: Layers::of_words(&walls.lacks),
        landlock_abi: walls.landlock_abi,
    };
    // Said before the list of calls is on: there is no way to lack that.
    match report(&walls).missing(&config.confinement.allow_weak) {
        missing if missing.is_empty() => {}
        missing => return Err(WallsError::Weak(missing)),
    }
    let last = supervisor::lock_down_after_runtime(config.confinement.beyond)?;
    Ok(report(&walls.and(last)))
}

/// Into the log.
pub(crate) fn say(report: &Report) {
    let words = |layers: Layers| layers.iter().map(Layer::word).collect::<Vec<_>>().join(" ");
    tracing::info!(holds = words(report.holds), lacks = words(report.lacks), "confinement of this supervisor");
}

fn options(config: &Config) -> Options {
    // A changed file of callers is another file under the same name, also where that name is a link.
    let real = config.callers.file.canonicalize().ok();
    let pusher = config.push.enabled.then_some(&config.push.socket);
    Options {
        write: vec![folder(&config.audit.file)],
        read: [folder(&config.callers.file)].into_iter().chain(real.as_deref().map(folder)).collect(),
        own_sockets: vec![absolute(&config.operator)],
        connect: [&config.worker.socket].into_iter().chain(pusher).map(|path| absolute(path)).collect(),
    }
}

fn folder(file: &Path) -> PathBuf {
    absolute(file).parent().unwrap_or(Path::new("/")).to_owned()
}

fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}
