//! The second pass over what leaves: whatever has the form of a caller's token of ours is masked, whoever said it.
//!
//! Promises: the output is the same for every cutting; less than one token is held back, and nothing before a whole
//! prefix was seen: the prefix stays, since it is no secret. The checksum is not asked: a token with a typing error is
//! masked too. Refuses to know which tokens exist. The worker redacts far more (docs/redaction.md); this holds even if
//! the worker is not what it should be.

use crate::admission::token::{LEN, PREFIX};
use memchr::memmem;
use std::borrow::Cow;

/// What stands in the place of all that follows the prefix.
pub const MARKER: &str = "[redacted:musegate]";
/// Length of what follows the prefix, bytes.
const BODY: usize = LEN - PREFIX.len();

/// Masks a whole text; borrowed when there is nothing to mask.
#[must_use]
pub fn mask(text: &str) -> Cow<'_, str> {
    if memmem::find(text.as_bytes(), PREFIX.as_bytes()).is_none() {
        return Cow::Borrowed(text);
    }
    let (mut mask, mut out) = (Mask::new(), String::with_capacity(text.len()));
    mask.push(text, &mut out);
    mask.finish(&mut out);
    if mask.count() == 0 { Cow::Borrowed(text) } else { Cow::Owned(out) }
}

/// Masks a text that comes in pieces.
#[derive(Debug)]
pub struct Mask {
    /// The end of what was let through, then what is held back.
    text: String,
    /// Everything before was let through or covered.
    done: usize,
    /// Behind a token: more letters and digits are covered with it.
    inside: bool,
    count: u32,
    prefix: memmem::Finder<'static>,
}

impl Default for Mask {
    fn default() -> Self {
        Self::new()
    }
}

impl Mask {
    /// At the beginning of a text.
    #[must_use]
    pub fn new() -> Self {
        Self { text: String::new(), done: 0, inside: false, count: 0, prefix: memmem::Finder::new(PREFIX) }
    }

    /// Takes the next piece and appends to `out` what is decided by now.
    pub fn push(&mut self, chunk: &str, out: &mut String) {
        self.text.push_str(chunk);
        let keep = self.pass(false, out);
        self.text.drain(..keep);
        self.done -= keep;
    }

    /// The text ends: appends the rest. The next piece begins a new text; the count goes on.
    pub fn finish(&mut self, out: &mut String) {
        self.pass(true, out);
        self.text.clear();
        (self.done, self.inside) = (0, false);
    }

    /// Tokens masked so far.
    #[must_use]
    pub const fn count(&self) -> u32 {
        self.count
    }

    /// Bytes held back, less than a token has.
    #[must_use]
    pub fn held(&self) -> usize {
        self.text.len() - self.done
    }

    /// Lets through what can be decided. Returns how much of the text is of no use any more.
    fn pass(&mut self, end: bool, out: &mut String) -> usize {
        let mut from = 0;
        loop {
            self.cover_rest();
            let rest = self.text.as_bytes().get(from..).unwrap_or_default();
            let Some(at) = self.prefix.find(rest).map(|at| from + at) else { break };
            let body = at + PREFIX.len();
            self.let_through(body, out);
            match alnum(&self.text, body, BODY) {
                BODY => {
                    out.push_str(MARKER);
                    self.count = self.count.saturating_add(1);
                    self.inside = true;
                    self.done = body + BODY;
                }
                short if !end && body + short == self.text.len() => return at,
                _ => {}
            }
            from = self.done;
        }
        self.let_through(self.text.len(), out);
        // A prefix may have begun in the last bytes.
        let last = self.text.len().saturating_sub(PREFIX.len() - 1);
        (0..=last).rev().find(|at| self.text.is_char_boundary(*at)).unwrap_or(0)
    }

    fn cover_rest(&mut self) {
        if self.inside {
            self.done += alnum(&self.text, self.done, usize::MAX);
            self.inside = self.done == self.text.len();
        }
    }

    fn let_through(&mut self, to: usize, out: &mut String) {
        if let Some(text) = self.text.get(self.done..to) {
            out.push_str(text);
            self.done = to;
        }
    }
}

/// How many letters and digits stand from a place on, up to `most`.
fn alnum(text: &str, from: usize, most: usize) -> usize {
    let rest = text.as_bytes().get(from..).unwrap_or_default();
    rest.iter().take(most).take_while(|b| b.is_ascii_alphanumeric()).count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::admission::token;

    fn token() -> String {
        token::generate().unwrap().to_string()
    }

    /// Masks whole; every cutting in two and in characters must give the same.
    #[track_caller]
    fn masked(text: &str) -> String {
        let whole = mask(text).into_owned();
        let cuts: Vec<usize> = (0..=text.len()).filter(|at| text.is_char_boundary(*at)).collect();
        let in_pieces = |cuts: &[usize]| {
            let (mut mask, mut out, mut from) = (Mask::new(), String::new(), 0);
            for to in cuts.iter().copied().chain([text.len()]) {
                mask.push(text.get(from..to).unwrap(), &mut out);
                assert!(mask.held() < LEN);
                from = to;
            }
            mask.finish(&mut out);
            out
        };
        cuts.iter().for_each(|cut| assert_eq!(in_pieces(&[*cut]), whole, "cut at {cut}: {text}"));
        assert_eq!(in_pieces(&cuts), whole);
        whole
    }

    #[test]
    fn a_token_is_masked_wherever_it_stands() {
        let token = token();
        for (before, after) in [("", ""), ("see ", "."), ("task_", "_x"), ("ก", "😀"), ("mgt_", " "), ("mgt", "")] {
            let out = masked(&format!("{before}{token}{after}"));
            assert_eq!(out, format!("{before}{PREFIX}{MARKER}{after}"));
        }
    }

    #[test]
    fn tokens_in_a_row_and_longer_ones_are_masked_whole() {
        let (one, two) = (token(), token());
        assert_eq!(masked(&format!("{one} {two}")), format!("{PREFIX}{MARKER} {PREFIX}{MARKER}"));
        let out = masked(&format!("{one}{two}"));
        assert!(!out.contains(one.get(4..12).unwrap()) && !out.contains(two.get(4..12).unwrap()), "{out}");
        assert_eq!(masked(&format!("{one}abc {one}")), format!("{PREFIX}{MARKER} {PREFIX}{MARKER}"));
    }

    #[test]
    fn a_typing_error_in_a_token_does_not_show_it() {
        let token = token();
        let wrong = token.get(..LEN - 1).unwrap().to_owned() + if token.ends_with('x') { "y" } else { "x" };
        assert!(!token::well_formed(wrong.as_bytes()));
        assert_eq!(masked(&wrong), format!("{PREFIX}{MARKER}"));
    }

    #[test]
    fn what_is_shorter_or_no_token_stays() {
        let token = token();
        for text in [token.get(..LEN - 1).unwrap(), "mgt_", "mgt_mgt_mgt_", "MGT_x", "fox jum", "", "mgt_ก"] {
            assert_eq!(masked(text), text);
            assert!(matches!(mask(text), Cow::Borrowed(_)));
        }
    }

    #[test]
    fn ordinary_text_is_not_held_back() {
        let (mut mask, mut out) = (Mask::new(), String::new());
        for piece in ["fox jum", "ps mg", "t", "สวัสดี"] {
            mask.push(piece, &mut out);
            assert_eq!(mask.held(), 0);
        }
        mask.push(" mgt_a", &mut out);
        assert_eq!(mask.held(), 1);
        mask.finish(&mut out);
        assert_eq!(out, "fox jumps mgtสวัสดี mgt_a");
    }
}
