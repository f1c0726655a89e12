//! Each field of both preambles, right and wrong, and what the other end is told.

use super::*;
use proptest::prelude::*;

/// This version, and the next.
const V: u16 = PROTOCOL;
const NEXT: u16 = PROTOCOL + 1;
const INSTANCE: InstanceId = InstanceId(*b"0123456789abcdef");

/// A preamble of the supervisor, field by field.
fn asking(magic: &[u8; 8], min: u16, max: u16, frame: u32, features: u64) -> [u8; LEN] {
    let mut out = [0; LEN];
    out[..8].copy_from_slice(magic);
    out[8..10].copy_from_slice(&min.to_le_bytes());
    out[10..12].copy_from_slice(&max.to_le_bytes());
    out[12..16].copy_from_slice(&frame.to_le_bytes());
    out[16..24].copy_from_slice(&features.to_le_bytes());
    out
}

/// A preamble of the worker, field by field.
fn answering(magic: &[u8; 8], version: u16, status: u16, frame: u32) -> [u8; LEN] {
    let mut out = [0; LEN];
    out[..8].copy_from_slice(magic);
    out[8..10].copy_from_slice(&version.to_le_bytes());
    out[10..12].copy_from_slice(&status.to_le_bytes());
    out[12..16].copy_from_slice(&frame.to_le_bytes());
    out[16..].copy_from_slice(&INSTANCE.0);
    out
}

#[test]
fn the_two_understand_each_other() {
    let asked = read_ask(&ask(*b"12345678"));
    assert_eq!(asked, Ok(()));
    assert_eq!(read_answer(&answer(asked, INSTANCE)), Ok(INSTANCE));
    assert_eq!(ask(*b"\0\0\0\0\0\0\0\0"), asking(b"musegate", V, V, 1 << 20, 0));
    assert_eq!(answer(asked, INSTANCE), answering(b"musegate", V, 0, 1 << 16));
}

#[test]
fn every_wrong_field_of_the_supervisor_has_its_word() {
    let frame = MAX_TO_WORKER as u32;
    let cases = [
        (asking(b"musegate", 0, V, frame, 0), Ok(())),
        (asking(b"musegate", V, 9, frame, 0), Ok(())),
        (asking(b"musegate", V, V, frame, u64::MAX), Ok(())),
        (asking(b"musegatf", V, V, frame, 0), Err(Mismatch::Magic)),
        (asking(&[0; 8], 1, 1, frame, 0), Err(Mismatch::Magic)),
        (*b"GET / HTTP/1.1\r\nHost: localhost\r", Err(Mismatch::Magic)),
        (asking(b"musegate", NEXT, 9, frame, 0), Err(Mismatch::Version { min: NEXT, max: 9 })),
        (asking(b"musegate", 0, V - 1, frame, 0), Err(Mismatch::Version { min: 0, max: V - 1 })),
        (asking(b"musegate", 9, 1, frame, 0), Err(Mismatch::Version { min: 9, max: 1 })),
        (asking(b"musegate", V, V, frame - 1, 0), Err(Mismatch::Frame)),
        (asking(b"musegate", V, V, u32::MAX, 0), Err(Mismatch::Frame)),
    ];
    for (bytes, expected) in cases {
        assert_eq!(read_ask(&bytes), expected, "{bytes:?}");
    }
}

#[test]
fn every_wrong_field_of_the_worker_has_its_word() {
    let frame = MAX_FROM_WORKER as u32;
    let cases = [
        (answering(b"musegate", V, 0, frame), Ok(INSTANCE)),
        (answering(b"Musegate", V, 0, frame), Err(Mismatch::Magic)),
        (answering(b"musegate", NEXT, 0, frame), Err(Mismatch::Version { min: NEXT, max: NEXT })),
        (answering(b"musegate", NEXT, 1, frame), Err(Mismatch::Version { min: NEXT, max: NEXT })),
        (answering(b"musegate", V, 2, frame), Err(Mismatch::Refused(2))),
        (answering(b"musegate", V, u16::MAX, frame), Err(Mismatch::Refused(u16::MAX))),
        (answering(b"musegate", V, 0, frame * 2), Err(Mismatch::Frame)),
        (answering(b"musegate", V, 0, 0), Err(Mismatch::Frame)),
    ];
    for (bytes, expected) in cases {
        assert_eq!(read_answer(&bytes), expected, "{bytes:?}");
    }
}

/// A supervisor of another version learns which one the worker speaks; nothing else is told to one that is not ours.
#[test]
fn a_refused_supervisor_learns_why() {
    let told = |ask: &[u8; LEN]| read_answer(&answer(read_ask(ask), INSTANCE)).unwrap_err();
    let version = Mismatch::Version { min: PROTOCOL, max: PROTOCOL };
    let frame = MAX_TO_WORKER as u32;
    assert_eq!(told(&asking(b"musegate", NEXT, 9, frame, 0)), version);
    assert_eq!(told(&asking(b"musegate", V, V, 0, 0)), Mismatch::Refused(2));
    assert_eq!(told(&asking(b"somebody", V, V, frame, 0)), Mismatch::Refused(2));
    assert_eq!(
        Mismatch::Version { min: 7, max: 9 }.to_string(),
        format!("the other end speaks versions 7 to 9 of the protocol, this one speaks {V}")
    );
}

proptest! {
    #[test]
    fn arbitrary_preambles_never_panic(bytes in any::<[u8; LEN]>(), tail in any::<[u8; 24]>()) {
        let mut ours = bytes;
        ours[..8].copy_from_slice(b"musegate");
        ours[8..].copy_from_slice(&tail);
        for bytes in [bytes, ours] {
            let _ = read_answer(&bytes);
            if read_ask(&bytes).is_ok() {
                prop_assert_eq!(&bytes[..8], b"musegate");
            }
        }
    }
}
