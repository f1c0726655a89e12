//! The time that Tasks carry. Never goes back, so that "newest status first" is the order in which things happened.

use crate::a2a::Timestamp;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

#[derive(Debug, Default)]
pub(super) struct Clock(AtomicU64);

impl Clock {
    pub(super) fn now(&self) -> Timestamp {
        let wall = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let wall = u64::try_from(wall.as_millis()).unwrap_or(u64::MAX);
        Timestamp(Duration::from_millis(self.0.fetch_max(wall, Ordering::Relaxed).max(wall)))
    }
}
