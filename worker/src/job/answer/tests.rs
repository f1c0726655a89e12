use super::*;
use proptest::prelude::*;
use zeroize::Zeroizing;

const SECRET: &str = "correct-horse-battery-staple";

fn rules() -> Arc<Rules> {
    Arc::new(Rules::new(&[Zeroizing::new(SECRET.to_owned())], &[]).unwrap())
}

fn answer() -> Answer {
    Answer::new(rules(), 1 << 20, false)
}

/// Takes everything in pieces of `most` and applies it to what a reader has.
fn take(answer: &mut Answer, most: usize, reader: &mut String) {
    while let Some(piece) = answer.piece(most) {
        if piece.fresh {
            reader.clear();
        }
        assert_eq!(piece.offset, reader.len() as u64);
        reader.push_str(piece.text);
        let n = piece.text.len();
        answer.took(n);
    }
    assert!(!answer.waits() || most < 4);
    assert_eq!(answer.sent(), reader.len() as u64);
}

proptest! {
    #[test]
    fn the_reader_ends_with_the_terminal_text_whatever_the_deltas_were(
        deltas in proptest::collection::vec("[a-zé]{0,9}", 0..8),
        whole in prop_oneof![2 => Just(None), 3 => "[a-zé]{1,40}".prop_map(Some)],
        most in 4usize..50,
        taken_early in any::<bool>(),
    ) {
        let mut answer = answer();
        let mut reader = String::new();
        for delta in &deltas {
            answer.delta(delta).unwrap();
            if taken_early { take(&mut answer, most, &mut reader); }
        }
        answer.whole(whole.as_deref()).unwrap();
        answer.finish();
        take(&mut answer, most, &mut reader);
        prop_assert_eq!(reader, whole.unwrap_or_else(|| deltas.concat()));
    }

    #[test]
    fn a_terminal_text_that_extends_the_deltas_sends_only_the_rest(
        deltas in proptest::collection::vec("[a-zé]{1,30}", 1..8),
        rest in "[a-zé]{0,30}",
    ) {
        let mut answer = answer();
        let mut reader = String::new();
        for delta in &deltas {
            answer.delta(delta).unwrap();
        }
        take(&mut answer, 99, &mut reader);
        answer.whole(Some(&(deltas.concat() + &rest))).unwrap();
        prop_assert!(!answer.fresh);
        answer.finish();
        take(&mut answer, 99, &mut reader);
        prop_assert_eq!(reader, deltas.concat() + &rest);
    }
}

#[test]
fn a_differing_terminal_text_replaces_what_was_sent() {
    let mut answer = answer();
    let mut reader = String::new();
    answer.delta("draft draft").unwrap();
    take(&mut answer, 100, &mut reader);
    answer.delta(" never sent").unwrap();
    answer.whole(Some("final")).unwrap();
    answer.finish();
    let piece = answer.piece(3).unwrap();
    assert_eq!(piece, Piece { offset: 0, fresh: true, text: "fin" });
    take(&mut answer, 3 + 1, &mut reader);
    assert_eq!(reader, "final");
}

#[test]
fn a_secret_is_redacted_across_deltas_and_not_let_go_at_the_end() {
    let mut answer = answer();
    for c in format!("key: {SECRET}").chars() {
        answer.delta(&c.to_string()).unwrap();
        assert!(!answer.ready.contains("correct-horse"));
    }
    answer.whole(None).unwrap();
    answer.finish();
    let mut reader = String::new();
    take(&mut answer, 100, &mut reader);
    assert!(reader.starts_with("key: [redacted:") && !reader.contains("horse"), "{reader}");
    assert_eq!(answer.counts().map(|(_, count)| count).sum::<u32>(), 1);
}

#[test]
fn an_answer_over_its_limit_is_cut_at_a_character() {
    let mut answer = Answer::new(rules(), 4, false);
    assert_eq!(answer.delta("abcé"), Err(TooLarge));
    assert_eq!(answer.delta("d"), Err(TooLarge), "nothing follows the cut");
    answer.finish();
    let mut reader = String::new();
    take(&mut answer, 100, &mut reader);
    assert!(reader.starts_with("abc"), "{reader}");
    let mut exact = Answer::new(rules(), 4, false);
    assert_eq!(exact.delta("abcd").and_then(|()| exact.whole(Some("abcd"))), Ok(()));
    assert_eq!(Answer::new(rules(), 4, false).whole(Some("abcde")), Err(TooLarge));
}

#[test]
fn a_lost_delta_is_made_good_only_by_the_terminal_text() {
    let mut answer = answer();
    answer.delta("a").unwrap();
    answer.lose();
    assert_eq!(answer.whole(None), Err(TooLarge));
    assert_eq!(answer.whole(Some("abc")), Ok(()));
    answer.finish();
    let mut reader = String::new();
    take(&mut answer, 100, &mut reader);
    assert_eq!(reader, "abc");
}

#[test]
fn of_several_json_values_the_last_is_the_answer() {
    assert_eq!(last_value("{\"draft\":1}\n{\"final\": [2]} "), "{\"final\": [2]}");
    assert_eq!(last_value(" 7 "), "7");
    for other in ["", "text", "{\"a\":1} and text", "{"] {
        assert_eq!(last_value(other), other);
    }
}

/// All that a reader of this answer gets, said in deltas of one character.
fn said(text: &str, schema: bool) -> (Answer, String) {
    let mut answer = Answer::new(rules(), 16 << 20, schema);
    let mut reader = String::new();
    for c in text.chars() {
        answer.delta(c.encode_utf8(&mut [0; 4])).unwrap();
        take(&mut answer, 1000, &mut reader);
    }
    answer.whole(Some(text)).unwrap();
    answer.finish();
    take(&mut answer, 1000, &mut reader);
    (answer, reader)
}

#[test]
fn what_is_hidden_between_the_letters_of_a_secret_does_not_hide_it() {
    for hidden in ["\u{200b}", "\u{2060}", "\u{ad}", "\u{202e}", "\u{1b}[31m", "\u{1b}]0;title\u{7}", "\u{e0041}", "\0"]
    {
        let (head, tail) = SECRET.split_at(9);
        let (answer, reader) = said(&format!("key {head}{hidden}{tail}."), false);
        assert_eq!(reader, "key [redacted:own-secret].", "{hidden:?}");
        assert!(!answer.hidden().is_empty());
    }
    let (_, reader) = said("สวัสดี 👩\u{200d}👩 می\u{200c}خواهم", false);
    assert_eq!(reader, "สวัสดี 👩\u{200d}👩 می\u{200c}خواهم", "honest text stays");
}

#[test]
fn json_waits_until_it_is_whole_and_is_redacted_inside() {
    let escaped: String = SECRET.chars().map(|c| format!("\\u{:04x}", u32::from(c))).collect();
    for before in ["", " \n", "\u{200b}", "\u{1b}[0m\t"] {
        let text = format!("{before}{{\"a2a\":1,\"parts\":[{{\"text\":\"{escaped}\"}}]}}");
        let (answer, reader) = said(&text, false);
        assert!(reader.ends_with(r#"{"a2a":1,"parts":[{"text":"[redacted:own-secret]"}]}"#), "{reader}");
        assert_eq!(answer.counts().map(|(_, count)| count).sum::<u32>(), 1);
    }
    let (_, reader) = said(&format!("\"{escaped}\""), true);
    assert_eq!(reader, "\"[redacted:own-secret]\"", "a declared answer is JSON whatever it begins with");
    let mut answer = Answer::new(rules(), 1 << 20, false);
    answer.delta("  {\"a2a\":1").unwrap();
    assert_eq!(answer.piece(100), None, "nothing of it is sent before its end");
    let mut answer = Answer::new(rules(), 1 << 20, false);
    answer.delta("[text] ").unwrap();
    assert!(answer.piece(100).is_some(), "text goes at once");
}

#[test]
fn json_that_is_too_long_to_be_looked_into_can_be_no_json_for_anybody() {
    let escaped: String = SECRET.chars().map(|c| format!("\\u{:04x}", u32::from(c))).collect();
    for filler in [" ".repeat(MAX_STRUCTURED), format!("{{\"x\":\"{}\",", "x".repeat(MAX_STRUCTURED))] {
        let open = if filler.starts_with('{') { "" } else { "{" };
        let mut answer = Answer::new(rules(), 16 << 20, false);
        let mut reader = String::new();
        answer.whole(Some(&format!("{filler}{open}\"a2a\":1,\"k\":\"{escaped}\"}}"))).unwrap();
        answer.finish();
        take(&mut answer, 1 << 20, &mut reader);
        assert!(reader.starts_with(TOO_LONG) && serde_json::from_str::<serde_json::Value>(&reader).is_err());
    }
}

#[test]
fn white_space_alone_is_an_answer_too() {
    assert_eq!(said(" \n ", false).1, " \n ");
    assert_eq!(said("", false).1, "");
}
