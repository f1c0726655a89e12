//! The forms in which a known value may appear: as it is, escaped for JSON, for a URL, in base64 and in hexadecimal.
//!
//! Promises: every form stands once; none is shorter than [`FORM_MIN`]; all are wiped when dropped. Refuses to know
//! where the value comes from.

use super::RuleError;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use std::fmt::Write as _;
use zeroize::Zeroizing;

/// Shortest value that is protected, bytes. A shorter one would cut holes into ordinary text.
pub const SECRET_MIN: usize = 8;
/// Longest value, bytes. Bounds what may be held back: three times as much, of the form for URLs.
pub const SECRET_MAX: usize = 4096;
/// Most values.
pub const MAX_SECRETS: usize = 64;
/// Shortest form, bytes: the middle of the base64 of [`SECRET_MIN`] bytes.
pub(crate) const FORM_MIN: usize = 8;

/// All forms of all values, each once, longest first.
pub(crate) fn forms(secrets: &[Zeroizing<String>]) -> Result<Vec<Zeroizing<String>>, RuleError> {
    if secrets.len() > MAX_SECRETS {
        return Err(RuleError::TooMany { max: MAX_SECRETS });
    }
    let mut all: Vec<Zeroizing<String>> = Vec::new();
    for (at, secret) in secrets.iter().enumerate() {
        if !(SECRET_MIN..=SECRET_MAX).contains(&secret.len()) {
            return Err(RuleError::Length { at, len: secret.len() });
        }
        forms_of(secret, |form| {
            if form.len() >= FORM_MIN && !all.contains(&form) {
                all.push(form);
            }
        });
    }
    all.sort_by_key(|form| std::cmp::Reverse(form.len()));
    Ok(all)
}

fn forms_of(secret: &str, mut give: impl FnMut(Zeroizing<String>)) {
    give(Zeroizing::new(secret.to_owned()));
    give(json(secret, false));
    give(json(secret, true));
    for (space, upper) in [("%20", true), ("%20", false), ("+", true), ("+", false)] {
        give(url(secret, space, upper));
    }
    for shift in 0..3 {
        give(middle(secret, shift, &STANDARD_NO_PAD));
        give(middle(secret, shift, &URL_SAFE_NO_PAD));
    }
    give(hex(secret, false));
    give(hex(secret, true));
}

/// As inside a JSON text; `ascii`: with everything else as `\u`, and with `\/`, as some writers do.
fn json(secret: &str, ascii: bool) -> Zeroizing<String> {
    let mut out = Zeroizing::new(String::new());
    for c in secret.chars() {
        let short = match c {
            '"' => "\\\"",
            '\\' => "\\\\",
            '\n' => "\\n",
            '\r' => "\\r",
            '\t' => "\\t",
            '\u{8}' => "\\b",
            '\u{c}' => "\\f",
            '/' if ascii => "\\/",
            _ => "",
        };
        if !short.is_empty() {
            out.push_str(short);
        } else if c < ' ' || (ascii && !c.is_ascii()) {
            let mut units = [0; 2];
            for unit in c.encode_utf16(&mut units) {
                let _ = write!(out, "\\u{unit:04x}");
            }
        } else {
            out.push(c);
        }
    }
    out
}

fn url(secret: &str, space: &str, upper: bool) -> Zeroizing<String> {
    let mut out = Zeroizing::new(String::new());
    for b in secret.bytes() {
        if b.is_ascii_alphanumeric() || b"-_.~".contains(&b) {
            out.push(char::from(b));
        } else if b == b' ' {
            out.push_str(space);
        } else {
            let _ = if upper { write!(out, "%{b:02X}") } else { write!(out, "%{b:02x}") };
        }
    }
    out
}

/// The characters of a base64 text that depend on this value alone when `shift` bytes stand before it in its group.
fn middle(secret: &str, shift: usize, base64: &impl base64::Engine) -> Zeroizing<String> {
    let mut padded = Zeroizing::new(vec![0; shift]);
    padded.extend_from_slice(secret.as_bytes());
    let whole = Zeroizing::new(base64.encode(padded.as_slice()));
    let first = (shift * 8).div_ceil(6); // characters that hold a bit of what stands before
    let last = (shift + secret.len()) * 8 / 6; // and the one that holds a bit of what follows
    Zeroizing::new(whole.get(first..last).unwrap_or_default().to_owned())
}

fn hex(secret: &str, upper: bool) -> Zeroizing<String> {
    let mut out = Zeroizing::new(String::new());
    for b in secret.bytes() {
        let _ = if upper { write!(out, "{b:02X}") } else { write!(out, "{b:02x}") };
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use base64::Engine as _;

    fn all(secret: &str) -> Vec<String> {
        let forms = forms(&[Zeroizing::new(secret.to_owned())]).unwrap();
        forms.iter().map(|form| form.to_string()).collect()
    }

    #[test]
    fn a_plain_value_has_three_middles_and_one_or_two_hexadecimal_forms() {
        assert_eq!(all("aaaaaaaa").len(), 5); // itself, three middles, 61616161…
        assert_eq!(all("jklmnopq").len(), 6); // 6a and 6A differ
    }

    #[test]
    fn base64_finds_the_value_behind_any_bytes() {
        let secret = "s3cret-Value/with+more";
        let forms = all(secret);
        for before in ["", "a", "ab", "abc", "user:"] {
            for after in ["", "z", "zz"] {
                let text = format!("{before}{secret}{after}");
                for whole in [STANDARD_NO_PAD.encode(&text), URL_SAFE_NO_PAD.encode(&text)] {
                    assert!(forms.iter().any(|form| whole.contains(form)), "{text}");
                }
            }
        }
    }

    #[test]
    fn escaped_forms_are_what_the_writers_write() {
        let secret = "pä \"q\"/\\x\n&=12";
        let forms = all(secret);
        let json = serde_json::to_string(secret).unwrap();
        for want in [
            json.trim_matches('"'),
            "p\\u00e4 \\\"q\\\"\\/\\\\x\\n&=12",
            "p%C3%A4%20%22q%22%2F%5Cx%0A%26%3D12",
            "p%c3%a4+%22q%22%2f%5cx%0a%26%3d12",
        ] {
            assert!(forms.iter().any(|form| form == want), "{want} is not in {forms:?}");
        }
    }

    #[test]
    fn too_short_too_long_and_too_many_are_refused() {
        let secret = |len: usize| Zeroizing::new("x".repeat(len));
        assert!(forms(&[secret(8), secret(4096)]).is_ok());
        assert_eq!(forms(&[secret(8), secret(7)]).unwrap_err(), RuleError::Length { at: 1, len: 7 });
        assert_eq!(forms(&[secret(4097)]).unwrap_err(), RuleError::Length { at: 0, len: 4097 });
        assert_eq!(forms(&vec![secret(8); 65]).unwrap_err(), RuleError::TooMany { max: 64 });
    }
}
