//! Judges a place where a literal may stand, by what is there and what follows.
//!
//! Promises: a verdict depends on the text alone, never on where it was cut: either it is the one that the whole text
//! would give, or [`Verdict::Wait`]. Looks at each byte of a long tail once, however often it is asked.

use super::alphabet::{Alphabet, Classes};
use super::needle::{Family, Follows, Literal, word_edge};
use super::table::{Edge, PROOF_WITHIN, Proof};

/// Longest JSON web token that is looked at before it is believed, bytes.
pub(crate) const TOKEN_MAX: usize = 8192;
/// Longest words between `BEGIN` and `PRIVATE KEY`, bytes.
const LABEL_MAX: usize = 48;

/// What is at a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// Nothing to hide.
    No,
    /// More text is needed. Nothing from `hold` on may leave.
    Wait { hold: usize },
    /// A secret from `start` to `end`; it goes on in the text to come as long as that is of the alphabets `open`.
    Hit { kind: usize, start: usize, end: usize, open: u32 },
    /// A private key block from `start` on, whose label ends at `end`.
    Block { kind: usize, start: usize, end: usize },
}

/// A run of characters of one alphabet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Run {
    /// Where it ends.
    pub(crate) end: usize,
    /// Whether it may go on in the text to come.
    pub(crate) open: bool,
}

/// A run that was followed.
#[derive(Clone, Copy, Debug, Default)]
struct Known {
    from: usize,
    to: usize,
}

/// The latest two runs of each alphabet, the later first, and how far they were followed. A place that waits asks for
/// two of one alphabet at most, so each byte is looked at once for it.
#[derive(Debug, Default)]
pub(crate) struct Runs {
    known: [[Known; 2]; 32],
    /// Bytes looked at one by one, for the tests of linearity.
    #[cfg(test)]
    pub(crate) steps: u64,
}

impl Runs {
    /// The text lost its first `by` bytes.
    pub(crate) fn shift(&mut self, by: usize) {
        for known in self.known.iter_mut().flatten() {
            match known.to.checked_sub(by) {
                Some(to) => (known.from, known.to) = (known.from.saturating_sub(by), to),
                None => *known = Known::default(),
            }
        }
    }

    /// Another text begins.
    pub(crate) fn forget(&mut self) {
        self.known = Default::default();
    }

    pub(crate) fn count(&mut self, _steps: usize) {
        #[cfg(test)]
        {
            self.steps += _steps as u64;
        }
    }
}

/// The text as far as it is known.
pub(crate) struct View<'a> {
    pub(crate) text: &'a [u8],
    /// Whether nothing follows.
    pub(crate) end: bool,
    pub(crate) classes: &'a Classes,
    pub(crate) runs: &'a mut Runs,
}

impl View<'_> {
    pub(crate) fn at(&self, at: usize) -> Option<u8> {
        self.text.get(at).copied()
    }

    /// Whether the byte at a place belongs to one of the alphabets `mask`: `Some` of those, `None` while that cannot be
    /// known. A dot belongs only if the byte after it does: at the end it is the sentence's.
    pub(crate) fn take(&self, at: usize, mask: u32) -> Option<u32> {
        let class = |b: u8| self.classes.get(usize::from(b)).copied().unwrap_or(0);
        match self.at(at) {
            None if self.end => Some(0),
            None => None,
            Some(b'.') if mask & class(b'.') != 0 => match self.at(at + 1) {
                None if self.end => Some(0),
                None => None,
                Some(next) => Some(mask & class(b'.') & class(next)),
            },
            Some(b) => Some(mask & class(b)),
        }
    }

    /// The run of an alphabet from a place on.
    pub(crate) fn run(&mut self, from: usize, bit: u32) -> Run {
        let slot = bit.trailing_zeros() as usize;
        let [later, earlier] = self.runs.known.get(slot).copied().unwrap_or_default();
        let holds = |run: &Known| (run.from..=run.to).contains(&from);
        let (known, other) = if holds(&later) {
            (later, earlier)
        } else if holds(&earlier) {
            (earlier, later)
        } else {
            (Known { from, to: from }, later)
        };
        let (first, mut at) = (known.to, known.to);
        let open = loop {
            match self.take(at, bit) {
                Some(0) => break false,
                Some(_) => at += 1,
                None => break true,
            }
        };
        self.runs.count(at - first + 1);
        if let Some(runs) = self.runs.known.get_mut(slot) {
            *runs = [Known { to: at, ..known }, other];
        }
        Run { end: at, open }
    }

    /// Whether a literal stands at a place: `None` while that cannot be known.
    pub(crate) fn stands(&self, at: usize, literal: &[u8]) -> Option<bool> {
        let here = self.text.get(at..).unwrap_or_default();
        let here = here.get(..literal.len()).unwrap_or(here);
        match literal.strip_prefix(here) {
            Some([]) => Some(true),
            Some(_) if !self.end => None,
            _ => Some(false),
        }
    }

    /// A tail from `at` on: at least `min` characters of an alphabet.
    pub(crate) fn tail(
        &mut self,
        kind: usize,
        (start, at): (usize, usize),
        min: usize,
        bit: u32,
        proof: Proof,
    ) -> Verdict {
        let run = self.run(at, bit);
        let long = run.end - at >= min;
        if !long && !run.open {
            return Verdict::No;
        }
        let within = run.end.min(at + PROOF_WITHIN);
        let seen = self.text.get(at..within).unwrap_or_default();
        let proven = proof == Proof::None || seen.iter().any(|b| proof.is(*b));
        self.runs.count(if proof == Proof::None { 0 } else { seen.len() });
        if long && proven {
            return Verdict::Hit { kind, start, end: run.end, open: if run.open { bit } else { 0 } };
        }
        if run.open && (proven || seen.len() < PROOF_WITHIN) { Verdict::Wait { hold: start } } else { Verdict::No }
    }
}

/// Judges a place where the window of a family was found. The longest literal that fits decides.
pub(crate) fn judge_family(view: &mut View<'_>, family: &Family, window: usize) -> Verdict {
    let Some(at) = window.checked_sub(family.offset) else { return Verdict::No };
    let edge = word_edge(view.text, at);
    for literal in &family.literals {
        if literal.needs_edge() && !edge {
            continue;
        }
        let after = at + literal.text.len();
        let keep = matches!(literal.follows, Follows::Tail { edge: Edge::Keep, .. });
        let start = if edge && !keep { at } else { after };
        let verdict = match view.stands(at, &literal.text) {
            Some(true) => judge_literal(view, literal, start, after),
            Some(false) => Verdict::No,
            None => Verdict::Wait { hold: at },
        };
        if verdict != Verdict::No {
            return verdict;
        }
    }
    Verdict::No
}

fn judge_literal(view: &mut View<'_>, literal: &Literal, start: usize, after: usize) -> Verdict {
    match literal.follows {
        Follows::Tail { min, bit, edge: Edge::Both, .. } => judge_exact(view, literal.kind, (start, after), min, bit),
        Follows::Tail { min, bit, proof, .. } => view.tail(literal.kind, (start, after), min, bit, proof),
        Follows::Token => judge_token(view, literal.kind, start, after),
        Follows::KeyBlock => judge_block(view, literal.kind, start, after),
    }
}

/// Exactly so many characters, then no word character.
fn judge_exact(view: &mut View<'_>, kind: usize, (start, at): (usize, usize), len: usize, bit: u32) -> Verdict {
    let run = view.run(at, bit);
    let end = at + len;
    if run.end < end {
        return if run.open { Verdict::Wait { hold: start } } else { Verdict::No };
    }
    match view.take(end, Alphabet::Word.bit()) {
        None => Verdict::Wait { hold: start },
        Some(0) => Verdict::Hit { kind, start, end, open: 0 },
        Some(_) => Verdict::No,
    }
}

/// After `eyJ`: 17 or more, `.eyJ`, 17 or more, a dot, 10 or more. One too long to wait for is believed.
fn judge_token(view: &mut View<'_>, kind: usize, start: usize, after: usize) -> Verdict {
    let bit = Alphabet::UrlSafe.bit();
    let wait = Verdict::Wait { hold: start };
    let header = view.run(after, bit);
    match (header.end - after, header.open) {
        (TOKEN_MAX.., _) => return Verdict::No,
        (_, true) => return wait,
        (..17, false) => return Verdict::No,
        _ => {}
    }
    match view.stands(header.end, b".eyJ") {
        None => return wait,
        Some(false) => return Verdict::No,
        Some(true) => {}
    }
    let second = header.end + 4;
    let payload = view.run(second, bit);
    if payload.end - start > TOKEN_MAX {
        return Verdict::Hit { kind, start, end: payload.end, open: if payload.open { bit } else { 0 } };
    }
    match (payload.end - second, payload.open) {
        (_, true) => return wait,
        (..17, false) => return Verdict::No,
        _ => {}
    }
    match view.stands(payload.end, b".") {
        None => wait,
        Some(false) => Verdict::No,
        Some(true) => view.tail(kind, (start, payload.end + 1), 10, bit, Proof::None),
    }
}

/// After `-----BEGIN `: a few words in capitals, then `PRIVATE KEY`.
fn judge_block(view: &mut View<'_>, kind: usize, start: usize, after: usize) -> Verdict {
    const WANTED: &[u8] = b"PRIVATE KEY";
    let label = view.text.get(after..).unwrap_or_default();
    let label = label.get(..LABEL_MAX).unwrap_or(label);
    let len = label.iter().take_while(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || **b == b' ').count();
    let label = label.get(..len).unwrap_or_default();
    view.runs.count(len);
    match label.windows(WANTED.len()).position(|words| words == WANTED) {
        Some(at) => Verdict::Block { kind, start, end: after + at + WANTED.len() },
        None if len < LABEL_MAX && after + len == view.text.len() && !view.end => Verdict::Wait { hold: start },
        None => Verdict::No,
    }
}
