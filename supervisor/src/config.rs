//! What an operator may set for the supervisor: every key once, with its default, its range and a sentence.
//!
//! Promises: a wrong file yields all of its problems; relative paths mean the folder of the file; an address beyond
//! loopback needs a second setting. Refuses to know the model, any key to it, or how Muse is started: no key here can
//! hold one, and a test reads the whole list to make sure.

mod agent;
mod keep;
mod listen;
mod push;
#[cfg(test)]
mod tests;

pub use agent::{Agent, CardAccess, CardForm, Skill};
pub use keep::{Audit, Jobs, OnFull, Tasks, Unicode, WorkerLink};
pub use listen::Listen;
pub use push::Push;

use crate::walls::Confinement;
use musegate_settings::{Declared, Problems, Settings};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

/// Longest file of settings, bytes.
pub const MAX_FILE: u64 = 1024 * 1024;

/// Everything that `supervisor.toml` says.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// Folder of the file; relative paths were resolved against it.
    pub folder: PathBuf,
    /// Whether it may run as uid 0. It then says so in its log.
    pub allow_root: bool,
    /// Where and how to listen.
    pub listen: Listen,
    /// What the card says.
    pub agent: Agent,
    /// Declared skills, at least one.
    pub skills: Vec<Skill>,
    /// Who may call, and how often in total.
    pub callers: Callers,
    /// Slots and the busy answer.
    pub jobs: Jobs,
    /// How to reach the worker.
    pub worker: WorkerLink,
    /// What is kept of Tasks and conversations.
    pub tasks: Tasks,
    /// What happens to unusual code points.
    pub unicode: Unicode,
    /// Where an operator is told how things stand.
    pub operator: PathBuf,
    /// Push notifications.
    pub push: Push,
    /// The audit trail.
    pub audit: Audit,
    /// Logs.
    pub log: musegate_logs::Bounds,
    /// The supervisor's own confinement.
    pub confinement: Confinement,
}

/// Section `[callers]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Callers {
    /// The file of callers and token digests.
    pub file: PathBuf,
    /// Requests per minute of all callers together; 0: no bound.
    pub rate_per_minute: u32,
    /// Failed logins per minute and address before they are answered 429; 0: never.
    pub failed_logins_per_minute: u32,
}

impl Config {
    /// From the text of `supervisor.toml`.
    ///
    /// # Errors
    /// Every problem of the file at once.
    pub fn parse(file: &Path, text: &str) -> Result<Self, Problems> {
        let mut settings = Settings::parse(file, text);
        let folder = file.parent().map(Path::to_owned).unwrap_or_default();
        let config = Self::read(&mut settings, folder);
        settings.finish().map(|()| config)
    }

    /// The defaults, as an empty file in `folder` gives them.
    #[must_use]
    pub fn defaults(folder: &Path) -> Self {
        Self::read(&mut Settings::empty(), folder.to_owned())
    }

    /// Every key, for the commented file and docs/CONFIG.md.
    #[must_use]
    pub fn declare() -> Vec<Declared> {
        let mut settings = Settings::empty();
        let _ = Self::read(&mut settings, PathBuf::new());
        settings.declared().to_vec()
    }

    /// The addresses beyond loopback: what `main` is loud about.
    pub fn open_addresses(&self) -> impl Iterator<Item = &SocketAddr> {
        self.listen.addresses.iter().filter(|address| !address.ip().to_canonical().is_loopback())
    }

    fn read(settings: &mut Settings, folder: PathBuf) -> Self {
        let help = "whether the supervisor may run as uid 0; it has no need to";
        let allow_root = settings.top().flag("allow_root", false, help);
        Self {
            allow_root,
            listen: Listen::read(settings),
            agent: Agent::read(settings, &folder),
            skills: Skill::read_all(settings),
            callers: Callers::read(settings, &folder),
            jobs: Jobs::read(settings),
            worker: WorkerLink::read(settings, &folder),
            tasks: Tasks::read(settings),
            unicode: keep::read_unicode(settings),
            operator: read_operator(settings, &folder),
            push: Push::read(settings, &folder),
            audit: Audit::read(settings, &folder),
            log: keep::read_log(settings),
            confinement: Confinement::read(settings),
            folder,
        }
    }
}

impl Callers {
    fn read(settings: &mut Settings, folder: &Path) -> Self {
        let mut s = settings.section("callers");
        Self {
            file: path(&mut s, folder, "file", "callers.toml", "callers, their grants and the digests of their tokens"),
            rate_per_minute: narrow(s.number(
                "rate_per_minute",
                600,
                0..=1_000_000,
                "requests per minute of all callers together; 0: no bound",
            )),
            failed_logins_per_minute: narrow(s.number(
                "failed_logins_per_minute",
                30,
                0..=1_000_000,
                "failed logins per minute and address before further ones get 429; 0: never",
            )),
        }
    }
}

fn read_operator(settings: &mut Settings, folder: &Path) -> PathBuf {
    let help = "Unix socket on which `musegate status` is told how things stand; only this user and root can open it";
    path(&mut settings.section("status"), folder, "socket", "status.sock", help)
}

/// A path, relative to the folder of the file.
fn path(
    section: &mut musegate_settings::Section<'_>,
    folder: &Path,
    key: &'static str,
    default: &str,
    help: &'static str,
) -> PathBuf {
    let check = |text: &str| match text {
        "" => Err("must not be empty".to_owned()),
        text if text.contains('\0') => Err("must not hold a NUL".to_owned()),
        text => Ok(folder.join(text)),
    };
    section.text(key, Some(default), "a path, relative to this file", help, check).unwrap_or_default()
}

/// Ranges are checked before; this only changes the type.
fn narrow<T: TryFrom<u64> + Default>(number: u64) -> T {
    T::try_from(number).unwrap_or_default()
}
