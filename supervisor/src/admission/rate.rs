//! Token buckets: so many requests at once, then so many per minute. Knows no clock and no callers.

use std::time::{Duration, Instant};

/// One bucket. Holds time instead of tokens: the moment at which it would be full again.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bucket {
    full_at: Instant,
}

/// How a bucket fills.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Rate {
    /// Per minute; 0: no bound.
    pub(super) per_minute: u32,
    /// Capacity, at least one.
    pub(super) burst: u32,
}

impl Bucket {
    /// A full one.
    pub(super) const fn full(now: Instant) -> Self {
        Self { full_at: now }
    }

    /// Takes one token.
    ///
    /// # Errors
    /// How long until there is one.
    pub(super) fn take(&mut self, rate: Rate, now: Instant) -> Result<(), Duration> {
        if rate.per_minute == 0 {
            return Ok(());
        }
        let each = Duration::from_secs(60) / rate.per_minute;
        let capacity = each.saturating_mul(rate.burst.max(1));
        let next = self.full_at.max(now) + each;
        match next.checked_duration_since(now + capacity) {
            Some(missing) if !missing.is_zero() => Err(missing),
            _ => {
                self.full_at = next;
                Ok(())
            }
        }
    }

    /// Gives one back that was taken for nothing.
    pub(super) fn give_back(&mut self, rate: Rate) {
        if let Some(each) = Duration::from_secs(60).checked_div(rate.per_minute) {
            self.full_at = self.full_at.checked_sub(each).unwrap_or(self.full_at);
        }
    }

    /// Whether it is full, so that forgetting it changes nothing.
    pub(super) fn is_full(&self, now: Instant) -> bool {
        self.full_at <= now
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RATE: Rate = Rate { per_minute: 60, burst: 3 };

    #[test]
    fn a_burst_passes_and_then_one_a_second() {
        let start = Instant::now();
        let mut bucket = Bucket::full(start);
        for _ in 0..3 {
            assert_eq!(bucket.take(RATE, start), Ok(()));
        }
        assert_eq!(bucket.take(RATE, start), Err(Duration::from_secs(1)));
        let later = start + Duration::from_millis(1500);
        assert_eq!(bucket.take(RATE, later), Ok(()));
        assert_eq!(bucket.take(RATE, later), Err(Duration::from_millis(500)));
    }

    #[test]
    fn rest_fills_it_to_the_burst_and_no_further() {
        let start = Instant::now();
        let mut bucket = Bucket::full(start);
        let later = start + Duration::from_secs(3600);
        assert!(bucket.is_full(later));
        let taken = (0..10).filter(|_| bucket.take(RATE, later).is_ok()).count();
        assert_eq!(taken, 3);
        assert!(!bucket.is_full(later) && bucket.is_full(later + Duration::from_secs(3)));
    }

    #[test]
    fn a_token_given_back_can_be_taken_again() {
        let start = Instant::now();
        let mut bucket = Bucket::full(start);
        assert_eq!((0..3).filter(|_| bucket.take(RATE, start).is_ok()).count(), 3);
        bucket.give_back(RATE);
        assert_eq!(bucket.take(RATE, start), Ok(()));
        assert!(bucket.take(RATE, start).is_err());
    }

    #[test]
    fn no_rate_is_no_bound() {
        let start = Instant::now();
        let mut bucket = Bucket::full(start);
        assert!((0..100_000).all(|_| bucket.take(Rate { per_minute: 0, burst: 1 }, start).is_ok()));
    }
}
