//! The process that runs Muse: slots, scratch folders, process groups, limits, redaction. Listens on a Unix socket only.
//!
//! A job's way through the rooms: `greet` (who connects), `session` (frames, in their legal order), `worker` (a slot),
//! `job` (prompt, limits, verdict), `scratch` (its folder), `backend` (Muse's command line and its lines), `process`
//! (started, confined, ended), `redact` (before anything leaves), `link` (credit, and back to the supervisor).

mod agent;
pub mod backend;
pub mod config;
mod greet;
pub mod job;
mod link;
pub mod listen;
mod notify;
mod pipe;
pub mod process;
pub mod redact;
pub mod scratch;
mod serve;
mod session;
mod start;
mod walls;
mod worker;

pub use start::{Invocation, main, main_with};

use agent::{AgentError, Maker};
use backend::muse::{self, MuseError};
use config::Config;
use musegate_protocol::message::{InstanceId, Layer, Report, losses};
use nix::unistd::Uid;
use notify::Manager;
use process::JailCommand;
use redact::{RuleError, Rules};
use scratch::{Base, ScratchError};
use std::io;
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use zeroize::Zeroizing;

/// How long the start may be held up by what a crash left behind; the rest is removed in the background.
const SWEEP: Duration = Duration::from_secs(2);

/// Why the worker does not run.
#[derive(Debug, thiserror::Error)]
pub enum WorkerError {
    /// As uid 0, without being allowed to.
    #[error("refusing to run as root: give the worker a user of its own, or set allow_root = true")]
    Root,
    /// Its secrets cannot be looked for in answers.
    #[error("redaction: {0}")]
    Rules(#[from] RuleError),
    /// Nothing that answers, or nothing that confines it.
    #[error(transparent)]
    Agent(#[from] AgentError),
    /// No place for jobs.
    #[error(transparent)]
    Scratch(#[from] ScratchError),
    /// No credential.
    #[error("muse: {0}")]
    Key(#[from] MuseError),
    /// This machine lacks layers that hold the worker itself.
    #[error("this machine lacks {}; see docs/confinement.md, or name them in confinement.allow_weak", losses(.0))]
    Weak(Vec<Layer>),
    /// The system says no.
    #[error("{what}: {error}")]
    Os {
        /// What was attempted.
        what: &'static str,
        /// Why not.
        error: io::Error,
    },
}

/// A worker behind its walls: all is opened that it may open, and no job was heard of.
pub(crate) struct Ready {
    config: Config,
    listener: UnixListener,
    jail: JailCommand,
    base: Base,
    key: Option<Arc<Zeroizing<String>>>,
    own: Report,
}

impl Ready {
    /// Opens what it needs and locks this process in, which must have one thread. `socket`: the name to take away later.
    pub(crate) fn make(
        config: Config,
        listener: UnixListener,
        jail: JailCommand,
        socket: Option<&Path>,
    ) -> Result<Self, WorkerError> {
        let key = muse::read_key(&config.muse)?;
        let base = Base::open(&config.jobs.scratch)?;
        let own = walls::stand_behind(&config, &jail, &base, socket)?;
        Ok(Self { config, listener, jail, base, key, own })
    }
}

/// Runs a worker until `shutdown`, then drains it.
///
/// # Errors
/// [`WorkerError`]: it did not start, and nothing is left of the attempt.
pub(crate) async fn run(ready: Ready, shutdown: impl Future<Output = ()>) -> Result<(), WorkerError> {
    let os = |what| move |error| WorkerError::Os { what, error };
    let Ready { config, listener, jail, base, key, own } = ready;
    let uid = Uid::effective().as_raw();
    let supervisor = config.socket.supervisor.unwrap_or(uid);
    listener.set_nonblocking(true).map_err(os("the socket"))?;
    let listener = tokio::net::UnixListener::from_std(listener).map_err(os("the socket"))?;

    let secrets: Vec<_> = key.iter().map(|key| key.as_ref().clone()).collect();
    let rules = Arc::new(Rules::new(&secrets, &config.redact)?);
    let swept = base.sweep(SWEEP);
    tracing::info!(?swept, "scratch folders of earlier jobs");

    let maker = Maker::new(config.clone(), jail, key);
    let agent = maker.make(&base).await?;
    tracing::info!(backend = agent.muse.label(), version = agent.muse.version(), "muse found");

    let instance = InstanceId(random().map_err(os("random bytes"))?);
    let separate = supervisor != uid;
    let scratch = base.clone();
    let parts = worker::Parts { config, base, rules, maker, agent, instance, separate, own };
    let worker = Arc::new(worker::Worker::new(parts));
    worker.say_layers();
    let manager = Manager::from_environment();
    manager.ready();
    serve::serve(worker, listener, supervisor, &manager, shutdown).await;
    if !scratch.settle(SWEEP) {
        tracing::warn!("not all that jobs left is removed yet; the next start goes on with it");
    }
    tracing::info!("stopped");
    Ok(())
}

/// What a worker with these settings would find here.
#[derive(Clone, Debug)]
pub struct Examined {
    /// `muse`, `echo` or `stub`.
    pub backend: &'static str,
    /// What its `--version` said.
    pub version: String,
    /// Which layers hold its jobs.
    pub report: Report,
}

/// Looks for everything that a worker needs, as its start does, and starts none.
///
/// # Errors
/// [`WorkerError`]: the first thing that would keep it from starting.
pub async fn examine(config: &Config, jail: JailCommand) -> Result<Examined, WorkerError> {
    let key = muse::read_key(&config.muse)?;
    let base = Base::open(&config.jobs.scratch)?;
    let agent = Maker::new(config.clone(), jail, key).make(&base).await?;
    let (backend, version) = (agent.muse.label(), agent.muse.version().to_owned());
    Ok(Examined { backend, version, report: agent.jail.report() })
}

fn random() -> io::Result<[u8; 16]> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(io::Error::other)?;
    Ok(bytes)
}
