//! The text of one answer while it grows: an append-only rope that all readers share.
//!
//! Promises: appending costs what is appended, however long the answer is; a read shares memory with the rope except
//! for the newest few kilobytes; every piece begins and ends at a character. What lies within the kept length can be
//! read for as long as the Task lives. What lies beyond it stays only until [`Rope::forget`] says that everybody who
//! attends has it. Refuses to know: who reads, what a credit is, what the text means.

use bytes::Bytes;
use std::collections::VecDeque;

/// Text is moved out of the growing end in pieces of about this size, bytes.
const PIECE: usize = 16 * 1024;
/// A line longer than this is cut for readers of whole lines, bytes.
pub(super) const MAX_LINE: u64 = 16 * 1024;

#[derive(Debug)]
struct Piece {
    start: u64,
    bytes: Bytes,
}

impl Piece {
    fn end(&self) -> u64 {
        self.start.saturating_add(self.bytes.len() as u64)
    }
}

/// What a read finds at an offset.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// Text that begins there, never empty.
    Text(Bytes),
    /// The offset is the end, or beyond.
    End,
    /// It was there and is gone, or it is no boundary of a character.
    Lost,
}

/// See the head of this file. Offsets count bytes since the answer's beginning.
#[derive(Debug, Default)]
pub(super) struct Rope {
    kept: VecDeque<Piece>,
    /// Where keeping ended, once it has.
    kept_end: Option<u64>,
    passing: VecDeque<Piece>,
    tail: String,
    tail_start: u64,
    line_end: u64,
    opens: Option<u8>,
}

impl Rope {
    /// Bytes said so far, kept or not.
    pub(super) fn end(&self) -> u64 {
        self.tail_start.saturating_add(self.tail.len() as u64)
    }

    /// The end of what stays; all of it until [`Rope::stop_keeping`].
    pub(super) fn kept_end(&self) -> u64 {
        self.kept_end.unwrap_or_else(|| self.end())
    }

    /// Up to where a reader of whole lines may hear: just behind the last line feed, unless a line is too long.
    pub(super) fn line_end(&self) -> u64 {
        self.line_end
    }

    /// Whether something was said that does not stay.
    pub(super) fn is_cut(&self) -> bool {
        self.kept_end.is_some_and(|kept| kept < self.end())
    }

    /// The first byte that is no white space, if there is one.
    pub(super) fn opens_with(&self) -> Option<u8> {
        self.opens
    }

    /// Whether what comes is kept.
    pub(super) fn keeps(&self) -> bool {
        self.kept_end.is_none()
    }

    /// Appends what `write` pushes, and says how many bytes that was.
    pub(super) fn append(&mut self, write: impl FnOnce(&mut String)) -> u64 {
        let before = self.tail.len();
        write(&mut self.tail);
        let new = self.tail.as_bytes().get(before..).unwrap_or_default();
        if let Some(at) = memchr::memrchr(b'\n', new) {
            self.line_end = self.tail_start.saturating_add(before.saturating_add(at).saturating_add(1) as u64);
        }
        if self.opens.is_none() {
            self.opens = new.iter().find(|byte| !byte.is_ascii_whitespace()).copied();
        }
        let added = new.len() as u64;
        if self.end().saturating_sub(self.line_end) > MAX_LINE {
            self.line_end = self.end();
        }
        if self.tail.len() >= PIECE {
            self.freeze();
        }
        added
    }

    /// From here on nothing is kept.
    pub(super) fn stop_keeping(&mut self) {
        if self.kept_end.is_none() {
            self.freeze();
            self.kept_end = Some(self.end());
        }
    }

    /// The answer is complete and its kept text lies elsewhere now. `pieces`: somebody may still want what passes.
    pub(super) fn seal(&mut self, pieces: bool) {
        self.stop_keeping();
        self.freeze();
        self.kept.clear();
        self.line_end = self.end();
        if !pieces {
            self.forget(u64::MAX);
        }
    }

    /// The text that begins at an offset, at most `max` bytes of it (but always a whole character).
    pub(super) fn read(&self, at: u64, max: usize) -> Found {
        if at >= self.end() {
            return Found::End;
        }
        let found = if at >= self.tail_start {
            let from = usize::try_from(at.saturating_sub(self.tail_start)).ok();
            from.and_then(|from| self.tail.get(from..)).map(|text| Bytes::copy_from_slice(clip(text.as_bytes(), max)))
        } else {
            let pieces = if at < self.kept_end() { &self.kept } else { &self.passing };
            piece_at(pieces, at).and_then(|piece| {
                let from = usize::try_from(at.saturating_sub(piece.start)).ok()?;
                let text = piece.bytes.get(from..).filter(|text| starts_a_character(text))?;
                let len = clip(text, max).len();
                Some(piece.bytes.slice(from..from.saturating_add(len)))
            })
        };
        found.map_or(Found::Lost, Found::Text)
    }

    /// Whether everything from an offset on can still be read.
    pub(super) fn has_from(&self, at: u64) -> bool {
        let whole = at >= self.kept_end() || !self.is_cut() || self.passing_start() <= self.kept_end();
        whole && (at == self.end() || matches!(self.read(at, 4), Found::Text(_)))
    }

    /// Everybody has what lies before this offset; what is not kept of it goes. Says how many bytes went.
    pub(super) fn forget(&mut self, before: u64) -> u64 {
        let mut gone = 0u64;
        while self.passing.front().is_some_and(|piece| piece.end() <= before) {
            gone = gone.saturating_add(self.passing.pop_front().map_or(0, |piece| piece.bytes.len() as u64));
        }
        if self.kept_end.is_some() && before >= self.end() && self.passing.is_empty() {
            self.tail_start = self.end();
            gone = gone.saturating_add(self.tail.len() as u64);
            self.tail.clear();
        }
        gone
    }

    /// What is kept, as one text.
    pub(super) fn text(&self) -> String {
        let mut all = Vec::with_capacity(usize::try_from(self.kept_end()).unwrap_or(0));
        self.kept.iter().for_each(|piece| all.extend_from_slice(&piece.bytes));
        if self.kept_end.is_none() {
            all.extend_from_slice(self.tail.as_bytes());
        }
        String::from_utf8(all).unwrap_or_default()
    }

    fn passing_start(&self) -> u64 {
        self.passing.front().map_or(self.tail_start, |piece| piece.start)
    }

    fn freeze(&mut self) {
        if self.tail.is_empty() {
            return;
        }
        let start = self.tail_start;
        self.tail_start = self.end();
        // Without the room that doubling left behind it: this piece may stay for hours.
        let bytes = Bytes::from(std::mem::take(&mut self.tail).into_boxed_str().into_boxed_bytes());
        let pieces = if self.kept_end.is_none() { &mut self.kept } else { &mut self.passing };
        pieces.push_back(Piece { start, bytes });
    }
}

fn piece_at(pieces: &VecDeque<Piece>, at: u64) -> Option<&Piece> {
    let after = pieces.partition_point(|piece| piece.start <= at);
    pieces.get(after.checked_sub(1)?).filter(|piece| at < piece.end())
}

fn starts_a_character(text: &[u8]) -> bool {
    text.first().is_none_or(|byte| byte & 0xC0 != 0x80)
}

/// As much of a text as `max` allows, cut at a character; at least one character.
pub(super) fn clip(text: &[u8], max: usize) -> &[u8] {
    if text.len() <= max {
        return text;
    }
    let whole = |cut: &usize| text.get(*cut..).is_some_and(starts_a_character);
    let down = (1..=max).rev().take(4).find(whole);
    let cut = down.or_else(|| (1..text.len()).take(4).find(whole)).unwrap_or(text.len());
    text.get(..cut).unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(texts: &[&str]) -> Rope {
        let mut rope = Rope::default();
        for text in texts {
            rope.append(|out| out.push_str(text));
        }
        rope
    }

    fn all(rope: &Rope, mut at: u64, max: usize) -> Result<String, u64> {
        let mut out = Vec::new();
        loop {
            match rope.read(at, max) {
                Found::Text(text) => {
                    assert!(!text.is_empty());
                    at += text.len() as u64;
                    out.extend_from_slice(&text);
                }
                Found::End => return Ok(String::from_utf8(out).unwrap()),
                Found::Lost => return Err(at),
            }
        }
    }

    #[test]
    fn what_was_appended_is_read_from_every_offset() {
        let big = "กขค\n".repeat(3_000);
        let rope = filled(&["a", &big, "é\n", "z"]);
        let whole = format!("a{big}é\nz");
        assert_eq!(rope.text(), whole);
        assert_eq!(rope.line_end(), rope.end() - 1);
        for (at, _) in whole.char_indices().step_by(97) {
            assert_eq!(all(&rope, at as u64, 1_000).unwrap(), whole.get(at..).unwrap());
        }
        assert_eq!(rope.read(2, 100), Found::Lost, "inside a character");
        assert_eq!(rope.read(rope.end() + 1, 100), Found::End);
    }

    #[test]
    fn old_text_is_shared_and_not_copied() {
        let rope = filled(&[&"x".repeat(PIECE)]);
        let (Found::Text(one), Found::Text(two)) = (rope.read(0, 1 << 20), rope.read(0, 1 << 20)) else { panic!() };
        assert_eq!(one.as_ptr(), two.as_ptr());
    }

    #[test]
    fn beyond_the_kept_length_text_stays_until_it_is_forgotten() {
        let mut rope = filled(&[&"k".repeat(20_000)]);
        rope.stop_keeping();
        assert!(!rope.is_cut());
        for _ in 0..10 {
            rope.append(|out| out.push_str(&"p".repeat(10_000)));
        }
        assert!(rope.is_cut());
        assert_eq!(all(&rope, 0, 1 << 20).unwrap().len(), 120_000);
        assert!(rope.has_from(5));
        let gone = rope.forget(60_000);
        assert!((1..=40_000).contains(&gone), "{gone}");
        assert_eq!(all(&rope, 60_000, 1 << 20).unwrap().len(), 60_000);
        assert_eq!(all(&rope, 5, 1 << 20), Err(20_000));
        assert!(!rope.has_from(5));
        assert!(rope.has_from(60_000));
        assert_eq!(rope.text(), "k".repeat(20_000));
        rope.forget(u64::MAX);
        assert_eq!((rope.end(), rope.read(119_999, 9)), (120_000, Found::Lost));
        assert!(rope.has_from(120_000));
    }

    #[test]
    fn a_clip_never_cuts_a_character_and_always_advances() {
        for (text, max, cut) in [("abc", 2, "ab"), ("é", 1, "é"), ("aéb", 2, "a"), ("😀😀", 6, "😀"), ("", 0, "")]
        {
            assert_eq!(clip(text.as_bytes(), max), cut.as_bytes());
        }
    }

    #[test]
    fn the_first_visible_byte_is_found() {
        assert_eq!(filled(&[" \n", "", "{x"]).opens_with(), Some(b'{'));
        assert_eq!(filled(&[" \n"]).opens_with(), None);
    }
}
