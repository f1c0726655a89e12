//! The second pass over what a worker says: nothing hidden, no token of ours. The worker made the first pass; this one
//! holds even if the worker is not what it should be.
//!
//! Promises: the output is the same for every cutting of the stream; what is held back is bounded by both parts of the
//! pass. Refuses to know what the text is for.

use super::own_tokens::{Mask, mask};
use super::{Counts, Mode, Stream, clean};

/// A text that comes in pieces.
#[derive(Debug)]
pub struct Outgoing {
    clean: Stream,
    mask: Mask,
    between: String,
}

impl Default for Outgoing {
    fn default() -> Self {
        Self { clean: Stream::new(Mode::Strip), mask: Mask::new(), between: String::new() }
    }
}

impl Outgoing {
    /// Takes the next piece and appends to `out` what is decided by now.
    pub fn push(&mut self, chunk: &str, out: &mut String) {
        self.clean.push(chunk, &mut self.between);
        self.mask.push(&self.between, out);
        self.between.clear();
    }

    /// The text ends: appends the rest.
    pub fn finish(&mut self, out: &mut String) {
        self.clean.finish(&mut self.between);
        self.mask.push(&self.between, out);
        self.between.clear();
        self.mask.finish(out);
    }

    /// Code points that were dropped.
    #[must_use]
    pub fn counts(&self) -> Counts {
        self.clean.counts()
    }

    /// Tokens that were masked.
    #[must_use]
    pub const fn masked(&self) -> u32 {
        self.mask.count()
    }
}

/// A whole text, such as the name of a tool or the sentence of a failure.
#[must_use]
pub fn outgoing(text: &str) -> String {
    let cleaned = clean(text, Mode::Strip).map(|(text, _)| text.into_owned()).unwrap_or_default();
    mask(&cleaned).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::admission::token;

    #[test]
    fn both_passes_hold_for_every_cutting() {
        let token = token::generate().unwrap();
        let (head, tail) = token.split_at(20);
        let text = format!("a\u{202e}b {head}\u{2060}{tail} c");
        let whole = outgoing(&text);
        assert_eq!(whole, "ab mgt_[redacted:musegate] c");
        let cuts: Vec<usize> = text.char_indices().map(|(at, _)| at).collect();
        for cut in cuts {
            let (mut pass, mut out) = (Outgoing::default(), String::new());
            let (one, two) = text.split_at(cut);
            pass.push(one, &mut out);
            pass.push(two, &mut out);
            pass.finish(&mut out);
            assert_eq!((out.as_str(), pass.masked()), (whole.as_str(), 1));
            assert_eq!(pass.counts().iter().map(|(_, n)| n).sum::<u32>(), 2);
        }
    }
}
