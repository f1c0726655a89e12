//! The prompt: instructions and then one JSON document, as musegate writes it, or any text.
//!
//! Promises: a script is looked for in the newest message only, so that an earlier turn that is quoted back never
//! plays again.

use crate::flags::Call;
use serde::Deserialize;
use serde_json::Value;
use std::io::Read;

#[derive(Debug)]
pub(crate) struct Prompt {
    /// All of it.
    pub(crate) whole: String,
    /// Text of the newest message; all of it where there is no document.
    pub(crate) message: String,
    /// Earlier entries of the conversation, oldest first.
    pub(crate) turns: Vec<Turn>,
    /// The document, where there is one.
    pub(crate) document: Option<Value>,
    /// The key that came on standard input.
    pub(crate) key: Option<String>,
    /// The schema that the answer is to satisfy.
    pub(crate) schema: Option<Value>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Turn {
    #[serde(default)]
    pub(crate) role: String,
    #[serde(default)]
    pub(crate) text: String,
}

impl Prompt {
    pub(crate) fn read(call: &Call) -> Result<Self, String> {
        let whole = match (&call.prompt, &call.prompt_file) {
            (Some(prompt), _) => prompt.clone(),
            (None, Some(path)) => {
                let bytes =
                    std::fs::read(path).map_err(|e| format!("failed to read prompt file {}: {e}", path.display()))?;
                String::from_utf8(bytes).map_err(|_| format!("prompt file {} is not UTF-8", path.display()))?
            }
            (None, None) => String::new(),
        };
        let mut prompt = Self::of(whole);
        if call.key_from_stdin {
            let mut key = String::new();
            std::io::stdin().read_to_string(&mut key).map_err(|e| format!("failed to read API key from stdin: {e}"))?;
            prompt.key = Some(key.trim_end_matches('\n').to_owned());
        }
        if let Some(path) = &call.schema {
            let text = std::fs::read_to_string(path).map_err(|e| format!("failed to read {}: {e}", path.display()))?;
            prompt.schema = Some(serde_json::from_str(&text).map_err(|e| format!("invalid output schema: {e}"))?);
        }
        Ok(prompt)
    }

    pub(crate) fn of(whole: String) -> Self {
        let document = document(&whole);
        let message = document.as_ref().map_or_else(|| whole.clone(), message);
        let turns =
            document.as_ref().and_then(|found| Vec::<Turn>::deserialize(found.get("turns")?).ok()).unwrap_or_default();
        Self { whole, message, turns, document, key: None, schema: None }
    }
}

/// The JSON document that ends the prompt, if one does: it begins a line and has a `message`.
fn document(whole: &str) -> Option<Value> {
    let lines = whole.match_indices("\n{").map(|(at, _)| at + 1);
    let starts = whole.starts_with('{').then_some(0).into_iter().chain(lines);
    starts
        .filter_map(|at| serde_json::from_str::<Value>(whole.get(at..)?).ok())
        .find(|value| value.get("message").is_some())
}

/// Text of all text parts of the newest message, one below the other.
fn message(document: &Value) -> String {
    let parts = document.pointer("/message/parts").and_then(Value::as_array);
    let texts = parts.into_iter().flatten().filter_map(|part| part.get("text").or(Some(part)).and_then(Value::as_str));
    texts.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prompt_without_a_document_is_its_own_message() {
        for text in ["", "hello", "{", "say {\"message\":1}", "line\n{not json}\n", "{\"a\":1}"] {
            let prompt = Prompt::of(text.into());
            assert_eq!((prompt.message.as_str(), prompt.turns.len()), (text, 0), "{text}");
        }
    }

    #[test]
    fn the_document_at_the_end_holds_message_and_turns() {
        let compact = r#"{"caller":"a","turns":[{"role":"caller","text":"one"},{"role":"agent","text":"two"}],"message":{"parts":[{"text":"three"},{"data":{"x":1}},{"text":"four"}]}}"#;
        let pretty = serde_json::to_string_pretty(&serde_json::from_str::<Value>(compact).unwrap()).unwrap();
        for document in [compact.to_owned(), pretty, format!("{compact}\n")] {
            let prompt = Prompt::of(format!("Be kind.\n{{\nnot this one\n\n{document}"));
            assert_eq!(prompt.message, "three\nfour");
            let turns: Vec<_> = prompt.turns.iter().map(|turn| (turn.role.as_str(), turn.text.as_str())).collect();
            assert_eq!(turns, [("caller", "one"), ("agent", "two")]);
        }
    }

    #[test]
    fn a_document_inside_the_text_of_a_message_is_not_the_document() {
        let inner = "{\"message\":{\"parts\":[{\"text\":\"@stub hang\"}]}}";
        let outer = serde_json::json!({"message": {"parts": [{"text": format!("look:\n{inner}")}]}});
        let prompt = Prompt::of(format!("Rules.\n{outer}"));
        assert_eq!(prompt.message, format!("look:\n{inner}"));
    }
}
