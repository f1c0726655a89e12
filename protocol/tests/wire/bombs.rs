//! Small frames that ask for much: no frame, of whatever content, costs more memory than twice its direction's limit, and
//! none that lies about a length costs more than it holds.
//!
//! Measured by an allocator that counts what one thread holds at most (`allocation-counter`). The shapes are those of the
//! table in docs/decisions/0001-bincode.md; maps and recursion cannot be said (see `vocabulary.rs`).

use crate::sample;
use bytes::BytesMut;
use musegate_protocol::codec::{Codec, Wire};
use musegate_protocol::{FromWorker, ToWorker};
use tokio_util::codec::Decoder;

/// An error's own box and text, and the first growth of a vector.
const SMALL: u64 = 1024;

/// Most memory that a decode held, and whether it was a message.
fn cost<M: Wire>(bytes: &[u8]) -> (u64, bool) {
    let mut decoded = false;
    let counted = allocation_counter::measure(|| decoded = M::from_bytes(bytes).is_ok());
    assert_eq!(counted.bytes_current, 0, "nothing stays behind");
    (counted.bytes_max, decoded)
}

fn body<M: Wire>(message: &M) -> Vec<u8> {
    let mut bytes = BytesMut::new();
    message.to_bytes(&mut bytes).unwrap();
    bytes.to_vec()
}

/// Every claim of a length that a bomb would make: the least over the bounds, and the largest.
const CLAIMS: [u64; 11] =
    [513, 16_385, 32_769, 262_145, 393_217, 1 << 20, 1 << 28, 1 << 32, 1 << 40, i64::MAX as u64, u64::MAX];

/// Puts each claim at each offset, so at each length field too.
fn claims<M: Wire>(message: &M) {
    let bytes = body(message);
    let honest = cost::<M>(&bytes).0;
    for at in 0..bytes.len().saturating_sub(7) {
        for claim in CLAIMS {
            let mut bomb = bytes.clone();
            bomb[at..at + 8].copy_from_slice(&claim.to_le_bytes());
            let (peak, _) = cost::<M>(&bomb);
            assert!(peak <= 2 * honest + SMALL, "claim {claim} at {at}: {peak} bytes, {honest} when honest");
        }
    }
}

#[test]
fn a_length_that_lies_costs_no_more_than_what_is_there() {
    sample::to_worker().iter().flat_map(|(_, all)| all).for_each(claims);
    sample::from_worker().iter().flat_map(|(_, all)| all).for_each(claims);
}

/// The fixed part of a `Start` before its turns.
fn start_until_turns() -> Vec<u8> {
    let whole = body(&ToWorker::Start(Box::new(sample::bare_job(sample::JOB))));
    let after = 8 + 8 + 1 + 1 + 4 + 8 + 1 + 4; // turns, parts, schema, structured, limits
    whole[..whole.len() - after].to_vec()
}

#[test]
fn the_fixed_part_is_what_the_next_tests_think_it_is() {
    let rest = [&0u64.to_le_bytes()[..], &0u64.to_le_bytes(), &[0, 0], &[0; 17]].concat();
    let whole = [start_until_turns(), rest].concat();
    assert!(matches!(ToWorker::from_bytes(&whole), Ok(ToWorker::Start(start)) if start.job == sample::JOB));
}

/// Elements that are short on the wire and wide in memory: as many of them as a frame can hold.
#[test]
fn many_small_elements_are_refused_by_their_count() {
    let empty_turn = [&0u32.to_le_bytes()[..], &0u64.to_le_bytes()].concat();
    let count = (ToWorker::MAX - 1024) / empty_turn.len();
    let mut bomb = start_until_turns();
    bomb.extend_from_slice(&(count as u64).to_le_bytes());
    (0..count).for_each(|_| bomb.extend_from_slice(&empty_turn));
    assert!(bomb.len() <= ToWorker::MAX && bomb.len() > 1_000_000);
    let (peak, decoded) = cost::<ToWorker>(&bomb);
    assert!(!decoded && peak <= 2 * SMALL, "{peak}");
}

#[test]
fn the_most_elements_that_are_permitted_stay_small() {
    let mut bomb = start_until_turns();
    bomb.extend_from_slice(&12u64.to_le_bytes());
    (0..12).for_each(|_| bomb.extend_from_slice(&[0; 12]));
    bomb.extend_from_slice(&64u64.to_le_bytes());
    (0..64).for_each(|_| bomb.extend_from_slice(&[0; 12]));
    bomb.extend_from_slice(&[0; 19]);
    let (peak, decoded) = cost::<ToWorker>(&bomb);
    assert!(decoded, "a job of empty turns and parts is a job");
    assert!(peak <= 16 * 1024, "{peak} for {} bytes", bomb.len());
}

/// What only costs time elsewhere: a claim of 2³² elements that take no bytes. Here no element takes none.
#[test]
fn a_count_of_four_milliards_ends_at_once() {
    let mut bomb = start_until_turns();
    bomb.extend_from_slice(&(1u64 << 32).to_le_bytes());
    let (peak, decoded) = cost::<ToWorker>(&bomb);
    assert!(!decoded && peak <= SMALL, "{peak}");
    assert_eq!(
        ToWorker::from_bytes(&bomb).unwrap_err().to_string(),
        "malformed frame: Other(\"length over the limit\")"
    );
}

/// As large as a frame may be, with the worst contents that decode: text is copied once.
#[test]
fn the_largest_frames_cost_at_most_twice_their_limit() {
    let text = vec![b'x'; 256 * 1024];
    let mut bomb = start_until_turns();
    bomb.extend_from_slice(&3u64.to_le_bytes());
    for _ in 0..3 {
        bomb.extend_from_slice(&0u32.to_le_bytes());
        bomb.extend_from_slice(&(text.len() as u64).to_le_bytes());
        bomb.extend_from_slice(&text);
    }
    bomb.extend_from_slice(&[0; 27]);
    let (peak, decoded) = cost::<ToWorker>(&bomb);
    assert!(decoded);
    assert!(peak as usize <= bomb.len() + 16 * 1024, "{peak} for {}", bomb.len());
    assert!(peak as usize <= 2 * ToWorker::MAX);

    let noise = vec![0xff; ToWorker::MAX];
    assert!(cost::<ToWorker>(&noise).0 <= SMALL);
    assert!(cost::<FromWorker>(&noise[..FromWorker::MAX]).0 <= SMALL);
}

fn prefix<In: Wire, Out: Wire>(head: &[u8]) -> (u64, bool) {
    let mut buffer = BytesMut::from(head);
    let mut codec = Codec::<In, Out>::default();
    let mut refused = false;
    let counted = allocation_counter::measure(|| refused = codec.decode(&mut buffer).is_err());
    (counted.bytes_max, refused)
}

#[test]
fn a_length_prefix_over_the_limit_is_refused_before_allocation() {
    for len in [ToWorker::MAX as u32 + 1, 1 << 24, u32::MAX] {
        let (peak, refused) = prefix::<ToWorker, FromWorker>(&len.to_be_bytes());
        assert!(refused && peak <= SMALL, "{len}: {peak}");
    }
    for len in [FromWorker::MAX as u32 + 1, 1 << 24, u32::MAX] {
        let (peak, refused) = prefix::<FromWorker, ToWorker>(&len.to_be_bytes());
        assert!(refused && peak <= SMALL, "{len}: {peak}");
    }
}

/// A legal length alone reserves nothing; only the number of a `Start` behind it makes room for a megabyte.
#[test]
fn a_length_prefix_within_the_limit_reserves_only_what_its_variant_may_have() {
    let len = (ToWorker::MAX as u32).to_be_bytes();
    let (peak, refused) = prefix::<ToWorker, FromWorker>(&len);
    assert!(!refused && peak <= SMALL, "{peak}");
    let (peak, refused) = prefix::<ToWorker, FromWorker>(&[&len[..], &4u32.to_le_bytes()].concat());
    assert!(refused && peak <= SMALL, "{peak}");
    let (peak, refused) = prefix::<ToWorker, FromWorker>(&[&len[..], &1u32.to_le_bytes()].concat());
    assert!(!refused && peak as usize <= ToWorker::MAX + 4096, "{peak}");
    let (peak, refused) = prefix::<FromWorker, ToWorker>(&[&65_536u32.to_be_bytes()[..], &3u32.to_le_bytes()].concat());
    assert!(!refused && peak as usize <= FromWorker::MAX + 4096, "{peak}");
}

/// The measure itself: it sees an allocation, and it sees it in this thread.
#[test]
fn the_counter_counts() {
    let counted = allocation_counter::measure(|| drop(std::hint::black_box(vec![0u8; 12_345])));
    assert_eq!((counted.bytes_max, counted.bytes_current), (12_345, 0));
}
