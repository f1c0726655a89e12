//! Removal in the background.
//!
//! One thread, started when there is first something to do, that empties `.trash` and sleeps again. It works in short
//! bursts, so that a job's leftovers do not take the processor from the next job. It also looks again after folders
//! whose jobs were still dying when the worker started. Its death or absence costs disk space, nothing else: the next
//! start's sweep begins where it ended.

use super::base::Shared;
use super::sweep::{Fate, SweepReport, judge};
use super::{erase, starts};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

/// Entries removed between two rests.
const BURST: u32 = 256;
/// First and longest wait before it looks again after a job that would not die.
const FIRST_LOOK: Duration = Duration::from_millis(100);
const LAST_LOOK: Duration = Duration::from_secs(10);

/// Owner of `.trash`.
#[derive(Debug)]
pub(super) struct Remover {
    trash: OwnedFd,
    desk: Arc<Desk>,
}

#[derive(Debug, Default)]
struct Desk {
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
    /// Not all folders of the base have been judged yet.
    unjudged: bool,
    not_before: Option<Instant>,
    /// Folders whose locks were held at the start, by jobs of an earlier worker.
    late: Vec<String>,
}

impl Desk {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'s>(&self, state: MutexGuard<'s, State>, longest: Duration) -> MutexGuard<'s, State> {
        self.changed.wait_timeout(state, longest).unwrap_or_else(PoisonError::into_inner).0
    }
}

impl Remover {
    pub(super) fn new(trash: OwnedFd) -> Self {
        Self { trash, desk: Arc::default() }
    }

    pub(super) fn trash(&self) -> BorrowedFd<'_> {
        self.trash.as_fd()
    }

    /// Nothing is removed for so long.
    pub(super) fn put_off(&self, time: Duration) {
        self.desk.state().not_before = Some(Instant::now() + time);
    }

    /// Waits until nothing is wanted, at most so long; no rests meanwhile.
    pub(super) fn settle(&self, longest: Duration) -> bool {
        let end = Instant::now() + longest;
        let mut state = self.desk.state();
        state.hurry = true;
        while state.running && (state.wanted || state.busy) {
            let now = Instant::now();
            let left = end.saturating_duration_since(now);
            if left.is_zero() || state.not_before.is_some_and(|due| due > now) {
                break;
            }
            state = self.desk.wait(state, left);
        }
        state.hurry = false;
        !(state.wanted || state.busy)
    }
}

impl Shared {
    /// There is something in `.trash`.
    pub(super) fn wake(self: &Arc<Self>) {
        self.tell(|state| state.wanted = true);
    }

    /// Not all folders of the base have been judged.
    pub(super) fn judge_rest(self: &Arc<Self>) {
        self.tell(|state| (state.wanted, state.unjudged) = (true, true));
    }

    /// These folders will be orphans soon.
    pub(super) fn watch(self: &Arc<Self>, late: Vec<String>) {
        self.tell(|state| state.late.extend(late));
    }

    fn tell(self: &Arc<Self>, what: impl FnOnce(&mut State)) {
        let desk = &self.remover.desk;
        let mut state = desk.state();
        what(&mut state);
        if !state.running {
            let (base, desk) = (Arc::downgrade(self), Arc::clone(desk));
            let thread = std::thread::Builder::new().name("scratch-trash".into());
            state.running = thread.spawn(move || work(&base, &desk)).is_ok();
        }
        drop(state);
        desk.changed.notify_all();
    }
}

impl Drop for Remover {
    fn drop(&mut self) {
        self.desk.state().closed = true;
        self.desk.changed.notify_all();
    }
}

fn work(base: &Weak<Shared>, desk: &Desk) {
    let mut look = FIRST_LOOK;
    let mut state = desk.state();
    loop {
        state = match wait(desk, state, look) {
            Some(state) => state,
            None => return,
        };
        let mut late = std::mem::take(&mut state.late);
        let unjudged = std::mem::take(&mut state.unjudged);
        look = if state.wanted { FIRST_LOOK } else { LAST_LOOK.min(look * 2) };
        state.wanted = false;
        state.busy = true;
        drop(state);
        let Some(base) = base.upgrade() else { return };
        late.retain(|name| judge(&base, name) == Fate::Live);
        if unjudged {
            base.judge_all(None, &mut SweepReport::default(), &mut late);
        }
        if empty(&base, desk) {
            starts::end(base.dir());
        }
        drop(base);
        state = desk.state();
        state.late.extend(late);
        state.busy = false;
        desk.changed.notify_all();
    }
}

/// Waits until there is something to do, or it is time to look again. `None`: the base is closed.
fn wait<'s>(desk: &Desk, mut state: MutexGuard<'s, State>, look: Duration) -> Option<MutexGuard<'s, State>> {
    let looked = Instant::now();
    loop {
        if state.closed {
            return None;
        }
        let now = Instant::now();
        let due = if state.wanted {
            state.not_before.unwrap_or(now)
        } else if state.late.is_empty() {
            now + Duration::from_secs(3600)
        } else {
            (looked + look).max(state.not_before.unwrap_or(now))
        };
        if due <= now {
            return Some(state);
        }
        state = desk.wait(state, due - now);
    }
}

/// Whether it came to the end.
fn empty(base: &Shared, desk: &Desk) -> bool {
    let mut burst = 0;
    let mut began = Instant::now();
    let erased = erase::empty(base.remover.trash(), &mut || {
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
    erased.finished
}
