//! Any mix of readers hears the same story.

use super::super::rope::MAX_LINE;
use super::*;
use crate::a2a::{ANSWER, Part, Timestamp};
use proptest::prelude::*;

fn status(state: TaskState) -> Status {
    Status { state, message: None, timestamp: Timestamp::default() }
}

fn artifact(id: &str, text: &str) -> Arc<Artifact> {
    let parts = vec![Part::text(text)];
    Arc::new(Artifact { artifact_id: id.to_owned(), name: None, description: None, parts })
}

/// What happens to a Task.
#[derive(Clone, Debug)]
enum Act {
    Text(String),
    Progress,
    Fresh,
    StopKeeping,
    /// How the turn ends: a plain answer, a structured one, a failure.
    Answer,
    Structured,
    Fail,
}

fn acts() -> impl Strategy<Value = Vec<Act>> {
    let text = prop_oneof![
        "[a-zé\n😀]{0,40}".prop_map(Act::Text),
        (1..30_000usize).prop_map(|n| Act::Text("ab\ncdé".repeat(n / 7 + 1))),
        (1..50_000usize).prop_map(|n| Act::Text("long".repeat(n / 4 + 1))),
    ];
    let act = prop_oneof![
        8 => text,
        4 => Just(Act::Progress),
        1 => Just(Act::Fresh),
    ];
    let end = prop_oneof![3 => Just(Act::Answer), 1 => Just(Act::Structured), 1 => Just(Act::Fail)];
    (prop::collection::vec(act, 0..30), any::<bool>(), end).prop_map(|(mut acts, cut, end)| {
        if cut {
            acts.insert(acts.len() / 2, Act::StopKeeping);
        }
        acts.push(end);
        acts
    })
}

fn perform(log: &mut Log, act: &Act) {
    match act {
        Act::Text(text) => drop(log.rope_mut().append(|out| out.push_str(text))),
        Act::Progress => log.status(status(TaskState::Working), Some(Progress::Started)),
        Act::Fresh => log.restart(),
        Act::StopKeeping => log.rope_mut().stop_keeping(),
        Act::Answer => {
            let answer = artifact(ANSWER, &log.rope().text());
            log.answer(answer, true, false);
            log.artifact(artifact("file-1", "f"), true);
            log.status(status(TaskState::Completed), None);
        }
        Act::Structured => {
            log.answer(artifact(ANSWER, "{}"), false, true);
            log.status(status(TaskState::Completed), None);
        }
        Act::Fail => log.status(status(TaskState::Failed), None),
    }
}

/// One thing heard: a mark by its number, or text with where it stands.
#[derive(Clone, Debug, PartialEq)]
enum Told {
    Mark(u32, String),
    Text { generation: u32, from: u64, text: String, last: bool },
}

fn hear(log: &Log, cursor: &mut Cursor, pace: Pace) -> Option<Told> {
    match log.next(*cursor, pace) {
        Next::Nothing => {
            assert!(!log.is_ahead(*cursor, pace), "woken for nothing");
            None
        }
        Next::Lost => panic!("lost at {cursor:?}"),
        Next::Event(after, event) => {
            assert!(log.is_ahead(*cursor, pace), "not woken");
            assert!(after.marks > cursor.marks || after != *cursor, "an event moves the cursor");
            let before = if after.generation == cursor.generation { cursor.bytes } else { 0 };
            let told = match event {
                Event::Chunk { text, append, last } => {
                    assert_eq!(append, before > 0);
                    assert!(text.len() <= MAX_CHUNK);
                    assert_eq!(after.bytes, before + text.len() as u64);
                    let text = String::from_utf8(text.to_vec()).expect("cut at characters");
                    Told::Text { generation: after.generation, from: before, text, last }
                }
                Event::Status { status, progress, .. } => {
                    Told::Mark(after.marks - 1, format!("{:?} {}", status.state, progress.is_some()))
                }
                Event::Artifact { artifact, .. } => {
                    Told::Mark(after.marks - 1, format!("{} {:?}", artifact.artifact_id, artifact.parts))
                }
                other => panic!("{other:?}"),
            };
            *cursor = after;
            Some(told)
        }
    }
}

/// A story without the accidents of how text was cut, and without answers that were replaced.
fn gist(log: &Log, story: &[Told]) -> Vec<Told> {
    let mut out: Vec<Told> = Vec::new();
    for told in story {
        match (out.last_mut(), told) {
            (_, Told::Text { generation, .. }) if *generation < log.generation => {}
            (
                Some(Told::Text { text, last, generation: g, .. }),
                Told::Text { text: more, last: end, generation, .. },
            ) if g == generation => {
                text.push_str(more);
                *last = *end;
            }
            (_, Told::Text { text, last: false, .. }) if text.is_empty() => {}
            _ => out.push(told.clone()),
        }
    }
    out
}

struct Reader {
    pace: Pace,
    cursor: Cursor,
    story: Vec<Told>,
    cursors: Vec<Cursor>,
}

impl Reader {
    fn catch_up(&mut self, log: &Log, most: usize) {
        for _ in 0..most {
            let Some(told) = hear(log, &mut self.cursor, self.pace) else { break };
            self.story.push(told);
            self.cursors.push(self.cursor);
        }
    }
}

fn reader(pace: Pace) -> Reader {
    Reader { pace, cursor: Cursor::default(), story: Vec::new(), cursors: vec![Cursor::default()] }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn all_readers_hear_one_story_and_resume_at_every_cursor(acts in acts(), steps in prop::collection::vec((0usize..6, 0usize..4), 40)) {
        let mut log = Log::default();
        // Who writes to a log holds what may turn out to be structured.
        let held = matches!(acts.last(), Some(Act::Structured));
        log.hold(held);
        let mut readers: Vec<Reader> =
            [Pace::Whole, Pace::Raw, Pace::Lines, Pace::Raw, Pace::Lines, Pace::Raw].map(reader).into();
        let mut steps = steps.into_iter();
        for act in &acts {
            perform(&mut log, act);
            if matches!(act, Act::Fresh) {
                log.hold(held);
            }
            if let Some((who, most)) = steps.next() {
                readers[who].catch_up(&log, most);
            }
        }
        for reader in &mut readers {
            reader.catch_up(&log, 100_000);
        }
        // Whoever comes at the very end hears it too.
        for pace in [Pace::Whole, Pace::Raw, Pace::Lines] {
            let mut late = reader(pace);
            late.catch_up(&log, 100_000);
            readers.push(late);
        }
        for reader in &readers {
            let like = readers.iter().rfind(|other| other.pace == reader.pace).unwrap();
            prop_assert_eq!(gist(&log, &reader.story), gist(&log, &like.story));
            prop_assert!(!log.is_ahead(reader.cursor, reader.pace));
        }
        for first in &readers {
            for (at, cursor) in first.cursors.iter().enumerate() {
                prop_assert!(log.can_resume(*cursor, first.pace), "{:?}", cursor);
                let mut again = reader(first.pace);
                again.cursor = *cursor;
                again.catch_up(&log, 100_000);
                let mut whole = first.story[..at].to_vec();
                whole.extend(again.story);
                prop_assert_eq!(gist(&log, &whole), gist(&log, &first.story));
            }
        }
    }

    #[test]
    fn a_made_up_cursor_is_refused_or_harmless(acts in acts(), marks in 0u32..40, bytes in 0u64..100_000, generation in 0u32..4) {
        let mut log = Log::default();
        acts.iter().for_each(|act| perform(&mut log, act));
        let cursor = Cursor { generation, marks, bytes };
        for pace in [Pace::Whole, Pace::Raw, Pace::Lines] {
            if log.can_resume(cursor, pace) {
                let mut reader = reader(pace);
                reader.cursor = cursor;
                reader.catch_up(&log, 100_000);
            }
        }
    }
}

#[test]
fn lines_come_whole_and_a_long_line_comes_anyway() {
    let mut log = Log::default();
    let mut lines = reader(Pace::Lines);
    let mut say = |log: &mut Log, text: &str| {
        log.rope_mut().append(|out| out.push_str(text));
        lines.catch_up(log, 100);
        let said = lines.story.drain(..);
        said.map(|told| if let Told::Text { text, .. } = told { text } else { panic!() }).collect::<String>()
    };
    assert_eq!(say(&mut log, "half"), "");
    assert_eq!(say(&mut log, " a line\nmore"), "half a line\n");
    assert_eq!(say(&mut log, &"x".repeat(MAX_LINE as usize)).len(), 4 + MAX_LINE as usize);
}

#[test]
fn held_text_comes_when_it_turned_out_to_be_plain() {
    let mut log = Log::default();
    let mut raw = reader(Pace::Raw);
    log.rope_mut().append(|out| out.push_str("{not json"));
    log.hold(true);
    raw.catch_up(&log, 9);
    assert!(raw.story.is_empty());
    perform(&mut log, &Act::Answer);
    raw.catch_up(&log, 9);
    assert_eq!(raw.story.first(), Some(&Told::Text { generation: 0, from: 0, text: "{not json".into(), last: true }));
}

#[test]
fn old_progress_goes_and_nothing_else_does() {
    let mut log = Log::default();
    let mut slow = reader(Pace::Whole);
    log.status(status(TaskState::Submitted), None);
    slow.catch_up(&log, 1);
    for _ in 0..10 * MAX_PROGRESS {
        log.status(status(TaskState::Working), Some(Progress::Started));
    }
    log.status(status(TaskState::Completed), None);
    assert!(log.marks.len() <= 2 * MAX_PROGRESS + 2);
    let mut new = reader(Pace::Whole);
    for reader in [&mut slow, &mut new] {
        reader.catch_up(&log, 1_000_000);
        assert!(reader.story.len() >= MAX_PROGRESS);
        assert!(matches!(reader.story.first(), Some(Told::Mark(0, _))));
        assert!(matches!(reader.story.last(), Some(Told::Mark(_, end)) if end.starts_with("Completed")));
    }
}

/// A million deltas: what one more costs must not depend on how many there were.
#[test]
fn a_million_small_deltas_cost_the_same_at_the_end_as_at_the_start() {
    let delta = "x".repeat(63) + "\n";
    let mut log = Log::default();
    let mut readers = [Pace::Raw, Pace::Lines, Pace::Whole].map(reader);
    let mut took = Vec::new();
    for _ in 0..10 {
        let since = std::time::Instant::now();
        for _ in 0..100_000 {
            log.rope_mut().append(|out| out.push_str(&delta));
            for reader in &mut readers {
                while let Next::Event(cursor, _) = log.next(reader.cursor, reader.pace) {
                    reader.cursor = cursor;
                }
            }
        }
        took.push(since.elapsed());
    }
    let fastest_start = took[..3].iter().min().unwrap();
    let fastest_end = took[7..].iter().min().unwrap();
    assert!(*fastest_end < *fastest_start * 4, "{took:?}");
    assert_eq!(readers[0].cursor.bytes, 64_000_000);
}
