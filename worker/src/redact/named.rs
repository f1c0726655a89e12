//! Judges `:`, `=` and `~`: secrets that only the words before them give away. What stands before stays, so that
//! nothing is held back until a value begins.
//!
//! Promises: as `shape.rs`. Looks back over at most [`LOOK_BACK`] bytes.

use super::alphabet::Alphabet;
use super::needle::word_edge;
use super::shape::{Verdict, View};
use super::table::{COOKIES, CREDENTIALS, Kinds, NAMES, PARAMETERS, Proof, SCHEMES};

/// How far back anything looks, bytes.
pub(crate) const LOOK_BACK: usize = 128;
/// Longest name, bytes.
const NAME_MAX: usize = 64;
/// Most quotes and spaces between a name and its sign, and between the sign and the value.
const GAP_MAX: usize = 32;
/// What may stand there.
const GAP: &[u8] = b" \t\"'`*\\]";
/// What may stand within a name besides letters and digits.
const SEPARATORS: &[u8] = b"_.-";
/// So much of a value is looked at, bytes.
const VALUE_SEEN: usize = 128;
/// Shortest value.
const VALUE_MIN: usize = 8;
/// So much of a URL is looked at for a password, bytes.
const AUTHORITY_SEEN: usize = 512;

/// The bytes that may give a secret away.
pub(crate) const SIGNS: [u8; 3] = [b':', b'=', b'~'];

/// The last two letters of each name in the tables: most signs in a text are passed over for their sake.
#[derive(Debug)]
pub(crate) struct LastLetters([u32; 32]);

impl LastLetters {
    pub(crate) fn new() -> Self {
        let mut pairs = [0u32; 32];
        let mut add = |a: u8, b: u8| {
            if let Some(pair) = pairs.get_mut(usize::from(b & 31)) {
                *pair |= 1 << (a & 31);
            }
        };
        for name in [NAMES, CREDENTIALS, COOKIES, PARAMETERS].into_iter().flatten() {
            if let Some([a, b]) = name.as_bytes().last_chunk() {
                add(*a, *b);
                add(*b, b's');
            }
        }
        Self(pairs)
    }

    /// Whether a sign is worth a judgement, by the few bytes around it.
    pub(crate) fn tell(&self, text: &[u8], at: usize) -> bool {
        let before = text.get(at.saturating_sub(GAP_MAX + NAME_MAX)..at).unwrap_or_default();
        let sign = text.get(at);
        if sign == Some(&b'~') {
            return matches!(before.last(), Some(b'Q' | b'6'));
        }
        let url = sign == Some(&b':') && matches!(text.get(at + 1), None | Some(b'/'));
        match before.last() {
            None => false,
            Some(b':') => sign == Some(&b'='),
            Some(b) if b.is_ascii_digit() => {
                url || before.last_chunk().is_some_and(|all: &[u8; 8]| all.iter().all(u8::is_ascii_digit))
            }
            Some(b) if b.is_ascii_alphabetic() => url || self.ends(before),
            Some(b) if GAP.contains(b) => self.ends(before),
            Some(_) => false,
        }
    }

    fn ends(&self, before: &[u8]) -> bool {
        let mut letters = before.iter().rev().skip_while(|b| GAP.contains(b));
        let (b, a) = (letters.next(), letters.find(|b| !SEPARATORS.contains(b)));
        let pair = b.filter(|b| b.is_ascii_alphabetic()).zip(a.filter(|a| a.is_ascii_alphabetic()));
        pair.is_some_and(|(b, a)| self.0.get(usize::from(b & 31)).is_some_and(|pairs| pairs >> (a & 31) & 1 == 1))
    }
}

/// Judges one of [`SIGNS`] at a place.
pub(crate) fn judge_sign(view: &mut View<'_>, kinds: &Kinds, at: usize) -> Verdict {
    let before = at.checked_sub(1).and_then(|at| view.at(at)).unwrap_or(0);
    match view.at(at) {
        Some(b'~') => judge_tilde(view, kinds, at),
        Some(b':') if ends_bot_number(view, at) => {
            view.tail(kinds.telegram, (at + 1, at + 1), 35, Alphabet::UrlSafe.bit(), Proof::NotHex)
        }
        Some(b':') if before.is_ascii_alphanumeric() && view.stands(at, b"://") != Some(false) => {
            judge_authority(view, kinds, at)
        }
        Some(_) => judge_name(view, kinds, at),
        None => Verdict::No,
    }
}

/// `sha256~` and Azure's `Q~`.
fn judge_tilde(view: &mut View<'_>, kinds: &Kinds, at: usize) -> Verdict {
    let before = view.text.get(..at).unwrap_or_default();
    let tail = (at + 1, at + 1);
    if before.ends_with(b"sha256") {
        return view.tail(kinds.openshift, tail, 43, Alphabet::UrlSafe.bit(), Proof::None);
    }
    match before.last_chunk() {
        Some([a, b, c, d, b'Q']) if d.is_ascii_digit() && [a, b, c].iter().all(|b| Alphabet::Azure.has(**b)) => {
            view.tail(kinds.azure, tail, 31, Alphabet::Azure.bit(), Proof::None)
        }
        _ => Verdict::No,
    }
}

/// Whether 8 to 10 digits end before a place. What follows is a bot's secret unless it is a UUID.
fn ends_bot_number(view: &View<'_>, at: usize) -> bool {
    let before = view.text.get(at.saturating_sub(11)..at).unwrap_or_default();
    let digits = before.iter().rev().take_while(|b| b.is_ascii_digit()).count();
    (8..=10).contains(&digits) && word_edge(view.text, at - digits)
}

/// `scheme://user:password@`: from the user to the last `@` before the path.
fn judge_authority(view: &mut View<'_>, kinds: &Kinds, at: usize) -> Verdict {
    let start = at + 3;
    if view.stands(at, b"://").is_none() {
        return Verdict::Wait { hold: view.text.len() };
    }
    let run = view.run(start, Alphabet::Authority.bit());
    let seen = run.end.min(start + AUTHORITY_SEEN);
    if run.open && seen < start + AUTHORITY_SEEN {
        return Verdict::Wait { hold: start };
    }
    let authority = view.text.get(start..seen).unwrap_or_default();
    view.runs.count(authority.len());
    let Some(end) = authority.iter().rposition(|b| *b == b'@') else { return Verdict::No };
    let user = authority.get(..end).unwrap_or_default();
    match user.iter().position(|b| *b == b':') {
        Some(colon) if colon + 1 < end => Verdict::Hit { kind: kinds.userinfo, start, end: start + end, open: 0 },
        _ => Verdict::No,
    }
}

/// A name before `:` or `=`, in lower case and without separators.
struct Name {
    letters: [u8; NAME_MAX],
    len: usize,
    /// What stands right before it.
    before: Option<u8>,
}

impl Name {
    fn before(view: &View<'_>, sign: usize) -> Option<Self> {
        let part = view.text.get(sign.saturating_sub(LOOK_BACK - 1)..sign)?;
        let part = part.strip_suffix(b":").unwrap_or(part);
        let gap = part.iter().rev().take(GAP_MAX).take_while(|b| GAP.contains(b)).count();
        let part = part.get(..part.len() - gap)?;
        let is_name = |b: &&u8| b.is_ascii_alphanumeric() || SEPARATORS.contains(b);
        let len = part.iter().rev().take(NAME_MAX).take_while(is_name).count();
        let (rest, name) = part.split_at_checked(part.len() - len)?;
        let mut letters = [0; NAME_MAX];
        let kept = name.iter().filter(|b| b.is_ascii_alphanumeric());
        let len = letters.iter_mut().zip(kept).map(|(to, b)| *to = b.to_ascii_lowercase()).count();
        Some(Self { letters, len, before: rest.last().copied() })
    }

    fn text(&self) -> &[u8] {
        self.letters.get(..self.len).unwrap_or_default()
    }

    fn is_one_of(&self, names: &[&str]) -> bool {
        names.iter().any(|name| name.as_bytes() == self.text())
    }

    /// Whether it ends with one of the names, in the singular or the plural.
    fn ends_with(&self, names: &[&str]) -> bool {
        let text = self.text();
        let singular = text.strip_suffix(b"s").unwrap_or(text);
        names.iter().any(|name| text.ends_with(name.as_bytes()) || singular.ends_with(name.as_bytes()))
    }
}

fn judge_name(view: &mut View<'_>, kinds: &Kinds, at: usize) -> Verdict {
    let Some(name) = Name::before(view, at).filter(|name| name.len > 0) else { return Verdict::No };
    view.runs.count(name.len);
    let colon = view.at(at) == Some(b':');
    if !colon && matches!(name.before, Some(b'?' | b'&' | b'#' | b';')) && name.is_one_of(PARAMETERS) {
        let min = if name.is_one_of(&["code"]) { 6 } else { 1 };
        return view.tail(kinds.parameter, (at + 1, at + 1), min, Alphabet::Query.bit(), Proof::None);
    }
    let cookie = colon && name.is_one_of(COOKIES);
    let credential = name.is_one_of(CREDENTIALS);
    if !cookie && !credential && !name.ends_with(NAMES) {
        return Verdict::No;
    }
    let Some((start, quote)) = value_start(view, at) else { return Verdict::Wait { hold: at + 1 } };
    if cookie {
        return judge_cookie(view, kinds, &name, start, quote);
    }
    if credential {
        return judge_credential(view, kinds, start);
    }
    judge_value(view, kinds, &name, start, quote.is_some())
}

/// Where the value begins after the sign at a place, and the quote that opens it; `None` while that is not known.
fn value_start(view: &View<'_>, sign: usize) -> Option<(usize, Option<u8>)> {
    let mut quote = None;
    for (at, step) in (sign + 1..).zip(0..) {
        match view.at(at) {
            None if !view.end => return None,
            Some(b'=' | b'>') if step == 0 => {}
            Some(b' ' | b'\t' | b'*' | b'\\') if quote.is_none() && step < GAP_MAX => {}
            Some(b @ (b'"' | b'\'' | b'`')) if quote.is_none() && step < GAP_MAX => quote = Some(b),
            _ => return Some((at, quote)),
        }
    }
    None
}

/// `name=value; …` up to the end of the line, or of the quotes around it.
fn judge_cookie(view: &mut View<'_>, kinds: &Kinds, name: &Name, start: usize, quote: Option<u8>) -> Verdict {
    let first = view.run(start, Alphabet::UrlSafe.bit());
    let len = first.end - start;
    if first.open && len <= NAME_MAX {
        return Verdict::Wait { hold: start };
    }
    if !(1..=NAME_MAX).contains(&len) || view.at(first.end) != Some(b'=') {
        return Verdict::No;
    }
    let line = match quote.or(name.before) {
        Some(b'"') => Alphabet::LineInDouble,
        Some(b'\'') => Alphabet::LineInSingle,
        _ => Alphabet::Line,
    };
    view.tail(kinds.cookie, (start, start), 1, line.bit(), Proof::None)
}

/// After `Authorization:`, a scheme or none, and 16 characters or more.
fn judge_credential(view: &mut View<'_>, kinds: &Kinds, start: usize) -> Verdict {
    let word = view.run(start, Alphabet::AlnumDash.bit());
    let len = word.end - start;
    if word.open && len <= GAP_MAX {
        return Verdict::Wait { hold: start };
    }
    let scheme = view.text.get(start..word.end).unwrap_or_default();
    let spaces = view.text.get(word.end..).unwrap_or_default().iter().take(GAP_MAX).take_while(|b| **b == b' ').count();
    if spaces == 0 || !(1..=GAP_MAX).contains(&len) {
        return view.tail(kinds.authorization, (start, start), 16, Alphabet::Credential.bit(), Proof::Digit);
    }
    let known = SCHEMES.iter().any(|known| scheme.eq_ignore_ascii_case(known.as_bytes()));
    let proof = if known { Proof::None } else { Proof::Digit };
    let at = word.end + spaces;
    view.tail(kinds.authorization, (at, at), 16, Alphabet::Credential.bit(), proof)
}

/// A value that looks random: 8 characters or more, 3.5 bits each, and a digit or quotes.
fn judge_value(view: &mut View<'_>, kinds: &Kinds, name: &Name, start: usize, quoted: bool) -> Verdict {
    let bit = if quoted { Alphabet::Quoted } else { Alphabet::Value }.bit();
    let run = view.run(start, bit);
    let len = run.end - start;
    if run.open && len < VALUE_SEEN {
        return Verdict::Wait { hold: start };
    }
    let seen = view.text.get(start..run.end.min(start + VALUE_SEEN)).unwrap_or_default();
    let hit = |kind| Verdict::Hit { kind, start, end: run.end, open: if run.open { bit } else { 0 } };
    view.runs.count(seen.len());
    if is_aws(name) && seen.len() >= 40 && seen.iter().take(40).all(|b| Alphabet::Base64.has(*b)) {
        return hit(kinds.aws_secret);
    }
    if quoted && len < VALUE_SEEN && view.at(run.end) == Some(b' ') {
        return Verdict::No; // a sentence
    }
    if looks_random(seen, quoted) { hit(kinds.named) } else { Verdict::No }
}

fn is_aws(name: &Name) -> bool {
    let has = |word: &[u8]| name.text().windows(word.len()).any(|part| part == word);
    has(b"awssecret") || has(b"secretaccesskey")
}

fn looks_random(value: &[u8], quoted: bool) -> bool {
    let placeholder =
        value.first().is_some_and(|b| b"$%<{".contains(b)) || value.windows(10).any(|w| w == b"[redacted:");
    if value.len() < VALUE_MIN || placeholder {
        return false;
    }
    let bits = entropy(value);
    let digit = value.iter().any(u8::is_ascii_digit);
    let code = value.iter().any(|b| b".:".contains(b)); // a path such as process.env.TOKEN
    bits >= 3.5 && (quoted || digit || (value.len() >= 16 && bits >= 3.9 && !code))
}

/// Shannon's entropy, bits per byte. Each byte value is summed up where it is met first.
fn entropy(value: &[u8]) -> f64 {
    let mut counts = [0u32; 256];
    for b in value {
        if let Some(n) = counts.get_mut(usize::from(*b)) {
            *n += 1;
        }
    }
    let all = value.len().max(1) as f64;
    let mut sum = 0.0;
    for b in value {
        let n = counts.get_mut(usize::from(*b)).map_or(0, std::mem::take);
        if n > 0 {
            let share = f64::from(n) / all;
            sum -= share * share.log2();
        }
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::entropy;

    #[test]
    fn entropy_counts_bits_per_byte() {
        for (value, bits) in [("", 0.0), ("aaaa", 0.0), ("abab", 1.0), ("abcdefgh", 3.0), ("aabc", 1.5)] {
            assert!((entropy(value.as_bytes()) - bits).abs() < 1e-9, "{value}");
        }
    }
}
