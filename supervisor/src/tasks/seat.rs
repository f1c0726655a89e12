//! A client's place at a Task: it waits for the end of a turn, or hears the story as it goes on.
//!
//! Promises: leaving never ends a job by itself; where the caller's grant says so, a grace begins when the last one has
//! left, and only if nobody came back within it is the job canceled, with its own reason. A stream that cannot go on ends
//! without a terminal event, so that its client knows that it may come back.

use super::entry::{Entry, Inner};
use super::log::{Next, Pace, Until};
use super::readers::Kind;
use super::{Shared, Tasks};
use crate::a2a::{Cursor, Event, Message, Status, Task, TaskId, TaskState};
use crate::admission::OnLeave;
use crate::audit::Verdict;
use crate::refusal::Refusal;
use musegate_protocol::message::CancelReason;
use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

/// A place at one turn of a Task.
#[derive(Debug)]
pub struct Seat {
    shared: Arc<Shared>,
    entry: Arc<Entry>,
    turn: u32,
    reader: Option<usize>,
}

impl Seat {
    pub(super) fn new(shared: Arc<Shared>, entry: Arc<Entry>, turn: u32) -> Self {
        Self { shared, entry, turn, reader: None }
    }

    /// Which Task.
    #[must_use]
    pub fn id(&self) -> &TaskId {
        &self.entry.id
    }

    /// The Task as it stands, with at most so many entries of history.
    #[must_use]
    pub fn task(&self, history: Option<u32>) -> Arc<Task> {
        self.entry.task(history)
    }

    /// The answer as one Message, where the agent gave it as one.
    #[must_use]
    pub fn reply(&self) -> Option<Arc<Message>> {
        self.entry.lock().reply.clone()
    }

    /// How the turn ended, for the audit.
    pub(super) fn verdict(&self) -> Verdict {
        let inner = self.entry.lock();
        let word = inner.metadata.failure.unwrap_or("other");
        match inner.status.state {
            TaskState::Canceled => Verdict::Canceled(word),
            TaskState::Rejected => Verdict::Rejected,
            _ => Verdict::Failed(word),
        }
    }

    /// Whether nothing was started because the agent was busy: seconds after which to try again.
    #[must_use]
    pub fn was_busy(&self) -> Option<Duration> {
        let inner = self.entry.lock();
        let busy = inner.status.state == TaskState::Rejected && inner.metadata.failure == Some("busy");
        let seconds = inner.metadata.retry_after.filter(|_| busy)?;
        Some(Duration::from_secs(seconds.into()))
    }

    /// Waits until the turn is over: the Task has ended, or waits for its client.
    pub async fn over(&mut self) {
        poll_fn(|cx| self.poll_over(cx)).await;
    }

    fn poll_over(&mut self, cx: &Context<'_>) -> Poll<()> {
        let mut inner = self.entry.lock();
        if inner.over() >= self.turn {
            return Poll::Ready(());
        }
        let turn = self.turn;
        let key = *self.reader.get_or_insert_with(|| inner.readers.add(Kind::Waits(turn), Cursor::default()));
        if let Some(reader) = inner.readers.get_mut(key) {
            reader.wake_by(cx.waker());
        }
        Poll::Pending
    }

    /// Hears the Task: first a snapshot, or with `after` what came after that event.
    ///
    /// # Errors
    /// [`Refusal::UnsupportedOperation`] when what comes after the event is no longer kept, or never was.
    pub fn stream(self, pace: Pace, until: Until, after: Option<Cursor>) -> Result<Subscription, Refusal> {
        let mut inner = self.entry.lock();
        let (cursor, first) = match after {
            Some(after) if !inner.log.can_resume(after, pace) => {
                return Err(Refusal::UnsupportedOperation("resuming behind what is kept of the answer"));
            }
            Some(after) => (after, None),
            None => (inner.log.cursor(), Some(Arc::new(inner.task(None, true)))),
        };
        let reader = inner.readers.add(Kind::Hears(pace), cursor);
        drop(inner);
        let place = Place { shared: Arc::clone(&self.shared), entry: Arc::clone(&self.entry), turn: self.turn, reader };
        Ok(Subscription { place, pace, until, first: first.map(|task| (cursor, task)), last: None, over: false })
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        if let Some(reader) = self.reader {
            leave(&self.shared, &self.entry, self.turn, reader);
        }
    }
}

#[derive(Debug)]
struct Place {
    shared: Arc<Shared>,
    entry: Arc<Entry>,
    turn: u32,
    reader: usize,
}

impl Drop for Place {
    fn drop(&mut self) {
        leave(&self.shared, &self.entry, self.turn, self.reader);
    }
}

/// A stream of one Task's events.
#[derive(Debug)]
pub struct Subscription {
    place: Place,
    pace: Pace,
    until: Until,
    first: Option<(Cursor, Arc<Task>)>,
    /// Follows a snapshot after which nothing comes: a stream always ends with a status.
    last: Option<(Cursor, Status)>,
    over: bool,
}

impl Subscription {
    /// Which Task.
    #[must_use]
    pub fn id(&self) -> &TaskId {
        &self.place.entry.id
    }

    /// Its conversation.
    #[must_use]
    pub fn context(&self) -> &crate::a2a::ContextId {
        &self.place.entry.context
    }

    /// The Task as it stands now.
    #[must_use]
    pub fn task(&self) -> Arc<Task> {
        self.place.entry.task(None)
    }

    /// The next event, and the cursor behind it. `None`: the stream ends.
    pub async fn next(&mut self) -> Option<(Cursor, Event)> {
        poll_fn(|cx| self.poll_next(cx)).await
    }

    /// The same, for who polls.
    pub fn poll_next(&mut self, cx: &Context<'_>) -> Poll<Option<(Cursor, Event)>> {
        if let Some((cursor, task)) = self.first.take() {
            if self.until.ends_with(task.status.state) {
                self.last = Some((cursor, task.status.clone()));
            }
            return Poll::Ready(Some((cursor, Event::Task(task))));
        }
        if let Some((cursor, status)) = self.last.take() {
            self.over = true;
            return Poll::Ready(Some((cursor, Event::Status { status, progress: None, last: true })));
        }
        if self.over {
            return Poll::Ready(None);
        }
        let (pace, until, reader) = (self.pace, self.until, self.place.reader);
        let next = self.place.shared.change(&self.place.entry, |inner| inner.hear(reader, pace, until, cx));
        let Poll::Ready(Some((cursor, mut event))) = next else { return next };
        if let Event::Status { status, last, .. } = &mut event {
            *last = self.until.ends_with(status.state);
            self.over = *last;
        }
        Poll::Ready(Some((cursor, event)))
    }
}

impl Inner {
    fn hear(&mut self, key: usize, pace: Pace, until: Until, cx: &Context<'_>) -> Poll<Option<(Cursor, Event)>> {
        let Some(reader) = self.readers.get_mut(key).filter(|reader| !reader.cut) else { return Poll::Ready(None) };
        match self.log.next(reader.cursor, pace) {
            Next::Event(cursor, event) => {
                (reader.cursor, reader.took) = (cursor, Instant::now());
                if self.flow.is_waiting() || self.log.rope().is_cut() {
                    self.let_pass();
                }
                Poll::Ready(Some((cursor, event)))
            }
            Next::Lost => Poll::Ready(None),
            // Nothing will come to a reader that has come back behind the end.
            Next::Nothing if until.ends_with(self.status.state) => Poll::Ready(None),
            Next::Nothing => {
                reader.wake_by(cx.waker());
                Poll::Pending
            }
        }
    }

    /// A reader leaves. How long its caller's grant lets the job go on without anybody, if it is the last.
    fn leave(&mut self, key: usize, turn: u32) -> Option<(Duration, u64)> {
        self.readers.remove(key);
        if self.log.rope().is_cut() {
            self.let_pass();
        }
        let running = self.turn.as_ref().filter(|running| running.cancel.is_none())?;
        match running.caller.grant.on_leave {
            OnLeave::CancelAfter(grace) if self.readers.attached() == 0 && self.turns == turn => {
                Some((grace, self.readers.comings))
            }
            _ => None,
        }
    }
}

fn leave(shared: &Arc<Shared>, entry: &Arc<Entry>, turn: u32, reader: usize) {
    let grace = shared.change(entry, |inner| inner.leave(reader, turn));
    let (Some((grace, comings)), Ok(runtime)) = (grace, tokio::runtime::Handle::try_current()) else { return };
    let (shared, entry) = (Arc::clone(shared), Arc::clone(entry));
    runtime.spawn(async move {
        tokio::time::sleep(grace).await;
        let alone = {
            let inner = entry.lock();
            inner.readers.comings == comings && inner.turns == turn && inner.turn.is_some()
        };
        if alone {
            shared.cancel(&entry, CancelReason::CallerLeft);
        }
    });
}

impl Tasks {
    /// A place at a Task whose turn began elsewhere.
    pub(super) fn seat(&self, entry: &Arc<Entry>, turn: u32) -> Seat {
        self.0.seat(entry, turn)
    }
}
