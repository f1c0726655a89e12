//! The inside of a private key block: swallowed byte by byte, nothing of it is kept.
//!
//! Promises: ends after the closing line, after [`BLOCK_MAX`] bytes, or where prose begins: a text that only mentions
//! `-----BEGIN PRIVATE KEY-----` does not lose its rest.

/// Longest block, bytes.
pub(crate) const BLOCK_MAX: usize = 16 * 1024;
const CLOSING: &[u8] = b"-----END";
/// A word of prose is at most so long; a line of base64 is longer.
const WORD_MAX: usize = 20;
/// So many words of prose in one line end the block.
const WORDS: u32 = 8;
/// So many bytes outside ASCII end it.
const FOREIGN: u32 = 24;

/// How far a block was followed.
#[derive(Debug, Default)]
pub(crate) struct Block {
    taken: usize,
    /// Bytes of [`CLOSING`] that were just seen.
    matched: usize,
    /// Inside the closing line.
    closing: bool,
    dashes: u32,
    word: usize,
    words: u32,
    foreign: u32,
}

impl Block {
    /// Follows the block through `text`: how many bytes of it belong to the block, and whether it ended there.
    pub(crate) fn follow(&mut self, text: &[u8]) -> (usize, bool) {
        for (at, b) in text.iter().enumerate() {
            let full = self.taken >= BLOCK_MAX || self.foreign >= FOREIGN;
            if full && b & 0xc0 != 0x80 {
                return (at, true);
            }
            self.taken += 1;
            if self.closing && matches!(b, b'\n' | b'\r') {
                return (at, true);
            }
            if self.step(*b) {
                return (at + 1, true);
            }
        }
        (text.len(), false)
    }

    /// Whether the block ends after this byte.
    fn step(&mut self, b: u8) -> bool {
        self.foreign += u32::from(!b.is_ascii());
        self.dashes = if b == b'-' { self.dashes + 1 } else { 0 };
        if self.closing {
            return self.dashes == 5;
        }
        self.matched = match CLOSING.get(self.matched) {
            Some(wanted) if *wanted == b => self.matched + 1,
            _ if b == b'-' => self.dashes.min(5) as usize,
            _ => 0,
        };
        if self.matched == CLOSING.len() {
            self.closing = true;
            self.dashes = 0;
        }
        match b {
            b'\n' | b'\r' => (self.word, self.words) = (0, 0),
            b' ' => {
                self.words = if (1..=WORD_MAX).contains(&self.word) { self.words + 1 } else { 0 };
                self.word = 0;
            }
            _ => self.word += 1,
        }
        self.words >= WORDS
    }
}
