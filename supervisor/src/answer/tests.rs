use super::*;
use crate::a2a::Json;
use proptest::prelude::*;

const EVERYTHING: Allowed<'static> = Allowed { data: true, files: true, links: true, file_bytes: 1024, modes: &[] };

fn structured(text: &str, allowed: &Allowed<'_>) -> Structured {
    match parse(text, allowed) {
        Answer::Structured(structured) => structured,
        Answer::Plain => panic!("plain: {text}"),
    }
}

#[test]
fn an_answer_that_keeps_to_the_contract_becomes_its_parts_and_its_state() {
    let text = r#" {"a2a":1,"state":"input-required","parts":[{"text":"which?"},{"data":{"a":[1,null]}},
        {"raw":"aGk=","filename":"a.png","mediaType":"image/png"},{"url":"https://example.org/x"}]}
        "#;
    let answer = structured(text, &EVERYTHING);
    assert_eq!((answer.state, answer.as_message, answer.withheld), (TaskState::InputRequired, false, 0));
    assert_eq!(answer.parts[0], Part::text("which?"));
    assert_eq!(answer.parts[1].content, Content::Data(Json(r#"{"a":[1,null]}"#.into())));
    assert_eq!(answer.parts[2].content, Content::Raw("hi".into()));
    assert_eq!(answer.parts[2].filename.as_deref(), Some("a.png"));
    assert_eq!(answer.parts[2].media_type.as_deref(), Some("image/png"));
    assert_eq!(answer.parts[3].content, Content::Url("https://example.org/x".into()));
}

#[test]
fn every_state_of_the_contract_is_known_and_completed_is_meant_when_none_is_said() {
    for (said, state) in [
        ("", TaskState::Completed),
        (r#""state":"completed","#, TaskState::Completed),
        (r#""state":"input-required","#, TaskState::InputRequired),
        (r#""state":"rejected","#, TaskState::Rejected),
        (r#""state":"failed","#, TaskState::Failed),
    ] {
        let text = format!(r#"{{"a2a":1,{said}"parts":[{{"text":"x"}}]}}"#);
        assert_eq!(structured(&text, &EVERYTHING).state, state, "{said}");
    }
}

#[test]
fn only_a_completed_answer_can_be_a_message() {
    let text = |state: &str| format!(r#"{{"a2a":1,"state":"{state}","reply":"message","parts":[{{"text":"x"}}]}}"#);
    assert!(structured(&text("completed"), &EVERYTHING).as_message);
    assert!(!structured(&text("failed"), &EVERYTHING).as_message);
}

#[test]
fn everything_else_is_plain_text() {
    let many = format!(r#"{{"a2a":1,"parts":[{}{{"text":"x"}}]}}"#, r#"{"text":"x"},"#.repeat(MAX_PARTS));
    let deep = format!(r#"{{"a2a":1,"parts":[{{"data":{}{}}}]}}"#, "[".repeat(100), "]".repeat(100));
    let large = format!(r#"{{"a2a":1,"parts":[{{"text":"{}"}}]}}"#, "x".repeat(MAX_STRUCTURED));
    for text in [
        "",
        "hello",
        "{}",
        "[]",
        "{\"a2a\":1",
        r#"{"a2a":1}"#,
        r#"{"a2a":1,"parts":[]}"#,
        r#"{"a2a":1,"parts":{}}"#,
        r#"{"a2a":1,"parts":["x"]}"#,
        r#"{"a2a":1,"parts":[{}]}"#,
        r#"{"a2a":1,"parts":[{"text":"x","url":"https://a"}]}"#,
        r#"{"a2a":1,"parts":[{"text":1}]}"#,
        r#"{"a2a":1,"parts":[{"raw":"not base64!"}]}"#,
        r#"{"a2a":2,"parts":[{"text":"x"}]}"#,
        r#"{"a2a":"1","parts":[{"text":"x"}]}"#,
        r#"{"a2a":1.0,"parts":[{"text":"x"}]}"#,
        r#"{"a2a":true,"parts":[{"text":"x"}]}"#,
        r#"{"parts":[{"text":"x"}]}"#,
        r#"{"a2a":1,"state":"working","parts":[{"text":"x"}]}"#,
        r#"{"a2a":1,"state":1,"parts":[{"text":"x"}]}"#,
        r#"{"a2a":1,"reply":"shout","parts":[{"text":"x"}]}"#,
        r#"{"a2a":1,"parts":[{"text":"x"}]} and more"#,
        r#"{"a2a":1,"parts":[{"text":"x"}]}{"a2a":1,"parts":[{"text":"y"}]}"#,
        r#"Here: {"a2a":1,"parts":[{"text":"x"}]}"#,
        "```json\n{\"a2a\":1,\"parts\":[{\"text\":\"x\"}]}\n```",
        r#"{"a2a":1,"a2a":1,"parts":[{"text":"x"}]}"#,
        r#"{"a2a":1,"parts":[{"text":"\ud800"}]}"#,
        "\u{feff}{\"a2a\":1,\"parts\":[{\"text\":\"x\"}]}",
        &many,
        &deep,
        &large,
    ] {
        let shown: String = text.chars().take(80).collect();
        assert_eq!(parse(text, &EVERYTHING), Answer::Plain, "{shown}");
    }
}

#[test]
fn kinds_that_a_caller_does_not_take_are_withheld_and_it_is_told() {
    let text = r#"{"a2a":1,"parts":[{"text":"hi"},{"data":1},{"raw":"aGk="},{"url":"https://a"}]}"#;
    let nothing = Allowed { data: false, files: false, links: false, ..EVERYTHING };
    let answer = structured(text, &nothing);
    assert_eq!(answer.withheld, 3);
    assert_eq!(answer.parts.len(), 2);
    assert_eq!(answer.parts[0], Part::text("hi"));
    let Content::Text(told) = &answer.parts[1].content else { panic!("no text") };
    for words in ["3 parts", "no data", "no files", "no links"] {
        assert!(told.contains(words), "{told}");
    }
    let only_file = structured(r#"{"a2a":1,"parts":[{"raw":"aGk="}]}"#, &nothing);
    assert_eq!((only_file.withheld, only_file.parts.len()), (1, 1));
}

#[test]
fn files_are_bounded_together() {
    let file = r#"{"raw":"AAAAAAAAAAAAAAAA"}"#;
    let text = format!(r#"{{"a2a":1,"parts":[{file},{file},{file}]}}"#);
    let answer = structured(&text, &Allowed { file_bytes: 25, ..EVERYTHING });
    assert_eq!(answer.withheld, 1);
    let sizes: Vec<_> =
        answer.parts.iter().map(|p| if let Content::Raw(b) = &p.content { b.len() } else { 0 }).collect();
    assert_eq!(sizes, [12, 12, 0]);
}

#[test]
fn accepted_output_modes_decide_about_all_but_text() {
    let text = r#"{"a2a":1,"parts":[{"text":"t"},{"data":1},{"raw":"aGk=","mediaType":"image/png"},
        {"raw":"aGk="},{"url":"https://a","mediaType":"image/gif"},{"url":"https://b"}]}"#;
    for (modes, withheld) in [
        (vec![], 0),
        (vec!["*/*"], 0),
        (vec!["text/plain"], 4),
        (vec!["application/json"], 3),
        (vec!["image/*"], 2),
        (vec!["IMAGE/PNG; q=1"], 3),
        (vec!["application/json", "image/*", "application/octet-stream"], 0),
    ] {
        let modes: Vec<String> = modes.into_iter().map(String::from).collect();
        assert_eq!(structured(text, &Allowed { modes: &modes, ..EVERYTHING }).withheld, withheld, "{modes:?}");
    }
}

#[test]
fn a_link_must_be_one_and_a_name_must_not_lead_anywhere() {
    for url in [
        "javascript:alert(1)",
        "file:///etc/passwd",
        "https://a b",
        "https://a\\u202eb",
        "HTTPS://a",
        "//a",
        "https://ä",
    ] {
        let text = format!(r#"{{"a2a":1,"parts":[{{"url":"{url}"}}]}}"#);
        assert_eq!(structured(&text, &EVERYTHING).withheld, 1, "{url}");
    }
    for name in ["../x", "/etc/x", ".ssh", "a/b", "a\\\\b", "x\\u202ey"] {
        let text = format!(r#"{{"a2a":1,"parts":[{{"raw":"aGk=","filename":"{name}","mediaType":"no type"}}]}}"#);
        let part = &structured(&text, &EVERYTHING).parts[0];
        assert_eq!((&part.filename, &part.media_type), (&None, &None), "{name}");
    }
}

#[test]
fn a_text_that_may_turn_out_structured_is_known_by_its_first_character() {
    for (beginning, may) in [("", true), (" \n", true), ("  {", true), ("{\"a2", true), ("Hi {", false), ("[", false)] {
        assert_eq!(may_be_structured(beginning), may, "{beginning}");
    }
}

proptest! {
    #[test]
    fn no_text_is_too_hostile_to_be_read(text in r#"[ \{\}\[\]":,a2a1part\\udtexrwl=.-]{0,200}"#) {
        let _ = parse(&text, &EVERYTHING);
    }

    #[test]
    fn a_text_part_arrives_as_it_was_written(said in any::<String>()) {
        let text = serde_json::json!({"a2a": 1, "parts": [{"text": &said}]}).to_string();
        prop_assert_eq!(structured(&text, &EVERYTHING).parts, vec![Part::text(said)]);
    }
}
