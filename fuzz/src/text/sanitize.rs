//! Sanitising: cleaned once is clean, any cutting gives the same, nothing that steers a terminal is left, and a refused
//! text is exactly one that would have been changed.

use crate::pieces::text_pieces;
use musegate_supervisor::sanitize::{Mode, Stream, clean, for_terminal};

pub(crate) fn sanitize(input: &[u8]) {
    let Some((whole, pieces)) = text_pieces(input) else { return };
    for mode in [Mode::Strip, Mode::Mark] {
        let (at_once, counts) = clean(whole, mode).expect("only Reject refuses");
        let mut stream = Stream::new(mode);
        let mut out = String::new();
        for piece in &pieces {
            stream.push(piece, &mut out);
            assert!(stream.held() <= 1024, "{} bytes held back", stream.held());
        }
        stream.finish(&mut out);
        assert_eq!(out, at_once, "any cutting gives the same");
        assert_eq!(stream.counts(), counts);
        let (again, more) = clean(&at_once, mode).expect("only Reject refuses");
        assert_eq!(again, at_once, "cleaned once is clean");
        assert!(more.is_empty());
        assert_eq!(counts.is_empty(), at_once == whole);
        assert!(at_once.chars().all(|c| !c.is_control() || matches!(c, '\t' | '\n' | '\r')));
    }
    let stripped = clean(whole, Mode::Strip).expect("only Reject refuses");
    assert_eq!(clean(whole, Mode::Reject).is_ok(), stripped.1.is_empty());
    let printed = for_terminal(whole);
    assert!(printed.chars().all(|c| !c.is_control() || matches!(c, '\t' | '\n' | '\r')), "{printed:?}");
}
