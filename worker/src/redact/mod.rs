//! Redaction: text in, the same text without secrets out, before anything leaves the worker.
//!
//! Promises: the output is the same for every cutting of the input; time is linear in the input and memory bounded,
//! whatever the input; what is held back is bounded and never let go by a timer. Refuses to know whose text it is.
//! What is caught and what cannot be: `docs/redaction.md`.

mod exact;
mod extra;
mod table;

pub use exact::{MAX_SECRETS, SECRET_MAX, SECRET_MIN};
pub use extra::{ExtraPattern, MAX_EXTRA};

use std::borrow::Cow;
use std::sync::Arc;
use table::{Edge, Proof, ROWS};
use zeroize::Zeroizing;

/// Why rules cannot be built.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RuleError {
    /// A value is too short to be told from text, or too long to be held back.
    #[error("secret {at} has {len} bytes, must have {SECRET_MIN} to {SECRET_MAX}")]
    Length {
        /// Its place in the list, from 0. Never the value.
        at: usize,
        /// Its length, bytes.
        len: usize,
    },
    /// More than [`MAX_SECRETS`] values or [`MAX_EXTRA`] patterns.
    #[error("more than {max}")]
    TooMany {
        /// How many there may be.
        max: usize,
    },
    /// A pattern of the operator is malformed.
    #[error("{what}")]
    Pattern {
        /// What is wrong.
        what: &'static str,
    },
}

/// How many texts of each kind were redacted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts(Vec<(Cow<'static, str>, u32)>);

impl Counts {
    /// Kinds that were found, with how often, in the order of their first appearance.
    pub fn iter(&self) -> impl Iterator<Item = (&str, u32)> {
        self.0.iter().map(|(kind, count)| (kind.as_ref(), *count))
    }

    /// Whether nothing was found.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds what was found elsewhere.
    pub fn add(&mut self, other: &Self) {
        other.0.iter().for_each(|(kind, count)| self.count(kind, *count));
    }

    fn count(&mut self, kind: &Cow<'static, str>, by: u32) {
        match self.0.iter_mut().find(|(known, _)| known == kind) {
            Some((_, count)) => *count = count.saturating_add(by),
            None => self.0.push((kind.clone(), by)),
        }
    }
}

/// All that is looked for. Built once, shared by all jobs.
pub struct Rules {
    forms: Vec<Zeroizing<String>>,
    extra: Vec<ExtraPattern>,
}

impl Rules {
    /// `secrets`: values to be found in any form, each [`SECRET_MIN`] to [`SECRET_MAX`] bytes. `extra`: shapes that an
    /// operator adds.
    ///
    /// # Errors
    /// [`RuleError`]; it never contains a value.
    pub fn new(secrets: &[Zeroizing<String>], extra: &[ExtraPattern]) -> Result<Self, RuleError> {
        if extra.len() > MAX_EXTRA {
            return Err(RuleError::TooMany { max: MAX_EXTRA });
        }
        Ok(Self { forms: exact::forms(secrets)?, extra: extra.to_vec() })
    }

    /// Redacts a whole text, such as a sentence or a name.
    #[must_use]
    pub fn redact(&self, whole: &str) -> (String, Counts) {
        let (mut out, mut counts) = (String::new(), Counts::default());
        let mut at = 0;
        while let Some(rest) = whole.get(at..).filter(|rest| !rest.is_empty()) {
            let before = whole.as_bytes().get(at.wrapping_sub(1)).copied();
            if let Some((len, kind)) = self.secret_at(rest, before) {
                out.push_str("[redacted:");
                out.push_str(&kind);
                out.push(']');
                counts.count(&kind, 1);
                at += len;
            } else if let Some(c) = rest.chars().next() {
                out.push(c);
                at += c.len_utf8();
            }
        }
        (out, counts)
    }

    fn secret_at(&self, rest: &str, before: Option<u8>) -> Option<(usize, Cow<'static, str>)> {
        if let Some(form) = self.forms.iter().find(|form| rest.starts_with(form.as_str())) {
            return Some((form.len(), Cow::Borrowed("own-secret")));
        }
        let edge = !before.is_some_and(|b| b.is_ascii_alphanumeric() || b == b'_');
        let row = |row: &table::Row, literal: &str| {
            let tail = rest.strip_prefix(literal)?;
            let n = tail.bytes().take_while(|b| row.alphabet.has(*b)).count();
            let proven = row.proof == Proof::None
                || tail.bytes().take(n.min(64)).any(|b| b.is_ascii_digit() || b.is_ascii_uppercase());
            let fits = n >= row.tail && (row.edge == Edge::Any || edge) && (row.edge != Edge::Both || n == row.tail);
            (fits && proven).then(|| (literal.len() + n, Cow::Borrowed(row.kind)))
        };
        let rows = ROWS.iter().flat_map(|r| r.literals.iter().filter_map(move |literal| row(r, literal)));
        let extra = self.extra.iter().filter_map(|pattern| {
            let tail = rest.strip_prefix(pattern.literal.as_str())?;
            let n = tail.bytes().take_while(|b| b.is_ascii() && pattern.alphabet >> (b & 127) & 1 == 1).count();
            (n >= pattern.tail).then(|| (pattern.literal.len() + n, Cow::Owned(pattern.kind.clone())))
        });
        rows.chain(extra).max_by_key(|(len, _)| *len)
    }
}

/// Redacts one stream.
pub struct Redactor {
    rules: Arc<Rules>,
    buf: String,
    counts: Counts,
}

impl Redactor {
    /// At the beginning of a stream.
    #[must_use]
    pub fn new(rules: Arc<Rules>) -> Self {
        Self { rules, buf: String::new(), counts: Counts::default() }
    }

    /// Takes the next piece and appends to `out` what is decided by now.
    pub fn push(&mut self, chunk: &str, _out: &mut String) {
        self.buf.push_str(chunk);
    }

    /// The stream ends: appends the rest. The next piece begins a new stream; counts go on.
    pub fn finish(&mut self, out: &mut String) {
        let (text, counts) = self.rules.redact(&self.buf);
        out.push_str(&text);
        self.counts.add(&counts);
        self.buf.clear();
    }

    /// Forgets what is held back, for an answer that is replaced by another. Counts go on.
    pub fn forget(&mut self) {
        self.buf.clear();
    }

    /// What was found so far.
    pub fn counts(&self) -> impl Iterator<Item = (&str, u32)> {
        self.counts.iter()
    }

    /// Bytes held back.
    #[must_use]
    pub fn held(&self) -> usize {
        self.buf.len()
    }
}
