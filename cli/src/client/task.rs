//! A Task or a Message as any dialect shows it, made into one view.

use crate::exit::Exit;
use serde_json::Value;
use std::fmt::Write;

/// What an agent answered.
#[derive(Clone, Debug)]
pub struct View {
    /// The answer itself.
    pub raw: Value,
    /// Its Task, where it is one.
    pub task: Option<String>,
    /// Its conversation.
    pub context: Option<String>,
    /// Where it stands, in lower case without a prefix: `completed`, `input-required`. A Message is complete.
    pub state: String,
}

impl View {
    /// From a result of any dialect.
    #[must_use]
    pub fn of(result: Value) -> Option<Self> {
        let raw = match result {
            Value::Object(mut object) => match (object.remove("task"), object.remove("message")) {
                (Some(task), _) => task,
                (None, Some(message)) if !object.contains_key("status") => message,
                (None, message) => {
                    if let Some(message) = message {
                        object.insert("message".to_owned(), message);
                    }
                    Value::Object(object)
                }
            },
            _ => return None,
        };
        let text = |key: &str| raw.get(key).and_then(Value::as_str).map(str::to_owned);
        let context = text("contextId").or_else(|| text("sessionId"));
        if let Some(state) = raw.pointer("/status/state").and_then(Value::as_str) {
            let state = state.trim_start_matches("TASK_STATE_").to_ascii_lowercase().replace('_', "-");
            let state = if state == "cancelled" { "canceled".to_owned() } else { state };
            return Some(Self { task: text("id"), context, state, raw });
        }
        raw.get("parts")?.as_array()?;
        Some(Self { task: text("taskId"), context, state: "completed".to_owned(), raw })
    }

    /// Whether the agent will do nothing more about it by itself.
    #[must_use]
    pub fn is_over(&self) -> bool {
        !matches!(self.exit(), Exit::NotOver)
    }

    /// How the command ends with it.
    #[must_use]
    pub fn exit(&self) -> Exit {
        match self.state.as_str() {
            "completed" => Exit::Ok,
            "failed" => Exit::Failed,
            "canceled" => Exit::Canceled,
            "rejected" => Exit::Rejected,
            "input-required" => Exit::InputRequired,
            "auth-required" => Exit::AuthRequired,
            _ => Exit::NotOver,
        }
    }

    /// All that was answered, every part of every artifact in order: some agents put their reasoning before the
    /// answer, and nothing of it is dropped. Without artifacts: the status message, or the Message itself.
    #[must_use]
    pub fn text(&self) -> String {
        let artifacts = self.raw.get("artifacts").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        let mut out = String::new();
        artifacts.iter().for_each(|artifact| parts(artifact.get("parts"), &mut out));
        parts(self.raw.get("parts"), &mut out);
        out
    }

    /// What the status says.
    #[must_use]
    pub fn status_text(&self) -> String {
        let mut out = String::new();
        parts(self.raw.pointer("/status/message/parts"), &mut out);
        out
    }
}

fn parts(parts: Option<&Value>, out: &mut String) {
    for part in parts.and_then(Value::as_array).into_iter().flatten() {
        if let Some(text) = part.get("text").and_then(Value::as_str) {
            out.push_str(text);
        } else if let Some(data) = part.get("data") {
            let _ = write!(out, "{data:#}");
        } else {
            let file = part.get("file").unwrap_or(part);
            let name = ["filename", "name"].iter().find_map(|key| file.get(key).and_then(Value::as_str));
            let at = ["url", "uri", "fileWithUri"].iter().find_map(|key| file.get(key).and_then(Value::as_str));
            let _ = write!(
                out,
                "[file {}{}]",
                name.unwrap_or("without a name"),
                at.map(|at| format!(" at {at}")).unwrap_or_default()
            );
        }
        if !out.ends_with('\n') {
            out.push('\n');
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn view(value: Value) -> View {
        View::of(value).expect("a view")
    }

    #[test]
    fn every_dialect_gives_the_same_view() {
        let v1 = view(json!({"task": {"id": "t", "contextId": "c", "status": {"state": "TASK_STATE_COMPLETED"},
            "artifacts": [{"parts": [{"text": "one"}, {"text": "two"}]}, {"parts": [{"text": "three"}]}]}}));
        let v03 = view(json!({"kind": "task", "id": "t", "contextId": "c", "status": {"state": "completed"},
            "artifacts": [{"parts": [{"kind": "text", "text": "one"}, {"kind": "text", "text": "two"}]}, {"parts": [{"kind": "text", "text": "three"}]}]}));
        let early = view(json!({"id": "t", "sessionId": "c", "status": {"state": "completed"},
            "artifacts": [{"parts": [{"type": "text", "text": "one"}, {"type": "text", "text": "two"}]}, {"parts": [{"type": "text", "text": "three"}]}]}));
        for one in [v1, v03, early] {
            assert_eq!((one.task.as_deref(), one.context.as_deref()), (Some("t"), Some("c")));
            assert_eq!((one.exit(), one.text().as_str()), (Exit::Ok, "one\ntwo\nthree\n"));
        }
    }

    #[test]
    fn a_direct_message_is_complete() {
        let message = view(json!({"message": {"messageId": "m", "role": "ROLE_AGENT", "parts": [{"text": "hi"}]}}));
        assert_eq!((message.exit(), message.text().as_str(), message.task), (Exit::Ok, "hi\n", None));
        let old = view(
            json!({"kind": "message", "messageId": "m", "role": "agent", "parts": [{"kind": "text", "text": "hi"}]}),
        );
        assert_eq!(old.text(), "hi\n");
    }

    #[test]
    fn every_state_has_its_own_exit() {
        let exit = |state: &str| view(json!({"id": "t", "status": {"state": state}})).exit();
        let all = ["COMPLETED", "FAILED", "CANCELED", "REJECTED", "INPUT_REQUIRED", "AUTH_REQUIRED", "WORKING"];
        let exits: Vec<Exit> = all.iter().map(|state| exit(&format!("TASK_STATE_{state}"))).collect();
        for (i, one) in exits.iter().enumerate() {
            assert!(exits.iter().skip(i + 1).all(|other| other != one), "{one:?} twice");
        }
        assert_eq!(exit("cancelled"), Exit::Canceled);
        assert_eq!(exit("something-new"), Exit::NotOver);
    }

    #[test]
    fn what_is_no_answer_is_none() {
        for value in [json!(null), json!({}), json!({"task": {}}), json!([1]), json!({"message": {"parts": 3}})] {
            assert!(View::of(value.clone()).is_none(), "{value}");
        }
    }
}
