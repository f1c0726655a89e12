//! Files that a job hands back, while their pieces arrive.
//!
//! Promises: a file becomes an artifact only when its last piece came; one of a type that the grant does not list, or
//! that finds no room, is dropped and counted. Numbers and sizes are bounded by the order table before they come here.
//! Refuses to know what is in a file.

use super::budget::Charge;
use crate::a2a::{Artifact, Content, Part};
use bytes::{Bytes, BytesMut};
use musegate_protocol::bounded::FileName;
use std::sync::Arc;

/// Media types by the ending of a name. What is not listed is `application/octet-stream`.
const TYPES: [(&str, &str); 26] = [
    ("txt", "text/plain"),
    ("log", "text/plain"),
    ("md", "text/markdown"),
    ("csv", "text/csv"),
    ("html", "text/html"),
    ("css", "text/css"),
    ("js", "text/javascript"),
    ("ts", "text/plain"),
    ("rs", "text/plain"),
    ("py", "text/x-python"),
    ("c", "text/plain"),
    ("sh", "text/plain"),
    ("diff", "text/x-diff"),
    ("patch", "text/x-diff"),
    ("json", "application/json"),
    ("jsonl", "application/jsonl"),
    ("xml", "application/xml"),
    ("yaml", "application/yaml"),
    ("toml", "application/toml"),
    ("pdf", "application/pdf"),
    ("zip", "application/zip"),
    ("gz", "application/gzip"),
    ("png", "image/png"),
    ("jpg", "image/jpeg"),
    ("svg", "image/svg+xml"),
    ("wasm", "application/wasm"),
];

/// The files of one turn.
#[derive(Debug, Default)]
pub(super) struct Files {
    /// The one whose pieces come now, and whether all of them found room.
    open: Option<(FileName, BytesMut, bool)>,
    whole: Vec<(FileName, &'static str, Bytes)>,
    dropped: usize,
}

impl Files {
    /// The next piece. `allowed`: media types, empty for any.
    pub(super) fn piece(&mut self, name: FileName, bytes: &[u8], last: bool, allowed: &[String], charge: &mut Charge) {
        let (name, mut content, complete) = match self.open.take() {
            Some((open, content, complete)) if open == name => (open, content, complete),
            _ => (name, BytesMut::new(), true),
        };
        let complete = complete && charge.grow(bytes.len() as u64);
        if complete {
            content.extend_from_slice(bytes);
        }
        if !last {
            self.open = Some((name, content, complete));
            return;
        }
        let media_type = media_type(&name);
        if complete && (allowed.is_empty() || allowed.iter().any(|allowed| allowed == media_type)) {
            self.whole.push((name, media_type, content.freeze()));
        } else {
            self.dropped = self.dropped.saturating_add(1);
            charge.shrink(content.len() as u64);
        }
    }

    /// All that are whole, as artifacts.
    pub(super) fn artifacts(&mut self) -> Vec<Arc<Artifact>> {
        if self.dropped > 0 {
            tracing::warn!(files = self.dropped, "files of a job were dropped: their type is not granted, or no room");
        }
        let whole = std::mem::take(&mut self.whole);
        (1..).zip(whole).map(|(number, (name, media_type, bytes))| artifact(number, &name, media_type, bytes)).collect()
    }
}

fn artifact(number: usize, name: &str, media_type: &'static str, bytes: Bytes) -> Arc<Artifact> {
    let part = Part {
        content: Content::Raw(bytes),
        media_type: Some(media_type.to_owned()),
        filename: Some(name.to_owned()),
        metadata: None,
    };
    Arc::new(Artifact {
        artifact_id: format!("file-{number}"),
        name: Some(name.to_owned()),
        description: None,
        parts: vec![part],
    })
}

fn media_type(name: &str) -> &'static str {
    let ending = name.rsplit_once('.').map(|(_, ending)| ending.to_ascii_lowercase());
    let known = TYPES.iter().find(|(known, _)| ending.as_deref() == Some(known));
    known.map_or("application/octet-stream", |(_, media_type)| media_type)
}

#[cfg(test)]
mod tests {
    use super::super::budget::Budget;
    use super::*;

    fn name(text: &str) -> FileName {
        FileName::new(text).unwrap()
    }

    #[test]
    fn pieces_become_artifacts_when_the_last_came() {
        let mut charge = Charge::new(&Budget::new(1000));
        let mut files = Files::default();
        files.piece(name("a.md"), b"one ", false, &[], &mut charge);
        files.piece(name("a.md"), b"two", true, &[], &mut charge);
        files.piece(name("b"), b"half", false, &[], &mut charge);
        let all = files.artifacts();
        assert_eq!(all.len(), 1);
        assert_eq!(all[0].parts[0].content, Content::Raw(Bytes::from_static(b"one two")));
        assert_eq!(all[0].parts[0].media_type.as_deref(), Some("text/markdown"));
    }

    #[test]
    fn a_type_that_is_not_granted_and_what_finds_no_room_is_dropped() {
        let mut charge = Charge::new(&Budget::new(10));
        let mut files = Files::default();
        let allowed = ["text/csv".to_owned()];
        files.piece(name("a.png"), b"12345678", true, &allowed, &mut charge);
        assert_eq!(charge.bytes(), 0);
        files.piece(name("b.csv"), b"123456", false, &allowed, &mut charge);
        files.piece(name("b.csv"), b"123456", false, &allowed, &mut charge);
        files.piece(name("b.csv"), b"6", true, &allowed, &mut charge);
        assert_eq!(charge.bytes(), 0, "a file with a hole is not kept");
        files.piece(name("c.csv"), b"1", true, &allowed, &mut charge);
        let all = files.artifacts();
        assert_eq!(all.iter().map(|file| file.name.as_deref().unwrap()).collect::<Vec<_>>(), ["c.csv"]);
    }
}
