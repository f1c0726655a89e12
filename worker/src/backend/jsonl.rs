//! Bytes in any cutting become lines; a line becomes a record by `records.rs`.
//!
//! Promises: memory is bounded by the longest line allowed, and a line of no interest is not kept beyond
//! [`PEEK`]; a line that is too long is skipped to its end and reported once; nothing panics, whatever is read.
//! Refuses to know what a record means, and where the bytes come from.

use memchr::memchr;

/// How much of a line is read before asking whether the rest is worth keeping.
pub const PEEK: usize = 64 << 10;
/// Room for the first read. Most jobs say little.
const FIRST: usize = 4 << 10;
/// Room for a read when the agent says much.
const MOST: usize = 64 << 10;

/// One line without its end.
#[derive(Debug, PartialEq, Eq)]
pub enum Line<'a> {
    /// All of it.
    Whole(&'a [u8]),
    /// Its beginning: it was too long, or not worth keeping.
    Cut(&'a [u8]),
}

/// Cuts a stream into lines.
#[derive(Debug)]
pub struct Lines {
    bytes: Vec<u8>,
    /// First byte of the line being read.
    start: usize,
    /// Bytes up to here hold no end of a line after `start`.
    seen: usize,
    /// Bytes up to here were read.
    end: usize,
    /// The line being read was reported as cut; its end is still to come.
    skipping: bool,
    /// The line being read was found worth keeping.
    kept: bool,
    max: usize,
    worth: fn(&[u8]) -> bool,
}

impl Lines {
    /// Lines of at most `max` bytes. `worth` is asked about the first [`PEEK`] bytes of a long one.
    #[must_use]
    pub fn new(max: usize, worth: fn(&[u8]) -> bool) -> Self {
        Self { bytes: Vec::new(), start: 0, seen: 0, end: 0, skipping: false, kept: false, max, worth }
    }

    /// Where the next bytes go; never empty. Call [`Lines::filled`] with how many came.
    pub fn room(&mut self) -> &mut [u8] {
        if self.start > 0 {
            self.bytes.copy_within(self.start..self.end, 0);
            self.end -= self.start;
            self.seen -= self.start;
            self.start = 0;
        }
        if self.bytes.len() - self.end < FIRST {
            let more = self.bytes.len().clamp(FIRST, MOST);
            self.bytes.resize(self.end + more, 0);
        } else if self.end == 0 && self.bytes.len() > 4 * MOST {
            // A long line has gone; its room goes too.
            self.bytes = vec![0; MOST];
        }
        self.bytes.get_mut(self.end..).unwrap_or_default()
    }

    /// So many bytes of [`Lines::room`] were filled.
    pub fn filled(&mut self, count: usize) {
        self.end = (self.end + count).min(self.bytes.len());
    }

    /// The next line that is complete or cut. `None`: more bytes are needed.
    pub fn next_line(&mut self) -> Option<Line<'_>> {
        loop {
            let found = self.bytes.get(self.seen..self.end).and_then(|new| memchr(b'\n', new));
            let Some(at) = found.map(|at| self.seen + at) else {
                self.seen = self.end;
                return self.unfinished();
            };
            let (start, skipped, kept) = (self.start, self.skipping, self.kept);
            self.start = at + 1;
            self.seen = at + 1;
            self.skipping = false;
            self.kept = false;
            if !skipped && at > start {
                let line = self.bytes.get(start..at).unwrap_or_default();
                let keep = line.len() <= self.max && (kept || line.len() <= PEEK || (self.worth)(self.head(line)));
                return Some(if keep { Line::Whole(line) } else { Line::Cut(self.head(line)) });
            }
        }
    }

    /// After the last byte: the last line where it has no end of its own.
    pub fn last_line(&mut self) -> Option<Line<'_>> {
        let (start, skipped) = (self.start, self.skipping);
        self.start = self.end;
        self.seen = self.end;
        let line = self.bytes.get(start..self.end).filter(|line| !line.is_empty() && !skipped)?;
        Some(Line::Whole(line))
    }

    /// The end of the line has not come: keep it, or report it as cut and forget it.
    fn unfinished(&mut self) -> Option<Line<'_>> {
        let (start, len) = (self.start, self.end - self.start);
        if self.skipping {
            self.start = self.end;
            return None;
        }
        if len <= PEEK.min(self.max) {
            return None;
        }
        let line = self.bytes.get(start..self.end).unwrap_or_default();
        if len <= self.max && (self.kept || (self.worth)(self.head(line))) {
            self.kept = true;
            return None;
        }
        self.skipping = true;
        self.start = self.end;
        Some(Line::Cut(self.head(line)))
    }

    /// What is judged of a long line: no more than had come in any case, or the cutting would decide.
    fn head<'a>(&self, line: &'a [u8]) -> &'a [u8] {
        line.get(..PEEK.min(self.max)).unwrap_or(line)
    }
}

#[cfg(test)]
mod tests;
