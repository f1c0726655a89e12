//! Push notifications: webhooks that callers set, and what each is told. Spec: A2A 1.0.1 §4.3, §13.2; docs/push.md.
//!
//! Promises: this process opens no outward connection, the pusher does (docs/decisions/0006-push.md); a webhook is
//! refused when it is set, where its URL already shows that nothing may go there; one that is slow or gone holds up no
//! Task, no other webhook beyond its own share, and no memory beyond one body. Secrets of a webhook are in no log, no
//! audit, and never given back. Refuses to know HTTP.

mod desk;
#[expect(clippy::disallowed_methods, reason = "the key's file is this room's")]
mod keys;
mod pump;
#[cfg(test)]
mod tests;

pub use keys::{Keys, SecretError, Signer};

use crate::config;
use crate::dialect::{PushConfig, ReplyTo};
use crate::refusal::Refusal;
use crate::tasks::Subscription;
use desk::{Clerk, Desk};
use musegate_protocol::bounded::Label;
use musegate_protocol::push::MAX_SECRET;
use musegate_protocol::push::target::Target;
use pump::Pump;
use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::task::AbortHandle;

/// All webhooks. Clones are the same.
#[derive(Clone, Debug)]
pub struct Pushes(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    settings: config::Push,
    keys: Keys,
    desk: Desk,
    turns: Semaphore,
    accounts: Mutex<HashMap<Label, Account>>,
    counts: Mutex<BTreeMap<&'static str, u64>>,
    clerk: Mutex<Option<Clerk>>,
}

/// One caller's.
#[derive(Debug)]
struct Account {
    live: usize,
    turns: Arc<Semaphore>,
}

/// The right to one webhook that has something to tell.
#[derive(Debug)]
pub struct Live {
    shared: Arc<Shared>,
    caller: Label,
    turns: Arc<Semaphore>,
}

/// A webhook that is told; dropping it ends that.
#[derive(Debug)]
pub struct Told(AbortHandle);

impl Drop for Told {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Pushes {
    /// None yet. Run [`Pushes::run`] beside it.
    ///
    /// # Errors
    /// [`SecretError`]: nothing could be signed.
    pub fn open(settings: &config::Push) -> Result<Self, SecretError> {
        let keys = Keys::open(&settings.secret_file)?;
        let (desk, clerk) = Desk::new(settings.socket.clone(), settings.uid, settings.at_once);
        Ok(Self(Arc::new(Shared {
            turns: Semaphore::new(settings.at_once),
            settings: settings.clone(),
            keys,
            desk,
            accounts: Mutex::default(),
            counts: Mutex::default(),
            clerk: Mutex::new(Some(clerk)),
        })))
    }

    /// Keeps the connection to the pusher. Never returns; only the first call does anything.
    pub async fn run(&self) {
        let clerk = self.0.clerk.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(clerk) = clerk {
            clerk.run().await;
        }
        std::future::pending().await
    }

    /// Whether a webhook may be set as it is.
    ///
    /// # Errors
    /// [`Refusal::InvalidParams`] with what is wrong with it.
    pub fn check(&self, config: &PushConfig) -> Result<(), Refusal> {
        let bad = |field: &str, what: String| Refusal::InvalidParams { field: field.to_owned(), what };
        let target = Target::parse(&config.url).map_err(|why| bad("url", why.to_string()))?;
        target.judge(&self.0.settings.policy).map_err(|why| bad("url", why.to_string()))?;
        let header = |text: &str| text.len() <= MAX_SECRET && text.bytes().all(|b| b == b' ' || b.is_ascii_graphic());
        if !config.token.as_deref().is_none_or(header) {
            return Err(bad("token", "must be visible ASCII characters and spaces".to_owned()));
        }
        let Some((scheme, credentials)) = &config.authentication else { return Ok(()) };
        let token = |b: u8| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b);
        if scheme.is_empty() || !scheme.bytes().all(token) {
            return Err(bad("authentication.scheme", "must be the name of an HTTP authentication scheme".to_owned()));
        }
        let all = scheme.len().saturating_add(1).saturating_add(credentials.as_ref().map_or(0, String::len));
        if all > MAX_SECRET || !credentials.as_deref().is_none_or(header) {
            return Err(bad("authentication.credentials", "must be visible ASCII characters and spaces".to_owned()));
        }
        Ok(())
    }

    /// The right to one more webhook of this caller's.
    ///
    /// # Errors
    /// [`Refusal::Unavailable`] when as many as it may have still have something to tell.
    pub fn admit(&self, caller: &Label) -> Result<Live, Refusal> {
        let mut accounts = self.0.accounts();
        let account = accounts.entry(caller.clone()).or_insert_with(|| Account {
            live: 0,
            turns: Arc::new(Semaphore::new(self.0.settings.at_once_per_caller)),
        });
        if account.live >= self.0.settings.per_caller {
            return Err(Refusal::Unavailable {
                retry: Duration::from_secs(30),
                why: "too many webhooks of yours wait",
            });
        }
        account.live = account.live.saturating_add(1);
        Ok(Live { shared: Arc::clone(&self.0), caller: caller.clone(), turns: Arc::clone(&account.turns) })
    }

    /// Tells a webhook what its Task's story says from here on, in the shape of `reply`. The webhook has its id.
    #[must_use]
    pub fn tell(&self, live: Live, reply: ReplyTo, config: Arc<PushConfig>, story: Subscription) -> Told {
        let signer = self.0.keys.of(&live.caller);
        let pump = Pump { shared: Arc::clone(&self.0), live, reply, config, story, signer };
        Told(tokio::spawn(pump.run()).abort_handle())
    }

    /// Most webhooks of one Task.
    #[must_use]
    pub fn per_task(&self) -> usize {
        self.0.settings.per_task
    }

    /// What became of notifications since the last time, by words: `taken`, `retried`, `given_up`, `left`, `too_large`.
    #[must_use]
    pub fn take_counts(&self) -> BTreeMap<&'static str, u64> {
        std::mem::take(&mut *self.0.counts.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Webhooks that still have something to tell.
    #[must_use]
    pub fn live(&self) -> usize {
        self.0.accounts().values().map(|account| account.live).sum()
    }
}

impl Shared {
    fn accounts(&self) -> MutexGuard<'_, HashMap<Label, Account>> {
        self.accounts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn count(&self, word: &'static str) {
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        let count = counts.entry(word).or_default();
        *count = count.saturating_add(1);
    }
}

impl Live {
    fn caller(&self) -> &Label {
        &self.caller
    }

    /// This caller's turn; the semaphore is never closed.
    async fn turn(&self) -> Option<SemaphorePermit<'_>> {
        self.turns.acquire().await.ok()
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        let mut accounts = self.shared.accounts();
        if let Some(account) = accounts.get_mut(&self.caller) {
            account.live = account.live.saturating_sub(1);
            if account.live == 0 {
                accounts.remove(&self.caller);
            }
        }
    }
}
