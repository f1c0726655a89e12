//! The listening sockets: bound by us, or handed over by the service manager.
//!
//! Promises: nothing beyond loopback is served unless the settings say so twice, whoever bound the socket.

use crate::config::Config;
use musegate_sandbox_profiles::{ListenerError, inherited_listeners};
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use nix::sys::socket::{Backlog, listen};
use std::io;
use std::net::{SocketAddr, TcpListener};

/// What our units call the socket, and what systemd calls one without a name.
const NAMES: &[&str] = &["http", "unknown"];
/// Connections that may wait to be accepted.
const BACKLOG: i32 = 1024;
/// Descriptors beside those of connections: listeners, the worker, files, the runtime.
const OWN_DESCRIPTORS: u64 = 64;

/// Why we do not listen.
#[derive(Debug, thiserror::Error)]
pub enum BindError {
    /// The address is taken, not ours, or not allowed.
    #[error("cannot listen on {address}: {error}")]
    Bind {
        /// The address.
        address: SocketAddr,
        /// Why.
        error: io::Error,
    },
    /// A socket was handed over that the settings do not allow.
    #[error("the service manager listens on {0}, beyond loopback; if that is meant, set listen.open_to_network = true")]
    Open(SocketAddr),
    /// A socket was handed over that is not an Internet one.
    #[error("the socket of the service manager cannot be used: {0}")]
    Inherited(io::Error),
    /// What was handed over cannot be used.
    #[error(transparent)]
    Manager(#[from] ListenerError),
}

/// What the service manager holds for us, or else what the settings say.
///
/// # Errors
/// [`BindError`].
pub fn take(config: &Config) -> Result<Vec<TcpListener>, BindError> {
    let inherited = inherited_listeners(NAMES)?;
    if inherited.is_empty() {
        return bind(config);
    }
    Ok(inherited.into_iter().map(|socket| TcpListener::from(socket.fd)).collect())
}

/// Binds every address of the settings.
///
/// # Errors
/// The first that cannot be bound.
pub fn bind(config: &Config) -> Result<Vec<TcpListener>, BindError> {
    let bind = |address: &SocketAddr| {
        let bound = TcpListener::bind(address).and_then(|listener| {
            listen(&listener, Backlog::new(BACKLOG)?)?;
            Ok(listener)
        });
        bound.map_err(|error| BindError::Bind { address: *address, error })
    };
    config.listen.addresses.iter().map(bind).collect()
}

/// Checks sockets that somebody else bound, and says where each listens.
///
/// # Errors
/// [`BindError::Open`] for one beyond loopback that the settings do not allow.
pub fn check(config: &Config, listeners: &[TcpListener]) -> Result<Vec<SocketAddr>, BindError> {
    let mut bound = Vec::new();
    for listener in listeners {
        listener.set_nonblocking(true).map_err(BindError::Inherited)?;
        let address = listener.local_addr().map_err(BindError::Inherited)?;
        if !address.ip().to_canonical().is_loopback() && !config.listen.open_to_network {
            return Err(BindError::Open(address));
        }
        bound.push(address);
    }
    Ok(bound)
}

/// Asks for as many descriptors as the connections need. Returns how many there are when these are fewer.
#[must_use]
pub fn raise_descriptors(max_connections: usize) -> Option<u64> {
    let needed = OWN_DESCRIPTORS.saturating_add(u64::try_from(max_connections).unwrap_or(u64::MAX));
    let (soft, hard) = getrlimit(Resource::RLIMIT_NOFILE).ok()?;
    if soft >= needed {
        return None;
    }
    let wanted = needed.min(hard);
    let now = setrlimit(Resource::RLIMIT_NOFILE, wanted, hard).map_or(soft, |()| wanted);
    (now < needed).then_some(now)
}
