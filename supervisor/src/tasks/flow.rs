//! When the worker may send more of a job: what was taken in is paid back as credit.
//!
//! Promises: what is kept is paid back at once; what is only passing is paid back when every reader in pieces has it, so
//! that a reader that stalls stops the child that writes for it, and nobody else. Never pays back more than was spent.
//! Refuses to know: texts, readers, sockets.

use musegate_protocol::message::INITIAL_CREDIT;
use std::collections::VecDeque;

/// Credit goes back in amounts of at least this, bytes: a frame per delta would double the traffic.
const BATCH: u32 = INITIAL_CREDIT / 4;

/// The open account of one job.
#[derive(Debug, Default)]
pub(super) struct Flow {
    owed: u32,
    /// Frames that are not paid yet: where their text ends, and what they cost.
    waiting: VecDeque<(u64, u32)>,
}

impl Flow {
    /// A frame whose content stays, or is of no use to anybody.
    pub(super) fn settled(&mut self, cost: u32) {
        self.owed = self.owed.saturating_add(cost);
    }

    /// A frame whose text, up to this offset, is passing.
    pub(super) fn passing(&mut self, end: u64, cost: u32) {
        self.waiting.push_back((end, cost));
    }

    /// Every reader in pieces has the text up to this offset.
    pub(super) fn taken(&mut self, upto: u64) {
        while self.waiting.front().is_some_and(|(end, _)| *end <= upto) {
            let cost = self.waiting.pop_front().map_or(0, |(_, cost)| cost);
            self.owed = self.owed.saturating_add(cost);
        }
    }

    /// Whether a reader is being waited for.
    pub(super) fn is_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// What to pay back now, if it is worth a frame.
    pub(super) fn due(&mut self) -> Option<u32> {
        (self.owed >= BATCH).then(|| std::mem::take(&mut self.owed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credit_goes_back_in_batches_and_never_more_than_was_spent() {
        let mut flow = Flow::default();
        let (mut spent, mut paid) = (0u64, 0u64);
        for n in 0..10_000u64 {
            let cost = 65 + u32::try_from(n % 977).unwrap();
            spent += u64::from(cost);
            if n % 3 == 0 {
                flow.settled(cost)
            } else {
                flow.passing(n, cost)
            }
            flow.taken(n.saturating_sub(20));
            if let Some(due) = flow.due() {
                assert!(due >= BATCH);
                paid += u64::from(due);
            }
            assert!(paid <= spent);
            assert!(spent - paid <= u64::from(BATCH) + 21 * 1_042, "the worker would starve");
        }
        assert!(flow.is_waiting());
        flow.taken(u64::MAX);
        assert!(!flow.is_waiting());
    }
}
