//! What answers: a Muse that was found, and the jail that may start exactly this one.
//!
//! A jail's confinement is fixed when it starts, and names the very file that it may run. So a Muse that was replaced
//! gets a jail of its own; the old one lives as long as jobs that it started.

use crate::backend::check::{self, Binary};
use crate::backend::muse::{Muse, MuseError};
use crate::config::{Config, Provider};
use crate::process::{Confinement, Jail, JailCommand, JailError};
use crate::scratch::Base;
use std::sync::Arc;
use zeroize::Zeroizing;

/// Where Meta's model is, and the names of hosts.
const PORTS: [u16; 2] = [443, 53];

/// Why there is none.
#[derive(Debug, thiserror::Error)]
pub enum AgentError {
    /// No jobs can be confined.
    #[error(transparent)]
    Jail(#[from] JailError),
    /// No Muse.
    #[error("muse: {0}")]
    Muse(#[from] MuseError),
}

/// What holds every job of this Muse.
pub(crate) fn confinement(config: &Config, binary: &Binary) -> Confinement {
    let (reach, meta) = (config.reach, config.muse.provider == Provider::Meta);
    Confinement {
        allow_weak: config.allow_weak.clone(),
        exec: vec![binary.program.clone()],
        connect_ports: if meta { PORTS.to_vec() } else { Vec::new() },
        udp: reach.names && meta,
        memfd: reach.memory_files,
        list_folders: reach.list_folders,
        ..Confinement::default()
    }
}

/// A Muse and its jail.
#[derive(Debug)]
pub(crate) struct Agent {
    pub(crate) jail: Jail,
    pub(crate) muse: Muse,
}

/// All that is needed to make one.
#[derive(Debug)]
pub(crate) struct Maker {
    config: Config,
    command: JailCommand,
    key: Option<Arc<Zeroizing<String>>>,
}

impl Maker {
    pub(crate) fn new(config: Config, command: JailCommand, key: Option<Arc<Zeroizing<String>>>) -> Self {
        Self { config, command, key }
    }

    /// Starts a jail for the Muse of the settings, and asks that Muse what it is.
    pub(crate) async fn make(&self, base: &Base) -> Result<Agent, AgentError> {
        let settings = &self.config.muse;
        let binary = check::judge(&settings.path).map_err(MuseError::from)?;
        let confinement = confinement(&self.config, &binary);
        let jail = Jail::start(&self.command, confinement).await?;
        let muse = Muse::find(settings, binary, self.key.clone(), &jail, base).await?;
        Ok(Agent { jail, muse })
    }
}
