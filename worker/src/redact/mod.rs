//! Redaction: text in, the same text without secrets out, before anything leaves the worker.
//!
//! Promises: the output is the same for every cutting of the input; time is linear in the input and memory bounded,
//! whatever the input; what is held back is bounded and never let go by a timer. Refuses to know whose text it is.
//! What is caught and what cannot be: `docs/redaction.md`.

mod alphabet;
mod block;
mod engine;
mod exact;
mod extra;
mod file;
mod json;
mod named;
mod needle;
mod shape;
mod table;
#[cfg(test)]
mod tests;

pub use exact::{MAX_SECRETS, SECRET_MAX, SECRET_MIN};
pub use extra::{ExtraPattern, MAX_EXTRA};
pub use json::{Inside, TOO_LONG};

use alphabet::Classes;
use engine::State;
use memchr::memmem;
use named::LastLetters;
use needle::{Forms, Literals};
use std::fmt;
use std::sync::Arc;
use table::Kinds;
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
    /// The search cannot be built.
    #[error("the search for secrets cannot be built")]
    Search,
    /// A pattern of the operator is malformed.
    #[error("{what}")]
    Pattern {
        /// What is wrong.
        what: &'static str,
    },
}

/// How many texts of each kind were redacted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts(Vec<(Arc<str>, u32)>);

impl Counts {
    /// Kinds that were found, with how often, in the order of their first appearance.
    pub fn iter(&self) -> impl Iterator<Item = (&str, u32)> {
        self.0.iter().map(|(kind, count)| (&**kind, *count))
    }

    /// Whether nothing was found.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds what was found elsewhere.
    pub fn add(&mut self, other: &Self) {
        for (kind, more) in &other.0 {
            match self.0.iter_mut().find(|(known, _)| known == kind) {
                Some((_, count)) => *count = count.saturating_add(*more),
                None => self.0.push((kind.clone(), *more)),
            }
        }
    }
}

/// All that is looked for. Built once, shared by all jobs.
pub struct Rules {
    classes: Box<Classes>,
    kinds: Kinds,
    last_letters: LastLetters,
    literals: Literals,
    forms: Option<Forms>,
    short: memmem::Finder<'static>,
    names: Vec<Arc<str>>,
}

impl fmt::Debug for Rules {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Rules").field("kinds", &self.names).finish_non_exhaustive()
    }
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
        let mut names: Vec<Arc<str>> = Vec::new();
        let mut number = |name: &str| {
            let known = names.iter().position(|known| **known == *name);
            known.unwrap_or_else(|| {
                names.push(name.into());
                names.len() - 1
            })
        };
        let kinds = Kinds::new(&mut number);
        let literals = Literals::new(extra, &mut number).ok_or(RuleError::Search)?;
        let forms = exact::forms(secrets)?;
        let forms = if forms.is_empty() { None } else { Some(Forms::new(forms).ok_or(RuleError::Search)?) };
        let short = memmem::Finder::new(needle::SHORT);
        let last_letters = LastLetters::new();
        Ok(Self { classes: alphabet::classes(extra), kinds, last_letters, literals, forms, short, names })
    }

    /// Redacts a whole text, such as a sentence or a name.
    #[must_use]
    pub fn redact(&self, whole: &str) -> (String, Counts) {
        let (mut out, mut state) = (String::with_capacity(whole.len()), State::default());
        state.push(self, whole, &mut out);
        state.finish(self, &mut out);
        (out, self.counts(&state))
    }

    fn counts(&self, state: &State) -> Counts {
        let named = |(kind, count): &(usize, u32)| Some((self.names.get(*kind)?.clone(), *count));
        Counts(state.counts().iter().filter_map(named).collect())
    }
}

/// Redacts one stream.
#[derive(Debug)]
pub struct Redactor {
    rules: Arc<Rules>,
    state: State,
}

impl Redactor {
    /// At the beginning of a stream.
    #[must_use]
    pub fn new(rules: Arc<Rules>) -> Self {
        Self { rules, state: State::default() }
    }

    /// Takes the next piece and appends to `out` what is decided by now.
    pub fn push(&mut self, chunk: &str, out: &mut String) {
        self.state.push(&self.rules, chunk, out);
    }

    /// The stream ends: appends the rest. The next piece begins a new stream; counts go on.
    pub fn finish(&mut self, out: &mut String) {
        self.state.finish(&self.rules, out);
    }

    /// Forgets what is held back, for an answer that is replaced by another. Counts go on.
    pub fn forget(&mut self) {
        self.state.forget();
    }

    /// What was found so far, in the order of first appearance.
    pub fn counts(&self) -> impl Iterator<Item = (&str, u32)> {
        let name = |kind: usize| self.rules.names.get(kind).map_or("", |name| name);
        self.state.counts().iter().map(move |(kind, count)| (name(*kind), *count))
    }

    /// Bytes held back: at most 9 KiB, or three times the longest value that is protected.
    #[must_use]
    pub fn held(&self) -> usize {
        self.state.held()
    }
}
