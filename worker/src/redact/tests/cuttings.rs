//! The same output for every cutting, and nothing planted comes through.

use super::*;
use proptest::prelude::*;

const OWN: [&str; 3] = ["Jq8!own value/of+the \"worker\"", "0123456789abcdef0123456789abcdef", "กุญแจลับของเรา"];

const FILLER: &[&str] = &[
    "the quick brown fox jumps over the lazy dog ",
    "สวัสดีชาวโลก ",
    "👩‍👩‍👧 ",
    "🇹🇭",
    "fn main() { let token = next(); }\n",
    "task_id=42 risk-free sk-learn ",
    "{\"a\": [1, 2, \"b\"]}",
    "9fceb02d0ae598e95dc970b74767f19372d61af8 ",
    "--- ---BEGIN ",
    "https://example.com/a?b=c#d ",
    "key: value\n",
    "eyJ.eyJ.",
    "password: short ",
    "Cookie: none\n",
    "~ Q~ 8Q~ ",
    "ghp_ AKIA hf_ xox",
    "SK SKU SG. SG ",
    "Bearer of news, basic things, token gestures ",
    "é",
    "= : == :: := ",
    "\"",
    "'",
    "\\",
    "`",
    "\n\n",
    "sk-",
    "s",
    "g",
];

/// A text of `n` secrets among look-alikes, and the part of each that must not come through.
fn planted(n: usize, seed: u64) -> (String, Vec<String>) {
    let mut dice = Dice::new(seed);
    let (mut text, mut secrets) = (String::new(), Vec::new());
    let forms = super::super::exact::forms(&OWN.map(|own| Zeroizing::new(own.to_owned()))).unwrap();
    for _ in 0..n {
        for _ in 0..dice.below(6) {
            text.push_str(dice.pick(FILLER));
        }
        let row = &ROWS[dice.below(ROWS.len())];
        let tail_len = row.tail + if row.edge == Edge::Both { 0 } else { dice.below(20) };
        let tail = tail(row, tail_len, &mut dice);
        let (whole, hidden) = match dice.below(8) {
            0 => {
                let form = forms[dice.below(forms.len())].to_string();
                (form.clone(), form)
            }
            1 => {
                let password = dice.text(12, |b| b.is_ascii_alphanumeric());
                (format!("https://user:{password}@host/"), password)
            }
            2 => {
                let parts = [20, 30, 40].map(|len| dice.text(len, |b| Alphabet::UrlSafe.has(b)));
                (format!(" eyJ{}.eyJ{}.{} ", parts[0], parts[1], parts[2]), parts[2].clone())
            }
            3 => {
                let line = dice.text(64, |b| b.is_ascii_alphanumeric());
                let dash = "-".repeat(5);
                (format!("{dash}BEGIN PRIVATE KEY{dash}\n{line}\n{dash}END PRIVATE KEY{dash}\n"), line)
            }
            4 => {
                let value = format!("9{}", dice.text(19, |b| b.is_ascii_alphanumeric()));
                (format!(" client_secret: {value}\n"), value)
            }
            _ => (format!("{}{}{tail} ", dice.pick(&[" ", "(", "ก", "\n"]), dice.pick(row.literals)), tail),
        };
        text.push_str(&whole);
        secrets.push(hidden);
    }
    (text, secrets)
}

fn own_rules() -> Arc<Rules> {
    rules_with(&OWN, &["meta=LLM|[A-Za-z0-9|]{24,}"])
}

fn random_cuts(text: &str, dice: &mut Dice) -> Vec<usize> {
    let longest = [1, 3, 17, 97, 4000][dice.below(5)];
    let (mut cuts, mut at) = (Vec::new(), 0);
    loop {
        at += 1 + dice.below(longest);
        if at >= text.len() {
            return cuts;
        }
        if text.is_char_boundary(at) {
            cuts.push(at);
        }
    }
}

#[test]
fn four_hundred_planted_secrets_survive_no_cutting() {
    let rules = own_rules();
    let (text, secrets) = planted(400, 1);
    let (whole, counts) = rules.redact(&text);
    assert!(text.len() > 30_000, "{}", text.len());
    let kinds = counts.iter().count();
    assert!(kinds >= 40, "only {kinds} kinds");
    assert!(counts.iter().map(|(_, n)| n).sum::<u32>() >= 380, "{counts:?}");
    for secret in &secrets {
        assert!(!whole.contains(secret.as_str()), "{secret} came through");
    }
    let mut dice = Dice::new(99);
    for _ in 0..300 {
        let (out, some) = in_pieces(&rules, &text, random_cuts(&text, &mut dice));
        assert_eq!(out, whole);
        assert_eq!(some, counts);
    }
}

#[test]
fn every_single_cut_of_short_texts_gives_the_same() {
    let rules = own_rules();
    for seed in 0..40 {
        let (text, secrets) = planted(3, seed + 100);
        let out = redact(&rules, &text);
        assert!(secrets.iter().all(|secret| !out.contains(secret.as_str())), "{out}");
    }
}

#[test]
fn ordinary_text_is_not_held_back() {
    let rules = rules();
    let mut redactor = Redactor::new(rules);
    let mut out = String::new();
    for word in
        ["the quick brown fox jump", "s over the lazy dog", ". See http", " and ", "mind map", "ping", "สวัส", "😀"]
    {
        redactor.push(word, &mut out);
        assert_eq!(redactor.held(), 0, "after {word:?}");
    }
}

#[test]
fn what_may_become_a_secret_is_held_back_and_let_go_when_it_does_not() {
    let mut redactor = Redactor::new(rules());
    let mut out = String::new();
    redactor.push("see gh", &mut out);
    assert_eq!((out.as_str(), redactor.held()), ("see ", 2));
    redactor.push("p_abc", &mut out);
    assert_eq!((out.as_str(), redactor.held()), ("see ", 7));
    redactor.push("!", &mut out);
    assert_eq!((out.as_str(), redactor.held()), ("see ghp_abc!", 0));
    redactor.push(" gh", &mut out);
    redactor.forget();
    redactor.push("x", &mut out);
    redactor.finish(&mut out);
    assert_eq!(out, "see ghp_abc! x");
}

#[test]
fn after_finish_a_new_stream_begins() {
    let mut redactor = Redactor::new(rules());
    let mut out = String::new();
    redactor.push("a gh", &mut out);
    redactor.finish(&mut out);
    redactor.push("p_", &mut out);
    redactor.push(&"a1".repeat(18), &mut out);
    redactor.finish(&mut out);
    assert_eq!(out, format!("a ghp_{}", "a1".repeat(18)));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn any_text_in_any_pieces(pieces in proptest::collection::vec(piece(), 0..24)) {
        let rules = own_rules();
        let text = pieces.concat();
        let (whole, counts) = rules.redact(&text);
        let cuts = pieces.iter().scan(0, |at, piece| { *at += piece.len(); Some(*at) });
        let (out, some) = in_pieces(&rules, &text, cuts);
        prop_assert_eq!(&out, &whole);
        prop_assert_eq!(some, counts);
        prop_assert_eq!(in_pieces(&rules, &text, all_cuts(&text)).0, whole);
    }
}

/// Pieces of secrets, of names and of nothing, so that any two may make a whole.
fn piece() -> impl Strategy<Value = String> {
    let literals: Vec<&str> = ROWS.iter().flat_map(|row| row.literals.iter().copied()).collect();
    let telling = vec![
        "eyJ",
        ".eyJ",
        ".",
        "-----BEGIN ",
        "RSA PRIVATE KEY",
        "-----",
        "-----END ",
        "://",
        ":",
        "=",
        "@",
        "?token=",
        "&sig=",
        "Authorization: ",
        "Cookie: a=",
        "password: ",
        "secret = \"",
        "\"",
        "'",
        " ",
        "\n",
        "123456789:",
        "abc8Q~",
        "sha256~",
        "LLM|",
        "Jq8!own va",
        "lue/of+the ",
        "0123456789abcdef",
        "กุญแจ",
        "ลับของเรา",
        "aws_secret_access_key=",
        "..",
        "ก",
        "😀",
    ];
    prop_oneof![
        3 => proptest::sample::select(literals).prop_map(str::to_owned),
        4 => proptest::sample::select(telling).prop_map(str::to_owned),
        3 => "[a-zA-Z0-9]{1,40}",
        1 => "[0-9a-f]{16,64}",
        1 => "\\PC{0,8}",
    ]
}
