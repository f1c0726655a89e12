//! Redaction inside of JSON: escapes such as `\u0067` and base64 hide from a search what their reader gets.
//!
//! Promises: every string of the result, decoded and cleaned as its reader does it, is free of what the rules know, names
//! of members too; so is what a member `raw` holds as base64; what comes out cannot be read as JSON in a way that was not
//! looked at. A text without anything to redact stays byte for byte, but for escapes that need not be. Refuses to know
//! what the JSON is for.

use super::{Counts, Rules};
use base64::Engine as _;
use base64::alphabet::{STANDARD, URL_SAFE};
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use musegate_sanitize::{self as sanitize, Mode, clean};
use serde::de::IgnoredAny;
use std::borrow::Cow;
use std::fmt::Write as _;

/// Stands before an answer that was not looked into as JSON, so that nobody takes it for JSON.
pub const TOO_LONG: &str = "[this answer could not be looked into, so it is plain text]\n";
/// Stands for a file of an answer that is no text and holds a secret.
const WITHHELD: &str = "[redacted:file]";
/// How often a text is looked at that becomes JSON by what was redacted in it.
const ROUNDS: usize = 4;

const LENIENT: GeneralPurposeConfig = GeneralPurposeConfig::new()
    .with_decode_padding_mode(DecodePaddingMode::Indifferent)
    .with_decode_allow_trailing_bits(true);
const ORDINARY: GeneralPurpose = GeneralPurpose::new(&STANDARD, LENIENT);
const URL_LIKE: GeneralPurpose = GeneralPurpose::new(&URL_SAFE, LENIENT);

/// A text that was redacted inside of its strings.
#[derive(Debug, Default)]
pub struct Inside {
    /// It.
    pub text: String,
    /// What was redacted.
    pub counts: Counts,
    /// What was hidden inside of strings and is gone.
    pub hidden: sanitize::Counts,
}

impl Rules {
    /// Redacts a whole text that somebody may read as JSON; one that is none, as text.
    #[must_use]
    pub fn redact_json(&self, text: &str) -> Inside {
        let mut inside = Inside { text: text.to_owned(), ..Inside::default() };
        for _ in 0..ROUNDS {
            let next = self.pass(&inside.text);
            // By its redaction a text may become JSON, or another one.
            if next.text == inside.text {
                return inside;
            }
            inside.text = next.text;
            inside.counts.add(&next.counts);
            inside.hidden.add(&next.hidden);
        }
        inside.text.insert_str(0, TOO_LONG);
        inside
    }

    fn pass(&self, text: &str) -> Inside {
        let mut strings = Strings { rules: self, counts: Counts::default(), hidden: sanitize::Counts::default() };
        let Some(rewritten) = strings.rewrite(text) else {
            let (text, counts) = self.redact(text);
            return Inside { text, counts, ..Inside::default() };
        };
        let Strings { mut counts, hidden, .. } = strings;
        // Names and values together.
        let (text, found) = self.redact(&rewritten);
        counts.add(&found);
        Inside { text, counts, hidden }
    }
}

/// Goes through the strings of one text.
struct Strings<'a> {
    rules: &'a Rules,
    counts: Counts,
    hidden: sanitize::Counts,
}

impl Strings<'_> {
    /// The text with every string redacted. `None`: it is not one JSON value.
    fn rewrite(&mut self, text: &str) -> Option<String> {
        serde_json::from_str::<IgnoredAny>(text.trim()).ok()?;
        let mut out = String::with_capacity(text.len());
        let mut rest = text;
        // The name of the member whose value comes.
        let mut name: Option<String> = None;
        while let Some((before, from)) = rest.find('"').and_then(|at| rest.split_at_checked(at)) {
            out.push_str(before);
            name = name.filter(|_| before.trim() == ":");
            let (token, after) = from.split_at_checked(string_len(from)?)?;
            let decoded: String = serde_json::from_str(token).ok()?;
            let value = if name.take().as_deref() == Some("raw") { self.raw(&decoded) } else { None };
            let value = value.unwrap_or_else(|| self.string(&decoded));
            push_json(&value, &mut out);
            name = after.trim_start().starts_with(':').then_some(decoded);
            rest = after;
        }
        out.push_str(rest);
        Some(out)
    }

    /// As its reader gets it, and redacted.
    fn string(&mut self, decoded: &str) -> String {
        let cleaned = match clean(decoded, Mode::Strip) {
            Ok((cleaned, hidden)) => {
                self.hidden.add(&hidden);
                cleaned
            }
            Err(_) => Cow::Borrowed(""), // strip refuses nothing
        };
        let (text, found) = self.rules.redact(&cleaned);
        self.counts.add(&found);
        text
    }

    /// What stands as base64 in a member `raw`. `None`: nothing had to be taken out of it, or it is no base64.
    fn raw(&mut self, text: &str) -> Option<String> {
        let engine = if text.contains(['-', '_']) { URL_LIKE } else { ORDINARY };
        let bytes = engine.decode(text).ok()?;
        let mut found = Counts::default();
        let left = self.rules.redact_file(bytes, &mut found);
        if found.is_empty() {
            return None;
        }
        self.counts.add(&found);
        Some(ORDINARY.encode(left.as_deref().unwrap_or(WITHHELD.as_bytes())))
    }
}

/// Bytes of the string that begins a text, with its quotes.
fn string_len(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    let mut at = 1;
    loop {
        at += memchr::memchr2(b'"', b'\\', bytes.get(at..)?)?;
        if bytes.get(at) == Some(&b'"') {
            return Some(at + 1);
        }
        at += 2;
    }
}

/// With no escape that need not be.
fn push_json(text: &str, out: &mut String) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            ..' ' => drop(write!(out, "\\u{:04x}", u32::from(c))),
            _ => out.push(c),
        }
    }
    out.push('"');
}
