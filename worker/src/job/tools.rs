//! Which tools of a job are running, and what the caller is told of it.
//!
//! A step is announced under a task's id and later gets a key `tool:CALL`; its result names the call only. Promises:
//! each tool is told started at most once and ended at most once; a stream that opens steps for ever takes a bounded
//! amount of memory. Refuses to know a tool's arguments and results: they are not in what it keeps.

use crate::backend::records::Event;

/// Most tools that are followed at once. Beyond it they are not told.
const MOST: usize = 256;
/// Most of a name or an id that is kept.
const NAME: usize = 128;

/// What changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// A tool began.
    Started(String),
    /// A tool ended; whether well.
    Ended(String, bool),
}

#[derive(Debug)]
struct Open {
    task: String,
    call: Option<String>,
    name: String,
}

/// The tools of one job.
#[derive(Debug, Default)]
pub struct Tools {
    open: Vec<Open>,
}

impl Tools {
    /// How many run.
    #[must_use]
    pub fn running(&self) -> usize {
        self.open.len()
    }

    /// What an event changes.
    pub fn see(&mut self, event: &Event<'_>) -> Option<Change> {
        match event {
            Event::Proposed { task, kind } => {
                let name = kind.strip_prefix("tool.")?;
                if self.open.len() >= MOST || self.open.iter().any(|open| open.task == cut(task)) {
                    return None;
                }
                self.open.push(Open { task: cut(task).to_owned(), call: None, name: cut(name).to_owned() });
                Some(Change::Started(cut(name).to_owned()))
            }
            Event::Scheduled { task, key } => {
                let call = cut(key.strip_prefix("tool:")?);
                let open = self.open.iter_mut().find(|open| open.task == cut(task))?;
                open.call = Some(call.to_owned());
                None
            }
            Event::StepEnded { task, ok } => self.end(|open| open.task == cut(task), *ok),
            Event::ToolResult { call, ok, .. } => self.end(|open| open.call.as_deref() == Some(cut(call)), *ok),
            _ => None,
        }
    }

    fn end(&mut self, is: impl Fn(&Open) -> bool, ok: bool) -> Option<Change> {
        let at = self.open.iter().position(is)?;
        Some(Change::Ended(self.open.swap_remove(at).name, ok))
    }
}

fn cut(text: &str) -> &str {
    text.get(..text.floor_char_boundary(NAME)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn proposed<'a>(task: &'a str, kind: &'a str) -> Event<'a> {
        Event::Proposed { task: task.into(), kind: kind.into() }
    }

    fn result(call: &str, ok: bool) -> Event<'_> {
        Event::ToolResult { call: call.into(), name: None, ok, environment: false }
    }

    #[test]
    fn a_tool_is_joined_with_its_result_by_its_key() {
        let mut tools = Tools::default();
        assert_eq!(tools.see(&proposed("T1", "tool.search")), Some(Change::Started("search".into())));
        assert_eq!(tools.see(&proposed("T2", "tool.bash")), Some(Change::Started("bash".into())));
        assert_eq!(tools.see(&Event::Scheduled { task: "T1".into(), key: "tool:c1".into() }), None);
        assert_eq!(tools.running(), 2);
        assert_eq!(tools.see(&result("c1", false)), Some(Change::Ended("search".into(), false)));
        assert_eq!(tools.see(&Event::StepEnded { task: "T1".into(), ok: true }), None, "ended once only");
        assert_eq!(
            tools.see(&Event::StepEnded { task: "T2".into(), ok: true }),
            Some(Change::Ended("bash".into(), true))
        );
        assert_eq!(tools.running(), 0);
    }

    #[test]
    fn steps_of_the_model_are_no_tools() {
        let mut tools = Tools::default();
        assert_eq!(tools.see(&proposed("T1", "model.meta.response")), None);
        assert_eq!(tools.see(&Event::Scheduled { task: "T1".into(), key: "model:x".into() }), None);
        assert_eq!(tools.see(&result("c", true)), None);
        assert_eq!(tools.running(), 0);
    }

    #[test]
    fn endless_announcements_take_bounded_memory() {
        let mut tools = Tools::default();
        for n in 0..10_000 {
            tools.see(&proposed(&format!("{n}{}", "x".repeat(1000)), &format!("tool.{}", "y".repeat(1000))));
        }
        assert_eq!(tools.running(), MOST);
        assert!(tools.open.iter().all(|open| open.task.len() <= NAME && open.name.len() <= NAME));
        assert_eq!(tools.see(&proposed(&format!("0{}", "x".repeat(1000)), "tool.again")), None);
    }
}
