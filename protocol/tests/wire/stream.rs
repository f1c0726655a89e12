//! Frames in a stream: any cutting gives the same messages, anything else than a message is refused, nothing panics.

use crate::{random, sample};
use bytes::{BufMut, BytesMut};
use musegate_protocol::codec::{Codec, Malformed, SupervisorCodec, Wire, WorkerCodec};
use musegate_protocol::message::{JobId, MAX_TO_WORKER};
use musegate_protocol::{FromWorker, List, Text, ToWorker};
use proptest::prelude::*;
use std::fmt::Debug;
use tokio_util::codec::{Decoder, Encoder};

/// Feeds pieces one after the other; what was decoded, and the first error, which is the end of it.
fn feed<In: Wire, Out: Wire>(pieces: impl IntoIterator<Item = impl AsRef<[u8]>>) -> (Vec<In>, Option<String>) {
    let mut codec = Codec::<In, Out>::default();
    let mut buffer = BytesMut::new();
    let mut all = Vec::new();
    for piece in pieces {
        buffer.extend_from_slice(piece.as_ref());
        loop {
            match codec.decode(&mut buffer) {
                Ok(Some(message)) => all.push(message),
                Ok(None) => break,
                Err(error) => return (all, Some(error.to_string())),
            }
        }
    }
    let end = codec.decode_eof(&mut buffer).map(|message| assert!(message.is_none())).err();
    (all, end.map(|error| error.to_string()))
}

fn at_worker(pieces: impl IntoIterator<Item = impl AsRef<[u8]>>) -> (Vec<ToWorker>, Option<String>) {
    feed::<ToWorker, FromWorker>(pieces)
}

fn at_supervisor(pieces: impl IntoIterator<Item = impl AsRef<[u8]>>) -> (Vec<FromWorker>, Option<String>) {
    feed::<FromWorker, ToWorker>(pieces)
}

fn frames<In: Wire, Out: Wire>(all: &[Out]) -> BytesMut {
    let mut bytes = BytesMut::new();
    all.iter().for_each(|message| Codec::<In, Out>::default().encode(message, &mut bytes).unwrap());
    bytes
}

fn frame(body: &[u8]) -> Vec<u8> {
    [&u32::try_from(body.len()).unwrap().to_be_bytes(), body].concat()
}

/// A message of ours without its length.
fn body<M: Wire>(message: &M) -> BytesMut {
    let mut bytes = BytesMut::new();
    message.to_bytes(&mut bytes).unwrap();
    bytes
}

#[test]
fn every_cut_of_a_stream_gives_the_same_frames() {
    let to: Vec<ToWorker> = sample::to_worker().into_iter().flat_map(|(_, all)| all).collect();
    let bytes = frames::<FromWorker, _>(&to);
    for at in 0..=bytes.len() {
        assert_eq!(at_worker([&bytes[..at], &bytes[at..]]), (to.clone(), None), "cut at {at}");
    }
    assert_eq!(at_worker(bytes.chunks(1)), (to, None));

    let from: Vec<FromWorker> = sample::from_worker().into_iter().flat_map(|(_, all)| all).collect();
    let bytes = frames::<ToWorker, _>(&from);
    for at in 0..=bytes.len() {
        assert_eq!(at_supervisor([&bytes[..at], &bytes[at..]]), (from.clone(), None), "cut at {at}");
    }
    assert_eq!(at_supervisor(bytes.chunks(1)), (from, None));
}

#[test]
fn a_stream_that_ends_inside_a_frame_is_an_error() {
    let all = [ToWorker::Drain, ToWorker::Start(Box::new(sample::full_job()))];
    let bytes = frames::<FromWorker, _>(&all);
    let whole = [8, bytes.len()]; // after the first frame, and after both
    for end in 1..bytes.len() {
        let (_, error) = at_worker([&bytes[..end]]);
        assert_eq!(error.is_none(), whole.contains(&end), "ended at {end}: {error:?}");
    }
}

#[test]
fn a_length_over_the_limit_is_refused_by_its_four_bytes() {
    for len in [u32::MAX, MAX_TO_WORKER as u32 + 1] {
        let (all, error) = at_worker([len.to_be_bytes()]);
        assert_eq!(all, []);
        assert_eq!(error.unwrap(), format!("malformed frame: {len} bytes, the limit is 1048576"));
    }
    let (_, error) = at_supervisor([65_537u32.to_be_bytes()]);
    assert_eq!(error.unwrap(), "malformed frame: 65537 bytes, the limit is 65536");
    let (_, error) = at_worker([(MAX_TO_WORKER as u32).to_be_bytes()]);
    assert_eq!(error.unwrap(), "bytes remaining on stream", "within the limit: waited for");
}

#[test]
fn a_long_frame_that_is_no_start_is_refused_by_its_eight_bytes() {
    for tag in [0u32, 2, 3, 4, 5, 6, u32::MAX] {
        let head = [&4097u32.to_be_bytes()[..], &tag.to_le_bytes()].concat();
        assert_eq!(at_worker([&head]).1.unwrap(), "malformed frame: 4097 bytes, the limit is 4096", "{tag}");
    }
    let head = [&4097u32.to_be_bytes()[..], &1u32.to_le_bytes()].concat();
    assert_eq!(at_worker([&head]).1.unwrap(), "bytes remaining on stream", "a Start may be longer");
}

#[test]
fn a_frame_too_short_for_a_message_is_refused_by_its_four_bytes() {
    for len in 0..4u32 {
        let expected = format!("malformed frame: {len} bytes hold no message");
        assert_eq!(at_worker([len.to_be_bytes()]).1.as_ref(), Some(&expected));
        assert_eq!(at_supervisor([len.to_be_bytes()]).1.as_ref(), Some(&expected));
    }
}

#[test]
fn bytes_after_a_message_are_refused() {
    for (name, all) in sample::to_worker() {
        for message in all {
            let longer = [&body(&message)[..], b"\0"].concat();
            assert!(matches!(ToWorker::from_bytes(&longer), Err(Malformed::LeftOver(1))), "{name}");
            assert_eq!(at_worker([frame(&longer)]).1.unwrap(), "malformed frame: 1 bytes left over");
        }
    }
    for (name, all) in sample::from_worker() {
        for message in all {
            let longer = [&body(&message)[..], b"\0"].concat();
            assert!(matches!(FromWorker::from_bytes(&longer), Err(Malformed::LeftOver(1))), "{name}");
        }
    }
}

#[test]
fn a_message_cut_short_is_refused_at_every_length() {
    for (name, all) in sample::to_worker() {
        let bytes = body(&all[0]);
        assert!((0..bytes.len()).all(|end| ToWorker::from_bytes(&bytes[..end]).is_err()), "{name}");
    }
    for (name, all) in sample::from_worker() {
        let bytes = body(&all[0]);
        assert!((0..bytes.len()).all(|end| FromWorker::from_bytes(&bytes[..end]).is_err()), "{name}");
    }
}

#[test]
fn an_unknown_variant_is_refused() {
    let over = |count: u32| [&count.to_le_bytes()[..], &[0; 64]].concat();
    assert!(ToWorker::from_bytes(&over(6)).is_err());
    assert!(FromWorker::from_bytes(&over(9)).is_err());
    assert!(ToWorker::from_bytes(&over(u32::MAX)).is_err());
    let mut cancel = body(&ToWorker::Cancel { job: JobId(1), reason: sample::CANCEL_REASONS[0] });
    let last = cancel.len() - 4;
    cancel[last] = 5;
    assert!(ToWorker::from_bytes(&cancel).is_err());
}

/// The worst message that all bounds permit still fits its frame, so no bound is a promise that cannot be kept.
#[test]
fn the_largest_job_within_all_bounds_fits_a_frame() {
    use musegate_protocol::bounded::{Blob, FileName, Label};
    use musegate_protocol::message::*;
    let label = Label::new("x".repeat(128)).unwrap();
    let name = FileName::new("x".repeat(100)).unwrap();
    let media_type = || Text::new("x".repeat(128)).unwrap();
    let link = PromptPart::Link { url: Text::new("x".repeat(2048)).unwrap(), media_type: media_type() };
    let mut parts = vec![link; MAX_PARTS - 1];
    parts.push(PromptPart::File { name, media_type: media_type(), bytes: Blob::new(vec![0; MAX_INPUT_FILE]).unwrap() });
    let mut turns = vec![Turn { role: Role::Agent, text: Text::default() }; MAX_TURNS - 1];
    turns.push(Turn { role: Role::Caller, text: Text::new("x".repeat(MAX_TEXT)).unwrap() });
    let start = ToWorker::Start(Box::new(StartJob {
        caller: label.clone(),
        task: label.clone(),
        context: label,
        message: Text::new("x".repeat(128)).unwrap(),
        turns: List::new(turns).unwrap(),
        parts: List::new(parts).unwrap(),
        output_schema: Some(Text::new("x".repeat(32768)).unwrap()),
        ..sample::full_job()
    }));
    start.check().unwrap();
    let bytes = frames::<FromWorker, _>(std::slice::from_ref(&start));
    assert!(bytes.len() > 800_000, "{}", bytes.len());
    assert_eq!(at_worker([bytes]), (vec![start], None));
}

#[test]
fn a_message_over_its_frame_is_not_sent_and_leaves_no_trace() {
    use musegate_protocol::message::*;
    let parts = List::new(vec![PromptPart::Text(Text::new("x".repeat(MAX_TEXT)).unwrap()); 5]).unwrap();
    let start = ToWorker::Start(Box::new(StartJob { parts, ..sample::full_job() }));
    let mut bytes = BytesMut::new();
    bytes.put_slice(b"before");
    let error = SupervisorCodec::default().encode(&start, &mut bytes).unwrap_err();
    assert!(error.to_string().starts_with("message cannot be sent"), "{error}");
    assert_eq!(&bytes[..], b"before");
    SupervisorCodec::default().encode(&ToWorker::Drain, &mut bytes).unwrap();
    assert_eq!(&bytes[..], b"before\0\0\0\x04\x05\0\0\0");
}

fn round_trip<M: Wire + PartialEq + Debug>(message: &M) {
    let bytes = body(message);
    assert!(bytes.len() <= M::limit(u32::from_le_bytes(bytes[..4].try_into().unwrap())), "its variant's limit");
    assert_eq!(&M::from_bytes(&bytes).unwrap(), message);
}

/// Whatever decodes has one encoding only: the one it came from.
fn canonical<M: Wire>(bytes: &[u8]) {
    if let Ok(message) = M::from_bytes(bytes) {
        assert_eq!(&body(&message)[..], bytes);
    }
}

proptest! {
    #[test]
    fn every_message_of_the_supervisor_survives(message in random::to_worker()) {
        round_trip(&message);
    }

    #[test]
    fn every_message_of_the_worker_survives(message in random::from_worker()) {
        round_trip(&message);
    }

    #[test]
    fn streams_survive_any_cutting(
        to in proptest::collection::vec(random::to_worker(), 0..5),
        from in proptest::collection::vec(random::from_worker(), 0..5),
        cuts in proptest::collection::vec(any::<prop::sample::Index>(), 0..12),
    ) {
        let bytes = frames::<FromWorker, _>(&to);
        prop_assert_eq!(at_worker(cut(&bytes, &cuts)), (to, None));
        let bytes = frames::<ToWorker, _>(&from);
        prop_assert_eq!(at_supervisor(cut(&bytes, &cuts)), (from, None));
    }

    #[test]
    fn arbitrary_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..600), tag in 0u32..12) {
        canonical::<ToWorker>(&bytes);
        canonical::<FromWorker>(&bytes);
        let tagged = [&tag.to_le_bytes()[..], &bytes].concat();
        canonical::<ToWorker>(&tagged);
        canonical::<FromWorker>(&tagged);
        at_worker([&bytes]);
        at_supervisor([&bytes]);
        at_worker([frame(&tagged)]);
        at_supervisor([frame(&tagged)]);
    }

    #[test]
    fn a_changed_byte_never_panics_and_never_gives_a_second_encoding(
        to in random::to_worker(), from in random::from_worker(),
        at in any::<prop::sample::Index>(), change in 1u8..,
    ) {
        let mut bytes = body(&to);
        let place = at.index(bytes.len());
        bytes[place] ^= change;
        canonical::<ToWorker>(&bytes);
        let mut bytes = body(&from);
        let place = at.index(bytes.len());
        bytes[place] ^= change;
        canonical::<FromWorker>(&bytes);
    }
}

fn cut<'a>(bytes: &'a [u8], cuts: &[prop::sample::Index]) -> Vec<&'a [u8]> {
    let mut at: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).chain([0, bytes.len()]).collect();
    at.sort_unstable();
    at.array_windows().map(|[from, to]| &bytes[*from..*to]).collect()
}

#[test]
fn both_ends_speak_to_each_other() {
    let mut wire = BytesMut::new();
    let pong = FromWorker::Pong { nonce: 7, jobs: 1, resident_kib: 0, descriptors: 0 };
    WorkerCodec::default().encode(&pong, &mut wire).unwrap();
    assert_eq!(SupervisorCodec::default().decode(&mut wire).unwrap(), Some(pong));
}
