//! The writer: members and elements straight into the buffer of the answer. No tree is built and no text is copied
//! twice. There is no way to write a `null`: what is not there is not written.

use bytes::BytesMut;
use std::fmt::Write as _;

/// Bytes looked at in one step while nothing has to be escaped.
const STEP: usize = 64;

/// What of a byte has to be escaped in a string: everything below a space, `"` and `\`.
const fn special(byte: u8) -> bool {
    byte < 0x20 || byte == b'"' || byte == b'\\'
}

/// Appends the inside of a JSON string (RFC 8259 §7). `text` is UTF-8; only ASCII is looked at.
pub(crate) fn escape(text: &[u8], out: &mut BytesMut) {
    out.reserve(text.len());
    let mut rest = text;
    while !rest.is_empty() {
        let plain = plain_prefix(rest);
        let (run, tail) = rest.split_at(plain);
        out.extend_from_slice(run);
        let Some((byte, tail)) = tail.split_first() else { return };
        match byte {
            b'"' => out.extend_from_slice(b"\\\""),
            b'\\' => out.extend_from_slice(b"\\\\"),
            b'\n' => out.extend_from_slice(b"\\n"),
            b'\r' => out.extend_from_slice(b"\\r"),
            b'\t' => out.extend_from_slice(b"\\t"),
            other => {
                let digit = |nibble: u8| if nibble < 10 { b'0' + nibble } else { b'a' + nibble - 10 };
                out.extend_from_slice(&[b'\\', b'u', b'0', b'0', digit(other >> 4), digit(other & 15)]);
            }
        }
        rest = tail;
    }
}

/// How many bytes from the start need no escape.
fn plain_prefix(text: &[u8]) -> usize {
    let (steps, _) = text.as_chunks::<STEP>();
    // Folded without an early way out, so that a step is done with a few wide instructions.
    let clean = steps.iter().take_while(|step| !step.iter().fold(false, |found, byte| found | special(*byte))).count();
    let rest = text.get(clean * STEP..).unwrap_or_default();
    clean * STEP + rest.iter().position(|byte| special(*byte)).unwrap_or(rest.len())
}

/// A buffer that knows where a comma belongs.
pub(crate) struct Out<'b>(pub(crate) &'b mut BytesMut);

impl Out<'_> {
    /// Bytes that are JSON already, or part of it.
    pub(crate) fn raw(&mut self, json: &[u8]) {
        self.0.extend_from_slice(json);
    }

    fn comma(&mut self) {
        if !matches!(self.0.last(), None | Some(b'{' | b'[' | b':' | b' ')) {
            self.0.extend_from_slice(b",");
        }
    }

    /// `"name":` with the comma before it. Names are ours and need no escape.
    pub(crate) fn name(&mut self, name: &str) {
        self.comma();
        self.raw(b"\"");
        self.raw(name.as_bytes());
        self.raw(b"\":");
    }

    /// `"key":` for a key that is not ours.
    pub(crate) fn key(&mut self, key: &str) {
        self.string(key);
        self.raw(b":");
    }

    /// A number after a name.
    pub(crate) fn number(&mut self, number: impl std::fmt::Display) {
        // Writing into a growing buffer has no way to fail.
        let _ = write!(self.0, "{number}");
    }

    /// The inside of a string.
    pub(crate) fn escaped(&mut self, text: &[u8]) {
        escape(text, self.0);
    }

    /// An object as an element, or after a name.
    pub(crate) fn object(&mut self, inside: impl FnOnce(&mut Self)) {
        self.comma();
        self.raw(b"{");
        inside(self);
        self.raw(b"}");
    }

    /// An array after a name, or alone.
    pub(crate) fn array(&mut self, inside: impl FnOnce(&mut Self)) {
        self.comma();
        self.raw(b"[");
        inside(self);
        self.raw(b"]");
    }

    /// A string as an element, or after a name.
    pub(crate) fn string(&mut self, text: &str) {
        self.comma();
        self.raw(b"\"");
        escape(text.as_bytes(), self.0);
        self.raw(b"\"");
    }

    /// A member that is an object.
    pub(crate) fn object_in(&mut self, name: &str, inside: impl FnOnce(&mut Self)) {
        self.name(name);
        self.object(inside);
    }

    /// A member that is an array.
    pub(crate) fn array_in(&mut self, name: &str, inside: impl FnOnce(&mut Self)) {
        self.name(name);
        self.array(inside);
    }

    /// A member that is an array, left out when there is nothing in it.
    pub(crate) fn each_in<T>(&mut self, name: &str, items: &[T], mut each: impl FnMut(&mut Self, &T)) {
        if !items.is_empty() {
            self.array_in(name, |out| items.iter().for_each(|item| each(out, item)));
        }
    }

    /// A member that is a string.
    pub(crate) fn string_in(&mut self, name: &str, text: &str) {
        self.name(name);
        self.string(text);
    }

    /// A member that is a string, whose inside `inside` writes.
    pub(crate) fn quoted_in(&mut self, name: &str, inside: impl FnOnce(&mut Self)) {
        self.name(name);
        self.raw(b"\"");
        inside(self);
        self.raw(b"\"");
    }

    /// A member that is a string, left out when there is none.
    pub(crate) fn some_string_in(&mut self, name: &str, text: Option<&str>) {
        if let Some(text) = text {
            self.string_in(name, text);
        }
    }

    /// A member that is JSON already.
    pub(crate) fn raw_in(&mut self, name: &str, json: &str) {
        self.name(name);
        self.raw(json.as_bytes());
    }

    /// A member that is a number.
    pub(crate) fn number_in(&mut self, name: &str, number: impl std::fmt::Display) {
        self.name(name);
        self.number(number);
    }

    /// A member that is true or false.
    pub(crate) fn bool_in(&mut self, name: &str, yes: bool) {
        self.raw_in(name, if yes { "true" } else { "false" });
    }
}
