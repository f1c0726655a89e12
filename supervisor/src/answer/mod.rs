//! The answer contract: a final text that is exactly one JSON object `{"a2a":1, …}` becomes the parts, the state and the
//! kind of reply that it names; every other text is plain text.
//!
//! ```json
//! {"a2a": 1, "state": "completed", "reply": "task",
//!  "parts": [{"text": "…"}, {"data": {}}, {"raw": "base64", "filename": "a.png", "mediaType": "image/png"}, {"url": "…"}]}
//! ```
//!
//! `state` is `completed` (when not said), `input-required`, `rejected` or `failed`; `reply` is `task` (when not said) or
//! `message`, which only a completed answer can be. The text comes from the model and is hostile: it is read by the
//! strict reader of the dialects, its size and parts are bounded, kinds that this caller does not take are withheld and
//! counted, and no url is ever followed. What is left still has to be sanitised like any answer. Refuses to know Tasks.

mod allowed;

pub use allowed::Allowed;

use crate::a2a::{Content, Part, TaskState};
use crate::dialect::json::{self, Kind, Value};
use allowed::Withheld;
use musegate_protocol::message::MAX_PARTS;
pub use musegate_protocol::message::MAX_STRUCTURED;

/// What a final text is.
#[derive(Clone, Debug, PartialEq)]
pub enum Answer {
    /// The text itself.
    Plain,
    /// What the text says.
    Structured(Structured),
}

/// A text that keeps to the contract.
#[derive(Clone, Debug, PartialEq)]
pub struct Structured {
    /// Completed, input-required, rejected or failed.
    pub state: TaskState,
    /// At least one.
    pub parts: Vec<Part>,
    /// To be answered as a Message, without showing a Task, where the client waits for one.
    pub as_message: bool,
    /// Parts that this caller does not take; a text among `parts` says so in words.
    pub withheld: usize,
}

/// Whether a text that begins so may turn out to be structured: until that is known, no piece of it can be sent.
#[must_use]
pub fn may_be_structured(beginning: &str) -> bool {
    let text = beginning.trim_ascii_start();
    text.is_empty() || text.starts_with('{')
}

/// What `text`, a complete answer, is for this caller.
#[must_use]
pub fn parse(text: &str, allowed: &Allowed<'_>) -> Answer {
    structured(text.trim_ascii(), allowed).map_or(Answer::Plain, Answer::Structured)
}

fn structured(text: &str, allowed: &Allowed<'_>) -> Option<Structured> {
    if text.len() > MAX_STRUCTURED || !text.starts_with('{') || !text.ends_with('}') {
        return None;
    }
    let document = json::parse(text.as_bytes()).ok()?;
    let member =
        |name: &str| document.root().members().find(|(key, _)| key.text().as_deref() == Some(name)).map(|m| m.1);
    if member("a2a").filter(|version| version.kind() == Kind::Number)?.raw() != "1" {
        return None;
    }
    let state = match word(member("state"), "completed")?.as_str() {
        "completed" => TaskState::Completed,
        "input-required" => TaskState::InputRequired,
        "rejected" => TaskState::Rejected,
        "failed" => TaskState::Failed,
        _ => return None,
    };
    let as_message = match word(member("reply"), "task")?.as_str() {
        "task" => false,
        "message" => state == TaskState::Completed,
        _ => return None,
    };
    let (parts, withheld) = parts(member("parts").filter(|parts| parts.kind() == Kind::Array)?, allowed)?;
    Some(Structured { state, parts, as_message, withheld })
}

/// A member that is a string, or what it means when it is not there.
fn word(value: Option<Value<'_>>, absent: &str) -> Option<String> {
    value.map_or_else(|| Some(absent.to_owned()), |value| value.text().map(Into::into))
}

fn parts(array: Value<'_>, allowed: &Allowed<'_>) -> Option<(Vec<Part>, usize)> {
    let said: Option<Vec<Part>> = array.items().take(MAX_PARTS + 1).map(crate::dialect::part_of_answer).collect();
    let said = said.filter(|parts| (1..=MAX_PARTS).contains(&parts.len()))?;
    let mut withheld = Withheld::default();
    let mut file_bytes = 0;
    let mut parts = Vec::with_capacity(said.len());
    for part in said {
        match allowed.admit(part, &mut file_bytes) {
            Ok(part) => parts.push(part),
            Err(why) => withheld.add(why),
        }
    }
    if let Some(sentence) = withheld.sentence() {
        // In the place of one that is gone, so that the bound holds.
        parts.push(Part { content: Content::Text(sentence), ..Part::text("") });
    }
    Some((parts, withheld.count()))
}

#[cfg(test)]
mod tests;
