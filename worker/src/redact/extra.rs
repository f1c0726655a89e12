//! Shapes of secrets that an operator adds: `KIND=LITERAL[ALPHABET]{MIN,}`, such as `meta=mk_live_[A-Za-z0-9_-]{32,}`.
//!
//! Promises: the same form as a row of the table, thus found in linear time, with a bounded hold-back, however the
//! stream is cut. It looks like a regular expression and is deliberately less: one literal, one class, one count.

use super::RuleError;
use super::named::SIGNS;

/// Most patterns that an operator may add.
pub const MAX_EXTRA: usize = 8;
/// Shortest literal, bytes: shorter ones would match everywhere.
const LITERAL_MIN: usize = 3;
/// Longest literal, bytes.
const LITERAL_MAX: usize = 64;
/// Fewest characters after the literal.
const TAIL_MIN: usize = 8;
/// The largest MIN, characters: it bounds what is held back.
const TAIL_MAX: usize = 512;

/// One shape that an operator adds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExtraPattern {
    pub(crate) kind: String,
    pub(crate) literal: String,
    /// Bit `b` of the pair is set when the ASCII character `b` belongs to the tail.
    pub(crate) alphabet: u128,
    pub(crate) tail: usize,
}

impl ExtraPattern {
    /// Reads `KIND=LITERAL[ALPHABET]{MIN,}`. KIND: 1 to 32 of `a-z`, `0-9`, `-`. LITERAL: 3 to 64 visible ASCII
    /// characters but `[`. ALPHABET: visible ASCII characters and ranges such as `A-Z`; a `-` to be taken as itself
    /// stands last. MIN: 8 to 512; more characters of the alphabet are redacted too, so `{MIN}` says the same.
    ///
    /// # Errors
    /// [`RuleError::Pattern`], with what is wrong as a lowercase fragment.
    pub fn parse(text: &str) -> Result<Self, RuleError> {
        let wrong = |what| RuleError::Pattern { what };
        let (kind, rest) = text.split_once('=').ok_or(wrong("must be KIND=LITERAL[ALPHABET]{MIN,}"))?;
        let legal = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
        if kind.is_empty() || kind.len() > 32 || !kind.bytes().all(legal) {
            return Err(wrong("the kind must be 1 to 32 of a-z, 0-9 and -"));
        }
        let (literal, rest) =
            rest.split_once('[').ok_or(wrong("an alphabet such as [A-Za-z0-9] must follow the literal"))?;
        if !(LITERAL_MIN..=LITERAL_MAX).contains(&literal.len()) || !literal.bytes().all(|b| b.is_ascii_graphic()) {
            return Err(wrong("the literal must be 3 to 64 visible ASCII characters"));
        }
        if literal.bytes().rev().skip(1).any(|b| SIGNS.contains(&b)) {
            return Err(wrong("the literal may have :, = or ~ only at its end"));
        }
        let (class, rest) = rest.rsplit_once(']').ok_or(wrong("the alphabet must end with ]"))?;
        let count = rest.strip_prefix('{').and_then(|rest| rest.strip_suffix('}'));
        let count = count.ok_or(wrong("a count such as {32,} must follow the alphabet"))?;
        let tail = count.strip_suffix(',').unwrap_or(count).parse().ok();
        let tail = tail.filter(|n| (TAIL_MIN..=TAIL_MAX).contains(n)).ok_or(wrong("the count must be 8 to 512"))?;
        let alphabet = parse_class(class).ok_or(wrong("the alphabet must be visible ASCII characters and ranges"))?;
        Ok(Self { kind: kind.to_owned(), literal: literal.to_owned(), alphabet, tail })
    }
}

/// The characters of a class as bits.
fn parse_class(class: &str) -> Option<u128> {
    let mut rest = class.bytes().peekable();
    let mut bits = 0u128;
    while let Some(from) = rest.next() {
        let mut to = from;
        if rest.peek() == Some(&b'-') {
            rest.next();
            match rest.next() {
                Some(end) => to = end,
                None => bits |= 1 << b'-',
            }
        }
        if from > to || !from.is_ascii_graphic() || !to.is_ascii_graphic() {
            return None;
        }
        (from..=to).for_each(|b| bits |= 1 << b);
    }
    (bits != 0).then_some(bits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_is_a_literal_a_class_and_a_count() {
        let pattern = ExtraPattern::parse("meta=mk_[A-Ca_-]{32,}").unwrap();
        assert_eq!((pattern.kind.as_str(), pattern.literal.as_str(), pattern.tail), ("meta", "mk_", 32));
        let members: String = (0..128u8).filter(|b| pattern.alphabet >> b & 1 == 1).map(char::from).collect();
        assert_eq!(members, "-ABC_a");
        assert_eq!(ExtraPattern::parse("meta=mk_[A-Ca_-]{32}").unwrap(), pattern);
    }

    #[test]
    fn what_is_not_one_is_told_why() {
        for (text, part) in [
            ("mk_[a-z]{32}", "KIND="),
            ("Meta=mk_[a-z]{32}", "kind"),
            ("m=mk_", "alphabet"),
            ("m=mk[a-z]{32}", "literal"),
            ("m=mké_[a-z]{32}", "literal"),
            ("m=mk:a[a-z]{32}", "only at its end"),
            ("m=mk_[a-z{32}", "end with ]"),
            ("m=mk_[a-z]32", "count such as"),
            ("m=mk_[a-z]{7,}", "8 to 512"),
            ("m=mk_[a-z]{513}", "8 to 512"),
            ("m=mk_[a-z]{99999999999999999999}", "8 to 512"),
            ("m=mk_[z-a]{32}", "visible"),
            ("m=mk_[]{32}", "visible"),
            ("m=mk_[a é]{32}", "visible"),
        ] {
            let error = ExtraPattern::parse(text).unwrap_err().to_string();
            assert!(error.contains(part), "{text}: {error}");
        }
    }
}
