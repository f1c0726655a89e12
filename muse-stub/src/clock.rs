//! Time: naps, deadlines, and the monotonic clock in nanoseconds that a benchmark on the same machine can compare with.

use nix::time::{ClockId, clock_gettime};
use std::time::Duration;

/// Longest life of anything that this program starts.
pub(crate) const LONGEST_LIFE: Duration = Duration::from_secs(60);

/// `CLOCK_MONOTONIC`, nanoseconds.
pub(crate) fn monotonic() -> u64 {
    clock_gettime(ClockId::CLOCK_MONOTONIC)
        .map_or(0, |now| now.tv_sec().unsigned_abs() * 1_000_000_000 + now.tv_nsec().unsigned_abs())
}

pub(crate) fn nap(millis: u64) {
    if millis > 0 {
        std::thread::sleep(Duration::from_millis(millis));
    }
}

/// Something with an end that outlives neither its time nor a fork.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Deadline(pub(crate) u64);

impl Deadline {
    pub(crate) fn after(life: Duration) -> Self {
        Self(monotonic().saturating_add(u64::try_from(life.as_nanos()).unwrap_or(u64::MAX)))
    }

    pub(crate) fn passed(self) -> bool {
        monotonic() >= self.0
    }

    /// Sleeps until then, however often it is woken.
    pub(crate) fn wait(self) {
        while !self.passed() {
            std::thread::sleep(Duration::from_nanos(self.0.saturating_sub(monotonic())));
        }
    }
}
