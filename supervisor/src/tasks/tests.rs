//! Tasks against a worker's end that the test drives by hand: credit, bounds, endings.

use super::*;
use crate::a2a::{Artifact, ContextId, Cursor, Event, Message, MessageId, Part, Role, TaskState};
use crate::admission::Admitted;
use crate::dialect::ListTasks;
use crate::http::serve::house::House;
use crate::link::hand::{Hand, soon, until};
use crate::sanitize::{Clean, Mode};
use musegate_protocol::Text;
use musegate_protocol::message::{End, FromWorker, INITIAL_CREDIT, JobId, MAX_CHUNK as FRAME, Progress};
use std::time::Instant;

/// A supervisor with a worker's end, and bounds of the test's choice.
struct Rig {
    house: House,
    hand: Hand,
}

impl Rig {
    async fn new(grant: &str, settings: &str) -> Self {
        let (house, hand) = House::with_worker(grant, &format!("[jobs]\nslots = 4\n{settings}")).await;
        Self { house, hand }
    }

    fn tasks(&self) -> &Tasks {
        self.house.serve.tasks()
    }

    fn open(&self, name: &str, id: &str, to: Option<&TaskId>) -> Result<(Ticket, Admitted), Refusal> {
        let admitted = self.house.admitted(name);
        let message = Message {
            message_id: MessageId(id.into()),
            context_id: None,
            task_id: to.cloned(),
            role: Role::User,
            parts: vec![Part::text("go")],
            metadata: None,
            extensions: Vec::new(),
            reference_task_ids: Vec::new(),
        };
        let opened = self.tasks().open(Opening {
            caller: Arc::clone(admitted.caller()),
            message: Clean::message(message, Mode::Strip, true)?,
            digest: [0; 32],
            trace: [1; 16],
            alias: None,
            structured: admitted.caller().grant.structured,
            accepted: Vec::new(),
            output: None,
        })?;
        match opened {
            Opened::New(ticket) => Ok((ticket, admitted)),
            Opened::Repeat(_) => panic!("a repeat"),
        }
    }

    /// Opens and starts a Task, and accepts its job.
    async fn start(&mut self, name: &str, id: &str) -> (Seat, JobId) {
        let (ticket, admitted) = self.open(name, id, None).unwrap();
        let seat = ticket.seat();
        self.house.hand_over(ticket, &admitted);
        (seat, self.hand.accept().await.job)
    }

    /// A Task that is over, with an answer of so many bytes.
    async fn done(&mut self, name: &str, id: &str, bytes: u64) -> TaskId {
        let (mut seat, job) = self.start(name, id).await;
        self.flood(job, bytes, Duration::from_secs(10)).await;
        self.hand.finish(job, End::Completed).await;
        soon(seat.over()).await;
        seat.id().clone()
    }

    fn exists(&self, name: &str, id: &TaskId) -> bool {
        self.tasks().get(&Label::new(name).unwrap(), id, None).is_ok()
    }

    /// Sends so much of a job's answer, as credit allows. How much went before no credit came for so long.
    async fn flood(&mut self, job: JobId, bytes: u64, patience: Duration) -> u64 {
        let piece = "0123456789abcdef".repeat(FRAME / 16);
        let mut sent = 0;
        while sent < bytes {
            let next = (bytes - sent).min(FRAME as u64);
            if self.hand.room(job) < next + 64 {
                match tokio::time::timeout(patience, self.hand.hear()).await {
                    Ok(_) => continue,
                    Err(_) => break,
                }
            }
            self.hand.output(job, piece.get(..usize::try_from(next).unwrap()).unwrap()).await;
            sent += next;
        }
        sent
    }
}

fn text(artifact: &Artifact) -> &str {
    log::plain_text(artifact).unwrap()
}

/// Hears a stream to its end: text of chunks, and the last state.
async fn hear(story: &mut Subscription) -> (u64, Option<TaskState>) {
    let (mut bytes, mut last) = (0, None);
    while let Some((_, event)) = soon(story.next()).await {
        match event {
            Event::Chunk { text, .. } => bytes += text.len() as u64,
            Event::Status { status, .. } => last = Some(status.state),
            _ => {}
        }
    }
    (bytes, last)
}

#[tokio::test]
async fn a_long_answer_never_starves_and_is_cut_where_keeping_ends() {
    let mut rig = Rig::new("", "[tasks]\nanswer = \"1MiB\"").await;
    let (mut seat, job) = rig.start("ann", "m").await;
    let whole = 8 << 20;
    assert_eq!(rig.flood(job, whole, Duration::from_secs(10)).await, whole);
    let (_, kept) = rig.tasks().kept();
    assert!(kept < (1 << 20) + 100_000, "{kept} bytes are kept of an answer that is bounded to 1 MiB");
    rig.hand.finish(job, End::Completed).await;
    soon(seat.over()).await;
    let task = seat.task(None);
    assert!(task.metadata.truncated);
    assert_eq!(text(&task.artifacts[0]).len(), 1 << 20);
}

#[tokio::test]
async fn a_stalled_reader_stalls_its_own_child_and_hears_everything_when_it_goes_on() {
    let mut rig = Rig::new("structured = false", "[tasks]\nanswer = \"64KiB\"").await;
    let (seat, job) = rig.start("ann", "m").await;
    let mut story = seat.stream(Pace::Raw, Until::Interrupted, None).unwrap();
    let sent = rig.flood(job, 4 << 20, Duration::from_millis(300)).await;
    let most = (64 << 10) + u64::from(INITIAL_CREDIT) + 2 * FRAME as u64;
    assert!(sent <= most, "{sent} bytes were let through to a reader that does not read");
    let other = rig.done("bob", "b", 300_000).await;
    assert!(rig.exists("bob", &other), "another job goes on");
    let hearing = tokio::spawn(async move { hear(&mut story).await });
    assert_eq!(rig.flood(job, (4 << 20) - sent, Duration::from_secs(10)).await, (4 << 20) - sent);
    rig.hand.finish(job, End::Completed).await;
    assert_eq!(soon(hearing).await.unwrap(), (4 << 20, Some(TaskState::Completed)));
}

#[tokio::test]
async fn a_reader_that_stalls_too_long_is_cut_off_and_its_child_goes_on() {
    let settings = "[tasks]\nanswer = \"64KiB\"\n[listen]\nstall_timeout = \"1s\"";
    let mut rig = Rig::new("structured = false", settings).await;
    let (seat, job) = rig.start("ann", "m").await;
    let mut story = seat.stream(Pace::Raw, Until::Interrupted, None).unwrap();
    assert_eq!(rig.flood(job, 2 << 20, Duration::from_secs(10)).await, 2 << 20);
    rig.hand.finish(job, End::Completed).await;
    // The snapshot was made for it already.
    assert!(matches!(soon(story.next()).await, Some((_, Event::Task(_)))));
    assert!(soon(story.next()).await.is_none());
    let task = || rig.tasks().get(&Label::new("ann").unwrap(), story.id(), None).unwrap();
    until(|| task().status.state == TaskState::Completed).await;
    let again = rig.tasks().subscribe(
        &Label::new("ann").unwrap(),
        story.id(),
        Pace::Raw,
        Until::Terminal,
        Some(Cursor { bytes: 100_000, ..Cursor::default() }),
    );
    assert!(matches!(again, Err(Refusal::UnsupportedOperation(_))), "there would be a gap");
}

#[tokio::test]
async fn what_goes_first_is_the_oldest_ended_task_of_who_has_most() {
    let mut rig = Rig::new("", "[tasks]\nmax = 4").await;
    let bobs = rig.done("bob", "b", 1).await;
    let mut anns = Vec::new();
    for n in 0..3 {
        anns.push(rig.done("ann", &format!("m{n}"), 1).await);
    }
    let (running, job) = rig.start("ann", "m3").await;
    let alive = |rig: &Rig| anns.iter().map(|id| rig.exists("ann", id)).collect::<Vec<_>>();
    assert_eq!((alive(&rig), rig.exists("bob", &bobs)), (vec![false, true, true], true));
    for n in 4..8 {
        rig.done("bob", &format!("m{n}"), 1).await;
    }
    assert!(rig.exists("ann", running.id()), "a running task never goes");
    assert_eq!(rig.tasks().kept().0, 4);
    rig.hand.finish(job, End::Completed).await;
}

#[tokio::test]
async fn bytes_are_bounded_and_come_back() {
    let mut rig = Rig::new("", "[tasks]\nmax_bytes = \"1MiB\"\nanswer = \"512KiB\"").await;
    for n in 0..12 {
        rig.done("ann", &format!("m{n}"), 200_000).await;
        let (_, bytes) = rig.tasks().kept();
        assert!(bytes <= 1 << 20, "{bytes}");
    }
    assert!((2..6).contains(&rig.tasks().kept().0));
    rig.tasks().0.make_room(1000, 0);
    assert_eq!(rig.tasks().kept(), (0, 0));
}

#[tokio::test]
async fn an_old_task_goes_and_one_that_waits_for_its_client_ends_first() {
    let mut rig = Rig::new("", "[tasks]\nkeep = \"1s\"").await;
    let (seat, job) = rig.start("ann", "m").await;
    let mut story = seat.stream(Pace::Whole, Until::Terminal, None).unwrap();
    rig.hand.output(job, r#"{"a2a":1,"state":"input-required","parts":[{"text":"which?"}]}"#).await;
    rig.hand.finish(job, End::Completed).await;
    let (_, last) = hear(&mut story).await;
    assert_eq!(last, Some(TaskState::Failed), "it ends, once, by being forgotten");
    assert!(!rig.exists("ann", story.id()));
}

#[tokio::test]
async fn a_task_that_was_opened_and_never_started_ends_and_its_message_may_come_again() {
    let rig = Rig::new("", "").await;
    let (ticket, _) = rig.open("ann", "m", None).unwrap();
    let mut seat = ticket.seat();
    drop(ticket);
    soon(seat.over()).await;
    assert_eq!(seat.task(None).status.state, TaskState::Rejected);
    let (ticket, _) = rig.open("ann", "m", None).unwrap();
    assert_ne!(ticket.id(), seat.id());
}

#[tokio::test]
async fn a_message_to_a_task_that_works_has_ended_or_is_foreign_is_refused() {
    let mut rig = Rig::new("", "").await;
    let (seat, job) = rig.start("ann", "m").await;
    let refused = |rig: &Rig, name: &str, id: &TaskId| rig.open(name, "other", Some(id)).map(drop).unwrap_err();
    assert!(matches!(refused(&rig, "ann", seat.id()), Refusal::UnsupportedOperation(_)));
    assert_eq!(refused(&rig, "bob", seat.id()), Refusal::TaskNotFound);
    rig.hand.finish(job, End::Completed).await;
    until(|| seat.task(None).status.state.is_terminal()).await;
    assert!(matches!(refused(&rig, "ann", seat.id()), Refusal::UnsupportedOperation(_)));
    assert_eq!(refused(&rig, "ann", &TaskId("none".into())), Refusal::TaskNotFound);
}

#[tokio::test]
async fn pages_show_every_task_once_newest_status_first() {
    let mut rig = Rig::new("", "").await;
    let mut ids = Vec::new();
    for n in 0..7 {
        ids.push(rig.done("ann", &format!("m{n}"), 1).await);
        rig.done("bob", &format!("m{n}"), 1).await;
    }
    ids.reverse();
    let ann = Label::new("ann").unwrap();
    for size in [1, 2, 3, 7, 100] {
        let mut seen = Vec::new();
        let mut token = None;
        loop {
            let asked = ListTasks { page_size: Some(size), page_token: token, ..ListTasks::default() };
            let page = rig.tasks().list(&ann, &asked).unwrap();
            assert_eq!((page.total, page.page_size), (7, size));
            assert!(page.tasks.windows(2).all(|two| two[0].status.timestamp >= two[1].status.timestamp));
            seen.extend(page.tasks.iter().map(|task| task.id.clone()));
            if page.next.is_empty() {
                break;
            }
            token = Some(page.next);
        }
        assert_eq!(seen, ids, "pages of {size}");
    }
    let filtered = |asked: ListTasks| rig.tasks().list(&ann, &asked).unwrap().total;
    let first = rig.tasks().get(&ann, &ids[2], None).unwrap();
    assert_eq!(filtered(ListTasks { context_id: Some(first.context_id.clone()), ..ListTasks::default() }), 1);
    assert_eq!(filtered(ListTasks { context_id: Some(ContextId("no".into())), ..ListTasks::default() }), 0);
    assert_eq!(filtered(ListTasks { state: Some(TaskState::Completed), ..ListTasks::default() }), 7);
    assert_eq!(filtered(ListTasks { state: Some(TaskState::Failed), ..ListTasks::default() }), 0);
    let after = filtered(ListTasks { status_after: Some(first.status.timestamp), ..ListTasks::default() });
    assert!((3..=7).contains(&after));
    for bad in [(Some(0), None), (Some(101), None), (None, Some("zz".to_owned())), (None, Some("1".repeat(17)))] {
        let asked = ListTasks { page_size: bad.0, page_token: bad.1, ..ListTasks::default() };
        assert!(matches!(rig.tasks().list(&ann, &asked), Err(Refusal::InvalidParams { .. })));
    }
}

#[tokio::test]
async fn whatever_happens_a_task_ends_once_and_nothing_follows() {
    let mut rig = Rig::new("", "").await;
    for seed in 0..60u32 {
        let (seat, job) = rig.start("ann", &format!("m{seed}")).await;
        let id = seat.id().clone();
        let mut story = seat.stream(Pace::Raw, Until::Terminal, None).unwrap();
        rig.hand.output(job, "some text").await;
        let cancel = |rig: &Rig| {
            let (tasks, id) = (rig.tasks().clone(), id.clone());
            tokio::spawn(async move { tasks.cancel(&Label::new("ann").unwrap(), &id).await })
        };
        // Canceled before, after, or not at all, in every order with the worker's own end.
        let early = (seed % 3 == 0).then(|| cancel(&rig));
        if seed % 2 == 0 {
            rig.hand.say(&FromWorker::Progress { job, event: Progress::Started }).await;
        }
        let end = match seed % 5 {
            0 | 1 => End::Completed,
            2 => End::Cancelled { reason: CancelReason::Caller },
            3 => End::Cancelled { reason: CancelReason::WorkerStops },
            _ => End::Failed {
                kind: musegate_protocol::message::FailureKind::Crashed,
                sentence: Text::cut("it crashed"),
            },
        };
        rig.hand.finish(job, end).await;
        let late = (seed % 3 == 1).then(|| cancel(&rig));
        let mut terminal = 0;
        while let Some((_, event)) = soon(story.next()).await {
            assert_eq!(terminal, 0, "something follows the end");
            if let Event::Status { status, last, .. } = event {
                assert_eq!(last, status.state.is_terminal());
                terminal += usize::from(last);
            }
        }
        assert_eq!(terminal, 1);
        let state = rig.tasks().get(&Label::new("ann").unwrap(), &id, None).unwrap().status.clone();
        assert_eq!(state.message.is_none(), state.state == TaskState::Completed);
        for cancel in [early, late].into_iter().flatten() {
            let canceled = soon(cancel).await.unwrap();
            assert_eq!(canceled.is_ok(), state.state == TaskState::Canceled);
        }
    }
}

/// A million deltas of 64 bytes through a real socket, with a reader: the last hundred thousand must not cost more than
/// the first.
#[tokio::test]
async fn a_million_small_deltas_cross_the_link_at_an_even_pace() {
    let mut rig = Rig::new("structured = false", "[tasks]\nanswer = \"1MiB\"").await;
    let (seat, job) = rig.start("ann", "m").await;
    let mut story = seat.stream(Pace::Raw, Until::Interrupted, None).unwrap();
    let hearing = tokio::spawn(async move { hear(&mut story).await });
    let delta = "x".repeat(64);
    let mut took = Vec::new();
    for _ in 0..10 {
        let since = Instant::now();
        let mut left = 100_000u64;
        while left > 0 {
            let now = (rig.hand.room(job) / 128).min(left);
            if now == 0 {
                rig.hand.hear().await;
                continue;
            }
            rig.hand.outputs(job, &delta, now).await;
            left -= now;
        }
        took.push(since.elapsed());
    }
    rig.hand.finish(job, End::Completed).await;
    assert_eq!(soon(hearing).await.unwrap(), (64_000_000, Some(TaskState::Completed)));
    let (start, end) = (took[..3].iter().min().unwrap(), took[7..].iter().min().unwrap());
    assert!(*end < *start * 4, "{took:?}");
}
