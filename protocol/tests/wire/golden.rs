//! The recorded bytes of every message. A released version's bytes do not change: who changes a message raises
//! `PROTOCOL`, and the new version is recorded beside the old one by
//!
//! ```text
//! MUSEGATE_BLESS=1 cargo test -p musegate-protocol golden
//! ```
//! which writes what is missing and never overwrites.

use crate::sample;
use bytes::BytesMut;
use musegate_protocol::codec::{SupervisorCodec, Wire, WorkerCodec};
use musegate_protocol::message::{InstanceId, PROTOCOL};
use musegate_protocol::order::Kind;
use musegate_protocol::{FromWorker, ToWorker, preamble};
use std::collections::BTreeSet;
use std::fmt::Debug;
use std::fs;
use std::path::{Path, PathBuf};
use tokio_util::codec::{Decoder, Encoder};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("golden").join(format!("v{PROTOCOL}"))
}

fn compare(name: &str, bytes: &[u8]) {
    let path = folder().join(name);
    if !path.exists() && std::env::var_os("MUSEGATE_BLESS").is_some() {
        fs::create_dir_all(folder()).unwrap();
        fs::write(&path, bytes).unwrap();
    }
    let recorded = fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}; see golden.rs", path.display()));
    if recorded != bytes {
        let at = recorded.iter().zip(bytes).take_while(|(a, b)| a == b).count();
        panic!(
            "{name}: the bytes of version {PROTOCOL} changed at offset {at} ({} recorded, {} now).\n\
             A program of another build would read this wrongly: bump PROTOCOL in message.rs, then record the new \
             version with MUSEGATE_BLESS=1 and leave the old folder where it is.",
            recorded.len(),
            bytes.len()
        );
    }
}

fn frames<In: Wire, Out: Wire>(mut codec: musegate_protocol::codec::Codec<In, Out>, all: &[Out]) -> BytesMut {
    let mut bytes = BytesMut::new();
    all.iter().for_each(|message| codec.encode(message, &mut bytes).unwrap());
    bytes
}

fn read_back<C: Decoder<Item = M>, M: Debug + PartialEq>(mut codec: C, mut bytes: BytesMut, all: &[M])
where
    C::Error: Debug,
{
    for message in all {
        assert_eq!(codec.decode(&mut bytes).unwrap().as_ref(), Some(message));
    }
    assert!(codec.decode_eof(&mut bytes).unwrap().is_none());
}

#[test]
fn what_the_supervisor_says_has_the_golden_bytes() {
    for (name, all) in sample::to_worker() {
        let bytes = frames(SupervisorCodec::default(), &all);
        compare(&format!("to-worker-{name}.frames"), &bytes);
        read_back(WorkerCodec::default(), bytes, &all);
    }
}

#[test]
fn what_the_worker_says_has_the_golden_bytes() {
    for (name, all) in sample::from_worker() {
        let bytes = frames(WorkerCodec::default(), &all);
        compare(&format!("from-worker-{name}.frames"), &bytes);
        read_back(SupervisorCodec::default(), bytes, &all);
    }
}

#[test]
fn both_preambles_have_the_golden_bytes() {
    compare("to-worker-preamble.bin", &preamble::ask(*b"build-id"));
    compare("from-worker-preamble.bin", &preamble::answer(Ok(()), InstanceId(*b"0123456789abcdef")));
}

#[test]
fn every_variant_is_recorded_and_nothing_else() {
    let to = sample::to_worker().into_iter().map(|(name, all)| (format!("to-worker-{name}.frames"), kinds(&all)));
    let from = sample::from_worker().into_iter().map(|(name, all)| (format!("from-worker-{name}.frames"), kinds(&all)));
    let (mut names, kinds): (BTreeSet<String>, Vec<BTreeSet<String>>) = to.chain(from).unzip();
    assert!(kinds.iter().all(|kinds| kinds.len() == 1), "one variant in each file: {kinds:?}");
    let every = Kind::ALL.iter().map(|kind| format!("{kind:?}"));
    assert_eq!(kinds.into_iter().flatten().collect::<BTreeSet<_>>(), every.collect());

    names.extend(["to-worker-preamble.bin".to_owned(), "from-worker-preamble.bin".to_owned()]);
    let files = fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    assert_eq!(files.collect::<BTreeSet<_>>(), names);
}

fn kinds<'a, M>(all: &'a [M]) -> BTreeSet<String>
where
    Kind: From<&'a M>,
{
    all.iter().map(|message| format!("{:?}", Kind::from(message))).collect()
}

/// `Kind` counts the variants; a message's number on the wire is its place among those of its direction.
#[test]
fn numbers_on_the_wire_follow_the_order_of_kinds() {
    let first = |bytes: &BytesMut| u32::from_le_bytes(bytes[4..8].try_into().unwrap());
    let to: Vec<u32> =
        sample::to_worker().iter().map(|(_, all)| first(&frames(SupervisorCodec::default(), all))).collect();
    let from: Vec<u32> =
        sample::from_worker().iter().map(|(_, all)| first(&frames(WorkerCodec::default(), all))).collect();
    assert_eq!(to, (0..6).collect::<Vec<_>>());
    assert_eq!(from, (0..9).collect::<Vec<_>>());
    assert_eq!(ToWorker::limit(1), ToWorker::MAX);
    for tag in [0, 2, 3, 4, 5, 6, u32::MAX] {
        assert_eq!(ToWorker::limit(tag), 4096, "only Start may be long");
        assert_eq!(FromWorker::limit(tag), FromWorker::MAX);
    }
}
