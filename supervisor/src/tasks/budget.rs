//! How much memory the kept Tasks may use together.
//!
//! Promises: the sum of all living [`Charge`]s is what [`Budget::used`] says, and a charge gives back what it holds when
//! it goes. Refuses to know: what is kept, and what has to go when there is no room.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A number of bytes that many share.
#[derive(Debug)]
pub(super) struct Budget {
    used: AtomicU64,
    most: u64,
}

impl Budget {
    pub(super) fn new(most: u64) -> Arc<Self> {
        Arc::new(Self { used: AtomicU64::new(0), most })
    }

    pub(super) fn used(&self) -> u64 {
        self.used.load(Ordering::Relaxed)
    }

    /// Whether so much more would fit.
    pub(super) fn has_room(&self, bytes: u64) -> bool {
        self.used().saturating_add(bytes) <= self.most
    }
}

/// One holder's part of a [`Budget`].
#[derive(Debug)]
pub(super) struct Charge {
    budget: Arc<Budget>,
    bytes: u64,
}

impl Charge {
    pub(super) fn new(budget: &Arc<Budget>) -> Self {
        Self { budget: Arc::clone(budget), bytes: 0 }
    }

    /// Takes so much more, or nothing when it does not fit.
    pub(super) fn grow(&mut self, bytes: u64) -> bool {
        let fits = |used: u64| used.checked_add(bytes).filter(|sum| *sum <= self.budget.most);
        let grown = self.budget.used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, fits).is_ok();
        if grown {
            self.bytes = self.bytes.saturating_add(bytes);
        }
        grown
    }

    /// Gives so much back.
    pub(super) fn shrink(&mut self, bytes: u64) {
        let bytes = bytes.min(self.bytes);
        self.bytes = self.bytes.saturating_sub(bytes);
        self.budget.used.fetch_sub(bytes, Ordering::Relaxed);
    }

    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }
}

impl Drop for Charge {
    fn drop(&mut self) {
        self.shrink(self.bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn charges_never_exceed_the_budget_and_give_everything_back() {
        let budget = Budget::new(100);
        let mut one = Charge::new(&budget);
        let mut two = Charge::new(&budget);
        assert!(one.grow(60) && two.grow(40) && !two.grow(1));
        one.shrink(70);
        assert_eq!((one.bytes(), budget.used()), (0, 40));
        assert!(one.grow(60) && !budget.has_room(1));
        drop((one, two));
        assert_eq!(budget.used(), 0);
    }
}
