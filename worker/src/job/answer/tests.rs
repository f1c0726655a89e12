use super::*;
use proptest::prelude::*;
use zeroize::Zeroizing;

const SECRET: &str = "correct-horse-battery-staple";

fn rules() -> Arc<Rules> {
    Arc::new(Rules::new(&[Zeroizing::new(SECRET.to_owned())], &[]).unwrap())
}

fn answer() -> Answer {
    Answer::new(rules(), 1 << 20)
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
    let mut answer = Answer::new(rules(), 4);
    assert_eq!(answer.delta("abcé"), Err(TooLarge));
    assert_eq!(answer.delta("d"), Err(TooLarge), "nothing follows the cut");
    answer.finish();
    let mut reader = String::new();
    take(&mut answer, 100, &mut reader);
    assert!(reader.starts_with("abc"), "{reader}");
    let mut exact = Answer::new(rules(), 4);
    assert_eq!(exact.delta("abcd").and_then(|()| exact.whole(Some("abcd"))), Ok(()));
    assert_eq!(Answer::new(rules(), 4).whole(Some("abcde")), Err(TooLarge));
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
