//! The alphabets that tails of secrets are made of, each one bit, so that one look-up tells all that a byte belongs to.
//!
//! Refuses to know what they are used for.

use super::extra::ExtraPattern;

/// Characters of a tail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Alphabet {
    /// Letters and digits.
    Alnum = 0,
    /// Letters, digits, `_`.
    Word = 1,
    /// Letters, digits, `_`, `-`.
    UrlSafe = 2,
    /// `UrlSafe` and `.`.
    Dotted = 3,
    /// `UrlSafe` and `=`.
    UrlSafePadded = 4,
    /// `Dotted` and `=`.
    DottedPadded = 5,
    /// Hexadecimal digits.
    Hex = 6,
    /// Hexadecimal digits and `-`.
    HexDash = 7,
    /// Letters, digits, `+`, `/`, `=`, `_`.
    Base64 = 8,
    /// Letters, digits, `-`.
    AlnumDash = 9,
    /// Letters, digits, `/`.
    Path = 10,
    /// Upper-case letters and digits.
    Upper = 11,
    /// `Dotted` and `~`.
    Azure = 12,
    /// `Dotted`, `+`, `/`, `=`, `~`: what may stand in a header's credential.
    Credential = 13,
    /// A value without quotes: visible ASCII characters but quotes, brackets and `, ; & | \`.
    Value = 14,
    /// A value within quotes: all but quotes, `\`, spaces and control characters.
    Quoted = 15,
    /// Up to the end of the line.
    Line = 16,
    /// Up to the end of the line or `"`.
    LineInDouble = 17,
    /// Up to the end of the line or `'`.
    LineInSingle = 18,
    /// User, password, host and port of a URL: up to `/ ? # \`, a quote, `<`, `>` or a space.
    Authority = 19,
    /// A value in a URL's query: visible ASCII characters but quotes, `& # < >` and closing brackets.
    Query = 20,
}

/// How many there are; the bits above are the operator's.
const COUNT: u8 = 21;

impl Alphabet {
    const ALL: [Self; COUNT as usize] = [
        Self::Alnum,
        Self::Word,
        Self::UrlSafe,
        Self::Dotted,
        Self::UrlSafePadded,
        Self::DottedPadded,
        Self::Hex,
        Self::HexDash,
        Self::Base64,
        Self::AlnumDash,
        Self::Path,
        Self::Upper,
        Self::Azure,
        Self::Credential,
        Self::Value,
        Self::Quoted,
        Self::Line,
        Self::LineInDouble,
        Self::LineInSingle,
        Self::Authority,
        Self::Query,
    ];

    /// Its bit.
    pub(crate) const fn bit(self) -> u32 {
        1 << self as u8
    }

    /// Whether a byte belongs to it.
    pub(crate) const fn has(self, b: u8) -> bool {
        let alnum = b.is_ascii_alphanumeric();
        let url_safe = alnum || b == b'_' || b == b'-';
        let quote = matches!(b, b'"' | b'\'' | b'`');
        match self {
            Self::Alnum => alnum,
            Self::Word => alnum || b == b'_',
            Self::UrlSafe => url_safe,
            Self::Dotted => url_safe || b == b'.',
            Self::UrlSafePadded => url_safe || b == b'=',
            Self::DottedPadded => url_safe || b == b'=' || b == b'.',
            Self::Hex => b.is_ascii_hexdigit(),
            Self::HexDash => b.is_ascii_hexdigit() || b == b'-',
            Self::Base64 => alnum || matches!(b, b'+' | b'/' | b'=' | b'_'),
            Self::AlnumDash => alnum || b == b'-',
            Self::Path => alnum || b == b'/',
            Self::Upper => b.is_ascii_uppercase() || b.is_ascii_digit(),
            Self::Azure => url_safe || b == b'.' || b == b'~',
            Self::Credential => url_safe || matches!(b, b'+' | b'/' | b'=' | b'~' | b'.'),
            Self::Value => {
                b.is_ascii_graphic()
                    && !quote
                    && !matches!(
                        b,
                        b'(' | b')' | b'{' | b'}' | b'[' | b']' | b'<' | b'>' | b',' | b';' | b'&' | b'|' | b'\\'
                    )
            }
            Self::Quoted => b > b' ' && b != 0x7f && !quote && b != b'\\',
            Self::Line => b != b'\n' && b != b'\r',
            Self::LineInDouble => b != b'\n' && b != b'\r' && b != b'"',
            Self::LineInSingle => b != b'\n' && b != b'\r' && b != b'\'',
            Self::Authority => {
                b > b' ' && b != 0x7f && !quote && !matches!(b, b'/' | b'?' | b'#' | b'\\' | b'<' | b'>')
            }
            Self::Query => {
                b.is_ascii_graphic() && !quote && !matches!(b, b'&' | b'#' | b'<' | b'>' | b')' | b']' | b'}')
            }
        }
    }
}

/// The bit of the operator's pattern number `at`.
pub(crate) const fn extra_bit(at: usize) -> u32 {
    1 << (COUNT as usize + at)
}

/// For each byte the alphabets that it belongs to.
pub(crate) type Classes = [u32; 256];

/// The table of all alphabets.
pub(crate) fn classes(extra: &[ExtraPattern]) -> Box<Classes> {
    let mut table = Box::new([0; 256]);
    for (b, class) in (0..=255u8).zip(table.iter_mut()) {
        for alphabet in Alphabet::ALL {
            *class |= if alphabet.has(b) { alphabet.bit() } else { 0 };
        }
        for (at, pattern) in extra.iter().enumerate() {
            *class |= if b.is_ascii() && pattern.alphabet >> b & 1 == 1 { extra_bit(at) } else { 0 };
        }
    }
    table
}
