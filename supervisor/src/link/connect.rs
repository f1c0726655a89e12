//! Connects, and connects again: 10 ms after a loss, twice as long after each further one, at most a second, each ±20 %.
//!
//! Promises: a worker that is back is found within a second; one that closes every connection at once is not hammered;
//! a lasting cause is logged once and not at every attempt.

use super::connection::Connection;
use super::outbox::Outbox;
use super::{Spec, socket};
use musegate_protocol::message::{HelloAck, InstanceId};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::Instant;

const FIRST: Duration = Duration::from_millis(10);
const LONGEST: Duration = Duration::from_secs(1);

/// What has to run for a [`Link`](super::Link) to live.
#[derive(Debug)]
pub struct Connector {
    spec: Spec,
    outbox: Arc<Outbox>,
    connected: watch::Sender<Option<Arc<HelloAck>>>,
    us: InstanceId,
}

impl Connector {
    pub(super) fn new(spec: Spec, outbox: Arc<Outbox>, connected: watch::Sender<Option<Arc<HelloAck>>>) -> Self {
        let mut us = [0; 16];
        // Without randomness this start looks like another one; the worker only logs it.
        let _ = getrandom::fill(&mut us);
        Self { spec, outbox, connected, us: InstanceId(us) }
    }

    /// Keeps the connection, for as long as it is polled. Dropping it ends all jobs.
    pub async fn run(self) {
        let mut wait = FIRST;
        let mut said = String::new();
        loop {
            let since = Instant::now();
            let trouble = self.once().await;
            if since.elapsed() > LONGEST {
                (wait, said) = (FIRST, String::new());
            }
            if trouble != said {
                tracing::warn!(socket = %self.spec.socket.display(), trouble, "no worker");
                said = trouble;
            }
            tokio::time::sleep(jitter(wait)).await;
            wait = wait.saturating_mul(2).min(LONGEST);
        }
    }

    async fn once(&self) -> String {
        match socket::connect(&self.spec.socket, self.spec.uid).await {
            Ok(stream) => {
                let connection = Connection::new(stream, &self.outbox);
                connection.run(&self.spec, self.us, &self.connected).await.to_string()
            }
            Err(untrusted) => untrusted.to_string(),
        }
    }
}

/// Between 80 and 120 % of it.
pub(crate) fn jitter(wait: Duration) -> Duration {
    let mut byte = [128];
    let _ = getrandom::fill(&mut byte);
    let percent = 80u32.saturating_add(u32::from(byte.first().copied().unwrap_or(128)) * 40 / 255);
    wait.saturating_mul(percent) / 100
}
