//! How often each place in the program may speak: a bucket for each, and one for all.
//!
//! Promises: bounded by the number of places that log, which the program fixes; a line that is not written costs no
//! formatting. Refuses to know what is said.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tracing::callsite::Identifier;
use tracing::level_filters::LevelFilter;
use tracing::subscriber::Interest;
use tracing::{Event, Level, Metadata, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::Context;

const MINUTE: Duration = Duration::from_secs(60);
/// One place may take so much of all lines: one that is flooded leaves room for the others.
const SHARE: u32 = 4;

/// A bucket that holds so many lines, and fills again within a minute. Holds the moment at which it would be full.
#[derive(Debug)]
struct Bucket {
    full_at: Instant,
    most: u32,
}

impl Bucket {
    fn take(&mut self, now: Instant) -> bool {
        let next = self.full_at.max(now) + MINUTE / self.most;
        let fits = next <= now + MINUTE;
        if fits {
            self.full_at = next;
        }
        fits
    }
}

#[derive(Debug)]
struct Site {
    bucket: Bucket,
    place: String,
    suppressed: u64,
    since: Instant,
}

#[derive(Debug)]
struct State {
    all: Bucket,
    sites: HashMap<Identifier, Site>,
    /// What the next line says first.
    unsaid: Vec<(String, u64)>,
}

/// All places.
#[derive(Debug)]
pub(crate) struct Sites {
    of_one: u32,
    state: Mutex<State>,
}

impl Sites {
    pub(crate) fn new(per_minute: u32) -> Self {
        let most = per_minute.max(1);
        let all = Bucket { full_at: Instant::now(), most };
        let state = State { all, sites: HashMap::new(), unsaid: Vec::new() };
        Self { of_one: (most / SHARE).max(1), state: Mutex::new(state) }
    }

    /// Whether a line of this place may be written now.
    pub(crate) fn admit(&self, of: &Metadata<'_>, now: Instant) -> bool {
        let mut state = self.state();
        let State { all, sites, unsaid } = &mut *state;
        let site = sites.entry(of.callsite()).or_insert_with(|| Site {
            bucket: Bucket { full_at: now, most: self.of_one },
            place: format!("{}:{}", of.file().unwrap_or(of.target()), of.line().unwrap_or_default()),
            suppressed: 0,
            since: now,
        });
        if !site.bucket.take(now) || !all.take(now) {
            (site.suppressed, site.since) = (site.suppressed.saturating_add(1), now);
            return false;
        }
        let told = |site: &mut Site| Some((site.place.clone(), std::mem::take(&mut site.suppressed)));
        if site.suppressed > 0 {
            unsaid.extend(told(site));
        }
        // Those that have become quiet would never tell by themselves.
        let quiet = |site: &&mut Site| site.suppressed > 0 && now.duration_since(site.since) >= MINUTE;
        unsaid.extend(sites.values_mut().filter(quiet).filter_map(told));
        true
    }

    /// Lines that were not written, by place, since somebody asked.
    pub(crate) fn unsaid(&self) -> Vec<(String, u64)> {
        std::mem::take(&mut self.state().unsaid)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Our own events, down to a level, as often as they may be said.
#[derive(Debug)]
pub(crate) struct Gate {
    level: Level,
    sites: std::sync::Arc<Sites>,
}

impl Gate {
    pub(crate) fn new(level: Level, sites: std::sync::Arc<Sites>) -> Self {
        Self { level, sites }
    }

    fn ours(&self, of: &Metadata<'_>) -> bool {
        *of.level() <= self.level && of.target().starts_with("musegate")
    }
}

impl<S: Subscriber> Layer<S> for Gate {
    fn enabled(&self, of: &Metadata<'_>, _: Context<'_, S>) -> bool {
        self.ours(of)
    }

    fn register_callsite(&self, of: &'static Metadata<'static>) -> Interest {
        if self.ours(of) { Interest::always() } else { Interest::never() }
    }

    fn event_enabled(&self, event: &Event<'_>, _: Context<'_, S>) -> bool {
        self.sites.admit(event.metadata(), Instant::now())
    }

    fn max_level_hint(&self) -> Option<LevelFilter> {
        Some(LevelFilter::from_level(self.level))
    }
}
