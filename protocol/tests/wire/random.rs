//! Messages at random, within their bounds, small ones mostly.

use crate::sample::{BYE_REASONS, CANCEL_REASONS, ENDED_BY, FAILURE_KINDS, REFUSE_REASONS};
use musegate_protocol::bounded::{Blob, FileName, Label, List, Text};
use musegate_protocol::message::*;
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;

fn text<const MAX: usize>() -> impl Strategy<Value = Text<MAX>> {
    any::<String>().prop_map(|text| Text::cut(&text))
}

fn blob<const MAX: usize>() -> impl Strategy<Value = Blob<MAX>> {
    vec(any::<u8>(), 0..200).prop_map(|bytes| Blob::new(bytes).unwrap())
}

fn list<T: std::fmt::Debug, const MAX: usize>(item: impl Strategy<Value = T>) -> impl Strategy<Value = List<T, MAX>> {
    vec(item, 0..4).prop_map(|items| List::new(items).unwrap())
}

fn label() -> impl Strategy<Value = Label> {
    vec(select(&b"azAZ09._:-"[..]), 1..=128).prop_map(|text| Label::new(String::from_utf8(text).unwrap()).unwrap())
}

fn name() -> impl Strategy<Value = FileName> {
    vec(select(&b"azAZ09._-"[..]), 0..=99)
        .prop_map(|text| FileName::new(format!("x{}", String::from_utf8(text).unwrap())).unwrap())
}

fn job() -> impl Strategy<Value = JobId> {
    any::<u64>().prop_map(JobId)
}

fn limits() -> impl Strategy<Value = JobLimits> {
    any::<(u32, u64, u8, u32)>().prop_map(|(wall_seconds, output_bytes, files, file_bytes)| JobLimits {
        wall_seconds,
        output_bytes,
        files,
        file_bytes,
    })
}

fn part() -> impl Strategy<Value = PromptPart> {
    prop_oneof![
        text().prop_map(PromptPart::Text),
        text().prop_map(PromptPart::Data),
        (name(), text(), blob()).prop_map(|(name, media_type, bytes)| PromptPart::File { name, media_type, bytes }),
        (text(), text()).prop_map(|(url, media_type)| PromptPart::Link { url, media_type }),
    ]
}

fn start() -> impl Strategy<Value = StartJob> {
    let turn = (any::<bool>(), text())
        .prop_map(|(caller, text)| Turn { role: if caller { Role::Caller } else { Role::Agent }, text });
    let ids = (job(), label(), label(), label(), text(), any::<[u8; 16]>());
    let rest = (list(turn), list(part()), option::of(text()), any::<bool>(), limits());
    (ids, rest).prop_map(
        |((job, caller, task, context, message, trace), (turns, parts, output_schema, structured, limits))| StartJob {
            job,
            caller,
            task,
            context,
            message,
            trace,
            turns,
            parts,
            output_schema,
            structured,
            limits,
        },
    )
}

pub(crate) fn to_worker() -> impl Strategy<Value = ToWorker> {
    let hello = (any::<u16>(), label(), any::<[u8; 16]>()).prop_map(|(version, build, instance)| Hello {
        version,
        build,
        instance: InstanceId(instance),
    });
    prop_oneof![
        hello.prop_map(ToWorker::Hello),
        start().prop_map(|start| ToWorker::Start(Box::new(start))),
        (job(), select(CANCEL_REASONS)).prop_map(|(job, reason)| ToWorker::Cancel { job, reason }),
        (job(), any::<u32>()).prop_map(|(job, bytes)| ToWorker::Credit { job, bytes }),
        any::<u64>().prop_map(|nonce| ToWorker::Ping { nonce }),
        Just(ToWorker::Drain),
    ]
}

fn hello_ack() -> impl Strategy<Value = HelloAck> {
    let report = || {
        any::<(u64, u64, u8)>().prop_map(|(holds, lacks, landlock_abi)| Report {
            holds: Layers(holds),
            lacks: Layers(lacks),
            landlock_abi,
        })
    };
    (any::<(u16, [u8; 16], u16)>(), label(), label(), text(), limits(), report(), report()).prop_map(
        |((version, instance, slots), build, backend, backend_version, limits, report, own)| HelloAck {
            version,
            build,
            instance: InstanceId(instance),
            slots,
            backend,
            backend_version,
            limits,
            report,
            own,
        },
    )
}

fn progress() -> impl Strategy<Value = Progress> {
    prop_oneof![
        Just(Progress::Started),
        text().prop_map(|id| Progress::Model { id }),
        text().prop_map(|name| Progress::ToolStarted { name }),
        (text(), any::<bool>()).prop_map(|(name, ok)| Progress::ToolEnded { name, ok }),
        (any::<(u16, u16, u16)>(), text()).prop_map(|((attempt, of, http_status), kind)| Progress::Retry {
            attempt,
            of,
            http_status,
            kind
        }),
        any::<u32>().prop_map(|seconds| Progress::Slept { seconds }),
    ]
}

fn outcome() -> impl Strategy<Value = Outcome> {
    let end = prop_oneof![
        Just(End::Completed),
        (select(FAILURE_KINDS), text()).prop_map(|(kind, sentence)| End::Failed { kind, sentence }),
        select(CANCEL_REASONS).prop_map(|reason| End::Cancelled { reason }),
    ];
    let usage = any::<(u32, [u64; 4])>().prop_map(|(calls, [a, b, c, d])| Usage {
        calls,
        input_tokens: a,
        cached_tokens: b,
        output_tokens: c,
        reasoning_tokens: d,
    });
    let redactions = list((label(), any::<u32>()).prop_map(|(kind, count)| Redaction { kind, count }));
    (end, option::of(usage), redactions, any::<[u64; 4]>(), select(ENDED_BY)).prop_map(
        |(end, usage, redactions, [output_bytes, first_line_ms, wall_ms, awake_ms], ended_by)| Outcome {
            end,
            usage,
            redactions,
            output_bytes,
            timing: Timing { first_line_ms, wall_ms, awake_ms },
            ended_by,
        },
    )
}

pub(crate) fn from_worker() -> impl Strategy<Value = FromWorker> {
    prop_oneof![
        hello_ack().prop_map(|ack| FromWorker::HelloAck(Box::new(ack))),
        job().prop_map(|job| FromWorker::Accepted { job }),
        (job(), select(REFUSE_REASONS), text()).prop_map(|(job, reason, detail)| FromWorker::Refused {
            job,
            reason,
            detail
        }),
        (job(), any::<u64>(), any::<bool>(), text()).prop_map(|(job, offset, fresh, text)| FromWorker::Output {
            job,
            offset,
            fresh,
            text
        }),
        (job(), progress()).prop_map(|(job, event)| FromWorker::Progress { job, event }),
        (job(), name(), blob(), any::<bool>()).prop_map(|(job, name, bytes, last)| FromWorker::File {
            job,
            name,
            bytes,
            last
        }),
        (job(), outcome()).prop_map(|(job, outcome)| FromWorker::Finished { job, outcome: Box::new(outcome) }),
        any::<(u64, u16, u32, u32)>().prop_map(|(nonce, jobs, resident_kib, descriptors)| FromWorker::Pong {
            nonce,
            jobs,
            resident_kib,
            descriptors,
        }),
        select(BYE_REASONS).prop_map(|reason| FromWorker::Bye { reason }),
    ]
}
