//! Each row of the table: an example, and the nearest things that are none.

use super::*;

fn kinds(rules: &Arc<Rules>, text: &str) -> Vec<String> {
    redact(rules, text);
    rules.redact(text).1.iter().map(|(kind, _)| kind.to_owned()).collect()
}

fn each(mut check: impl FnMut(&Row, &str, &mut Dice)) {
    let mut dice = Dice::new(7);
    for row in ROWS {
        row.literals.iter().for_each(|literal| check(row, literal, &mut dice));
    }
}

#[test]
fn every_literal_with_its_tail_is_redacted() {
    let rules = rules();
    each(|row, literal, dice| {
        let tail = tail(row, row.tail, dice);
        let kept = if row.edge == Edge::Keep { literal } else { "" };
        let out = redact(&rules, &format!("see {literal}{tail}, then"));
        assert_eq!(out, format!("see {kept}[redacted:{}], then", row.kind), "{literal}{tail}");
    });
}

#[test]
fn a_longer_tail_is_redacted_whole() {
    let rules = rules();
    each(|row, literal, dice| {
        let tail = tail(row, row.tail + 30, dice);
        let out = redact(&rules, &format!("({literal}{tail})"));
        if row.edge == Edge::Both {
            assert!(out.contains(&tail), "{literal}{tail} is another thing");
        } else {
            assert!(!out.contains(&tail[row.tail..]), "{out}");
        }
    });
}

#[test]
fn a_tail_one_shorter_is_left_alone() {
    let rules = rules();
    each(|row, literal, dice| {
        let text = format!("see {literal}{} then", tail(row, row.tail - 1, dice));
        assert!(!kinds(&rules, &text).iter().any(|kind| kind == row.kind), "{text}");
    });
}

#[test]
fn a_tail_with_a_foreign_character_is_left_alone() {
    let rules = rules();
    each(|row, literal, dice| {
        let tail = tail(row, row.tail, dice);
        for foreign in ["é", "ก", "!", " ", "\n"] {
            let (head, rest) = tail.split_at(row.tail / 2);
            let text = format!("{literal}{head}{foreign}{rest}");
            assert!(!kinds(&rules, &text).iter().any(|kind| kind == row.kind), "{text}");
        }
    });
}

#[test]
fn a_distinctive_literal_is_found_inside_a_word_and_a_short_one_is_not() {
    let rules = rules();
    each(|row, literal, dice| {
        let tail = tail(row, row.tail, dice);
        let text = format!("task_{literal}{tail}.");
        let out = redact(&rules, &text);
        if left(row) {
            assert!(out.contains(&tail), "{text} became {out}");
        } else {
            // The literal stays: it tells no secret, and a text that ends in its first letter need not be held back.
            assert_eq!(out, format!("task_{literal}[redacted:{}].", row.kind), "{text}");
        }
    });
}

#[test]
fn a_tail_without_proof_is_left_alone() {
    let rules = rules();
    each(|row, literal, dice| {
        if !proves_nothing(row) {
            let tail = dice.text(row.tail + 20, |b| row.alphabet.has(b) && !row.proof.is(b) && b != b'.');
            let text = format!("{literal}{tail} is a name");
            assert_eq!(redact(&rules, &text), text);
        }
    });
}

#[test]
fn the_full_stop_of_a_sentence_stays() {
    let rules = rules();
    each(|row, literal, dice| {
        let tail = tail(row, row.tail, dice);
        let kept = if row.edge == Edge::Keep { literal } else { "" };
        for end in [".", ". Next", ".\n", ".)"] {
            let out = redact(&rules, &format!("{literal}{tail}{end}"));
            assert_eq!(out, format!("{kept}[redacted:{}]{end}", row.kind));
        }
    });
}

#[test]
fn the_longest_of_a_family_names_the_kind() {
    let rules = rules();
    let mut dice = Dice::new(3);
    let tail = |dice: &mut Dice, len| dice.text(len, |b| b.is_ascii_alphanumeric());
    let hex = |dice: &mut Dice, len| dice.text(len, |b| b.is_ascii_hexdigit());
    for (text, kind) in [
        (format!("sk-{}-api03-{}", "ant", tail(&mut dice, 95)), "anthropic"),
        (format!("sk-{}-{}", "proj", tail(&mut dice, 60)), "openai"),
        (format!("sk-or-{}-{}", "v1", hex(&mut dice, 64)), "openrouter"),
        (format!("sk-{}-{}A1", "ant", tail(&mut dice, 16)), "sk-key"), // too short for Anthropic's
        (format!("sk{}{}", "-", tail(&mut dice, 48)), "sk-key"),
        (format!("sk_{}_{}", "live", tail(&mut dice, 24)), "stripe"),
        (format!("sk{}{}", "_", hex(&mut dice, 48)), "elevenlabs"),
    ] {
        assert_eq!(redact(&rules, &text), format!("[redacted:{kind}]"), "{text}");
    }
}

#[test]
fn two_secrets_without_a_space_are_both_covered() {
    let rules = rules();
    let mut dice = Dice::new(5);
    let mut key = || format!("gh{}_{}", "o", dice.text(36, |b| b.is_ascii_alphanumeric()));
    assert_eq!(redact(&rules, &format!("{}{}", key(), key())), "[redacted:github]_[redacted:github]");
    assert_eq!(redact(&rules, &format!("{}/{}", key(), key())), "[redacted:github]/[redacted:github]");
}

#[test]
fn look_alikes_stay() {
    let rules = rules();
    for text in [
        "git 9fceb02d0ae598e95dc970b74767f19372d61af8 and e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
        "id 550e8400-e29b-41d4-a716-446655440000 at 1700000000:550e8400-e29b-41d4-a716-446655440000",
        "class=\"sk-loading-indicator-wrapper sk-circle-fade-dot-animation\"",
        "task_id disk_usage risk-assessment-of-the-whole-thing sk-learn",
        "max_tokens: 4096, tokenizer: bpe, password: hunter2, secret = rosebud-and-sled",
        "token = get_token_from_vault(), api_key = process.env.OPENAI_API_KEY, token == other",
        "password: \"must be at least 8 characters long and hold 1 digit\"",
        "Basic internationalization, Bearer authentication-middlewares, a token representation",
        "https://example.com:8443/a@b and ssh://git@github.com/x and http://localhost:80",
        "https://x.example/?page=2&code=404&sort=token",
        "-----BEGIN CERTIFICATE-----\nMIIBszCCARwCCQ\n-----END CERTIFICATE-----",
        "Cookie: a small text that a site keeps in your browser",
        "Authorization: see internationalization-guidelines",
        "SKU 12345 ASK0123456789abcdef0123456789abcdef",
        "eyJhbGciOiJIUzI1NiJ9 alone, eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0 without a third part",
        "ราคา 1234:5678 บาท sha256~short 😀 xyzQ~abc",
    ] {
        assert_eq!(redact(&rules, text), text);
    }
}
