//! Telling every connection that the process stops.
//!
//! Promises: a connection asks at the cost of reading one number; it is woken when the number changes. The usual
//! channels take a lock each time that somebody asks, which every request would pay.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Waker};

/// Where a stop stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// Serving.
    Open,
    /// Finishing what runs.
    Draining,
    /// Ending at once.
    Over,
}

/// Rung at each change of phase.
#[derive(Debug, Default)]
pub(super) struct Bell {
    phase: AtomicU8,
    listeners: Mutex<Listeners>,
}

#[derive(Debug, Default)]
struct Listeners {
    next: u64,
    wakers: HashMap<u64, Waker>,
}

/// One connection's ear.
#[derive(Debug)]
pub(super) struct Ear {
    bell: Arc<Bell>,
    number: Option<u64>,
}

impl Bell {
    /// The next phase begins; everybody is woken.
    pub(super) fn ring(&self, phase: Phase) {
        self.phase.store(phase as u8, Ordering::Release);
        let wakers = std::mem::take(&mut self.listeners().wakers);
        wakers.into_values().for_each(Waker::wake);
    }

    pub(super) fn ear(self: &Arc<Self>) -> Ear {
        Ear { bell: Arc::clone(self), number: None }
    }

    fn phase(&self) -> Phase {
        match self.phase.load(Ordering::Acquire) {
            0 => Phase::Open,
            1 => Phase::Draining,
            _ => Phase::Over,
        }
    }

    fn listeners(&self) -> MutexGuard<'_, Listeners> {
        self.listeners.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Ear {
    /// The phase; whoever asked last is woken at the next one. To be asked from one task only.
    pub(super) fn phase(&mut self, cx: &Context<'_>) -> Phase {
        let phase = self.bell.phase();
        match (phase, self.number) {
            (Phase::Open, Some(_)) | (Phase::Over, _) => phase,
            _ => self.listen(cx),
        }
    }

    fn listen(&mut self, cx: &Context<'_>) -> Phase {
        let mut listeners = self.bell.listeners();
        let number = *self.number.get_or_insert_with(|| {
            listeners.next += 1;
            listeners.next
        });
        listeners.wakers.insert(number, cx.waker().clone());
        self.bell.phase() // once more, in case it was rung before we were listening
    }
}

impl Drop for Ear {
    fn drop(&mut self) {
        if let Some(number) = self.number {
            self.bell.listeners().wakers.remove(&number);
        }
    }
}
