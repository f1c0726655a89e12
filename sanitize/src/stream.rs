//! The pass over a text: plain characters go through in runs, the others are ruled on one by one.
//!
//! Promises: the output is the same for every cutting; at most [`HELD_MAX`] bytes are held back; time is linear in the
//! text, whatever it is.

use super::context::Context;
use super::escape::{Sequence, Step};
use super::properties::{has, lookup};
use super::rules::{AHEAD, Class, Ruling, rule};
use super::{Counts, Mode};
use std::fmt::Write as _;

/// Most bytes held back: a mark of direction, what is looked at behind it, and one more character.
pub const HELD_MAX: usize = AHEAD + 8;

/// Cleans a text that comes in pieces. In mode `reject` it strips: an answer has nobody to refuse it.
#[derive(Debug)]
pub struct Stream {
    mode: Mode,
    counts: Counts,
    context: Context,
    sequence: Option<Sequence>,
    held: String,
    /// Bytes from the start of the text to `held`, and to where no right-to-left letter is.
    passed: usize,
    barren: usize,
}

impl Stream {
    /// At the beginning of a text.
    #[must_use]
    pub fn new(mode: Mode) -> Self {
        let (counts, context) = (Counts::default(), Context::default());
        Self { mode, counts, context, sequence: None, held: String::new(), passed: 0, barren: 0 }
    }

    /// Takes the next piece and appends to `out` what is decided by now.
    pub fn push(&mut self, chunk: &str, out: &mut String) {
        self.feed(chunk, false, out);
    }

    /// The text ends: appends the rest. The next piece begins a new text; counts go on.
    pub fn finish(&mut self, out: &mut String) {
        self.feed("", true, out);
        *self = Self { counts: self.counts, ..Self::new(self.mode) };
    }

    /// What was found so far.
    #[must_use]
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// Bytes held back, at most [`HELD_MAX`].
    #[must_use]
    pub fn held(&self) -> usize {
        self.held.len()
    }

    fn feed(&mut self, chunk: &str, end: bool, out: &mut String) {
        if self.held.is_empty() {
            let rest = self.pass(chunk, end, out);
            self.held.push_str(rest);
            return;
        }
        let mut text = std::mem::take(&mut self.held);
        text.push_str(chunk);
        let rest = self.pass(&text, end, out).len();
        text.drain(..text.len() - rest);
        self.held = text;
    }

    /// Lets through what can be decided; what cannot is returned.
    fn pass<'a>(&mut self, text: &'a str, end: bool, out: &mut String) -> &'a str {
        let mut rest = text;
        while let Some(c) = rest.chars().next() {
            let taken = match self.sequence {
                Some(sequence) => self.follow(sequence, c),
                None => match self.plain_run(rest) {
                    0 => match self.special(c, rest, end, out) {
                        Some(taken) => taken,
                        None => return rest,
                    },
                    run => {
                        out.push_str(rest.get(..run).unwrap_or_default());
                        run
                    }
                },
            };
            self.passed += taken;
            rest = rest.get(taken..).unwrap_or_default();
        }
        rest
    }

    /// How many bytes need no ruling; the context moves over them.
    pub(super) fn plain_run(&mut self, text: &str) -> usize {
        let mut rest = text;
        while let Some(first) = rest.as_bytes().first() {
            if first.is_ascii() {
                let Some((run, after)) = rest.split_at_checked(plain_ascii(rest.as_bytes())) else { break };
                if run.is_empty() {
                    break;
                }
                self.context.ascii(run);
                rest = after;
                continue;
            }
            let mut chars = rest.chars();
            let Some(c) = chars.next() else { break };
            let (class, bits) = lookup(c);
            if class != Class::Plain || !self.context.takes(bits) {
                break;
            }
            self.context.plain(c, bits);
            rest = chars.as_str();
        }
        text.len() - rest.len()
    }

    /// Rules on a character that begins `text`: how many bytes are dealt with, or `None` while that cannot be known.
    fn special(&mut self, c: char, text: &str, end: bool, out: &mut String) -> Option<usize> {
        let (class, _) = lookup(c);
        let class = if class == Class::Plain { Class::Zalgo } else { class };
        let after = text.get(c.len_utf8()..).unwrap_or_default();
        let ruling = match class {
            Class::BidiSoft => self.rule_direction(c, after, end),
            _ => rule(class, c, &self.context, after, end),
        };
        match ruling {
            Ruling::Wait => return None,
            Ruling::Drop => self.drop(class, c, out),
            Ruling::Keep => {
                out.push(c);
                if class == Class::Private {
                    self.counts.count(class);
                    self.context.plain(c, 0);
                } else {
                    self.context.special(c, class);
                }
            }
            Ruling::KeepRun(len) => {
                out.push_str(text.get(..len).unwrap_or_default());
                self.context.special(c, class);
                return Some(len);
            }
        }
        Some(c.len_utf8())
    }

    /// A mark of direction stays if it does not repeat itself, in a paragraph with a right-to-left letter: before it, or
    /// near behind it and before any escape sequence. What was looked at in vain is not looked at again.
    fn rule_direction(&mut self, c: char, after: &str, end: bool) -> Ruling {
        if self.context.direction == Some(c) {
            return Ruling::Drop;
        }
        if self.context.right_to_left {
            return Ruling::Keep;
        }
        let start = self.passed + c.len_utf8();
        let known = self.barren.saturating_sub(start).min(after.len());
        for (at, c) in after.get(known..).unwrap_or_default().char_indices() {
            let at = known + at;
            let (class, bits) = lookup(c);
            if class == Class::Plain && bits & has::RIGHT_TO_LEFT != 0 && at < AHEAD {
                return Ruling::Keep;
            }
            self.barren = start + at;
            if at >= AHEAD || matches!(c, '\n' | '\r') || matches!(class, Class::LineSeparator | Class::Ansi) {
                return Ruling::Drop;
            }
        }
        self.barren = self.barren.max(start + after.len());
        if end { Ruling::Drop } else { Ruling::Wait }
    }

    /// A character goes; in mode `mark` it is shown.
    fn drop(&mut self, class: Class, c: char, out: &mut String) {
        self.counts.count(class);
        match (class, self.mode) {
            (Class::LineSeparator, _) => self.put('\n', out),
            (_, Mode::Mark) => {
                let _ = write!(out, "⟦U+{:04X}", u32::from(c));
                self.put('⟧', out);
            }
            (Class::Encoding, _) => self.put(char::REPLACEMENT_CHARACTER, out),
            (Class::Ansi, _) => self.sequence = Some(Sequence::begin(c)),
            _ => {}
        }
    }

    fn put(&mut self, c: char, out: &mut String) {
        out.push(c);
        self.context.plain(c, lookup(c).1);
    }

    /// A character within an escape sequence: how many bytes of it belong to that.
    fn follow(&mut self, sequence: Sequence, c: char) -> usize {
        let step = sequence.step(c);
        self.sequence = if let Step::On(sequence) = step { Some(sequence) } else { None };
        if step == Step::Over { 0 } else { c.len_utf8() }
    }
}

/// How many bytes from the start are visible ASCII, spaces, tabs and line ends.
fn plain_ascii(text: &[u8]) -> usize {
    const BLOCK: usize = 32;
    let plain = |b: &u8| (b' '..0x7f).contains(b) || matches!(b, b'\t' | b'\n' | b'\r');
    // Without a branch within a block, so that the compiler takes many bytes at once.
    let all = |block: &&[u8]| block.iter().fold(true, |all, b| all & plain(b));
    let blocks = text.chunks_exact(BLOCK).take_while(all).count() * BLOCK;
    blocks + text.iter().skip(blocks).take_while(|b| plain(b)).count()
}
