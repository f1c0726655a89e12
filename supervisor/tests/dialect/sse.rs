//! A reader of `text/event-stream` that forgives nothing: what a browser would silently drop is an error here.

/// One event as it was dispatched.
#[derive(Debug, PartialEq)]
pub(crate) struct Frame {
    pub(crate) id: Option<String>,
    pub(crate) retry: Option<u32>,
    pub(crate) data: String,
}

/// All events of a complete stream, and how many comments stood between them.
pub(crate) fn read(stream: &[u8]) -> (Vec<Frame>, usize) {
    let text = std::str::from_utf8(stream).expect("UTF-8");
    assert!(!text.contains('\r'), "a carriage return");
    assert!(!text.starts_with('\u{feff}'), "a byte order mark");
    let mut frames = Vec::new();
    let mut comments = 0;
    let (mut id, mut retry, mut data) = (None, None, None::<String>);
    let mut lines = text.split('\n');
    assert_eq!(lines.next_back(), Some(""), "the last line has no end");
    for line in lines {
        if line.is_empty() {
            let data = data.take().expect("a blank line that ends no event");
            frames.push(Frame { id: id.take(), retry: retry.take(), data });
        } else if let Some(comment) = line.strip_prefix(':') {
            assert!(data.is_none() && id.is_none(), "a comment inside an event: {comment}");
            comments += 1;
        } else {
            let (field, value) = line.split_once(": ").unwrap_or_else(|| panic!("no field: {line}"));
            match field {
                "data" => assert!(data.replace(value.to_owned()).is_none(), "two lines of data"),
                "id" => {
                    assert!(!value.is_empty() && !value.contains('\0'), "id {value:?}");
                    assert!(id.replace(value.to_owned()).is_none(), "two ids");
                }
                "retry" => assert!(retry.replace(value.parse().expect("digits")).is_none(), "two hints"),
                other => panic!("field {other}"),
            }
        }
    }
    assert!(data.is_none() && id.is_none() && retry.is_none(), "the last event has no blank line");
    (frames, comments)
}

#[test]
#[should_panic(expected = "no blank line")]
fn an_event_without_its_blank_line_is_an_error() {
    read(b"id: 1\ndata: x\n");
}

#[test]
#[should_panic(expected = "ends no event")]
fn a_comment_with_a_blank_line_is_an_error() {
    read(b": ka\n\n");
}
