//! Sanitising: text in, the same text without anything hidden out. For what callers send, for what Muse answers, and
//! for whatever is printed to a terminal.
//!
//! Promises: nothing hidden reaches a model or a terminal, and honest text of every script stays whole; what was
//! cleaned once is not changed by cleaning it again; the output is the same for every cutting of a stream. Refuses to
//! normalise: letters are never rewritten. What may stay and where: `docs/redaction.md`.

mod context;
mod escape;
mod properties;
mod rules;
mod stream;
mod table;
#[cfg(test)]
mod tests;

pub use stream::{HELD_MAX, Stream};

use rules::Class;
use std::borrow::Cow;

/// What to do with a hidden character.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// Leave it out.
    #[default]
    Strip,
    /// Show it, as `⟦U+200B⟧`.
    Mark,
    /// Refuse the text. A [`Stream`] has nobody to refuse and strips.
    Reject,
}

/// How many characters of each class were found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts([u32; Class::ALL.len()]);

impl Counts {
    /// Classes that were found, with how often.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, u32)> {
        Class::ALL.into_iter().zip(self.0).filter(|(_, n)| *n > 0).map(|(class, n)| (class.word(), n))
    }

    /// Whether nothing was found.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.iter().all(|n| *n == 0)
    }

    /// Adds what was found elsewhere.
    pub fn add(&mut self, other: &Self) {
        self.0.iter_mut().zip(other.0).for_each(|(mine, theirs)| *mine = mine.saturating_add(theirs));
    }

    /// The names of what was hidden.
    #[must_use]
    pub fn hidden_words(&self) -> Vec<&'static str> {
        self.iter().map(|(word, _)| word).filter(|word| *word != Class::Private.word()).collect()
    }

    /// Whether anything was hidden. Private use is counted, but visible.
    #[must_use]
    pub fn hidden(&self) -> bool {
        Class::ALL.iter().zip(self.0).any(|(class, n)| n > 0 && *class != Class::Private)
    }

    /// Whether the text had code points that no text has: a request with them is refused in any mode.
    #[must_use]
    pub fn malformed(&self) -> bool {
        Class::ALL.iter().zip(self.0).any(|(class, n)| n > 0 && *class == Class::Encoding)
    }

    /// The class of this name.
    #[must_use]
    pub fn class(word: &str) -> Option<&'static str> {
        Class::ALL.into_iter().map(Class::word).find(|known| *known == word)
    }

    /// What is gone from the text: all but private use, which stays.
    pub fn dropped(&self) -> impl Iterator<Item = (&'static str, u32)> {
        self.iter().filter(|(word, _)| *word != Class::Private.word())
    }

    fn count(&mut self, class: Class) {
        let class = if class == Class::DeadFiller { Class::Filler } else { class };
        let known = Class::ALL.iter().position(|known| *known == class);
        if let Some(n) = known.and_then(|at| self.0.get_mut(at)) {
            *n = n.saturating_add(1);
        }
    }
}

/// A text that [`Mode::Reject`] does not take.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the text has hidden characters: {}", counts.hidden_words().join(", "))]
pub struct Rejected {
    /// What it has.
    pub counts: Counts,
}

/// Cleans a whole text. Borrowed when there is nothing to do. Noncharacters become U+FFFD.
///
/// # Errors
/// [`Rejected`] with [`Mode::Reject`], when the text has anything hidden.
pub fn clean(text: &str, mode: Mode) -> Result<(Cow<'_, str>, Counts), Rejected> {
    if Stream::new(mode).plain_run(text) == text.len() {
        return Ok((Cow::Borrowed(text), Counts::default()));
    }
    let mut stream = Stream::new(mode);
    let mut out = String::with_capacity(text.len());
    stream.push(text, &mut out);
    stream.finish(&mut out);
    let counts = stream.counts();
    match (counts.hidden(), mode) {
        (false, _) => Ok((Cow::Borrowed(text), counts)),
        (true, Mode::Reject) => Err(Rejected { counts }),
        (true, _) => Ok((Cow::Owned(out), counts)),
    }
}

/// Text as it may be printed to a terminal: cleaned, tabs and line feeds kept, carriage returns gone.
#[must_use]
pub fn for_terminal(text: &str) -> Cow<'_, str> {
    let cleaned = stripped(text);
    if cleaned.contains('\r') { Cow::Owned(cleaned.replace('\r', "")) } else { cleaned }
}

/// A whole text with everything hidden left out. Borrowed when there is nothing to do.
#[must_use]
pub fn stripped(text: &str) -> Cow<'_, str> {
    clean(text, Mode::Strip).map_or(Cow::Borrowed(""), |(text, _)| text) // strip refuses nothing
}
