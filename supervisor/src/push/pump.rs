//! One webhook's story: it hears its Task as a stream does, and tells each event by one POST, in order, until the Task has
//! ended.
//!
//! Promises: no event is told before the one before it was taken or given up; nothing is queued, since the Task's own log
//! is the queue and the place in it is all that is remembered; an attempt is bounded in time, an event in attempts and
//! in time. A receiver that is slow holds up this webhook only.

use super::desk::Away;
use super::keys::{Signer, event_id};
use super::{Live, Shared};
use crate::a2a::{Event, Status, Task};
use crate::dialect::{PushConfig, ReplyTo, Version};
use crate::link::jitter;
use crate::tasks::Subscription;
use bytes::Bytes;
use musegate_protocol::bounded::{Blob, Label, Text};
use musegate_protocol::push::{MediaType, Outcome, Post, Then};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tokio::time::{Instant, sleep, timeout};

/// Longest attempt: more than the pusher allows itself.
const ATTEMPT: Duration = Duration::from_secs(150);
/// Pause when the pusher has its hands full.
const BUSY: Duration = Duration::from_millis(200);

/// One webhook that has something to tell.
pub(super) struct Pump {
    pub(super) shared: Arc<Shared>,
    pub(super) live: Live,
    pub(super) reply: ReplyTo,
    pub(super) config: Arc<PushConfig>,
    pub(super) story: Subscription,
    pub(super) signer: Signer,
}

/// One event, ready to be told as often as it takes.
struct Word {
    id: Label,
    media_type: MediaType,
    body: Bytes,
}

impl Pump {
    pub(super) async fn run(mut self) {
        while let Some((cursor, event)) = self.story.next().await {
            let over = ends(&event);
            if let Some((media_type, body)) = self.body(event) {
                let id = event_id(&self.story.id().0, self.config.id.as_deref().unwrap_or_default(), cursor.marks);
                let left = self.tell(&Word { id, media_type, body }).await == Then::Leave;
                if left {
                    break;
                }
            }
            if over {
                break;
            }
        }
    }

    /// What is said of an event; nothing of those that are not told.
    fn body(&self, event: Event) -> Option<(MediaType, Bytes)> {
        let whole = self.reply.version == Version::V1;
        match &event {
            Event::Status { progress: Some(_), .. } if !self.shared.settings.progress => return None,
            // Before 1.0 a Task is told and not an event: its artifacts come with the state that follows them.
            Event::Artifact { .. } if !whole => return None,
            Event::Chunk { .. } | Event::Message(_) => return None,
            _ => {}
        }
        let task = self.task(&event);
        let most = self.shared.settings.max_body_bytes;
        let (mut media_type, mut body) = self.reply.notification(&task, &event);
        if body.len() > most {
            let lean = Arc::new(Task { artifacts: Vec::new(), history: Vec::new(), ..Task::clone(&task) });
            let event = if matches!(event, Event::Task(_)) { Event::Task(Arc::clone(&lean)) } else { event };
            (media_type, body) = self.reply.notification(&lean, &event);
        }
        if body.len() > most {
            self.shared.count("too_large");
            return None;
        }
        let media_type = if media_type == MediaType::A2aJson.word() { MediaType::A2aJson } else { MediaType::Json };
        Some((media_type, body))
    }

    /// The Task as it stood at this event, although it may have gone on.
    fn task(&self, event: &Event) -> Arc<Task> {
        let now = match event {
            Event::Task(task) => return Arc::clone(task),
            _ => self.story.task(),
        };
        let Event::Status { status, .. } = event else { return now };
        let mut then = Task { status: Status::clone(status), ..Task::clone(&now) };
        if !(status.state.is_terminal() || status.state.is_interrupted()) {
            then.artifacts = Vec::new();
        }
        Arc::new(then)
    }

    /// Attempts, until one is taken or it is of no use to go on.
    async fn tell(&self, word: &Word) -> Then {
        let settings = &self.shared.settings;
        let until = Instant::now() + settings.give_up;
        let (mut attempts, mut pause) = (0, settings.first_pause);
        let mut last = "pusher_away";
        while Instant::now() < until {
            let tried = tokio::select! {
                tried = self.attempt(word) => tried,
                () = tokio::time::sleep_until(until) => break,
            };
            let outcome = match tried {
                Err(Away) => continue,
                Ok(Outcome::Busy) => {
                    last = Outcome::Busy.word();
                    sleep(jitter(BUSY)).await;
                    continue;
                }
                Ok(outcome) => outcome,
            };
            (attempts, last) = (attempts + 1, outcome.word());
            match outcome.then() {
                Then::Again if attempts < settings.attempts => {
                    self.shared.count("retried");
                    sleep(jitter(pause).min(until.saturating_duration_since(Instant::now()))).await;
                    pause = pause.saturating_mul(2).min(settings.longest_pause);
                }
                Then::Done => {
                    self.shared.count("taken");
                    return Then::Done;
                }
                _ if outcome.then() == Then::Leave => {
                    self.shared.count("left");
                    return Then::Leave;
                }
                _ => break,
            }
        }
        self.shared.count("given_up");
        let (task, caller) = (&self.story.id().0, self.live.caller());
        tracing::warn!(%task, %caller, attempts, why = last, "a push notification was given up");
        Then::Drop
    }

    /// Waits for the pusher and for its turn, then makes one attempt.
    async fn attempt(&self, word: &Word) -> Result<Outcome, Away> {
        self.shared.desk.open().await;
        let _own = self.live.turn().await;
        let _all = self.shared.turns.acquire().await;
        let made = timeout(ATTEMPT, self.shared.desk.post(self.post(word))).await;
        made.unwrap_or(Ok(Outcome::Timeout))
    }

    fn post(&self, word: &Word) -> Post {
        let timestamp = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        let authorization = self.config.authentication.as_ref().and_then(|(scheme, credentials)| {
            credentials.as_ref().map(|credentials| Text::cut(&format!("{scheme} {credentials}")))
        });
        Post {
            id: 0,
            url: Text::cut(&self.config.url),
            media_type: word.media_type,
            event: word.id.clone(),
            timestamp,
            signature: self.signer.sign(&word.id, timestamp, &word.body),
            token: self.config.token.as_deref().map(Text::cut),
            authorization,
            body: Blob::new(word.body.clone()).unwrap_or_default(),
        }
    }
}

/// Whether nothing can follow.
fn ends(event: &Event) -> bool {
    match event {
        Event::Task(task) => task.status.state.is_terminal(),
        Event::Status { status, .. } => status.state.is_terminal(),
        _ => false,
    }
}
