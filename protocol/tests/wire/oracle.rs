//! A second implementation as judge: `wincode`, whose format is bincode's legacy one. Each message is laid out again as
//! plain tuples, without our types, and must give the same bytes; and where a layout is fixed, wincode must read from our
//! bytes what we wrote.

use crate::{random, sample};
use bytes::BytesMut;
use musegate_protocol::codec::Wire;
use musegate_protocol::message::*;
use musegate_protocol::{FromWorker, ToWorker};
use proptest::prelude::*;
use wincode::{deserialize_exact, serialize};

/// One value as wincode writes it.
macro_rules! bytes {
    ($($value:expr),+ $(,)?) => { [$(serialize(&$value).unwrap()),+].concat() };
}

fn string(text: &str) -> String {
    text.to_owned()
}

/// The number of a variant: its place among all of them.
fn number<T: PartialEq>(all: &[T], one: &T) -> u32 {
    u32::try_from(all.iter().position(|value| value == one).unwrap()).unwrap()
}

fn list<T>(items: &[T], each: impl Fn(&T) -> Vec<u8>) -> Vec<u8> {
    [bytes!(items.len() as u64), items.iter().flat_map(each).collect()].concat()
}

fn option<T>(value: &Option<T>, some: impl Fn(&T) -> Vec<u8>) -> Vec<u8> {
    value.as_ref().map_or_else(|| bytes!(0u8), |value| [bytes!(1u8), some(value)].concat())
}

fn limits(limits: &JobLimits) -> Vec<u8> {
    bytes!((limits.wall_seconds, limits.output_bytes, limits.files, limits.file_bytes))
}

fn part(part: &PromptPart) -> Vec<u8> {
    match part {
        PromptPart::Text(text) => bytes!((0u32, string(text))),
        PromptPart::Data(text) => bytes!((1u32, string(text))),
        PromptPart::File { name, media_type, bytes } => {
            bytes!((2u32, string(name), string(media_type), bytes.to_vec()))
        }
        PromptPart::Link { url, media_type } => bytes!((3u32, string(url), string(media_type))),
    }
}

fn turn(turn: &Turn) -> Vec<u8> {
    bytes!((number(&[Role::Caller, Role::Agent], &turn.role), string(&turn.text)))
}

fn start(start: &StartJob) -> Vec<u8> {
    [
        bytes!((1u32, start.job.0, string(&start.caller), string(&start.task), string(&start.context))),
        bytes!((string(&start.message), start.trace)),
        list(&start.turns, turn),
        list(&start.parts, part),
        bytes!(start.output_schema.as_ref().map(|text| string(text)), start.structured),
        limits(&start.limits),
    ]
    .concat()
}

fn to_worker(message: &ToWorker) -> Vec<u8> {
    match message {
        ToWorker::Hello(hello) => bytes!((0u32, hello.version, string(&hello.build), hello.instance.0)),
        ToWorker::Start(job) => start(job),
        ToWorker::Cancel { job, reason } => bytes!((2u32, job.0, number(sample::CANCEL_REASONS, reason))),
        ToWorker::Credit { job, bytes } => bytes!((3u32, job.0, *bytes)),
        ToWorker::Ping { nonce } => bytes!((4u32, *nonce)),
        ToWorker::Drain => bytes!(5u32),
    }
}

fn hello_ack(ack: &HelloAck) -> Vec<u8> {
    let report = |report: &Report| bytes!((report.holds.0, report.lacks.0, report.landlock_abi));
    [
        bytes!((0u32, ack.version, string(&ack.build), ack.instance.0, ack.slots)),
        bytes!((string(&ack.backend), string(&ack.backend_version))),
        limits(&ack.limits),
        report(&ack.report),
        report(&ack.own),
    ]
    .concat()
}

fn progress(event: &Progress) -> Vec<u8> {
    match event {
        Progress::Started => bytes!(0u32),
        Progress::Model { id } => bytes!((1u32, string(id))),
        Progress::ToolStarted { name } => bytes!((2u32, string(name))),
        Progress::ToolEnded { name, ok } => bytes!((3u32, string(name), *ok)),
        Progress::Retry { attempt, of, http_status, kind } => {
            bytes!((4u32, *attempt, *of, *http_status, string(kind)))
        }
        Progress::Slept { seconds } => bytes!((5u32, *seconds)),
    }
}

fn outcome(outcome: &Outcome) -> Vec<u8> {
    let end = match &outcome.end {
        End::Completed => bytes!(0u32),
        End::Failed { kind, sentence } => bytes!((1u32, number(sample::FAILURE_KINDS, kind), string(sentence))),
        End::Cancelled { reason } => bytes!((2u32, number(sample::CANCEL_REASONS, reason))),
    };
    let usage = |usage: &Usage| {
        let tokens = (usage.input_tokens, usage.cached_tokens, usage.output_tokens, usage.reasoning_tokens);
        bytes!(usage.calls, tokens)
    };
    let timing = (outcome.timing.first_line_ms, outcome.timing.wall_ms, outcome.timing.awake_ms);
    [
        end,
        option(&outcome.usage, usage),
        list(&outcome.redactions, |redaction| bytes!((string(&redaction.kind), redaction.count))),
        bytes!(outcome.output_bytes, timing, number(sample::ENDED_BY, &outcome.ended_by)),
    ]
    .concat()
}

fn from_worker(message: &FromWorker) -> Vec<u8> {
    match message {
        FromWorker::HelloAck(ack) => hello_ack(ack),
        FromWorker::Accepted { job } => bytes!((1u32, job.0)),
        FromWorker::Refused { job, reason, detail } => {
            bytes!((2u32, job.0, number(sample::REFUSE_REASONS, reason), string(detail)))
        }
        FromWorker::Output { job, offset, fresh, text } => bytes!((3u32, job.0, *offset, *fresh, string(text))),
        FromWorker::Progress { job, event } => [bytes!((4u32, job.0)), progress(event)].concat(),
        FromWorker::File { job, name, bytes, last } => {
            bytes!((5u32, job.0, string(name), bytes.to_vec(), *last))
        }
        FromWorker::Finished { job, outcome: ended } => [bytes!((6u32, job.0)), outcome(ended)].concat(),
        FromWorker::Pong { nonce, jobs, resident_kib, descriptors } => {
            bytes!((7u32, *nonce, *jobs, *resident_kib, *descriptors))
        }
        FromWorker::Bye { reason } => bytes!((8u32, number(sample::BYE_REASONS, reason))),
    }
}

fn ours<M: Wire>(message: &M) -> Vec<u8> {
    let mut bytes = BytesMut::new();
    message.to_bytes(&mut bytes).unwrap();
    bytes.to_vec()
}

#[test]
fn every_sample_has_the_bytes_that_wincode_gives_it() {
    for (name, all) in sample::to_worker() {
        all.iter().for_each(|message| assert_eq!(ours(message), to_worker(message), "{name}"));
    }
    for (name, all) in sample::from_worker() {
        all.iter().for_each(|message| assert_eq!(ours(message), from_worker(message), "{name}"));
    }
}

proptest! {
    #[test]
    fn every_message_has_the_bytes_that_wincode_gives_it(to in random::to_worker(), from in random::from_worker()) {
        prop_assert_eq!(ours(&to), to_worker(&to));
        prop_assert_eq!(ours(&from), from_worker(&from));
    }

    #[test]
    fn wincode_reads_what_we_wrote(to in random::to_worker(), from in random::from_worker()) {
        match &to {
            ToWorker::Hello(hello) => {
                let read: (u32, u16, String, [u8; 16]) = deserialize_exact(&ours(&to)).unwrap();
                prop_assert_eq!(read, (0, hello.version, string(&hello.build), hello.instance.0));
            }
            ToWorker::Credit { job, bytes } => {
                prop_assert_eq!(deserialize_exact::<(u32, u64, u32)>(&ours(&to)).unwrap(), (3, job.0, *bytes));
            }
            ToWorker::Start(_) | ToWorker::Cancel { .. } | ToWorker::Ping { .. } | ToWorker::Drain => {}
        }
        match &from {
            FromWorker::Output { job, offset, fresh, text } => {
                let read: (u32, u64, u64, bool, String) = deserialize_exact(&ours(&from)).unwrap();
                prop_assert_eq!(read, (3, job.0, *offset, *fresh, string(text)));
            }
            FromWorker::File { job, name, bytes, last } => {
                let read: (u32, u64, String, Vec<u8>, bool) = deserialize_exact(&ours(&from)).unwrap();
                prop_assert_eq!(read, (5, job.0, string(name), bytes.to_vec(), *last));
            }
            FromWorker::Refused { job, reason, detail } => {
                let read: (u32, u64, u32, String) = deserialize_exact(&ours(&from)).unwrap();
                prop_assert_eq!(read, (2, job.0, number(sample::REFUSE_REASONS, reason), string(detail)));
            }
            FromWorker::Pong { nonce, jobs, resident_kib, descriptors } => {
                let read: (u32, u64, u16, u32, u32) = deserialize_exact(&ours(&from)).unwrap();
                prop_assert_eq!(read, (7, *nonce, *jobs, *resident_kib, *descriptors));
            }
            _ => {}
        }
    }
}
