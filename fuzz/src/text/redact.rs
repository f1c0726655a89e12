//! Redaction: the same output from any cutting, a bound on what is held back, and nothing planted survives.

use crate::pieces::text_pieces;
use musegate_worker::redact::{ExtraPattern, Redactor, Rules};
use std::sync::{Arc, LazyLock};

/// Values that the worker protects, in the forms of keys and of ordinary words.
const SECRETS: [&str; 3] = ["correct horse battery staple", "Zm9vYmFyYmF6cXV4", "p/w+d=1&2:\"3\""];
/// A shape of a key that is caught wherever it stands between spaces.
const KEY: &str = "sk-ant-api03-AbCdEfGhIjKlMnOpQrStUvWxYz0123456789AbCdEfGhIjKlMnOpQrStUvWxYz0123456789AbCdEfGhIjKlMnO-AbCdEfGh";
/// Most that is held back, bytes.
const HELD: usize = 9 * 1024;

static RULES: LazyLock<Arc<Rules>> = LazyLock::new(|| {
    let secrets: Vec<_> = SECRETS.iter().map(|secret| (*secret).to_owned().into()).collect();
    let extra = ExtraPattern::parse("own=mk_live_[A-Za-z0-9_-]{16,}").expect("a pattern");
    Arc::new(Rules::new(&secrets, &[extra]).expect("rules"))
});

pub(crate) fn redact(input: &[u8]) {
    let Some((whole, pieces)) = text_pieces(input) else { return };
    let (at_once, counts) = RULES.redact(whole);
    let mut redactor = Redactor::new(RULES.clone());
    let mut out = String::new();
    for piece in pieces {
        redactor.push(piece, &mut out);
        assert!(redactor.held() <= HELD, "{} bytes held back", redactor.held());
    }
    redactor.finish(&mut out);
    assert_eq!(redactor.held(), 0);
    assert_eq!(out, at_once, "any cutting gives the same");
    assert!(redactor.counts().eq(counts.iter()), "and counts the same");
    assert!(counts.is_empty() == (at_once == whole), "what was changed was counted");
    for secret in SECRETS {
        assert!(!at_once.contains(secret), "a protected value survived");
    }
    planted(whole);
}

/// Puts secrets into the middle of the text: they must be gone, whatever stands around them.
fn planted(text: &str) {
    let (before, after) = text.split_at(text.floor_char_boundary(text.len() / 2));
    for secret in SECRETS {
        let out = RULES.redact(&format!("{before}{secret}{after}")).0;
        assert!(!out.contains(secret), "a protected value survived between {before:?} and {after:?}");
    }
    let out = RULES.redact(&format!("{before} {KEY} {after}")).0;
    assert!(!out.contains(KEY), "a key survived between {before:?} and {after:?}");
}

/// Patterns that an operator adds: no panic, and what parses can be searched for.
pub(crate) fn patterns(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else { return };
    let (pattern, text) = text.split_once('\n').unwrap_or((text, "mk_live_0123456789abcdef"));
    if let Ok(pattern) = ExtraPattern::parse(pattern) {
        let rules = Rules::new(&[], &[pattern]).expect("a pattern that parses makes rules");
        let _ = rules.redact(text);
    }
}
