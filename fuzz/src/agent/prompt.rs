//! The prompt file: whatever a caller says, the file is our instructions, one line with a mark, and one JSON document
//! that holds the caller's words as they were, with roles that we set.

use musegate_protocol::bounded::{Blob, FileName, Label, List, Text};
use musegate_protocol::message::*;
use musegate_worker::job::prompt::{Offers, write};
use serde_json::Value;

const MARK: &str = "\nREQUEST\n";

pub(crate) fn prompt(input: &[u8]) {
    let Some(([shape, rest @ ..], Ok(words))) = input.split_first_chunk::<1>().map(|(a, b)| (a, std::str::from_utf8(b)))
    else {
        return;
    };
    let _: &[u8] = rest;
    let words: Vec<&str> = words.split('\u{0}').collect();
    let job = job(*shape, &words);
    let Ok(prompt) = write(&job, Offers { files: shape & 1 > 0 }) else { return };
    let (instructions, document) = prompt.split_once(MARK).expect("the mark stands once before the document");
    let same = write(&self::job(*shape, &["harmless"]), Offers { files: shape & 1 > 0 }).expect("harmless");
    assert_eq!(instructions, same.split_once(MARK).expect("a mark").0, "instructions do not depend on words");
    assert_eq!(document.lines().count(), 1, "one line, so that nothing in it can look like a heading of ours");
    let document: Value = serde_json::from_str(document).expect("JSON");
    let said = |value: &Value| value.as_str().map(str::to_owned);
    let parts = document["message"]["parts"].as_array().expect("parts");
    assert_eq!(parts.len(), job.parts.len());
    for (part, shown) in job.parts.iter().zip(parts) {
        match part {
            PromptPart::Text(text) => assert_eq!(said(&shown["text"]).as_deref(), Some(&**text)),
            PromptPart::Data(text) => {
                assert_eq!(serde_json::from_str::<Value>(text).ok().as_ref(), Some(&shown["data"]));
            }
            PromptPart::File { name, .. } => assert_eq!(said(&shown["file"]["name"]).as_deref(), Some(&**name)),
            PromptPart::Link { url, .. } => assert_eq!(said(&shown["url"]).as_deref(), Some(&**url)),
        }
    }
    let turns = document["turns"].as_array().expect("turns");
    for (turn, shown) in job.turns.iter().zip(turns) {
        assert_eq!(said(&shown["text"]).as_deref(), Some(&*turn.text));
        assert!(shown["role"].is_string());
    }
}

fn job(shape: u8, words: &[&str]) -> StartJob {
    let label = || Label::new("x").expect("a label");
    let word = |at: usize| words.get(at).copied().unwrap_or_default();
    let mut parts = vec![PromptPart::Text(Text::cut(word(0)))];
    if shape & 2 > 0 {
        parts.push(PromptPart::Link { url: Text::cut(word(1)), media_type: Text::cut(word(2)) });
    }
    if shape & 4 > 0 {
        let data = if serde_json::from_str::<Value>(word(1)).is_ok() || words.len() > 3 { word(1) } else { "null" };
        parts.push(PromptPart::Data(Text::cut(data)));
    }
    if shape & 8 > 0 {
        let (name, bytes) = (FileName::new("f.txt").expect("a name"), Blob::new(word(1).as_bytes().to_vec()));
        let bytes = bytes.expect("within its bound");
        parts.push(PromptPart::File { name, media_type: Text::cut(word(2)), bytes });
    }
    let turn = |role, at| Turn { role, text: Text::cut(word(at)) };
    let turns = if shape & 16 > 0 { vec![turn(Role::Caller, 2), turn(Role::Agent, 1)] } else { vec![] };
    StartJob {
        job: JobId(1),
        caller: label(),
        task: label(),
        context: label(),
        message: Text::cut(word(3)),
        trace: [0; 16],
        turns: List::new(turns).expect("two"),
        parts: List::new(parts).expect("four"),
        output_schema: (shape & 32 > 0).then(|| Text::cut("{\"type\":\"object\"}")),
        structured: shape & 64 > 0,
        limits: JobLimits { wall_seconds: 0, output_bytes: 0, files: 0, file_bytes: 0 },
    }
}
