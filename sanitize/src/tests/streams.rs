//! The same for every cutting, the same a second time, in linear time, with little held back.

use super::*;
use proptest::prelude::*;

/// What texts are made of: everything that is looked at, what makes it stay, and what surrounds it.
fn piece() -> impl Strategy<Value = String> {
    let special = vec![
        '\u{1b}',
        '\u{9b}',
        '\u{9d}',
        '\u{7}',
        '\u{9c}',
        '\0',
        '\u{7f}',
        '\u{85}',
        '\u{2028}',
        '\n',
        '\r',
        '\u{e0067}',
        '\u{e0062}',
        '\u{e0065}',
        '\u{e006e}',
        '\u{e007f}',
        '\u{202e}',
        '\u{2066}',
        '\u{2069}',
        '\u{200e}',
        '\u{200f}',
        '\u{61c}',
        '\u{200b}',
        '\u{200c}',
        '\u{200d}',
        '\u{fe0e}',
        '\u{fe0f}',
        '\u{fe00}',
        '\u{e0100}',
        '\u{180b}',
        '\u{180e}',
        '\u{115f}',
        '\u{1160}',
        '\u{3164}',
        '\u{2800}',
        '\u{34f}',
        '\u{ad}',
        '\u{feff}',
        '\u{1d173}',
        '\u{13430}',
        '\u{fdd0}',
        '\u{e000}',
        '\u{301}',
        '\u{5b0}',
    ];
    let plain = vec![
        'a', '1', '[', ']', 'm', '\\', ';', ' ', 'ก', 'ก', 'क', '्', 'م', 'ש', '漢', '👩', '❤', '🏽', '🏴', 'ᠠ', 'ᄀ',
        'ᅡ', '⠁', '𝅘', '𓀀', '⟦',
    ];
    let words = vec![
        "\u{1b}[31m",
        "\u{1b}]0;",
        "🏴\u{e0067}\u{e0062}\u{e0065}\u{e006e}\u{e0067}\u{e007f}",
        "שלום",
        "the quick brown fox",
    ];
    prop_oneof![
        5 => proptest::sample::select(special).prop_map(String::from),
        4 => proptest::sample::select(plain).prop_map(String::from),
        1 => proptest::sample::select(words).prop_map(str::to_owned),
        1 => "\\PC{0,6}",
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]

    #[test]
    fn any_text_is_the_same_in_pieces_and_the_second_time(pieces in proptest::collection::vec(piece(), 0..24), size in 1usize..5) {
        let text = pieces.concat();
        let (out, counts) = clean(&text, Mode::Strip).unwrap();
        prop_assert_eq!(in_pieces(&text, Mode::Strip, size), (out.to_string(), counts));
        let (again, none) = clean(&out, Mode::Strip).unwrap();
        prop_assert_eq!(&again, &out);
        prop_assert!(!none.hidden());
        prop_assert_eq!(clean(&text, Mode::Reject).is_err(), counts.hidden());
        let marked = clean(&text, Mode::Mark).unwrap().0;
        prop_assert_eq!(in_pieces(&text, Mode::Mark, size).0, marked.as_ref());
        prop_assert_eq!(clean(&marked, Mode::Mark).unwrap().0, marked.as_ref());
    }

    #[test]
    fn any_characters_at_all(text in proptest::collection::vec(any::<char>(), 0..40)) {
        let text: String = text.into_iter().collect();
        strip(&text);
    }
}

#[test]
fn a_mark_of_direction_waits_for_a_letter_and_not_for_ever() {
    let mut stream = Stream::new(Mode::Strip);
    let mut out = String::new();
    stream.push("a \u{2067}b", &mut out);
    assert_eq!((out.as_str(), stream.held()), ("a ", 4));
    stream.push("ש", &mut out);
    assert_eq!((out.as_str(), stream.held()), ("a \u{2067}bש", 0));
    stream.push("\n\u{2067}", &mut out);
    for _ in 0..200 {
        stream.push("word ", &mut out);
    }
    assert_eq!(stream.held(), 0);
    assert_eq!(stream.counts().iter().collect::<Vec<_>>(), [("bidi-soft", 1)]);
}

#[test]
fn plain_text_is_never_held() {
    let mut stream = Stream::new(Mode::Strip);
    let mut out = String::new();
    for piece in ["plain ", "สวัส", "ดี", "漢字", "😀", "👩", "\u{301}", "a\n"] {
        stream.push(piece, &mut out);
        assert_eq!(stream.held(), 0);
    }
    assert_eq!(out, "plain สวัสดี漢字😀👩\u{301}a\n");
}

#[test]
fn what_may_become_a_flag_or_a_family_is_held_and_let_go() {
    for (held, rest, want) in [
        ("👩\u{200d}", "👩", "👩\u{200d}👩"),
        ("👩\u{200d}", "x", "👩x"),
        (
            "🏴\u{e0067}\u{e0062}\u{e0065}",
            "\u{e006e}\u{e0067}\u{e007f}",
            "🏴\u{e0067}\u{e0062}\u{e0065}\u{e006e}\u{e0067}\u{e007f}",
        ),
        ("🏴\u{e0067}\u{e0062}\u{e0065}", "\u{e006e}", "🏴"),
    ] {
        let mut stream = Stream::new(Mode::Strip);
        let mut out = String::new();
        stream.push(held, &mut out);
        assert!(stream.held() > 0);
        stream.push(rest, &mut out);
        stream.finish(&mut out);
        assert_eq!(out, want);
    }
}

#[test]
fn after_finish_a_new_text_begins() {
    let mut stream = Stream::new(Mode::Strip);
    let mut out = String::new();
    stream.push("ש\u{1b}[3", &mut out);
    stream.finish(&mut out);
    stream.push("1m\u{200f}", &mut out);
    stream.finish(&mut out);
    assert_eq!(out, "ש1m");
    assert_eq!(stream.counts().iter().map(|(_, n)| n).sum::<u32>(), 2);
}

#[test]
fn hostile_texts_are_looked_at_once() {
    // Counts look-ups: each of these makes something look ahead.
    for unit in [
        "\u{200f}a",
        "\u{2067}",
        "\u{200f}\u{200e}",
        "👩\u{200d}",
        "🏴\u{e0067}",
        "\u{1b}]",
        "\u{1b}[",
        "e\u{301}",
        "\u{34f}",
        "\u{200b}",
    ] {
        let work = |n: usize| {
            let text = unit.repeat(n);
            let before = super::super::properties::LOOKUPS.with(std::cell::Cell::get);
            let mut stream = Stream::new(Mode::Strip);
            let mut out = String::new();
            text.chars().for_each(|c| stream.push(c.encode_utf8(&mut [0; 4]), &mut out));
            stream.finish(&mut out);
            clean(&text, Mode::Strip).unwrap();
            super::super::properties::LOOKUPS.with(std::cell::Cell::get) - before
        };
        let (small, large) = (work(2_000), work(8_000));
        assert!(large <= small * 4 + 2_000, "{unit:?}: {small}, then {large}");
        assert!(large <= 8_000 * 40, "{unit:?}: {large}");
    }
}
