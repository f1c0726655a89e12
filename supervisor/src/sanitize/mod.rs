//! Sanitising: text in, the same text without anything hidden out. For what callers send, for what Muse answers, and
//! for whatever is printed to a terminal.
//!
//! Promises: nothing hidden reaches a model or a terminal, and honest text of every script stays whole; what was
//! cleaned once is not changed by cleaning it again; the output is the same for every cutting of a stream. Refuses to
//! normalise: letters are never rewritten. What may stay and where: `docs/redaction.md`.

pub mod message;

pub use message::{Clean, clean_parts};
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

    fn count(&mut self, class: Class) {
        if let Some(n) = self.0.get_mut(class as usize) {
            *n = n.saturating_add(1);
        }
    }
}

/// A text that [`Mode::Reject`] does not take.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the text has hidden characters: {}", counts.iter().map(|(class, _)| class).collect::<Vec<_>>().join(", "))]
pub struct Rejected {
    /// What it has.
    pub counts: Counts,
}

/// Classes of hidden characters. The words go to the audit and to callers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Class {
    Control,
    LineSeparator,
    BidiHard,
    Invisible,
}

impl Class {
    const ALL: [Self; 4] = [Self::Control, Self::LineSeparator, Self::BidiHard, Self::Invisible];

    const fn word(self) -> &'static str {
        match self {
            Self::Control => "control",
            Self::LineSeparator => "linesep",
            Self::BidiHard => "bidi-hard",
            Self::Invisible => "invisible",
        }
    }

    fn of(c: char) -> Option<Self> {
        match c {
            '\t' | '\n' | '\r' => None,
            '\u{85}' | '\u{2028}' | '\u{2029}' => Some(Self::LineSeparator),
            '\0'..='\x1f' | '\x7f'..='\u{9f}' => Some(Self::Control),
            '\u{202a}'..='\u{202e}' | '\u{206a}'..='\u{206f}' => Some(Self::BidiHard),
            '\u{ad}' | '\u{2060}'..='\u{2065}' | '\u{feff}' => Some(Self::Invisible),
            _ => None,
        }
    }
}

/// Cleans a whole text. Borrowed when there is nothing to do.
///
/// # Errors
/// [`Rejected`] with [`Mode::Reject`], when the text has anything hidden.
pub fn clean(text: &str, mode: Mode) -> Result<(Cow<'_, str>, Counts), Rejected> {
    let mut stream = Stream::new(mode);
    let mut out = String::new();
    stream.push(text, &mut out);
    stream.finish(&mut out);
    let counts = stream.counts();
    if counts.is_empty() {
        return Ok((Cow::Borrowed(text), counts));
    }
    if mode == Mode::Reject {
        return Err(Rejected { counts });
    }
    Ok((Cow::Owned(out), counts))
}

/// Text as it may be printed to a terminal: without control characters and sequences, line ends kept.
#[must_use]
pub fn for_terminal(text: &str) -> Cow<'_, str> {
    clean(text, Mode::Strip).map_or(Cow::Borrowed(""), |(text, _)| text)
}

/// Cleans a text that comes in pieces.
#[derive(Debug)]
pub struct Stream {
    mode: Mode,
    counts: Counts,
}

impl Stream {
    /// At the beginning of a text.
    #[must_use]
    pub fn new(mode: Mode) -> Self {
        Self { mode, counts: Counts::default() }
    }

    /// Takes the next piece and appends to `out` what is decided by now.
    pub fn push(&mut self, chunk: &str, out: &mut String) {
        for c in chunk.chars() {
            let Some(class) = Class::of(c) else {
                out.push(c);
                continue;
            };
            self.counts.count(class);
            match (class, self.mode) {
                (Class::LineSeparator, _) => out.push('\n'),
                (_, Mode::Mark) => out.push_str(&format!("⟦U+{:04X}⟧", u32::from(c))),
                _ => {}
            }
        }
    }

    /// The text ends: appends the rest. The next piece begins a new text; counts go on.
    pub fn finish(&mut self, _out: &mut String) {}

    /// What was found so far.
    #[must_use]
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// Bytes held back.
    #[must_use]
    pub fn held(&self) -> usize {
        0
    }
}
