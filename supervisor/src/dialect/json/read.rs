//! The reader: bytes to a flat list of values, each with its place in the text (RFC 8259, RFC 7493 §2).
//!
//! Stricter than the grammar where leniency could be used against us: a key twice in one object means different things
//! to different readers, half a surrogate pair is no text, a number past the range of a double is no number, and a byte
//! order mark is not JSON.

use super::value::{Kind, Node, Value};
use memchr::memchr2;
use std::borrow::Cow;
use std::collections::HashSet;

/// Most containers inside each other.
pub(crate) const MAX_DEPTH: usize = 64;
/// Most values, keys included, in one document.
pub(crate) const MAX_NODES: usize = 65_536;
/// Longest number, bytes.
const MAX_NUMBER: usize = 128;
/// Up to here keys are compared pair by pair, above in a set.
const FEW_KEYS: usize = 8;

/// Why a text is not acceptable JSON. Places are bytes from the start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Flaw {
    #[error("begins with a byte order mark")]
    ByteOrderMark,
    #[error("is not UTF-8 at byte {0}")]
    Encoding(usize),
    #[error("ends too early")]
    Truncated,
    #[error("is not JSON at byte {0}")]
    Syntax(usize),
    #[error("goes on after its end at byte {0}")]
    Trailing(usize),
    #[error("has half a surrogate pair at byte {0}")]
    LoneSurrogate(usize),
    #[error("has a number out of range at byte {0}")]
    Number(usize),
    #[error("names a key twice in one object at byte {0}")]
    DuplicateKey(usize),
    #[error("is nested deeper than {MAX_DEPTH}")]
    TooDeep,
    #[error("has more than {MAX_NODES} values")]
    TooMany,
}

impl Flaw {
    /// Well-formed, and refused all the same.
    pub(crate) const fn is_excess(self) -> bool {
        matches!(self, Self::DuplicateKey(_) | Self::TooDeep | Self::TooMany)
    }
}

/// A text that was read to its end.
pub(crate) struct Document<'t> {
    text: &'t str,
    nodes: Vec<Node>,
}

impl Document<'_> {
    /// The one value that the text is.
    pub(crate) fn root(&self) -> Value<'_> {
        Value::new(self.text, &self.nodes, 0)
    }
}

/// # Errors
/// The first [`Flaw`] from the left.
pub(crate) fn parse(bytes: &[u8]) -> Result<Document<'_>, Flaw> {
    if bytes.starts_with(b"\xEF\xBB\xBF") {
        return Err(Flaw::ByteOrderMark);
    }
    let text = std::str::from_utf8(bytes).map_err(|error| Flaw::Encoding(error.valid_up_to()))?;
    if u32::try_from(text.len()).is_err() {
        return Err(Flaw::TooMany);
    }
    let mut reader = Reader { text, bytes, at: 0, nodes: Vec::with_capacity(32) };
    reader.space();
    reader.value(0)?;
    reader.space();
    if reader.at < bytes.len() {
        return Err(Flaw::Trailing(reader.at));
    }
    Ok(Document { text, nodes: reader.nodes })
}

struct Reader<'t> {
    text: &'t str,
    bytes: &'t [u8],
    at: usize,
    nodes: Vec<Node>,
}

impl Reader<'_> {
    fn peek(&self) -> Result<u8, Flaw> {
        self.bytes.get(self.at).copied().ok_or(Flaw::Truncated)
    }

    fn space(&mut self) {
        while matches!(self.bytes.get(self.at), Some(b' ' | b'\n' | b'\r' | b'\t')) {
            self.at += 1;
        }
    }

    fn value(&mut self, depth: usize) -> Result<(), Flaw> {
        match self.peek()? {
            b'{' => self.object(depth + 1),
            b'[' => self.array(depth + 1),
            b'"' => self.string(),
            b'-' | b'0'..=b'9' => self.number(),
            b't' => self.word(b"true", Kind::True),
            b'f' => self.word(b"false", Kind::False),
            b'n' => self.word(b"null", Kind::Null),
            _ => Err(Flaw::Syntax(self.at)),
        }
    }

    /// Appends a value that ends here; its children, if any, follow it.
    fn push(&mut self, kind: Kind, start: usize) -> Result<usize, Flaw> {
        if self.nodes.len() >= MAX_NODES {
            return Err(Flaw::TooMany);
        }
        let index = self.nodes.len();
        self.nodes.push(Node::new(kind, start, self.at, index + 1));
        Ok(index)
    }

    /// The container at `index` ends here.
    fn close(&mut self, index: usize) {
        let next = self.nodes.len();
        let end = self.at;
        if let Some(node) = self.nodes.get_mut(index) {
            node.close(end, next);
        }
    }

    fn word(&mut self, word: &[u8], kind: Kind) -> Result<(), Flaw> {
        let start = self.at;
        let rest = self.bytes.get(start..).unwrap_or_default();
        if !rest.starts_with(word) {
            return Err(if word.starts_with(rest) { Flaw::Truncated } else { Flaw::Syntax(start) });
        }
        self.at += word.len();
        self.push(kind, start).map(drop)
    }

    fn array(&mut self, depth: usize) -> Result<(), Flaw> {
        let index = self.open(Kind::Array, depth)?;
        if self.peek()? == b']' {
            self.at += 1;
        } else {
            loop {
                self.value(depth)?;
                if self.separator(b']')? {
                    break;
                }
            }
        }
        self.close(index);
        Ok(())
    }

    fn object(&mut self, depth: usize) -> Result<(), Flaw> {
        let index = self.open(Kind::Object, depth)?;
        if self.peek()? == b'}' {
            self.at += 1;
        } else {
            loop {
                if self.peek()? != b'"' {
                    return Err(Flaw::Syntax(self.at));
                }
                self.string()?;
                self.space();
                if self.peek()? != b':' {
                    return Err(Flaw::Syntax(self.at));
                }
                self.at += 1;
                self.space();
                self.value(depth)?;
                if self.separator(b'}')? {
                    break;
                }
            }
        }
        self.close(index);
        unique_keys(Value::new(self.text, &self.nodes, index))
    }

    fn open(&mut self, kind: Kind, depth: usize) -> Result<usize, Flaw> {
        if depth > MAX_DEPTH {
            return Err(Flaw::TooDeep);
        }
        let start = self.at;
        self.at += 1;
        let index = self.push(kind, start)?;
        self.space();
        Ok(index)
    }

    /// After an element: true at the end of its container.
    fn separator(&mut self, end: u8) -> Result<bool, Flaw> {
        self.space();
        let found = self.peek()?;
        if found != end && found != b',' {
            return Err(Flaw::Syntax(self.at));
        }
        self.at += 1;
        if found == end {
            return Ok(true);
        }
        self.space();
        Ok(false)
    }

    fn string(&mut self) -> Result<(), Flaw> {
        let start = self.at;
        self.at += 1;
        let mut kind = Kind::Text;
        loop {
            let rest = self.bytes.get(self.at..).unwrap_or_default();
            let plain = memchr2(b'"', b'\\', rest).ok_or(Flaw::Truncated)?;
            let (run, _) = rest.split_at(plain);
            // Folded without an early way out, so that it is done many bytes at a time.
            if run.iter().fold(false, |found, byte| found | (*byte < 0x20)) {
                let bad = run.iter().position(|byte| *byte < 0x20).unwrap_or_default();
                return Err(Flaw::Syntax(self.at + bad));
            }
            self.at += plain;
            if self.peek()? == b'"' {
                self.at += 1;
                return self.push(kind, start).map(drop);
            }
            kind = Kind::Escaped;
            self.escape()?;
        }
    }

    fn escape(&mut self) -> Result<(), Flaw> {
        let start = self.at;
        self.at += 1;
        match self.peek()? {
            b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => self.at += 1,
            b'u' => match self.unit()? {
                0xD800..=0xDBFF => {
                    let low = self.bytes.get(self.at..self.at + 2) == Some(b"\\u");
                    self.at += usize::from(low);
                    if !low || !matches!(self.unit()?, 0xDC00..=0xDFFF) {
                        return Err(Flaw::LoneSurrogate(start));
                    }
                }
                0xDC00..=0xDFFF => return Err(Flaw::LoneSurrogate(start)),
                _ => {}
            },
            _ => return Err(Flaw::Syntax(self.at)),
        }
        Ok(())
    }

    /// `uXXXX`, from the `u` on.
    fn unit(&mut self) -> Result<u32, Flaw> {
        self.at += 1;
        let mut unit = 0;
        for _ in 0..4 {
            let digit = char::from(self.peek()?).to_digit(16).ok_or(Flaw::Syntax(self.at))?;
            unit = unit * 16 + digit;
            self.at += 1;
        }
        Ok(unit)
    }

    fn number(&mut self) -> Result<(), Flaw> {
        let start = self.at;
        self.at += usize::from(self.peek()? == b'-');
        if self.peek()? == b'0' {
            self.at += 1;
        } else {
            self.digits()?;
        }
        if self.bytes.get(self.at) == Some(&b'.') {
            self.at += 1;
            self.digits()?;
        }
        if matches!(self.bytes.get(self.at), Some(b'e' | b'E')) {
            self.at += 1;
            self.at += usize::from(matches!(self.peek()?, b'+' | b'-'));
            self.digits()?;
        }
        let text = self.text.get(start..self.at).unwrap_or_default();
        if text.len() > MAX_NUMBER || !text.parse::<f64>().is_ok_and(f64::is_finite) {
            return Err(Flaw::Number(start));
        }
        self.push(Kind::Number, start).map(drop)
    }

    fn digits(&mut self) -> Result<(), Flaw> {
        if !self.peek()?.is_ascii_digit() {
            return Err(Flaw::Syntax(self.at));
        }
        while self.bytes.get(self.at).is_some_and(u8::is_ascii_digit) {
            self.at += 1;
        }
        Ok(())
    }
}

/// Keys are compared as they read, not as they are spelt: `"a"` and `"\u0061"` are one.
fn unique_keys(object: Value<'_>) -> Result<(), Flaw> {
    let count = object.members().count();
    if count <= FEW_KEYS {
        for (index, (key, _)) in object.members().enumerate() {
            if object.members().take(index).any(|(earlier, _)| earlier.text() == key.text()) {
                return Err(Flaw::DuplicateKey(key.start()));
            }
        }
        return Ok(());
    }
    let mut seen: HashSet<Cow<'_, str>> = HashSet::with_capacity(count);
    for (key, _) in object.members() {
        if !seen.insert(key.text().unwrap_or_default()) {
            return Err(Flaw::DuplicateKey(key.start()));
        }
    }
    Ok(())
}
