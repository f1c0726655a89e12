//! Removal in the background.
//!
//! One thread, started when there is first something to do, that empties `.trash` and sleeps again. It works in short
//! bursts, so that a job's leftovers do not take the processor from the next job. Its death or absence costs disk
//! space, nothing else: the next start's sweep begins where it ended.

use super::erase;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Entries removed between two rests.
const BURST: u32 = 256;

/// Owner of `.trash`.
#[derive(Debug)]
pub(super) struct Remover {
    desk: Arc<Desk>,
}

#[derive(Debug)]
struct Desk {
    trash: OwnedFd,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    running: bool,
    wanted: bool,
    busy: bool,
    hurry: bool,
    closed: bool,
}

impl Desk {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Remover {
    pub(super) fn new(trash: OwnedFd) -> Self {
        Self { desk: Arc::new(Desk { trash, state: Mutex::default(), changed: Condvar::new() }) }
    }

    pub(super) fn trash(&self) -> BorrowedFd<'_> {
        self.desk.trash.as_fd()
    }

    /// There is something in `.trash`.
    pub(super) fn wake(&self) {
        let mut state = self.desk.state();
        state.wanted = true;
        if !state.running {
            let desk = Arc::clone(&self.desk);
            state.running = std::thread::Builder::new().name("scratch-trash".into()).spawn(move || work(&desk)).is_ok();
        }
        drop(state);
        self.desk.changed.notify_all();
    }

    /// Waits until nothing is wanted, at most so long; no rests meanwhile.
    pub(super) fn settle(&self, longest: Duration) -> bool {
        let end = Instant::now() + longest;
        let mut state = self.desk.state();
        state.hurry = true;
        while state.running && (state.wanted || state.busy) {
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            state = self.desk.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        state.hurry = false;
        !(state.wanted || state.busy)
    }
}

impl Drop for Remover {
    fn drop(&mut self) {
        self.desk.state().closed = true;
        self.desk.changed.notify_all();
    }
}

fn work(desk: &Desk) {
    let mut state = desk.state();
    loop {
        while !state.wanted && !state.closed {
            state = desk.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        if state.closed {
            return;
        }
        state.wanted = false;
        state.busy = true;
        drop(state);
        empty(desk);
        state = desk.state();
        state.busy = false;
        desk.changed.notify_all();
    }
}

fn empty(desk: &Desk) {
    let mut burst = 0;
    let mut began = Instant::now();
    erase::empty(desk.trash.as_fd(), &mut || {
        burst += 1;
        if burst < BURST {
            return true;
        }
        burst = 0;
        let state = desk.state();
        if state.closed {
            return false;
        }
        if !state.hurry {
            drop(state);
            std::thread::sleep(began.elapsed());
        }
        began = Instant::now();
        true
    });
}
