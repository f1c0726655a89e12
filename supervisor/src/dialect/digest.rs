//! The digest of a message, by which a repeat is told from another message under the same id.
//!
//! Promises: the same message has the same digest in every dialect and binding, however its JSON was spaced, ordered and
//! escaped; any other content, id of a conversation or order of parts makes it another one. Refuses to know callers.

use crate::a2a::{Content, Json, Message, Part};
use sha2::{Digest as _, Sha256};

/// Of all that a message says but its own id.
pub(super) fn digest(message: &Message) -> [u8; 32] {
    let mut all = Sum(Sha256::new());
    all.optional(message.context_id.as_ref().map(|id| &*id.0));
    all.optional(message.task_id.as_ref().map(|id| &*id.0));
    all.json(message.metadata.as_ref());
    for list in [&message.extensions, &message.reference_task_ids] {
        all.count(list.len());
        list.iter().for_each(|name| all.field(name.as_bytes()));
    }
    all.count(message.parts.len());
    message.parts.iter().for_each(|part| all.part(part));
    all.0.finalize().into()
}

/// Each field with its length before it, so that no two rows of fields look alike.
struct Sum(Sha256);

impl Sum {
    fn count(&mut self, count: usize) {
        self.0.update((count as u64).to_le_bytes());
    }

    fn field(&mut self, bytes: &[u8]) {
        self.count(bytes.len());
        self.0.update(bytes);
    }

    fn optional(&mut self, text: Option<&str>) {
        self.0.update([u8::from(text.is_some())]);
        self.field(text.unwrap_or_default().as_bytes());
    }

    /// Members in the order of their names; an object's order says nothing.
    fn json(&mut self, json: Option<&Json>) {
        let sorted = |json: &Json| serde_json::from_str::<serde_json::Value>(&json.0).map(|value| value.to_string());
        let text = json.map(|json| sorted(json).unwrap_or_else(|_| json.0.to_string()));
        self.optional(text.as_deref());
    }

    fn part(&mut self, part: &Part) {
        match &part.content {
            Content::Text(text) => self.kind(0, text.as_bytes()),
            Content::Raw(bytes) => self.kind(1, bytes),
            Content::Url(url) => self.kind(2, url.as_bytes()),
            Content::Data(json) => {
                self.kind(3, &[]);
                self.json(Some(json));
            }
        }
        self.optional(part.media_type.as_deref());
        self.optional(part.filename.as_deref());
        self.json(part.metadata.as_ref());
    }

    fn kind(&mut self, kind: u8, bytes: &[u8]) {
        self.0.update([kind]);
        self.field(bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Operation, Version, decode};
    use crate::http::router::{RestCall, Route};
    use hyper::HeaderMap;
    use serde_json::{Value, json};

    fn of(operation: Operation) -> [u8; 32] {
        match operation {
            Operation::SendMessage(send) => send.digest,
            other => panic!("{other:?}"),
        }
    }

    /// Sent by this method in this edition.
    fn rpc(method: &str, version: &str, params: &str) -> [u8; 32] {
        let headers: HeaderMap = [("a2a-version".parse().unwrap(), version.parse().unwrap())].into_iter().collect();
        let body = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{params}}}"#);
        of(decode(&Route::Rpc, &headers, None, body.as_bytes()).unwrap().operation)
    }

    fn rest(version: Version, said: &str, body: &Value) -> [u8; 32] {
        let headers: HeaderMap = [("a2a-version".parse().unwrap(), said.parse().unwrap())].into_iter().collect();
        let route = Route::Rest { version, call: RestCall::Send };
        of(decode(&route, &headers, None, body.to_string().as_bytes()).unwrap().operation)
    }

    #[test]
    fn the_same_message_has_the_same_digest_in_every_dialect_and_binding() {
        let data = json!({ "b": [1, "x"], "a": null });
        let of_1_0 = json!({ "message": { "messageId": "m", "role": "ROLE_USER", "contextId": "c", "parts": [
            { "text": "h\u{e9}llo" }, { "data": data },
            { "raw": "aGk=", "filename": "a.txt", "mediaType": "text/plain" }, { "url": "https://x.example/" } ] } });
        let parts_0_3 = json!([
            { "kind": "text", "text": "h\u{e9}llo" }, { "kind": "data", "data": data },
            { "kind": "file", "file": { "bytes": "aGk=", "name": "a.txt", "mimeType": "text/plain" } },
            { "kind": "file", "file": { "uri": "https://x.example/" } } ]);
        let of_0_3 = json!({ "message": { "kind": "message", "messageId": "m", "role": "user", "contextId": "c",
            "parts": parts_0_3 } });
        let rest_0_3 = json!({ "request": { "messageId": "m", "role": "ROLE_USER", "contextId": "c", "content": [
            { "text": "h\u{e9}llo" }, { "data": { "data": data } },
            { "file": { "fileWithBytes": "aGk=", "name": "a.txt", "mimeType": "text/plain" } },
            { "file": { "fileWithUri": "https://x.example/" } } ] } });
        let early = parts_0_3.to_string().replace("\"kind\"", "\"type\"");
        let early =
            format!(r#"{{"id":"t","sessionId":"c","message":{{"messageId":"m","role":"user","parts":{early}}}}}"#);
        let one = rpc("SendMessage", "1.0", &of_1_0.to_string());
        assert_eq!(rpc("message/send", "0.3", &of_0_3.to_string()), one, "0.3");
        assert_eq!(rpc("tasks/send", "0.1", &early), one, "0.1");
        assert_eq!(rest(Version::V1, "1.0", &of_1_0), one, "1.0 REST");
        assert_eq!(rest(Version::V03, "0.3", &rest_0_3), one, "0.3 REST");
        let spaced = r#" { "message" : {"contextId":"c","role":"ROLE_USER","parts":[{"text":"h\u00e9llo"},
            {"data":{"a":null,"b":[1,"\u0078"]}},{"mediaType":"text/plain","raw":"aGk","filename":"a.txt"},
            {"url":"https:\/\/x.example/"}],"messageId":"m"} }"#;
        assert_eq!(rpc("SendMessage", "1.0", spaced), one, "spaces, order and escapes");
    }

    #[test]
    fn another_message_has_another_digest() {
        let base = json!({ "messageId": "m", "role": "ROLE_USER", "contextId": "c",
            "parts": [{ "text": "ab" }, { "text": "c" }] });
        let send = |message: &Value| rpc("SendMessage", "1.0", &json!({ "message": message }).to_string());
        let one = send(&base);
        for (member, value) in [
            ("parts", json!([{ "text": "a" }, { "text": "bc" }])),
            ("parts", json!([{ "text": "c" }, { "text": "ab" }])),
            ("parts", json!([{ "text": "ab" }, { "data": "c" }])),
            ("parts", json!([{ "text": "ab" }, { "text": "c", "mediaType": "text/plain" }])),
            ("parts", json!([{ "text": "ab" }, { "text": "c", "filename": "text/plain" }])),
            ("parts", json!([{ "text": "ab" }, { "text": "c", "metadata": { "x": 1 } }])),
            ("contextId", json!("d")),
            ("taskId", json!("c")),
            ("metadata", json!({ "x": 1 })),
            ("extensions", json!(["urn:x"])),
            ("referenceTaskIds", json!(["urn:x"])),
        ] {
            let mut other = base.clone();
            other[member] = value;
            assert_ne!(send(&other), one, "{other}");
        }
        let mut renamed = base.clone();
        renamed["messageId"] = json!("n");
        assert_eq!(send(&renamed), one, "its id is looked for beside it");
    }
}
