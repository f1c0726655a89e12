//! Bytes to messages: no panic, memory within twice the limit, one encoding, the same opinion as another implementation,
//! and the same messages from any cutting of a stream.

use crate::mirror;
use crate::pieces::pieces;
use bytes::BytesMut;
use musegate_protocol::codec::{Codec, Wire};
use musegate_protocol::message::{InstanceId, MAX_FROM_WORKER, MAX_TO_WORKER, PROTOCOL};
use musegate_protocol::preamble::{LEN, Mismatch, answer, read_answer, read_ask};
use musegate_protocol::{FromWorker, ToWorker};
use std::fmt::Debug;
use tokio_util::codec::{Decoder, Encoder};

pub(crate) fn to_worker(bytes: &[u8]) {
    if let Some(message) = decode::<ToWorker>(bytes) {
        mirror::agrees_to(&message, bytes);
        let _ = message.check();
        let _ = format!("{message:?}");
    }
}

pub(crate) fn from_worker(bytes: &[u8]) {
    if let Some(message) = decode::<FromWorker>(bytes) {
        mirror::agrees_from(&message, bytes);
        let _ = message.check();
        let _ = (message.cost(), format!("{message:?}"));
    }
}

fn decode<M: Wire>(bytes: &[u8]) -> Option<M> {
    let mut decoded = None;
    let counted = allocation_counter::measure(|| decoded = M::from_bytes(bytes).ok());
    assert!(counted.bytes_max <= 2 * M::MAX as u64, "{} bytes held", counted.bytes_max);
    assert!(counted.bytes_max <= 16 * bytes.len() as u64 + 1024, "{} bytes held for {}", counted.bytes_max, bytes.len());
    let message = decoded?;
    let mut again = BytesMut::new();
    message.to_bytes(&mut again).expect("what decodes can be said");
    assert_eq!(&again[..], bytes, "one encoding");
    Some(message)
}

/// A stream in both directions, whole and in pieces.
pub(crate) fn frames(input: &[u8]) {
    direction::<ToWorker, FromWorker>(input);
    direction::<FromWorker, ToWorker>(input);
}

fn direction<In: Wire + Debug, Out: Wire>(input: &[u8])
where
    Codec<Out, In>: Default + for<'a> Encoder<&'a In, Error = std::io::Error>,
{
    let (whole, pieces) = pieces(input);
    let at_once = feed::<In, Out>(&[whole]);
    assert_eq!(at_once, feed::<In, Out>(&pieces), "any cutting gives the same");
    assert_eq!(at_once, by_hand::<In>(whole), "the frames are where their lengths say");
}

/// What a codec makes of pieces: messages as they are written, and whether the stream ended well.
fn feed<In: Wire, Out: Wire>(pieces: &[&[u8]]) -> (Vec<Vec<u8>>, bool) {
    let mut codec = Codec::<In, Out>::default();
    let mut buffer = BytesMut::new();
    let mut all = Vec::new();
    for piece in pieces {
        buffer.extend_from_slice(piece);
        loop {
            match codec.decode(&mut buffer) {
                Ok(Some(message)) => all.push(written(&message)),
                Ok(None) => break,
                Err(_) => return (all, false),
            }
        }
        assert!(buffer.capacity() <= 2 * In::MAX + 65_536, "{} bytes of buffer", buffer.capacity());
    }
    let well = matches!(codec.decode_eof(&mut buffer), Ok(None));
    (all, well)
}

/// The same without the codec.
fn by_hand<In: Wire>(mut stream: &[u8]) -> (Vec<Vec<u8>>, bool) {
    let mut all = Vec::new();
    while let Some((head, rest)) = stream.split_first_chunk::<4>() {
        let len = u32::from_be_bytes(*head) as usize;
        let Some((frame, after)) = rest.split_at_checked(len) else { return (all, false) };
        let Ok(message) = In::from_bytes(frame) else { return (all, false) };
        all.push(written(&message));
        stream = after;
    }
    (all, stream.is_empty())
}

fn written<M: Wire>(message: &M) -> Vec<u8> {
    let mut bytes = BytesMut::new();
    message.to_bytes(&mut bytes).expect("what decodes can be said");
    bytes.to_vec()
}

/// Both preambles, against a reading of the fields by their places.
pub(crate) fn preamble(input: &[u8]) {
    let mut bytes = [0; LEN];
    input.iter().zip(&mut bytes).for_each(|(from, to)| *to = *from);
    let u16_at = |at: usize| u16::from_le_bytes([bytes[at], bytes[at + 1]]);
    let frame = u32::from_le_bytes([bytes[12], bytes[13], bytes[14], bytes[15]]) as usize;
    let ours = bytes.starts_with(b"musegate");

    let fits = u16_at(8) <= PROTOCOL && PROTOCOL <= u16_at(10);
    let asked = read_ask(&bytes);
    assert_eq!(asked.is_ok(), ours && fits && frame == MAX_TO_WORKER);
    assert_eq!(matches!(asked, Err(Mismatch::Magic)), !ours);
    let told = read_answer(&answer(asked, InstanceId([7; 16])));
    assert_eq!(told.is_ok(), asked.is_ok(), "the supervisor learns what the worker thought");

    let answered = read_answer(&bytes);
    assert_eq!(answered.is_ok(), ours && u16_at(8) == PROTOCOL && u16_at(10) == 0 && frame == MAX_FROM_WORKER);
    if let Ok(instance) = answered {
        assert_eq!(instance.0, bytes[16..]);
    }
}
