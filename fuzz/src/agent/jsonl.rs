//! Muse's stream: the same events from any cutting, whatever the bytes, and room that does not grow beyond the longest
//! line.

use crate::pieces::pieces;
use musegate_worker::backend::records::Reader;
use musegate_worker::job::tools::Tools;

pub(crate) fn jsonl(input: &[u8]) {
    let Some((longest, rest)) = input.split_first() else { return };
    let max = 64 << (longest % 6);
    let (whole, pieces) = pieces(rest);
    assert_eq!(read(&[whole], max), read(&pieces, max), "any cutting gives the same");
}

/// Events as text, and how many lines made no sense.
fn read(pieces: &[&[u8]], max: usize) -> (Vec<String>, u64) {
    let mut reader = Reader::new(max);
    let mut tools = Tools::default();
    let mut events = Vec::new();
    let mut most = 0;
    for piece in pieces {
        let mut piece = *piece;
        while !piece.is_empty() {
            let room = reader.room();
            assert!(!room.is_empty());
            most = most.max(room.len());
            let len = room.len().min(piece.len());
            let (now, later) = piece.split_at(len);
            room.get_mut(..len).expect("within").copy_from_slice(now);
            reader.filled(len);
            piece = later;
            while let Some(event) = reader.next_event() {
                tools.see(&event);
                events.push(format!("{event:?}"));
            }
        }
    }
    if let Some(event) = reader.last_event() {
        events.push(format!("{event:?}"));
    }
    assert!(most <= 4 * (max + (128 << 10)), "{most} bytes of room");
    (events, reader.skipped)
}
