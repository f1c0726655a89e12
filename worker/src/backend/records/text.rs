//! The text of a JSON string, taken from the bytes of a line with as little work as it needs.

use memchr::{memchr, memchr2, memmem};

/// What follows the first `needle`.
pub(super) fn after<'a>(line: &'a [u8], needle: &[u8]) -> Option<&'a [u8]> {
    let at = memmem::find(line, needle)?;
    line.get(at + needle.len()..)
}

/// The text, still escaped, of a delta as Muse writes it: `text` is the last field of the payload, the payload the last
/// of the record. `None`: it may be one all the same, parse it.
pub(super) fn usual_delta(line: &[u8]) -> Option<&[u8]> {
    if line.first() != Some(&b'{') {
        return None;
    }
    let rest = after(line, br#","text":""#)?;
    let end = string_end(rest)?;
    let tail = rest.get(end + 1..)?.trim_ascii_end();
    if tail == b"}}" { rest.get(..end) } else { None }
}

/// Where the string that has begun ends: the index of its closing quote.
fn string_end(bytes: &[u8]) -> Option<usize> {
    let mut from = 0;
    loop {
        let at = from + memchr2(b'"', b'\\', bytes.get(from..)?)?;
        if bytes.get(at) == Some(&b'"') {
            return Some(at);
        }
        from = at + 2;
    }
}

/// The text of a string between its quotes. In place where nothing is escaped, else written to `out`. Bytes that are not
/// UTF-8, surrogates without their other half, and escapes that JSON does not know become U+FFFD.
pub(crate) fn unescape<'a>(raw: &'a [u8], out: &'a mut String) -> &'a str {
    if memchr(b'\\', raw).is_none()
        && let Ok(text) = str::from_utf8(raw)
    {
        return text;
    }
    out.clear();
    let mut rest = raw;
    while let Some(at) = memchr(b'\\', rest) {
        let (plain, escaped) = rest.split_at_checked(at).unwrap_or((rest, &[]));
        push_lossy(plain, out);
        let (c, used) = escape(escaped);
        out.push(c);
        rest = escaped.get(used..).unwrap_or_default();
    }
    push_lossy(rest, out);
    out
}

fn push_lossy(bytes: &[u8], out: &mut String) {
    match str::from_utf8(bytes) {
        Ok(text) => out.push_str(text),
        Err(_) => out.push_str(&String::from_utf8_lossy(bytes)),
    }
}

/// The character of an escape, and how many bytes it took.
fn escape(bytes: &[u8]) -> (char, usize) {
    let simple = |c| (c, 2);
    match bytes.get(1) {
        Some(b'n') => simple('\n'),
        Some(b't') => simple('\t'),
        Some(b'r') => simple('\r'),
        Some(b'b') => simple('\u{8}'),
        Some(b'f') => simple('\u{c}'),
        Some(c @ (b'"' | b'\\' | b'/')) => simple(char::from(*c)),
        Some(b'u') => unicode(bytes),
        Some(_) => simple(char::REPLACEMENT_CHARACTER),
        None => (char::REPLACEMENT_CHARACTER, 1),
    }
}

fn unicode(bytes: &[u8]) -> (char, usize) {
    let bad = (char::REPLACEMENT_CHARACTER, 6.min(bytes.len()));
    let Some(high) = hex4(bytes, 2) else { return (char::REPLACEMENT_CHARACTER, 2) };
    match high {
        0xD800..0xDC00 => {
            let low = if bytes.get(6..8) == Some(b"\\u") { hex4(bytes, 8) } else { None };
            match low {
                Some(low @ 0xDC00..0xE000) => {
                    let c = char::from_u32(0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00));
                    (c.unwrap_or(char::REPLACEMENT_CHARACTER), 12)
                }
                _ => bad,
            }
        }
        _ => char::from_u32(high).map_or(bad, |c| (c, 6)),
    }
}

fn hex4(bytes: &[u8], at: usize) -> Option<u32> {
    let digits = bytes.get(at..at + 4)?;
    digits.iter().try_fold(0, |sum, b| Some(sum << 4 | char::from(*b).to_digit(16)?))
}
