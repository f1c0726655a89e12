//! Room 8: a caller's message without anything hidden, within the bounds of a job, as the worker will get it.
//!
//! Promises: a [`Clean`] can only come from here, and nothing that a caller wrote reaches a job but by it; the role is
//! ours, whatever the message said; names of files are safe and differ. Refuses to know Tasks and slots.

use super::own_tokens::mask;
use super::{Counts, Mode, Rejected, clean};
use crate::a2a::{Content, Json, Message, Part, Role};
use crate::refusal::Refusal;
use musegate_protocol::bounded::{Blob, FileName, List, Text, Unfit};
use musegate_protocol::message::{MAX_INPUT_FILE, MAX_PARTS, MAX_TEXT, PromptPart};
use serde_json::Value;
use std::borrow::Cow;
use std::sync::Arc;

/// A message that may go to a job.
#[derive(Clone, Debug)]
pub struct Clean {
    message: Arc<Message>,
    parts: List<PromptPart, MAX_PARTS>,
    counts: Counts,
    text_bytes: usize,
}

impl Clean {
    /// Cleans every text of a message and measures it.
    ///
    /// # Errors
    /// [`Refusal::InvalidParams`] with the field: hidden characters in mode `reject`, more than the bounds of
    /// `protocol/message.rs`, or no part at all; [`Refusal::Forbidden`] for a file where `files` is false.
    pub fn message(mut message: Message, mode: Mode, files: bool) -> Result<Self, Refusal> {
        let mut pass = Pass::new(mode, files);
        if message.parts.is_empty() {
            return Err(invalid("message.parts", "at least one part is needed"));
        }
        let mut parts = Vec::with_capacity(message.parts.len().min(MAX_PARTS));
        for (at, part) in message.parts.iter_mut().enumerate() {
            parts.push(pass.part(&format!("message.parts[{at}]"), part)?);
        }
        if pass.counts.malformed() {
            return Err(invalid("message.parts", "the text has code points that are no characters"));
        }
        let parts = List::new(parts).map_err(|unfit| unfit_in("message.parts", unfit))?;
        message.role = Role::User;
        Ok(Self { message: Arc::new(message), parts, counts: pass.counts, text_bytes: pass.text_bytes })
    }

    /// The message as it will be shown in the Task's history.
    #[must_use]
    pub const fn get(&self) -> &Arc<Message> {
        &self.message
    }

    /// The parts as the worker gets them.
    #[must_use]
    pub const fn parts(&self) -> &List<PromptPart, MAX_PARTS> {
        &self.parts
    }

    /// What was dropped.
    #[must_use]
    pub const fn counts(&self) -> &Counts {
        &self.counts
    }

    /// Bytes of text and data of all parts, as [`MAX_TEXT`] counts them.
    #[must_use]
    pub const fn text_bytes(&self) -> usize {
        self.text_bytes
    }

    /// What was said, as one entry of a conversation: texts and data; of files and links their names.
    #[must_use]
    pub fn as_turn(&self) -> String {
        let mut out = String::new();
        for part in self.parts.iter() {
            if !out.is_empty() {
                out.push('\n');
            }
            match part {
                PromptPart::Text(text) | PromptPart::Data(text) => out.push_str(text),
                PromptPart::File { name, .. } => out.extend(["[file ", name, "]"]),
                PromptPart::Link { url, .. } => out.extend(["[link ", url, "]"]),
            }
        }
        out
    }
}

/// Cleans parts that were decoded from an answer, and masks tokens of ours in them. Data that is no JSON becomes an empty
/// object.
#[must_use]
pub fn clean_parts(parts: &mut [Part]) -> Counts {
    let mut pass = Pass { masks: true, ..Pass::new(Mode::Strip, true) };
    for part in parts {
        for name in [&mut part.filename, &mut part.media_type].into_iter().flatten() {
            pass.strip(name);
        }
        match &mut part.content {
            Content::Text(text) | Content::Url(text) => pass.strip(text),
            Content::Data(json) => {
                if pass.clean_json("", json).is_err() {
                    *json = Json("{}".into());
                }
            }
            Content::Raw(_) => {}
        }
    }
    pass.counts
}

struct Pass {
    mode: Mode,
    /// Tokens of ours are masked: the text is the model's.
    masks: bool,
    files: bool,
    counts: Counts,
    text_bytes: usize,
    file_bytes: usize,
    names: Vec<FileName>,
    /// Something was masked.
    changed: bool,
}

impl Pass {
    fn new(mode: Mode, files: bool) -> Self {
        Self {
            mode,
            masks: false,
            files,
            counts: Counts::default(),
            text_bytes: 0,
            file_bytes: 0,
            names: Vec::new(),
            changed: false,
        }
    }

    /// In mode `strip` nothing is refused.
    fn strip(&mut self, text: &mut String) {
        let _ = self.clean("", text);
    }

    fn part(&mut self, field: &str, part: &mut Part) -> Result<PromptPart, Refusal> {
        for name in [&mut part.filename, &mut part.media_type].into_iter().flatten() {
            self.clean(field, name)?;
        }
        let media_type = Text::cut(part.media_type.as_deref().unwrap_or_default());
        match &mut part.content {
            Content::Text(text) => {
                self.clean(field, text)?;
                self.measure(field, text.len())?;
                Text::new(text.as_str()).map(PromptPart::Text).map_err(|unfit| unfit_in(field, unfit))
            }
            Content::Data(json) => {
                self.clean_json(field, json)?;
                self.measure(field, json.0.len())?;
                Text::new(&*json.0).map(PromptPart::Data).map_err(|unfit| unfit_in(field, unfit))
            }
            Content::Url(url) => {
                self.clean(field, url)?;
                let url = Text::new(url.as_str()).map_err(|unfit| unfit_in(field, unfit))?;
                Ok(PromptPart::Link { url, media_type })
            }
            Content::Raw(bytes) => {
                if !self.files {
                    return Err(Refusal::Forbidden("files"));
                }
                self.file_bytes = self.file_bytes.saturating_add(bytes.len());
                if self.file_bytes > MAX_INPUT_FILE {
                    return Err(invalid(
                        field,
                        format!("all files together are over the limit of {MAX_INPUT_FILE} bytes"),
                    ));
                }
                let bytes = Blob::new(bytes.clone()).map_err(|unfit| unfit_in(field, unfit))?;
                let name = self.name(part.filename.as_deref());
                Ok(PromptPart::File { name, media_type, bytes })
            }
        }
    }

    fn clean(&mut self, field: &str, text: &mut String) -> Result<(), Refusal> {
        let (cleaned, counts) = clean(text, self.mode).map_err(|rejected| refuse(field, &rejected))?;
        self.counts.add(&counts);
        if let Cow::Owned(cleaned) = cleaned {
            *text = cleaned;
        }
        if self.masks
            && let Cow::Owned(masked) = mask(text)
        {
            *text = masked;
            self.changed = true;
        }
        Ok(())
    }

    /// Cleans the strings inside of a JSON value, keys too: escapes can hide what must not be hidden.
    fn clean_json(&mut self, field: &str, json: &mut Json) -> Result<(), Refusal> {
        let parsed = serde_json::from_str::<Value>(&json.0);
        let mut value = parsed.map_err(|error| invalid(field, format!("no JSON value: {error}")))?;
        let before = self.counts;
        self.changed = false;
        self.clean_value(field, &mut value)?;
        if self.changed || self.counts != before {
            json.0 = value.to_string().into();
        }
        Ok(())
    }

    /// As deep as the parser went, which is bounded.
    fn clean_value(&mut self, field: &str, value: &mut Value) -> Result<(), Refusal> {
        match value {
            Value::String(text) => self.clean(field, text),
            Value::Array(items) => items.iter_mut().try_for_each(|item| self.clean_value(field, item)),
            Value::Object(members) => {
                for (mut key, mut member) in std::mem::take(members) {
                    self.clean(field, &mut key)?;
                    self.clean_value(field, &mut member)?;
                    members.insert(key, member);
                }
                Ok(())
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => Ok(()),
        }
    }

    fn measure(&mut self, field: &str, bytes: usize) -> Result<(), Refusal> {
        self.text_bytes = self.text_bytes.saturating_add(bytes);
        if self.text_bytes > MAX_TEXT {
            return Err(invalid(field, format!("all text together is over the limit of {MAX_TEXT} bytes")));
        }
        Ok(())
    }

    /// A name that is safe and that no other file of the message has.
    fn name(&mut self, given: Option<&str>) -> FileName {
        let last = given.and_then(|name| name.rsplit(['/', '\\']).next()).unwrap_or_default();
        let legal = |c: char| if c.is_ascii_alphanumeric() || "._-".contains(c) { c } else { '_' };
        let mut safe: String = last.trim_start_matches('.').chars().take(80).map(legal).collect();
        if safe.is_empty() {
            safe.push_str("file");
        }
        let mut number = 1u32;
        loop {
            let name = if number == 1 { safe.clone() } else { format!("{number}-{safe}") };
            match FileName::new(name) {
                Ok(name) if !self.names.contains(&name) => {
                    self.names.push(name.clone());
                    return name;
                }
                // At most as often as there are parts.
                _ => number = number.saturating_add(1),
            }
        }
    }
}

fn invalid(field: &str, what: impl Into<String>) -> Refusal {
    Refusal::InvalidParams { field: field.to_owned(), what: what.into() }
}

fn unfit_in(field: &str, unfit: Unfit) -> Refusal {
    invalid(field, unfit.to_string())
}

fn refuse(field: &str, rejected: &Rejected) -> Refusal {
    invalid(field, rejected.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::a2a::MessageId;
    use bytes::Bytes;

    fn message(parts: Vec<Part>) -> Message {
        Message {
            message_id: MessageId("m".into()),
            context_id: None,
            task_id: None,
            role: Role::Agent,
            parts,
            metadata: None,
            extensions: Vec::new(),
            reference_task_ids: Vec::new(),
        }
    }

    fn part(content: Content, filename: &str) -> Part {
        Part { content, filename: Some(filename.to_owned()), media_type: None, metadata: None }
    }

    fn cleaned(parts: Vec<Part>, mode: Mode) -> Result<Clean, Refusal> {
        Clean::message(message(parts), mode, true)
    }

    #[test]
    fn hidden_characters_go_from_texts_data_and_names_and_are_counted() {
        let json = Json(r#"{"a\u202e":["x\u202ey\u0007",1]}"#.into());
        let parts = vec![
            Part::text("a\u{202e}b"),
            part(Content::Data(json), "d"),
            part(Content::Raw(Bytes::from_static(b"\xff\0")), "r\u{202e}.txt"),
        ];
        let clean = cleaned(parts, Mode::Strip).unwrap();
        assert_eq!(clean.get().parts[0].content, Content::Text("ab".into()));
        assert_eq!(clean.get().parts[1].content, Content::Data(Json(r#"{"a":["xy",1]}"#.into())));
        assert_eq!(clean.get().parts[2].filename.as_deref(), Some("r.txt"));
        assert_eq!(clean.counts().iter().map(|(_, n)| n).sum::<u32>(), 5);
        assert_eq!(clean.text_bytes(), 2 + 14);
        assert_eq!(clean.as_turn(), "ab\n{\"a\":[\"xy\",1]}\n[file r.txt]");
    }

    #[test]
    fn data_without_anything_hidden_stays_as_it_was_written() {
        let json = r#"{"b":1.50,"a":"é\n"}"#;
        let clean = cleaned(vec![part(Content::Data(Json(json.into())), "")], Mode::Strip).unwrap();
        assert_eq!(clean.parts()[0], PromptPart::Data(Text::cut(json)));
    }

    #[test]
    fn code_points_that_no_text_has_are_refused_in_any_mode() {
        for mode in [Mode::Strip, Mode::Mark, Mode::Reject] {
            assert!(cleaned(vec![Part::text("a\u{ffff}")], mode).is_err());
        }
    }

    #[test]
    fn reject_names_field_and_class() {
        let refusal = cleaned(vec![Part::text("ok"), Part::text("a\u{202e}b")], Mode::Reject).unwrap_err();
        let Refusal::InvalidParams { field, what } = refusal else { panic!() };
        assert_eq!(field, "message.parts[1]");
        assert!(what.contains("bidi"), "{what}");
    }

    #[test]
    fn the_role_is_ours() {
        assert_eq!(cleaned(vec![Part::text("x")], Mode::Strip).unwrap().get().role, Role::User);
    }

    #[test]
    fn names_of_files_are_safe_and_differ() {
        let raw = || Content::Raw(Bytes::from_static(b"x"));
        let given = ["../../etc/passwd", "passwd", ".hidden", "", "a b\u{e9}.txt", "passwd", &"n".repeat(300)];
        let clean = cleaned(given.iter().map(|name| part(raw(), name)).collect(), Mode::Strip).unwrap();
        let names: Vec<&str> = clean
            .parts()
            .iter()
            .map(|part| if let PromptPart::File { name, .. } = part { &**name } else { panic!() })
            .collect();
        let long = "n".repeat(80);
        assert_eq!(names, ["passwd", "2-passwd", "hidden", "file", "a_b_.txt", "3-passwd", &long]);
    }

    #[test]
    fn bounds_of_a_job_hold_for_the_whole_message() {
        let half = "x".repeat(MAX_TEXT / 2 + 1);
        assert!(cleaned(vec![Part::text(half.clone())], Mode::Strip).is_ok());
        assert!(cleaned(vec![Part::text(half.clone()), Part::text(half)], Mode::Strip).is_err());
        let file = || part(Content::Raw(vec![0; MAX_INPUT_FILE / 2 + 1].into()), "f");
        assert!(cleaned(vec![file()], Mode::Strip).is_ok());
        assert!(cleaned(vec![file(), file()], Mode::Strip).is_err());
        assert!(cleaned(vec![Part::text("x"); MAX_PARTS + 1], Mode::Strip).is_err());
        assert!(cleaned(vec![part(Content::Url("u".repeat(2049)), "")], Mode::Strip).is_err());
        assert!(cleaned(Vec::new(), Mode::Strip).is_err());
        let refused = Clean::message(message(vec![file()]), Mode::Strip, false).unwrap_err();
        assert_eq!(refused, Refusal::Forbidden("files"));
    }
}
