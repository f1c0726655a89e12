//! What Muse says on stderr, and how a line of it is made fit for a caller.

use crate::redact::Rules;
use musegate_sanitize::stripped;
use std::collections::VecDeque;

/// Lines that are kept, the last ones.
const LINES: usize = 16;
/// Bytes of one line that are kept.
const LINE: usize = 2048;
/// Bytes of a cleaned line.
const CLEAN: usize = 300;
/// With these begins what Muse always says, also when all is well.
const NOISE: [&str; 8] = [
    "muse: workspace",
    "muse: agent delegation",
    "muse: including",
    "muse: local session messaging",
    "muse: retrying",
    "muse: session",
    "tbh:",
    "warning:",
];

/// The last lines of stderr that are no noise.
#[derive(Debug, Default)]
pub struct Complaints {
    pub(super) lines: VecDeque<String>,
    /// The line being read.
    pub(super) open: Vec<u8>,
}

impl Complaints {
    /// More bytes, in any cutting.
    pub fn read(&mut self, mut bytes: &[u8]) {
        while let Some(at) = memchr::memchr(b'\n', bytes) {
            let (line, rest) = bytes.split_at_checked(at).unwrap_or((bytes, &[]));
            self.append(line);
            self.close();
            bytes = rest.get(1..).unwrap_or_default();
        }
        self.append(bytes);
    }

    /// No more bytes.
    pub fn end(&mut self) {
        self.close();
    }

    /// The newest first.
    pub fn all(&self) -> impl Iterator<Item = &str> {
        self.lines.iter().rev().map(String::as_str)
    }

    /// The newest.
    #[must_use]
    pub fn last(&self) -> Option<&str> {
        self.lines.back().map(String::as_str)
    }

    fn append(&mut self, bytes: &[u8]) {
        let room = LINE.saturating_sub(self.open.len());
        self.open.extend_from_slice(bytes.get(..room.min(bytes.len())).unwrap_or_default());
    }

    fn close(&mut self) {
        let line = String::from_utf8_lossy(&self.open);
        let line = line.trim();
        let lower = line.to_ascii_lowercase();
        if !line.is_empty() && !NOISE.iter().any(|noise| lower.starts_with(noise)) {
            if self.lines.len() >= LINES {
                self.lines.pop_front();
            }
            self.lines.push_back(line.to_owned());
        }
        self.open.clear();
    }
}

/// One line for a caller: redacted, without paths and addresses, without control characters, short.
#[must_use]
pub fn clean(line: &str, rules: &Rules) -> String {
    let (line, _) = rules.redact(&stripped(line));
    let mut out = String::new();
    for word in line.split(|c: char| c.is_whitespace() || c.is_control()).filter(|word| !word.is_empty()) {
        if !out.is_empty() {
            out.push(' ');
        }
        out.push_str(&without_place(word));
    }
    let cut = out.floor_char_boundary(CLEAN);
    out.truncate(cut);
    out
}

/// A word in which whatever could be a path or an address is a word for it. A fraction such as `4/10`, and `and/or`,
/// stay.
fn without_place(word: &str) -> String {
    let mut out = String::new();
    if let Some((before, _)) = word.split_once("://") {
        let scheme = before.trim_end_matches(|c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '.' | '-'));
        out.push_str(&without_place(scheme));
        replace(word, "[address]", &mut out);
        return out;
    }
    for part in word.split_inclusive(|c| "\"'`()[]{}<>=,;|:".contains(c)) {
        if is_path(part) { replace(part, "[path]", &mut out) } else { out.push_str(part) }
    }
    out
}

/// Writes `name` instead of a piece, and the marks that ended it.
fn replace(piece: &str, name: &str, out: &mut String) {
    let plain = piece.trim_end_matches(|c: char| c.is_ascii_punctuation() && c != '/');
    out.push_str(name);
    out.push_str(piece.get(plain.len()..).unwrap_or_default());
}

fn is_path(word: &str) -> bool {
    let rooted = word.starts_with(['/', '~', '\\']) && word.len() > 1;
    let dotted = word.starts_with("./") || word.starts_with("../");
    let name = word.trim_end_matches(|c: char| c.is_ascii_punctuation());
    let file = word.contains('/') && name.contains('.');
    rooted || dotted || file || word.contains('\\') || word.matches('/').count() > 1
}
