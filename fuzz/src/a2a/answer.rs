//! The answer contract: any text of the model is plain or structured within its bounds, and only of the kinds that the
//! caller takes.

use musegate_supervisor::a2a::{Content, TaskState};
use musegate_supervisor::answer::{Allowed, Answer, may_be_structured, parse};

const FILE_BYTES: usize = 64;

pub(crate) fn structured(input: &[u8]) {
    let Some((taken, rest)) = input.split_first() else { return };
    let Ok(text) = std::str::from_utf8(rest) else { return };
    let modes = if taken & 8 > 0 { vec!["text/plain".to_owned(), "image/*".to_owned()] } else { vec![] };
    let allowed = Allowed {
        data: taken & 1 > 0,
        files: taken & 2 > 0,
        links: taken & 4 > 0,
        file_bytes: FILE_BYTES,
        modes: &modes,
    };
    let Answer::Structured(answer) = parse(text, &allowed) else { return };
    assert!(may_be_structured(text), "no piece of it was sent before");
    assert!((1..=64).contains(&answer.parts.len()));
    let states = [TaskState::Completed, TaskState::InputRequired, TaskState::Rejected, TaskState::Failed];
    assert!(states.contains(&answer.state) && (!answer.as_message || answer.state == TaskState::Completed));
    let mut bytes = 0;
    for part in &answer.parts {
        match &part.content {
            Content::Text(_) => {}
            Content::Data(data) => {
                assert!(allowed.data);
                let _: serde_json::Value = serde_json::from_str(&data.0).expect("one JSON value");
            }
            Content::Raw(raw) => {
                assert!(allowed.files);
                bytes += raw.len();
            }
            Content::Url(url) => assert!(allowed.links && url.starts_with("http"), "{url}"),
        }
        assert!(part.filename.as_ref().is_none_or(|name| !name.contains(['/', '\\']) && !name.starts_with('.')));
    }
    assert!(bytes <= FILE_BYTES);
}
