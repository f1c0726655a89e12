//! How long one connection lives: until a deadline, or until the process stops.

use super::bell::{Ear, Phase};
use super::deadline::{Activity, Deadlines};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::Context;
use std::time::Duration;
use tokio::task::coop::unconstrained;
use tokio::time::{Instant, Sleep};

/// How long a connection that is over its deadline has to close by itself.
const FAREWELL: Duration = Duration::from_millis(250);

/// What a connection is to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// Go on.
    Wait,
    /// Finish what runs, then close.
    Leave,
    /// Close at once.
    End,
}

/// One connection's. Asked each time that the connection has done what it could.
#[derive(Debug)]
pub(super) struct Life {
    activity: Arc<Activity>,
    deadlines: Deadlines,
    ear: Ear,
    alarm: Pin<Box<Sleep>>,
    draining: bool,
    late: bool,
    armed: bool,
}

impl Life {
    pub(super) fn new(activity: Arc<Activity>, deadlines: Deadlines, ear: Ear) -> Self {
        let alarm = Box::pin(tokio::time::sleep(deadlines.round()));
        Self { activity, deadlines, ear, alarm, draining: false, late: false, armed: false }
    }

    /// [`Next::Leave`] comes once for a stop and once for a deadline; [`Next::End`] follows by itself.
    pub(super) fn next(&mut self, cx: &mut Context<'_>) -> Next {
        match self.ear.phase(cx) {
            Phase::Open => {}
            Phase::Draining if self.draining => {}
            Phase::Draining => {
                self.draining = true;
                return Next::Leave;
            }
            Phase::Over => return Next::End,
        }
        if self.late {
            return if self.rings(cx) { Next::End } else { Next::Wait };
        }
        let mut due = self.activity.look(&self.deadlines, false).map(Instant::from_std);
        // What the connection has just done may have made its deadline an earlier one.
        if let Some(due) = due.filter(|due| *due < self.alarm.deadline()) {
            self.set(due);
        }
        while self.rings(cx) {
            due = self.activity.look(&self.deadlines, true).map(Instant::from_std);
            let now = Instant::now();
            if due.is_some_and(|due| due <= now) {
                self.late = true;
                self.set(now + FAREWELL);
                return Next::Leave;
            }
            self.set(due.unwrap_or_else(|| now + self.deadlines.round()));
        }
        Next::Wait
    }

    fn set(&mut self, deadline: Instant) {
        self.alarm.as_mut().reset(deadline);
        self.armed = false;
    }

    /// An alarm that has been asked before wakes the connection by itself; asking again would only cost time.
    fn rings(&mut self, cx: &mut Context<'_>) -> bool {
        if self.armed && !self.alarm.is_elapsed() {
            return false;
        }
        self.armed = true;
        // Without a budget: a poll that is put off would leave nobody to wake us.
        pin!(unconstrained(self.alarm.as_mut())).poll(cx).is_ready()
    }
}
