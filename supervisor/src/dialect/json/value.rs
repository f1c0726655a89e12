//! Values of a `Document` that was read: where each stands, what kind it is, and what it says.

use bytes::BytesMut;
use std::borrow::Cow;

/// What a value is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Null,
    True,
    False,
    Number,
    /// A string without a backslash.
    Text,
    /// A string with one.
    Escaped,
    Array,
    Object,
}

/// One value: its place in the text, and the value that follows it and everything in it.
#[derive(Clone, Copy)]
pub(super) struct Node {
    start: u32,
    end: u32,
    next: u32,
    kind: Kind,
}

impl Node {
    const NOTHING: Self = Self { start: 0, end: 0, next: u32::MAX, kind: Kind::Null };

    /// Places are below 2³² because the reader refuses longer texts.
    pub(super) fn new(kind: Kind, start: usize, end: usize, next: usize) -> Self {
        Self { start: narrow(start), end: narrow(end), next: narrow(next), kind }
    }

    pub(super) fn close(&mut self, end: usize, next: usize) {
        self.end = narrow(end);
        self.next = narrow(next);
    }
}

fn narrow(place: usize) -> u32 {
    u32::try_from(place).unwrap_or(u32::MAX)
}

/// A value in its document.
#[derive(Clone, Copy)]
pub(crate) struct Value<'d> {
    text: &'d str,
    nodes: &'d [Node],
    at: usize,
}

impl<'d> Value<'d> {
    pub(super) fn new(text: &'d str, nodes: &'d [Node], at: usize) -> Self {
        Self { text, nodes, at }
    }

    fn node(self) -> Node {
        self.nodes.get(self.at).copied().unwrap_or(Node::NOTHING)
    }

    pub(crate) fn kind(self) -> Kind {
        self.node().kind
    }

    pub(crate) fn is_string(self) -> bool {
        matches!(self.kind(), Kind::Text | Kind::Escaped)
    }

    /// First byte in the text.
    pub(super) fn start(self) -> usize {
        self.node().start as usize
    }

    /// The value as it stands in the text.
    pub(crate) fn raw(self) -> &'d str {
        let node = self.node();
        self.text.get(node.start as usize..node.end as usize).unwrap_or_default()
    }

    /// What a string says; nothing for other kinds.
    pub(crate) fn text(self) -> Option<Cow<'d, str>> {
        let raw = self.raw();
        let inside = raw.get(1..raw.len().saturating_sub(1)).unwrap_or_default();
        match self.kind() {
            Kind::Text => Some(Cow::Borrowed(inside)),
            Kind::Escaped => Some(Cow::Owned(unescape(inside))),
            _ => None,
        }
    }

    /// Key and value of each member; nothing for other kinds than objects.
    pub(crate) fn members(self) -> impl Iterator<Item = (Value<'d>, Value<'d>)> {
        let mut inside = self.inside(Kind::Object);
        std::iter::from_fn(move || Some((inside.next()?, inside.next()?)))
    }

    /// The elements; nothing for other kinds than arrays.
    pub(crate) fn items(self) -> impl Iterator<Item = Value<'d>> {
        self.inside(Kind::Array)
    }

    fn inside(self, kind: Kind) -> impl Iterator<Item = Value<'d>> {
        let node = self.node();
        let end = if node.kind == kind { node.next as usize } else { 0 };
        let mut at = self.at + 1;
        std::iter::from_fn(move || {
            let child = Value { at, ..self };
            let found = at < end;
            at = child.node().next as usize;
            found.then_some(child)
        })
    }

    /// The value written again: no space between tokens, and every character as itself that can be. What hides behind
    /// `\u` escapes in a request is thereby in plain sight of whoever cleans text.
    pub(crate) fn rewritten(self) -> String {
        let mut out = BytesMut::with_capacity(self.raw().len());
        self.rewrite(&mut out);
        String::from_utf8(out.into()).unwrap_or_default()
    }

    /// The same, of an object, without its member `left_out`. An empty name leaves out
    /// nothing.
    pub(crate) fn rewritten_without(self, left_out: &str) -> String {
        let mut out = BytesMut::with_capacity(self.raw().len());
        rewrite_members(
            self.members().filter(|(key, _)| left_out.is_empty() || key.text().as_deref() != Some(left_out)),
            &mut out,
        );
        String::from_utf8(out.into()).unwrap_or_default()
    }

    fn rewrite(self, out: &mut BytesMut) {
        match self.kind() {
            Kind::Object => rewrite_members(self.members(), out),
            Kind::Array => {
                out.extend_from_slice(b"[");
                for (index, value) in self.items().enumerate() {
                    out.extend_from_slice(if index == 0 { b"" } else { b"," });
                    value.rewrite(out);
                }
                out.extend_from_slice(b"]");
            }
            Kind::Escaped => {
                out.extend_from_slice(b"\"");
                super::escape(self.text().unwrap_or_default().as_bytes(), out);
                out.extend_from_slice(b"\"");
            }
            _ => out.extend_from_slice(self.raw().as_bytes()),
        }
    }
}

fn rewrite_members<'d>(members: impl Iterator<Item = (Value<'d>, Value<'d>)>, out: &mut BytesMut) {
    out.extend_from_slice(b"{");
    for (index, (key, value)) in members.enumerate() {
        out.extend_from_slice(if index == 0 { b"" } else { b"," });
        key.rewrite(out);
        out.extend_from_slice(b":");
        value.rewrite(out);
    }
    out.extend_from_slice(b"}");
}

/// The reader has checked every escape; what it would have refused is dropped here.
fn unescape(inside: &str) -> String {
    let mut out = String::with_capacity(inside.len());
    let mut rest = inside;
    while let Some((plain, escaped)) = rest.split_once('\\') {
        out.push_str(plain);
        let mut chars = escaped.chars();
        let (said, used) = match chars.next() {
            Some('b') => (Some('\u{8}'), 1),
            Some('f') => (Some('\u{c}'), 1),
            Some('n') => (Some('\n'), 1),
            Some('r') => (Some('\r'), 1),
            Some('t') => (Some('\t'), 1),
            Some('u') => unit(escaped),
            other => (other, 1),
        };
        out.extend(said);
        rest = escaped.get(used..).unwrap_or_default();
    }
    out.push_str(rest);
    out
}

/// `uXXXX`, or `uXXXX\uXXXX` for a pair: the character and how many bytes it took.
fn unit(escaped: &str) -> (Option<char>, usize) {
    let hex = |from: usize| escaped.get(from..from + 4).and_then(|digits| u32::from_str_radix(digits, 16).ok());
    match hex(1) {
        Some(high @ 0xD800..=0xDBFF) => {
            let low = hex(7).filter(|low| matches!(low, 0xDC00..=0xDFFF));
            (low.and_then(|low| char::from_u32(0x1_0000 + ((high - 0xD800) << 10) + (low - 0xDC00))), 11)
        }
        Some(code) => (char::from_u32(code), 5),
        None => (None, 5),
    }
}
