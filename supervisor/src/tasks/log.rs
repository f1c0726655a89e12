//! The story of one Task: marks (statuses, progress, whole artifacts) and the answer's text, append-only, read by any
//! number of readers, each with its own [`Cursor`].
//!
//! Promises: every reader hears the same marks in the same order, and the same text between them, whenever it comes and
//! however often it goes and comes back with the cursor of the last event it got. Nothing is copied or rebuilt when text
//! is appended. Of progress only the latest is kept ([`MAX_PROGRESS`]); everything else stays as long as the Task.
//! Refuses to know: who reads, over what, and what any of it looks like on the wire.

use super::rope::{Found, Rope, clip};
use crate::a2a::{Artifact, Content, Cursor, Event, Progress, Status, TaskState};
use bytes::Bytes;
use std::collections::VecDeque;
use std::sync::Arc;

/// Progress that is kept of one Task: when twice as much has come, the older half is dropped.
pub const MAX_PROGRESS: usize = 512;
/// Most text of one [`Event::Chunk`], bytes.
pub const MAX_CHUNK: usize = 64 * 1024;

/// How much of the answer a reader hears before it is complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Pace {
    /// Nothing: the answer is one artifact at the end.
    Whole,
    /// Whole lines.
    Lines,
    /// Everything at once.
    Raw,
}

/// What a reader finds.
#[derive(Debug)]
pub(super) enum Next {
    /// An event, and the cursor behind it.
    Event(Cursor, Event),
    /// Nothing new.
    Nothing,
    /// What comes next is no longer kept.
    Lost,
}

#[derive(Debug)]
enum What {
    Status {
        status: Status,
        progress: Option<Progress>,
    },
    /// The answer. `chunked`: a reader in pieces has had it as text.
    Answer {
        artifact: Arc<Artifact>,
        chunked: bool,
        last: bool,
    },
    Artifact {
        artifact: Arc<Artifact>,
        last: bool,
    },
}

#[derive(Debug)]
struct Mark {
    number: u32,
    generation: u32,
    /// Bytes of the answer that come before it, and of its whole lines.
    at: u64,
    at_line: u64,
    what: What,
}

/// See the head of this file.
#[derive(Debug, Default)]
pub(super) struct Log {
    marks: VecDeque<Mark>,
    next: u32,
    progress: usize,
    generation: u32,
    rope: Rope,
    /// The whole answer, once it is complete; then the rope's kept text is gone.
    sealed: Option<Arc<Artifact>>,
    /// Readers in pieces wait until it is known what this text is.
    held: bool,
}

impl Log {
    /// The cursor of a reader that has heard all marks and no text.
    pub(super) fn cursor(&self) -> Cursor {
        Cursor { generation: self.generation, marks: self.next, bytes: 0 }
    }

    pub(super) fn rope(&self) -> &Rope {
        &self.rope
    }

    pub(super) fn rope_mut(&mut self) -> &mut Rope {
        &mut self.rope
    }

    /// Whether readers in pieces hear nothing yet.
    pub(super) fn hold(&mut self, held: bool) {
        self.held = held;
    }

    /// A new answer begins and replaces what was said.
    pub(super) fn restart(&mut self) {
        self.generation = self.generation.saturating_add(1);
        self.rope = Rope::default();
        self.sealed = None;
        self.held = false;
    }

    /// A new status, or progress within one.
    pub(super) fn status(&mut self, status: Status, progress: Option<Progress>) {
        self.progress = self.progress.saturating_add(usize::from(progress.is_some()));
        self.mark(What::Status { status, progress });
        if self.progress >= MAX_PROGRESS.saturating_mul(2) {
            self.drop_old_progress();
        }
    }

    /// The answer is complete. `chunked`: it is plain text, the same that readers in pieces hear.
    pub(super) fn answer(&mut self, artifact: Arc<Artifact>, chunked: bool, last: bool) {
        self.held = !chunked;
        self.sealed = Some(Arc::clone(&artifact));
        self.rope.seal(chunked);
        self.mark(What::Answer { artifact, chunked, last });
    }

    /// A further artifact.
    pub(super) fn artifact(&mut self, artifact: Arc<Artifact>, last: bool) {
        self.mark(What::Artifact { artifact, last });
    }

    /// Whether a reader that comes back with this cursor hears the rest without a gap.
    pub(super) fn can_resume(&self, at: Cursor, pace: Pace) -> bool {
        if at.marks > self.next || at.generation > self.generation {
            return false;
        }
        let at = self.present(at);
        pace == Pace::Whole || (self.held && at == 0) || self.has_from(at)
    }

    /// Whether there is something for a reader at this cursor.
    pub(super) fn is_ahead(&self, at: Cursor, pace: Pace) -> bool {
        at.marks < self.next || (pace != Pace::Whole && self.sayable(at, pace).is_some())
    }

    /// What comes next for a reader at this cursor.
    pub(super) fn next(&self, at: Cursor, pace: Pace) -> Next {
        let mark = self.mark_from(at.marks);
        match mark {
            Some(mark) if pace == Pace::Whole => mark.say(Cursor { bytes: mark.bytes_after(at), ..at }),
            Some(mark) if mark.generation != self.generation => {
                mark.say(Cursor { bytes: if at.generation == mark.generation { at.bytes } else { 0 }, ..at })
            }
            _ if pace == Pace::Whole => Next::Nothing,
            _ => self.next_in_pieces(at, mark, pace),
        }
    }

    fn next_in_pieces(&self, at: Cursor, mark: Option<&Mark>, pace: Pace) -> Next {
        let here = self.present(at);
        let Some(until) = self.sayable(at, pace) else {
            return match mark {
                Some(mark) => mark.say_to_pieces(Cursor { bytes: here, ..at }),
                None => Next::Nothing,
            };
        };
        let most = usize::try_from(until.saturating_sub(here)).unwrap_or(MAX_CHUNK).min(MAX_CHUNK);
        let Found::Text(text) = self.read(here, most) else { return Next::Lost };
        let bytes = here.saturating_add(text.len() as u64);
        let (mut marks, mut last) = (at.marks, false);
        if let Some(Mark { number, at, what: What::Answer { .. }, .. }) = mark {
            last = bytes >= *at;
            marks = if last { number.saturating_add(1) } else { marks };
        }
        let cursor = Cursor { generation: self.generation, marks, bytes };
        Next::Event(cursor, Event::Chunk { text, append: here > 0, last })
    }

    /// Up to where a reader in pieces may hear text now; `None`: nothing before the next mark, or at all.
    fn sayable(&self, at: Cursor, pace: Pace) -> Option<u64> {
        let here = self.present(at);
        let until = match self.mark_from(at.marks) {
            Some(mark) if mark.generation != self.generation => return None,
            Some(mark) if pace == Pace::Lines => mark.at_line,
            Some(mark) => mark.at,
            None if pace == Pace::Lines => self.rope.line_end(),
            None => self.rope.end(),
        };
        (!self.held && until > here).then_some(until)
    }

    /// Bytes of the present answer that a reader has.
    pub(super) fn present(&self, at: Cursor) -> u64 {
        if at.generation == self.generation { at.bytes } else { 0 }
    }

    fn read(&self, at: u64, max: usize) -> Found {
        match self.sealed.as_deref().and_then(plain_text) {
            Some(text) if at < self.rope.kept_end() => {
                let rest = usize::try_from(at).ok().and_then(|at| text.get(at..)).filter(|rest| !rest.is_empty());
                rest.map_or(Found::Lost, |rest| Found::Text(Bytes::copy_from_slice(clip(rest.as_bytes(), max))))
            }
            _ => self.rope.read(at, max),
        }
    }

    fn has_from(&self, at: u64) -> bool {
        if self.sealed.is_none() || at >= self.rope.kept_end() {
            return self.rope.has_from(at);
        }
        self.rope.has_from(self.rope.kept_end()) && matches!(self.read(at, 4), Found::Text(_))
    }

    fn mark(&mut self, what: What) {
        let at = self.rope.end();
        let complete = match &what {
            What::Status { status, .. } => status.state.is_terminal() || status.state.is_interrupted(),
            What::Answer { .. } | What::Artifact { .. } => true,
        };
        let at_line = if complete { at } else { self.rope.line_end() };
        self.marks.push_back(Mark { number: self.next, generation: self.generation, at, at_line, what });
        self.next = self.next.saturating_add(1);
    }

    fn mark_from(&self, number: u32) -> Option<&Mark> {
        self.marks.get(self.marks.partition_point(|mark| mark.number < number))
    }

    fn drop_old_progress(&mut self) {
        let mut surplus = self.progress.saturating_sub(MAX_PROGRESS);
        self.progress = self.progress.saturating_sub(surplus);
        self.marks.retain(|mark| {
            let drop = surplus > 0 && matches!(mark.what, What::Status { progress: Some(_), .. });
            surplus = surplus.saturating_sub(usize::from(drop));
            !drop
        });
    }
}

impl Mark {
    /// Bytes that a reader of whole answers has had when it has heard this mark.
    fn bytes_after(&self, at: Cursor) -> u64 {
        match self.what {
            What::Answer { .. } => self.at,
            _ if at.generation == self.generation => at.bytes,
            _ => 0,
        }
    }

    fn say(&self, at: Cursor) -> Next {
        let cursor = Cursor { generation: self.generation, marks: self.number.saturating_add(1), bytes: at.bytes };
        let event = match &self.what {
            What::Status { status, progress } => {
                let last = status.state.is_terminal();
                Event::Status { status: status.clone(), progress: progress.clone(), last }
            }
            What::Answer { artifact, last, .. } | What::Artifact { artifact, last } => {
                Event::Artifact { artifact: Arc::clone(artifact), last: *last }
            }
        };
        Next::Event(cursor, event)
    }

    /// A reader in pieces that has the whole text hears only that it was the whole text.
    fn say_to_pieces(&self, at: Cursor) -> Next {
        match self.what {
            What::Answer { chunked: true, .. } => {
                let cursor =
                    Cursor { generation: self.generation, marks: self.number.saturating_add(1), bytes: at.bytes };
                Next::Event(cursor, Event::Chunk { text: Bytes::new(), append: at.bytes > 0, last: true })
            }
            What::Answer { .. } => self.say(Cursor { bytes: self.at, ..at }),
            _ => self.say(at),
        }
    }
}

/// The text of an answer that is one plain text.
pub(super) fn plain_text(artifact: &Artifact) -> Option<&str> {
    match artifact.parts.as_slice() {
        [part] => match &part.content {
            Content::Text(text) => Some(text),
            _ => None,
        },
        _ => None,
    }
}

/// Whether a stream of this kind of reader ends with a state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Until {
    /// When nothing can follow.
    Terminal,
    /// Also when the Task waits for the client, spec §11.7.
    Interrupted,
}

impl Until {
    /// Whether a stream ends with this state.
    #[must_use]
    pub const fn ends_with(self, state: TaskState) -> bool {
        state.is_terminal() || (matches!(self, Self::Interrupted) && state.is_interrupted())
    }
}

#[cfg(test)]
mod tests;
