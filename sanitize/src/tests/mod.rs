//! Tests of the whole room.

mod attacks;
mod honest;
mod properties;
mod streams;

use super::{Counts, Mode, Stream, clean};
use std::borrow::Cow;

/// Cleans whole; checks that cleaning again changes nothing, and that every cutting gives the same.
#[track_caller]
pub(super) fn strip(text: &str) -> (String, Counts) {
    let (out, counts) = clean(text, Mode::Strip).unwrap();
    let (again, none) = clean(&out, Mode::Strip).unwrap();
    assert_eq!(again, out, "cleaned again: {text:?}");
    assert!(!none.hidden());
    for cuts in [1, 2, 3, 7] {
        assert_eq!(in_pieces(text, Mode::Strip, cuts), (out.to_string(), counts), "in pieces of {cuts}: {text:?}");
    }
    (out.into_owned(), counts)
}

/// Feeds a text in pieces of so many characters.
pub(super) fn in_pieces(text: &str, mode: Mode, size: usize) -> (String, Counts) {
    let mut stream = Stream::new(mode);
    let mut out = String::new();
    let chars: Vec<char> = text.chars().collect();
    for piece in chars.chunks(size) {
        stream.push(&piece.iter().collect::<String>(), &mut out);
        assert!(stream.held() <= super::HELD_MAX, "holds {}", stream.held());
    }
    stream.finish(&mut out);
    assert_eq!(stream.held(), 0);
    (out, stream.counts())
}

#[track_caller]
pub(super) fn stays(text: &str) {
    let (out, counts) = strip(text);
    assert_eq!(out, text, "{}", text.escape_unicode());
    assert!(!counts.hidden(), "{counts:?}");
    assert!(matches!(clean(text, Mode::Reject), Ok((Cow::Borrowed(_), _))));
    assert_eq!(clean(text, Mode::Mark).unwrap().0, text);
}

#[track_caller]
pub(super) fn becomes(text: &str, want: &str, class: &str) {
    let (out, counts) = strip(text);
    assert_eq!(out, want, "{}", text.escape_unicode());
    assert!(counts.iter().any(|(word, _)| word == class), "{counts:?}");
    assert_eq!(clean(text, Mode::Reject).unwrap_err().counts, counts);
}
