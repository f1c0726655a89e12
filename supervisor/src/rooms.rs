//! What a request needs on its way in, opened once at the start: guard, callers, audit, cards.

use crate::admission::Admission;
use crate::audit::{Audit, AuditError};
use crate::card::{Abilities, Cards, Signer};
use crate::config::Config;
use crate::http::guard::Guard;
use crate::push::{Pushes, SecretError};
use musegate_protocol::message::Report;
use musegate_settings::Problems;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

/// Why the supervisor does not start.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The file of callers, or that of the key of cards.
    #[error(transparent)]
    Callers(#[from] Problems),
    /// The audit trail.
    #[error(transparent)]
    Audit(#[from] AuditError),
    /// What notifications are signed with.
    #[error("push: {0}")]
    Push(#[from] SecretError),
}

/// The rooms before the dialects. Clones share them.
#[derive(Clone, Debug)]
pub struct Rooms {
    /// The settings.
    pub config: Arc<Config>,
    /// `Host`, `Origin`, and what may not stand in a URL.
    pub guard: Arc<Guard>,
    /// Callers, rates, slots.
    pub admission: Arc<Admission>,
    /// The trail.
    pub audit: Audit,
    /// Cards.
    pub cards: Arc<Cards>,
    /// Webhooks, where they are switched on.
    pub pushes: Option<Pushes>,
    /// What holds this process; nothing until its start has seen to it.
    pub walls: Report,
}

impl Rooms {
    /// `bound`: where we listen; `abilities`: what is built and switched on.
    ///
    /// # Errors
    /// [`OpenError`]: the callers or the trail cannot be used.
    pub fn open(config: Config, bound: &[SocketAddr], abilities: Abilities) -> Result<Self, OpenError> {
        let admission = Arc::new(Admission::new(&config)?);
        let audit = Audit::open(&config.audit)?;
        let pushes = if config.push.enabled { Some(Pushes::open(&config.push)?) } else { None };
        let abilities = Abilities { push: config.push.enabled, ..abilities };
        let signer = Signer::open(&config.agent)?;
        let cards = Arc::new(Cards::new(&config, bound, abilities, signer));
        let ips: Vec<IpAddr> = bound.iter().map(SocketAddr::ip).collect();
        let guard = Arc::new(Guard::new(&ips, cards.urls(), &config.listen.hosts, &config.listen.origins));
        Ok(Self { config: Arc::new(config), guard, admission, audit, cards, pushes, walls: Report::default() })
    }
}
