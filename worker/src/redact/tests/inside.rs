//! Secrets inside of JSON: every shape, in every way of hiding it in a string.

use super::*;
use crate::redact::TOO_LONG;
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use serde_json::{Value, json};

const OWN: &str = "correct-horse-battery-staple";

/// Ways to write a text as what stands between the quotes of a JSON string.
const STYLES: [fn(&str) -> String; 6] = [
    |text| plain(text),
    |text| escape(text, |_| true, false),
    |text| escape(text, |_| true, true),
    |text| escape(text, |at| at == 0, false),
    |text| escape(text, |at| at % 7 == 3, true),
    // What is invisible is gone when its reader gets it.
    |text| text.chars().map(|c| format!("\\u200b{}", plain(&c.to_string()))).collect(),
];

fn plain(text: &str) -> String {
    let quoted = serde_json::to_string(text).unwrap();
    quoted[1..quoted.len() - 1].to_owned()
}

fn escape(text: &str, which: impl Fn(usize) -> bool, upper: bool) -> String {
    let mut out = String::new();
    for (at, c) in text.chars().enumerate() {
        if which(at) {
            let unit = u32::from(c);
            out += &if upper { format!("\\u{unit:04X}") } else { format!("\\u{unit:04x}") };
        } else {
            out += &plain(&c.to_string());
        }
    }
    out
}

/// One of every shape that the redactor knows.
fn secrets() -> Vec<String> {
    let mut dice = Dice::new(11);
    let mut all: Vec<String> = vec![OWN.to_owned()];
    for row in ROWS {
        all.extend(row.literals.iter().map(|literal| format!("{literal}{}", tail(row, row.tail, &mut dice))));
    }
    let web = |dice: &mut Dice| dice.text(40, |b| b.is_ascii_alphanumeric());
    all.push(format!("eyJ{}.eyJ{}.{}", web(&mut dice), web(&mut dice), web(&mut dice)));
    let body: String = (0..6).map(|_| dice.text(64, |b| b.is_ascii_alphanumeric()) + "\n").collect();
    all.push(format!("-----BEGIN {} KEY-----\n{body}-----END {} KEY-----", "PRIVATE", "PRIVATE"));
    all.push(format!("Authorization: Bearer {}", web(&mut dice)));
    all.push(format!("https://user:{}@example.org/", web(&mut dice)));
    all
}

/// What a reader finds in a text: all strings, as they are after cleaning, and what base64 in `raw` stands for.
fn read(text: &str) -> Vec<String> {
    fn walk(value: &Value, name: &str, out: &mut Vec<String>) {
        match value {
            Value::String(text) => {
                let bytes = STANDARD.decode(text).ok().filter(|_| name == "raw");
                out.extend(bytes.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()));
                out.push(musegate_sanitize::stripped(text).into_owned());
            }
            Value::Array(items) => items.iter().for_each(|item| walk(item, "", out)),
            Value::Object(members) => members.iter().for_each(|(key, value)| {
                out.push(musegate_sanitize::stripped(key).into_owned());
                walk(value, key, out);
            }),
            _ => {}
        }
    }
    let mut out = vec![text.to_owned()];
    if let Ok(value) = serde_json::from_str::<Value>(text) {
        walk(&value, "", &mut out);
    }
    out
}

#[test]
fn no_shape_of_secret_hides_in_a_string_of_json_however_it_is_escaped() {
    let rules = rules_with(&[OWN], &[]);
    for secret in secrets() {
        // What must not be there: the part that only this secret has.
        let tell = &secret[secret.len() - 12..secret.len() - 4];
        let tell = if secret.contains("BEGIN") { &secret[60..80] } else { tell };
        let tell = if secret.contains("@") { &secret[20..40] } else { tell };
        for (style, write) in STYLES.iter().enumerate() {
            let said = write(&secret);
            for text in [
                format!(r#"{{"a2a":1,"parts":[{{"text":"{said}"}}]}}"#),
                format!(r#"{{"a2a":1,"parts":[{{"text":"see:\n{said} "}},{{"data":{{"k":["{said}"]}}}}]}}"#),
                format!(r#" {{"a2a" : 1, "{said}": 2.50, "x": null}} "#),
                format!(r#"["{said}"]"#),
            ] {
                let inside = rules.redact_json(&text);
                for found in read(&inside.text) {
                    assert!(!found.contains(tell), "style {style}: {secret} in {text} became {found}");
                }
                assert!(!inside.counts.is_empty(), "{secret} is counted");
                assert!(inside.text.contains("[redacted:"), "{}", inside.text);
            }
        }
    }
}

#[test]
fn a_name_and_its_value_are_seen_together_whatever_is_escaped() {
    let rules = rules();
    let mut dice = Dice::new(3);
    let value = dice.text(24, |b| b.is_ascii_alphanumeric()) + "7";
    for name in ["password", "pass\\u0077ord", "\\u0061pi_key"] {
        let text = format!(r#"{{"data":{{"{name}":"{}"}}}}"#, escape(&value, |at| at % 2 == 0, false));
        let inside = rules.redact_json(&text);
        assert!(read(&inside.text).iter().all(|found| !found.contains(&value)), "{}", inside.text);
        assert_eq!(inside.counts.iter().collect::<Vec<_>>(), [("named-value", 1)]);
    }
}

#[test]
fn a_file_in_an_answer_is_redacted_as_what_it_is() {
    let rules = rules_with(&[OWN], &[]);
    let mut dice = Dice::new(5);
    let key = format!("gh{}_{}", "p", dice.text(36, |b| b.is_ascii_alphanumeric()));
    for secret in [OWN, &key] {
        for shift in ["", "a", "ab"] {
            let file = format!("{shift}{secret} and text");
            for raw in [STANDARD.encode(&file), URL_SAFE_NO_PAD.encode(&file)] {
                let text = json!({"a2a": 1, "parts": [{"raw": raw, "filename": "a.txt"}]}).to_string();
                let inside = rules.redact_json(&text);
                let value: Value = serde_json::from_str(&inside.text).unwrap();
                let left = STANDARD.decode(value["parts"][0]["raw"].as_str().unwrap()).unwrap();
                let left = String::from_utf8(left).unwrap();
                assert!(left.contains("[redacted:") && left.ends_with(" and text") && !left.contains(secret), "{left}");
                assert_eq!(value["parts"][0]["filename"], "a.txt");
            }
        }
        let image = [&[0xff, 0xd8, 0][..], secret.as_bytes(), &[0xfe]].concat();
        let text = format!(r#"{{"parts":[{{"\u0072aw":"{}"}}]}}"#, STANDARD.encode(&image));
        let value: Value = serde_json::from_str(&rules.redact_json(&text).text).unwrap();
        assert_eq!(STANDARD.decode(value["parts"][0]["raw"].as_str().unwrap()).unwrap(), b"[redacted:file]");
    }
    let honest = json!({"raw": STANDARD.encode([0xff, 0, 1, 2]), "b": 1}).to_string();
    assert_eq!(rules.redact_json(&honest).text, honest);
}

#[test]
fn honest_json_stays_byte_for_byte() {
    let rules = rules();
    for text in [
        r#"{ "a2a" : 1, "parts":[ {"text":"say \"hi\"\n\t\\ สวัสดี 👩‍👩‍👧"} ], "n": [1.50, -0, 1e+9, true, null] }"#,
        "\n {\"a\":\"\"}\n",
        "{}",
        "\"x\"",
        "{ let x = \"\\u0041\"; }",
        "{\"open",
    ] {
        let inside = rules.redact_json(text);
        assert_eq!(inside.text, text);
        assert!(inside.counts.is_empty() && inside.hidden.is_empty());
    }
    assert_eq!(rules.redact_json(r#"{"a":"\u0041\/\u00e9"}"#).text, r#"{"a":"A/é"}"#, "the same value");
}

#[test]
fn a_text_that_its_redaction_makes_json_is_looked_into_as_such() {
    let rules = rules();
    let mut dice = Dice::new(9);
    let key = format!("gh{}_{}", "p", dice.text(36, |b| b.is_ascii_alphanumeric()));
    let hidden = escape(&key, |_| true, false);
    // The line after `Cookie:` goes, and with it what no JSON has.
    let text = format!("{{\"text\":\"{hidden}\",\"b\":\"Cookie: id=\u{1}\"\u{1}\n,\"c\":1}}\n");
    let whole = rules.redact_json(&text);
    let left = serde_json::from_str::<Value>(&whole.text).map(|value| value.to_string()).unwrap_or_default();
    assert!(!left.contains(&key), "{}", whole.text);
    // A private key is swallowed with all that breaks the form around it.
    let begin = format!("-----BEGIN {} KEY-----", "PRIVATE");
    let end = format!("-----END {} KEY-----", "PRIVATE");
    let text = format!("{{\"a\":\"{hidden}\",\"b\":\"{begin}\n\"\"\"{end}\"}}");
    assert!(serde_json::from_str::<Value>(&text).is_err());
    let whole = rules.redact_json(&text);
    let value: Value = serde_json::from_str(&whole.text).expect("it has become JSON");
    assert_eq!(value["a"], "[redacted:github]");
}

#[test]
fn what_stands_before_a_text_that_was_not_looked_into_is_no_json() {
    assert!(serde_json::from_str::<Value>(&format!("{TOO_LONG}{{}}")).is_err());
    assert!(!TOO_LONG.trim_start().starts_with('{'));
}

#[test]
fn the_letter_of_an_escape_is_no_part_of_a_word() {
    let mut dice = Dice::new(13);
    let key = format!("s{}-{}", "k", dice.text(40, |b| b.is_ascii_alphanumeric()));
    assert!(redact(&rules(), &format!("text: \"keys:\\n{key}\"")).contains("[redacted:"));
    assert!(redact(&rules(), &format!("min{key}")).contains(&key), "a word goes on");
}
