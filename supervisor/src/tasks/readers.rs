//! Who is attending to a Task right now: streams, and calls that wait for a turn's end.
//!
//! Promises: somebody is woken only when there is something for them; nobody who waits is forgotten. Refuses to know
//! what is done with what is heard.

use super::log::{Log, Pace};
use crate::a2a::Cursor;
use std::task::Waker;
use std::time::{Duration, Instant};

/// What somebody attends to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A stream.
    Hears(Pace),
    /// A call that is answered when this turn is over.
    Waits(u32),
}

#[derive(Debug)]
pub(super) struct Reader {
    pub(super) kind: Kind,
    pub(super) cursor: Cursor,
    /// When it last took something.
    pub(super) took: Instant,
    /// It stalled for too long and hears nothing more.
    pub(super) cut: bool,
    waker: Option<Waker>,
}

impl Reader {
    pub(super) fn wake_by(&mut self, waker: &Waker) {
        if !self.waker.as_ref().is_some_and(|known| known.will_wake(waker)) {
            self.waker = Some(waker.clone());
        }
    }

    fn in_pieces(&self) -> bool {
        matches!(self.kind, Kind::Hears(Pace::Raw | Pace::Lines)) && !self.cut
    }
}

/// All of one Task.
#[derive(Debug, Default)]
pub(super) struct Readers {
    all: Vec<Option<Reader>>,
    attached: usize,
    /// How often somebody came: tells whether anybody did during a grace.
    pub(super) comings: u64,
}

impl Readers {
    pub(super) fn add(&mut self, kind: Kind, cursor: Cursor) -> usize {
        let reader = Some(Reader { kind, cursor, took: Instant::now(), cut: false, waker: None });
        self.attached = self.attached.saturating_add(1);
        self.comings = self.comings.saturating_add(1);
        match self.all.iter_mut().enumerate().find(|(_, place)| place.is_none()) {
            Some((key, place)) => {
                *place = reader;
                key
            }
            None => {
                self.all.push(reader);
                self.all.len().saturating_sub(1)
            }
        }
    }

    pub(super) fn get_mut(&mut self, key: usize) -> Option<&mut Reader> {
        self.all.get_mut(key).and_then(Option::as_mut)
    }

    pub(super) fn remove(&mut self, key: usize) {
        if self.all.get_mut(key).and_then(Option::take).is_some() {
            self.attached = self.attached.saturating_sub(1);
        }
        if self.attached == 0 {
            self.all = Vec::new();
        }
    }

    /// Whether somebody attends to this.
    pub(super) fn any(&self, kind: impl Fn(Kind) -> bool) -> bool {
        self.all.iter().flatten().any(|reader| kind(reader.kind))
    }

    /// How many there are.
    pub(super) fn attached(&self) -> usize {
        self.attached
    }

    /// The offset up to which every reader in pieces has the present answer; none: there is no such reader.
    pub(super) fn taken(&self, log: &Log) -> Option<u64> {
        let in_pieces = self.all.iter().flatten().filter(|reader| reader.in_pieces());
        in_pieces.map(|reader| log.present(reader.cursor)).min()
    }

    /// Cuts off readers in pieces that have not taken anything for so long although there was something. Whether any was.
    pub(super) fn cut_stalled(&mut self, log: &Log, longest: Duration) -> bool {
        let mut any = false;
        for reader in self.all.iter_mut().flatten().filter(|reader| reader.in_pieces()) {
            if log.present(reader.cursor) < log.rope().end() && reader.took.elapsed() >= longest {
                reader.cut = true;
                any = true;
            }
        }
        any
    }

    /// Those who can go on. `over`: turns that are over.
    pub(super) fn woken(&mut self, log: &Log, over: u32) -> Vec<Waker> {
        let ready = |reader: &mut Reader| {
            let ready = reader.cut
                || match reader.kind {
                    Kind::Hears(pace) => log.is_ahead(reader.cursor, pace),
                    Kind::Waits(turn) => over >= turn,
                };
            if !ready || reader.waker.is_none() {
                return None;
            }
            // It had everything until now; from here on it is late.
            reader.took = Instant::now();
            reader.waker.take()
        };
        self.all.iter_mut().flatten().filter_map(ready).collect()
    }
}
