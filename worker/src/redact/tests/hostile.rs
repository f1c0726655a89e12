//! Whatever the text, the work grows with its length and the memory does not.

use super::super::engine::State;
use super::*;

/// Bytes looked at one by one, and the most held back.
fn work(rules: &Rules, text: &str, piece: usize) -> (u64, usize) {
    let (mut state, mut out, mut held) = (State::default(), String::new(), 0);
    let mut rest = text;
    while !rest.is_empty() {
        let (part, after) = rest.split_at(piece.min(rest.len()));
        state.push(rules, part, &mut out);
        held = held.max(state.held());
        assert!(state.capacity() <= 64 * 1024, "buffer of {}", state.capacity());
        (rest, out) = (after, String::new());
    }
    state.finish(rules, &mut out);
    (state.steps(), held)
}

const HOSTILE: &[&str] = &[
    "eyJ",
    "-eyJ",
    "eyJ.",
    "-eyJaaaaaaaaaaaaaaaaaaaa.",
    ".eyJaaaaaaaaaaaaaaaaaaaa",
    "sk-",
    "sk-ant-",
    "-sk-ant-a",
    "://",
    "a://",
    "a://a:",
    "=",
    ":",
    "~",
    "Q~",
    "a8Q~",
    "token=",
    "token:",
    "token=\"",
    "token: ",
    "a:a:",
    "password=a",
    "-----BEGIN ",
    "-----BEGIN PRIVATE KEY",
    "-----BEGIN PRIVATE KEY-----END ",
    "-",
    "a",
    "A",
    "0",
    ".",
    "..a",
    "ghp_",
    "ghp_a",
    "ATATT3",
    "ATATT3aaaaaaaaaaaaaaa",
    "ops_eyJa",
    "SK",
    " SK0",
    "12345678:",
    "123456789:a",
    "?token=",
    "&sig=",
    "Cookie: ",
    "Cookie: a",
    "Cookie: a=",
    "Authorization: ",
    "Authorization: a",
    "Bearer ",
    "Bearer a",
    "own secret ",
    "own ",
    "\\",
    "\"",
    " ",
    "\n",
    "ก",
    "😀",
    "AKIA",
    "xoxb-",
    "hooks.slack.com/services/",
    ".atlasv1.",
    "sha256~",
    "LLM|",
    "LLM|a",
    "a@",
    "a:b@",
    "//a:b@",
];

#[test]
fn work_is_linear_and_holding_bounded_for_hostile_texts() {
    let rules = rules_with(&["own secret own secret own secreT"], &["meta=LLM|[A-Za-z|]{512}"]);
    for unit in HOSTILE {
        for piece in [16 * 1024, 61] {
            let size = |kib: usize| {
                let mut text = unit.repeat(kib * 1024 / unit.len());
                text.push('!');
                text
            };
            let aligned = piece - piece % unit.len().max(1);
            let piece = if unit.is_ascii() { piece } else { aligned.max(unit.len()) };
            let (small, held) = work(&rules, &size(64), piece);
            let (large, held_too) = work(&rules, &size(256), piece);
            assert!(large <= small * 4 + small / 4 + 40_000, "{unit:?} in {piece}: {small} steps, then {large}");
            assert!(large <= 256 * 1024 * 40, "{unit:?} in {piece}: {large} steps");
            assert!(held.max(held_too) <= 9 * 1024, "{unit:?} holds {}", held.max(held_too));
        }
    }
}

#[test]
fn a_waiting_place_does_not_read_again_what_it_has_read() {
    let rules = rules();
    let text = format!("eyJ{}.eyJ{}", "a".repeat(4000), "a".repeat(4000));
    let (steps, held) = work(&rules, &text, 1);
    assert!(held >= 8000, "{held}");
    assert!(steps <= 20 * text.len() as u64, "{steps}");
}

#[test]
fn ordinary_text_costs_next_to_nothing() {
    let rules = rules();
    let text = "The quick brown fox jumps over the lazy dog, and nothing happens to it. ".repeat(1000);
    assert!(work(&rules, &text, 4096).0 <= 100);
}
