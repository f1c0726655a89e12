use super::*;
use bytes::BytesMut;
use proptest::prelude::*;

fn flaw(text: &[u8]) -> Option<Flaw> {
    parse(text).err()
}

fn escaped(text: &str) -> String {
    let mut out = BytesMut::new();
    escape(text.as_bytes(), &mut out);
    String::from_utf8(out.to_vec()).unwrap()
}

#[test]
fn what_is_not_json_is_refused_at_its_place() {
    for (text, expected) in [
        (&b""[..], Flaw::Truncated),
        (b"  ", Flaw::Truncated),
        (b"\xEF\xBB\xBF{}", Flaw::ByteOrderMark),
        (b"\xFF\xFE{\0}\0", Flaw::Encoding(0)),
        (b"\"\xC3\x28\"", Flaw::Encoding(1)),
        (b"\"\xED\xA0\x80\"", Flaw::Encoding(1)),
        (b"{}x", Flaw::Trailing(2)),
        (b"{} {}", Flaw::Trailing(3)),
        (b"1 2", Flaw::Trailing(2)),
        (b"nul", Flaw::Truncated),
        (b"nulx", Flaw::Syntax(0)),
        (b"True", Flaw::Syntax(0)),
        (b"NaN", Flaw::Syntax(0)),
        (b"Infinity", Flaw::Syntax(0)),
        (b"-Infinity", Flaw::Syntax(1)),
        (b"'a'", Flaw::Syntax(0)),
        (b"{'a':1}", Flaw::Syntax(1)),
        (b"{a:1}", Flaw::Syntax(1)),
        (b"{\"a\"}", Flaw::Syntax(4)),
        (b"{\"a\":}", Flaw::Syntax(5)),
        (b"{\"a\":1,}", Flaw::Syntax(7)),
        (b"{,}", Flaw::Syntax(1)),
        (b"{\"a\":1 \"b\":2}", Flaw::Syntax(7)),
        (b"[1,]", Flaw::Syntax(3)),
        (b"[1 2]", Flaw::Syntax(3)),
        (b"[", Flaw::Truncated),
        (b"[1}", Flaw::Syntax(2)),
        (b"{\"a\":1", Flaw::Truncated),
        (b"// c\n1", Flaw::Syntax(0)),
        (b"01", Flaw::Trailing(1)),
        (b"+1", Flaw::Syntax(0)),
        (b".5", Flaw::Syntax(0)),
        (b"5.", Flaw::Truncated),
        (b"[5.]", Flaw::Syntax(3)),
        (b"1e", Flaw::Truncated),
        (b"[1e+]", Flaw::Syntax(4)),
        (b"-", Flaw::Truncated),
        (b"0x10", Flaw::Trailing(1)),
        (b"1e999", Flaw::Number(0)),
        (b"[-1e400]", Flaw::Number(1)),
        (b"\"a", Flaw::Truncated),
        (b"\"a\nb\"", Flaw::Syntax(2)),
        (b"\"a\0b\"", Flaw::Syntax(2)),
        (b"\"\\x41\"", Flaw::Syntax(2)),
        (b"\"\\u12\"", Flaw::Syntax(5)),
        (b"\"\\u+123\"", Flaw::Syntax(3)),
        (b"\"\\ud800\"", Flaw::LoneSurrogate(1)),
        (b"\"\\udc00\"", Flaw::LoneSurrogate(1)),
        (b"\"\\ud800\\u0041\"", Flaw::LoneSurrogate(1)),
        (b"\"\\ud800\\ud800\"", Flaw::LoneSurrogate(1)),
        (b"\"x\\ud800x\"", Flaw::LoneSurrogate(2)),
        (b"{\"a\":1,\"a\":2}", Flaw::DuplicateKey(7)),
        (b"{\"a\":1,\"\\u0061\":2}", Flaw::DuplicateKey(7)),
        (b"[{\"\":1,\"\":2}]", Flaw::DuplicateKey(7)),
        (b"{\"x\":{\"a\":1,\"b\":2,\"a\":3}}", Flaw::DuplicateKey(18)),
    ] {
        assert_eq!(flaw(text), Some(expected), "{}", String::from_utf8_lossy(text));
    }
}

#[test]
fn a_number_has_a_length() {
    assert_eq!(flaw(format!("0.{}", "1".repeat(126)).as_bytes()), None);
    assert_eq!(flaw(format!("0.{}", "1".repeat(127)).as_bytes()), Some(Flaw::Number(0)));
    assert_eq!(flaw("9".repeat(100).as_bytes()), None);
}

#[test]
fn depth_and_number_of_values_are_bounded() {
    let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    assert_eq!(flaw(nested(MAX_DEPTH).as_bytes()), None);
    assert_eq!(flaw(nested(MAX_DEPTH + 1).as_bytes()), Some(Flaw::TooDeep));
    assert_eq!(flaw("[".repeat(1_000_000).as_bytes()), Some(Flaw::TooDeep));
    assert_eq!(flaw("{\"a\":".repeat(1_000_000).as_bytes()), Some(Flaw::TooDeep));
    let many = |count: usize| format!("[{}0]", "0,".repeat(count - 2));
    assert_eq!(flaw(many(MAX_NODES).as_bytes()), None);
    assert_eq!(flaw(many(MAX_NODES + 1).as_bytes()), Some(Flaw::TooMany));
}

#[test]
fn a_duplicate_among_many_keys_is_found() {
    let keys: Vec<String> = (0..10_000).map(|n| format!("\"k{n}\":{n}")).collect();
    assert_eq!(flaw(format!("{{{}}}", keys.join(",")).as_bytes()), None);
    let twice = format!("{{{},\"k\\u0035000\":1}}", keys.join(","));
    assert!(matches!(flaw(twice.as_bytes()), Some(Flaw::DuplicateKey(_))));
}

#[test]
fn values_are_found_in_their_place() {
    let document = parse(br#" {"a" : [1, {"b":[]}, "x\n\ud83d\ude00"], "c":-0.5e3 , "d" : null} "#).unwrap();
    let root = document.root();
    let members: Vec<_> = root.members().map(|(key, value)| (key.text().unwrap().into_owned(), value)).collect();
    assert_eq!(members.iter().map(|(key, _)| key.as_str()).collect::<Vec<_>>(), ["a", "c", "d"]);
    let items: Vec<_> = members[0].1.items().collect();
    assert_eq!(items.iter().map(|item| item.raw()).collect::<Vec<_>>(), ["1", r#"{"b":[]}"#, r#""x\n\ud83d\ude00""#]);
    assert_eq!(items[2].text().unwrap(), "x\n😀");
    assert_eq!((members[1].1.raw(), members[1].1.kind()), ("-0.5e3", Kind::Number));
    assert_eq!(members[2].1.kind(), Kind::Null);
    assert_eq!(items[0].members().count() + items[0].items().count() + root.items().count(), 0);
}

#[test]
fn what_is_written_again_has_no_space_and_hides_nothing() {
    let document =
        parse(b"{ \"\\u0061\" : [ 1.0 , \"\\u200b\\u001b\\/\\\"\" ] ,\n \"e\" : { } , \"f\" : [ ] }").unwrap();
    assert_eq!(document.root().rewritten(), "{\"a\":[1.0,\"\u{200b}\\u001b/\\\"\"],\"e\":{},\"f\":[]}");
    assert_eq!(document.root().rewritten_without("a"), "{\"e\":{},\"f\":[]}");
    assert_eq!(document.root().rewritten_without("f"), "{\"a\":[1.0,\"\u{200b}\\u001b/\\\"\"],\"e\":{}}");
}

#[test]
fn every_character_is_escaped_as_little_as_possible() {
    assert_eq!(
        escaped("a\"\\\n\r\t\u{8}\u{0}\u{1f}\u{7f}/é\u{2028}😀"),
        "a\\\"\\\\\\n\\r\\t\\u0008\\u0000\\u001f\u{7f}/é\u{2028}😀"
    );
    for length in [0, 1, 63, 64, 65, 127, 128, 129, 1000] {
        for at in 0..length {
            let mut text = "x".repeat(length);
            text.replace_range(at..=at, "\n");
            assert_eq!(escaped(&text), text.replace('\n', "\\n"), "{length} {at}");
        }
    }
}

/// How serde_json reads it, which is a reader of the same grammar by other people.
fn oracle(text: &[u8]) -> Option<serde_json::Value> {
    serde_json::from_slice(text).ok()
}

fn json_like() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        Just("null".to_owned()),
        Just("true".to_owned()),
        "-?(0|[1-9][0-9]{0,5})(\\.[0-9]{1,3})?([eE][+-]?[0-9]{1,2})?",
        "\"([a-z é😀]|\\\\[nrtbf\"\\\\/]|\\\\u00[0-9a-f]{2}|\\\\ud83d\\\\ude0[0-9]){0,8}\"",
    ];
    leaf.prop_recursive(4, 40, 5, |inside| {
        let key = "\"[a-f]{1,3}\"";
        prop_oneof![
            prop::collection::vec(inside.clone(), 0..5).prop_map(|items| format!("[{}]", items.join(" , "))),
            prop::collection::vec((key, inside), 0..12).prop_map(|members| {
                let members: Vec<_> = members.into_iter().map(|(key, value)| format!("{key}: {value}")).collect();
                format!("{{{}}}", members.join(","))
            }),
        ]
    })
}

proptest! {
    #[test]
    fn whatever_is_read_means_what_another_reader_says(text in json_like()) {
        match parse(text.as_bytes()) {
            Ok(document) => {
                let rewritten = document.root().rewritten();
                prop_assert_eq!(oracle(rewritten.as_bytes()), oracle(text.as_bytes()));
                prop_assert!(oracle(text.as_bytes()).is_some());
            }
            Err(flaw) => prop_assert!(matches!(flaw, Flaw::DuplicateKey(_)), "{flaw} {text}"),
        }
    }

    #[test]
    fn nothing_is_read_that_another_reader_refuses(text in "[ \\{\\}\\[\\]:,\"\\\\udb0-9a-f.eE+n-]{0,40}") {
        let ours = parse(text.as_bytes());
        match (ours, oracle(text.as_bytes())) {
            (Ok(_), theirs) => prop_assert!(theirs.is_some(), "only we read {text}"),
            (Err(flaw), Some(_)) => prop_assert!(flaw.is_excess() || matches!(flaw, Flaw::Number(_)), "{flaw}: {text}"),
            (Err(_), None) => {}
        }
    }

    #[test]
    fn no_bytes_are_too_hostile_to_be_read(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = parse(&bytes);
    }

    #[test]
    fn what_is_escaped_is_read_back(text in any::<String>()) {
        let quoted = format!("\"{}\"", escaped(&text));
        prop_assert_eq!(serde_json::from_str::<String>(&quoted).unwrap(), text.clone());
        let document = parse(quoted.as_bytes()).unwrap();
        prop_assert_eq!(document.root().text().unwrap(), text);
    }
}
