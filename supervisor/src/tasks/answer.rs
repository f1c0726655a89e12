//! What a completed job said: a plain text, or by the answer contract parts, a state, or a Message.
//!
//! Promises: the answer is one first artifact, whole; a question, a refusal and a failure are said in the last status and
//! in no artifact. A text that was decoded from JSON is cleaned again, since escapes hide what the first pass looked for.
//! Refuses to know what the contract looks like.

use super::ending::Ending;
use super::entry::Inner;
use super::turn::Turn;
use crate::a2a::{ANSWER, Artifact, Content, Json, Message, Part, TaskState};
use crate::answer::{Allowed, Answer, MAX_STRUCTURED, Structured, parse};
use crate::sanitize::{self, Counts};
use crate::skills::Output;
use serde_json::Value;
use std::sync::Arc;

/// The end of a completed job.
pub(super) struct Said {
    pub(super) ending: Ending,
    /// Of the last status.
    pub(super) message: Option<Arc<Message>>,
    /// As one entry of the conversation.
    pub(super) text: String,
}

impl Inner {
    /// Makes artifacts of what was said, or says how else the turn ends.
    pub(super) fn conclude_completed(&mut self, turn: &mut Turn) -> Said {
        let text = self.log.rope().text();
        if let Some(record) = &mut turn.record {
            let mut digester = record.digester();
            digester.update(text.as_bytes());
            record.answer(self.log.rope().end(), Some(digester));
        }
        if let Some(output) = turn.output.clone() {
            return self.conclude_declared(&output, text, turn);
        }
        let structured = turn.structured && !self.log.rope().is_cut();
        let answer = if structured { parse(&text, &allowed(turn)) } else { Answer::Plain };
        match answer {
            Answer::Plain => {
                self.show(vec![Part::text(text.clone())], true, turn);
                Said { ending: Ending::completed(), message: None, text }
            }
            Answer::Structured(said) => self.conclude_structured(said, turn),
        }
    }

    /// The answer of a skill that declares what it gives: that, or a failure.
    fn conclude_declared(&mut self, output: &Output, text: String, turn: &mut Turn) -> Said {
        let wrong = match declared(&text) {
            Some(_) if self.log.rope().is_cut() || text.len() > MAX_STRUCTURED => {
                "it is longer than a structured answer may be".to_owned()
            }
            Some((part, value, counts)) => match output.schema.check(&value) {
                Ok(()) => {
                    self.metadata.add_sanitized(counts.iter());
                    self.show(vec![part], false, turn);
                    return Said { ending: Ending::completed(), message: None, text };
                }
                Err(violation) => violation.to_string(),
            },
            None => "it is no JSON value".to_owned(),
        };
        let ending = Ending::schema_violation(&wrong);
        Said { ending, message: None, text }
    }

    fn conclude_structured(&mut self, mut said: Structured, turn: &mut Turn) -> Said {
        let counts = sanitize::clean_parts(&mut said.parts);
        self.metadata.add_sanitized(counts.iter());
        let text = as_text(&said.parts);
        let (ending, message) = match said.state {
            TaskState::Completed => {
                if said.as_message {
                    self.reply = Some(self.message(said.parts.clone()));
                }
                self.show(said.parts, false, turn);
                (Ending::completed(), None)
            }
            state => (Ending::by_the_agent(state), Some(self.message(said.parts))),
        };
        Said { ending, message, text }
    }

    /// The answer, then files. `plain`: readers in pieces hear the same as text.
    fn show(&mut self, parts: Vec<Part>, plain: bool, turn: &mut Turn) {
        let files = turn.files.artifacts();
        let name = Some("answer".to_owned());
        let answer = Arc::new(Artifact { artifact_id: ANSWER.to_owned(), name, description: None, parts });
        self.log.answer(Arc::clone(&answer), plain, files.is_empty());
        self.artifacts = vec![answer];
        let last = files.len();
        for (number, file) in (1..).zip(files) {
            self.log.artifact(Arc::clone(&file), number == last);
            self.artifacts.push(file);
        }
    }
}

/// A text that is one JSON value, as a part without anything hidden, and that value.
fn declared(text: &str) -> Option<(Part, Value, Counts)> {
    let value: Value = serde_json::from_str(text.trim()).ok()?;
    let content = Content::Data(Json(value.to_string().into()));
    let mut parts = [Part { content, media_type: Some("application/json".to_owned()), ..Part::text("") }];
    let counts = sanitize::clean_parts(&mut parts);
    let [part] = parts;
    let value = match &part.content {
        Content::Data(json) => serde_json::from_str(&json.0).ok()?,
        _ => return None,
    };
    Some((part, value, counts))
}

/// What this caller takes.
fn allowed(turn: &Turn) -> Allowed<'_> {
    let limits = &turn.caller.grant.limits;
    let file_bytes = usize::try_from(limits.file_bytes).unwrap_or(usize::MAX);
    Allowed { data: true, files: limits.files > 0, links: true, file_bytes, modes: &turn.accepted }
}

/// Parts as one text: of files and links their names.
fn as_text(parts: &[Part]) -> String {
    let mut out = String::new();
    for part in parts {
        if !out.is_empty() {
            out.push('\n');
        }
        match &part.content {
            Content::Text(text) => out.push_str(text),
            Content::Data(json) => out.push_str(&json.0),
            Content::Url(url) => out.extend(["[link ", url, "]"]),
            Content::Raw(_) => out.extend(["[file ", part.filename.as_deref().unwrap_or("without a name"), "]"]),
        }
    }
    out
}
