//! Who may come in, how often, and whether a job may run now: rooms 3, 4 and 7 of a request's walk.
//!
//! Promises: an [`Admitted`] can only come from [`Admission::authenticate`], a [`Slot`] only from an [`Admitted`]; the
//! file of callers is read again without dropping a request, and a wrong one changes nothing. Refuses to know bodies,
//! dialects and Tasks.

mod callers;
#[expect(clippy::disallowed_methods, reason = "the file of callers is this room's")]
pub mod edit;
mod grant;
mod penalty;
mod rate;
mod slot;
#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests look at the files")]
mod tests;
pub mod token;
mod watch;

pub use callers::{Callers, Entry, MAX_CALLERS, MAX_FILE, MAX_TOKENS};
pub use grant::{Busy, Caller, Chunks, Grant, METHODS, OnLeave};
pub use slot::Slot;
pub use watch::watch;

use crate::config::Config;
use crate::refusal::Refusal;
use callers::Known;
use hyper::header::{AUTHORIZATION, HeaderMap};
use musegate_protocol::bounded::Label;
use musegate_settings::Problems;
use penalty::Penalties;
use rate::{Bucket, Rate};
use slot::Slots;
use std::collections::HashMap;
use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use token::Digest;

/// An authenticated request within its rate.
#[derive(Clone, Debug, PartialEq)]
pub struct Admitted {
    caller: Arc<Caller>,
    token: Label,
    peer: IpAddr,
}

impl Admitted {
    /// Who it is, with the grant of the moment of admission.
    #[must_use]
    pub const fn caller(&self) -> &Arc<Caller> {
        &self.caller
    }

    /// Name of the token that was used.
    #[must_use]
    pub const fn token(&self) -> &Label {
        &self.token
    }

    /// Where it came from.
    #[must_use]
    pub const fn peer(&self) -> IpAddr {
        self.peer
    }
}

/// The doors. One for the process.
#[derive(Debug)]
pub struct Admission {
    file: PathBuf,
    total: Rate,
    configured_slots: usize,
    inner: Mutex<Inner>,
    slots: Arc<Slots>,
}

#[derive(Debug)]
struct Inner {
    callers: Arc<Callers>,
    /// One for each caller of the file, so its size is bounded by the file.
    buckets: HashMap<Label, Bucket>,
    total: Bucket,
    penalties: Penalties,
}

impl Admission {
    /// Reads the file of callers.
    ///
    /// # Errors
    /// All problems of the file.
    pub fn new(config: &Config) -> Result<Self, Problems> {
        Ok(Self::with_callers(config, Callers::load(&config.callers.file)?))
    }

    /// With callers that were read before.
    #[must_use]
    pub fn with_callers(config: &Config, callers: Callers) -> Self {
        let now = Instant::now();
        let per_minute = config.callers.rate_per_minute;
        let inner = Inner {
            callers: Arc::new(callers),
            buckets: HashMap::new(),
            total: Bucket::full(now),
            penalties: Penalties::new(config.callers.failed_logins_per_minute, now),
        };
        let configured_slots = usize::from(config.jobs.slots);
        Self {
            file: config.callers.file.clone(),
            total: Rate { per_minute, burst: per_minute },
            configured_slots,
            inner: Mutex::new(inner),
            slots: Slots::new(configured_slots, config.jobs.max_waiting, config.jobs.busy_retry),
        }
    }

    /// Rooms 3 and 4: who is it, and is it within its rate? Takes one request from the caller's rate and the total.
    ///
    /// # Errors
    /// [`Refusal::Unauthenticated`], or [`Refusal::TooManyRequests`] over a rate or after too many failed logins.
    pub fn authenticate(&self, headers: &HeaderMap, peer: IpAddr) -> Result<Admitted, Refusal> {
        let (caller, token) = self.identify(headers, peer)?;
        let now = Instant::now();
        let rate = Rate { per_minute: caller.grant.rate_per_minute, burst: caller.grant.burst };
        let mut inner = self.inner();
        let Inner { buckets, total, .. } = &mut *inner;
        if !buckets.contains_key(&caller.name) {
            buckets.insert(caller.name.clone(), Bucket::full(now));
        }
        let too_many = |retry| Refusal::TooManyRequests { retry };
        let Some(own) = buckets.get_mut(&caller.name) else { return Err(too_many(Duration::from_secs(1))) };
        own.take(rate, now).map_err(too_many)?;
        total.take(self.total, now).map_err(|retry| {
            own.give_back(rate);
            too_many(retry)
        })?;
        drop(inner);
        Ok(Admitted { caller, token, peer })
    }

    /// Whether the request carries a token of ours, without taking anything from a rate: which card to show.
    #[must_use]
    pub fn recognises(&self, headers: &HeaderMap) -> bool {
        let Ok(Some(token)) = bearer(headers) else { return false };
        let callers = Arc::clone(&self.inner().callers);
        callers.may_be_token(token) && matches!(callers.find(&Digest::of(token), since_epoch()), Known::Yes(..))
    }

    /// Room 7: a slot at once, whatever the caller's busy answer is.
    ///
    /// # Errors
    /// [`Refusal::Busy`].
    pub fn slot(&self, admitted: &Admitted) -> Result<Slot, Refusal> {
        self.slots.take(&admitted.caller)
    }

    /// Room 7: a slot at once, or after a wait where the caller's grant says `busy = "wait"`.
    ///
    /// # Errors
    /// [`Refusal::Busy`], after the wait too.
    pub async fn wait_slot(&self, admitted: &Admitted) -> Result<Slot, Refusal> {
        self.slots.wait(&admitted.caller).await
    }

    /// How many slots are held, and how many requests wait for one.
    #[must_use]
    pub fn slots_in_use(&self) -> (usize, usize) {
        self.slots.counts()
    }

    /// The worker said how many jobs it runs at once; the smaller bound counts.
    pub fn set_worker_slots(&self, slots: u16) {
        self.slots.set_total(self.configured_slots.min(usize::from(slots)));
    }

    /// Reads the file of callers again. Requests that are inside keep the grant they came in with.
    ///
    /// # Errors
    /// All problems; the callers of before stay.
    pub fn reload(&self) -> Result<Arc<Callers>, Problems> {
        let callers = Arc::new(Callers::load(&self.file)?);
        let mut inner = self.inner();
        inner.callers = Arc::clone(&callers);
        inner.buckets.retain(|name, _| callers.callers().any(|caller| caller.name == *name));
        drop(inner);
        Ok(callers)
    }

    fn identify(&self, headers: &HeaderMap, peer: IpAddr) -> Result<(Arc<Caller>, Label), Refusal> {
        let token = match bearer(headers) {
            Ok(Some(token)) => token,
            Ok(None) => return Err(Refusal::Unauthenticated), // nothing was guessed
            Err(Malformed) => return Err(self.failed(peer)),
        };
        let callers = Arc::clone(&self.inner().callers);
        if !callers.may_be_token(token) {
            return Err(self.failed(peer));
        }
        match callers.find(&Digest::of(token), since_epoch()) {
            Known::Yes(caller, id) => Ok((caller, id)),
            Known::No | Known::Expired(_) => Err(self.failed(peer)),
        }
    }

    fn failed(&self, peer: IpAddr) -> Refusal {
        let penalties = &mut self.inner().penalties;
        match penalties.counts().then(|| penalties.failed(peer, Instant::now())) {
            None | Some(Ok(())) => Refusal::Unauthenticated,
            Some(Err(retry)) => Refusal::TooManyRequests { retry },
        }
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// More than one credential, or one of another scheme.
struct Malformed;

/// The bearer token of a request, RFC 6750 §2.1: one `Authorization`, the scheme in any case.
fn bearer(headers: &HeaderMap) -> Result<Option<&[u8]>, Malformed> {
    let mut all = headers.get_all(AUTHORIZATION).iter();
    let Some(value) = all.next() else { return Ok(None) };
    if all.next().is_some() {
        return Err(Malformed);
    }
    let (scheme, token) = value.as_bytes().split_at_checked(7).ok_or(Malformed)?;
    if scheme.eq_ignore_ascii_case(b"bearer ") { Ok(Some(token.trim_ascii())) } else { Err(Malformed) }
}

fn since_epoch() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}
