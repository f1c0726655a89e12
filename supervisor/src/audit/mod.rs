//! The audit trail: JSON lines, metadata only, chained, one record for each admitted request.
//!
//! Promises: a [`Record`] is written exactly once, by its own drop; a trail that cannot be written follows the stated
//! policy (`on_full`) and is never silent: requests are refused, or the log says so and the trail later says how many
//! records are missing. Refuses to know texts: no field can hold one.

#[expect(clippy::disallowed_methods, reason = "the key's file is this room's")]
mod keys;
mod record;
#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests look at the files")]
mod tests;
#[expect(clippy::disallowed_methods, reason = "the trail's files are this room's")]
mod trail;
#[expect(clippy::disallowed_methods, reason = "the trail's files are this room's")]
mod verify;

pub use keys::{Digester, KeyError};
pub use record::{Record, Verdict};
pub use verify::{Damage, Line, Verified, read, show, verify};

use crate::admission::Admitted;
use crate::config::{self, OnFull};
use crate::refusal::Refusal;
use keys::Keys;
use serde::Serialize;
use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use trail::Trail;

/// What is said while the trail cannot be written and the policy is to refuse.
pub const UNWRITABLE: Refusal =
    Refusal::Unavailable { retry: Duration::from_secs(10), why: "its audit trail cannot be written" };

/// Why there is no trail.
#[derive(Debug, thiserror::Error)]
pub enum AuditError {
    /// Its key.
    #[error("audit: {0}")]
    Key(#[from] KeyError),
    /// Its file.
    #[error("audit: {}: {error}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
}

/// The trail. Clones are the same trail.
#[derive(Clone, Debug)]
pub struct Audit(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    keys: Keys,
    on_full: OnFull,
    inner: Mutex<Inner>,
}

#[derive(Debug)]
struct Inner {
    trail: Trail,
    buffer: Vec<u8>,
    failing: bool,
    tally: BTreeMap<&'static str, u64>,
}

/// A record that is about the trail or the process.
#[derive(Serialize)]
struct Note<'a> {
    kind: &'static str,
    time: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    build: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    previous: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    torn_bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    refusals: Option<&'a BTreeMap<&'static str, u64>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pushes: Option<&'a BTreeMap<&'static str, u64>>,
}

impl Audit {
    /// Goes on with the trail, or begins it. Writes a `begin` record.
    ///
    /// # Errors
    /// [`AuditError`]: the key or the file cannot be used. There is no running without a trail.
    pub fn open(config: &config::Audit) -> Result<Self, AuditError> {
        let keys = Keys::open(&config.key_file)?;
        let file_error = |error| AuditError::File { path: config.file.clone(), error };
        let keep = usize::try_from(config.keep).unwrap_or(usize::MAX);
        let (mut trail, torn) = Trail::open(keys.clone(), &config.file, config.max_bytes, keep).map_err(file_error)?;
        let begin = Note {
            kind: "begin",
            build: Some(env!("CARGO_PKG_VERSION")),
            previous: Some(trail.link_hex()),
            torn_bytes: (torn > 0).then_some(torn),
            ..Note::new()
        };
        let line = serde_json::to_vec(&begin).map_err(io::Error::from).map_err(file_error)?;
        trail.write(&line).map_err(file_error)?;
        trail.tell("the audit trail goes on");
        let inner = Inner { trail, buffer: Vec::with_capacity(1024), failing: false, tally: BTreeMap::new() };
        Ok(Self(Arc::new(Shared { keys, on_full: config.on_full, inner: Mutex::new(inner) })))
    }

    /// Begins the record of an admitted request.
    ///
    /// # Errors
    /// [`Refusal::Unavailable`] while the trail cannot be written and the policy is to refuse.
    pub fn begin(&self, admitted: &Admitted) -> Result<Record, Refusal> {
        let mut inner = self.inner();
        if inner.failing {
            inner.retry();
            if inner.failing && self.0.on_full == OnFull::Refuse {
                return Err(UNWRITABLE);
            }
        }
        drop(inner);
        Ok(Record::new(self.clone(), admitted, now()))
    }

    /// Counts a refusal of somebody who was not admitted. The counts are written in sum by [`Audit::flush`].
    pub fn count(&self, refusal: &Refusal) {
        *self.inner().tally.entry(refusal.row().word).or_default() += 1;
    }

    /// Writes what became of push notifications since the last time, by words.
    pub fn pushes(&self, counts: &BTreeMap<&'static str, u64>) {
        if !counts.is_empty() {
            self.write(&Note { kind: "pushes", pushes: Some(counts), ..Note::new() });
        }
    }

    /// Writes counts and whatever waits. To be called now and then, so that a quiet time does not hold them back.
    pub fn flush(&self) {
        let mut inner = self.inner();
        inner.flush_tally();
        if inner.failing {
            inner.retry();
        }
    }

    /// The last words of a process that stops: counts, an `end` record, and everything on the disk.
    pub fn end(&self) {
        let mut inner = self.inner();
        inner.flush_tally();
        inner.write(&Note { kind: "end", ..Note::new() });
        if let Err(error) = inner.trail.sync() {
            tracing::error!(%error, "the audit trail could not be synchronised to the disk");
        }
        inner.trail.tell("the audit trail rests");
    }

    /// Whether the trail cannot be written at the moment.
    #[must_use]
    pub fn failing(&self) -> bool {
        self.inner().failing
    }

    /// For the digest of a text, under the trail's key.
    #[must_use]
    pub fn digester(&self) -> Digester {
        self.0.keys.digester()
    }

    fn write(&self, record: &impl Serialize) {
        self.inner().write(record);
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.0.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inner {
    fn write(&mut self, record: &impl Serialize) {
        let mut buffer = std::mem::take(&mut self.buffer);
        buffer.clear();
        let written = serde_json::to_writer(&mut buffer, record).map_err(io::Error::from);
        let written = written.and_then(|()| self.trail.write(&buffer));
        self.buffer = buffer;
        self.note(written);
    }

    fn retry(&mut self) {
        let caught_up = self.trail.catch_up();
        self.note(caught_up);
    }

    /// Says so once when it fails, and once when it works again.
    fn note(&mut self, written: io::Result<()>) {
        match written {
            Ok(()) if self.failing => {
                self.failing = self.trail.behind();
                tracing::warn!("the audit trail can be written again");
            }
            Ok(()) => {}
            Err(error) if !self.failing => {
                self.failing = true;
                tracing::error!(%error, "the audit trail cannot be written");
            }
            Err(_) => {}
        }
    }

    fn flush_tally(&mut self) {
        if self.tally.is_empty() {
            return;
        }
        let tally = std::mem::take(&mut self.tally);
        self.write(&Note { kind: "refusals", refusals: Some(&tally), ..Note::new() });
    }
}

impl Note<'_> {
    fn new() -> Self {
        Self {
            kind: "",
            time: crate::stamp::show(now()),
            build: None,
            previous: None,
            torn_bytes: None,
            refusals: None,
            pushes: None,
        }
    }
}

fn now() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}
