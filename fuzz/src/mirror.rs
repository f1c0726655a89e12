//! The messages once more, declared for wincode, whose default form is bincode's legacy one. Whatever our decoder accepts,
//! wincode must read as well, and write as the same bytes. (It knows no bounds, so the reverse does not hold.)

use musegate_protocol::message::{FromWorker, ToWorker};
use wincode::{SchemaRead, SchemaWrite};

macro_rules! mirror {
    ($($item:item)+) => { $(#[derive(SchemaWrite, SchemaRead)] $item)+ };
}

mirror! {
    enum To {
        Hello { version: u16, build: String, instance: [u8; 16] },
        Start(Box<Start>),
        Cancel { job: u64, reason: Reason },
        Credit { job: u64, bytes: u32 },
        Ping { nonce: u64 },
        Drain,
    }

    struct Start {
        job: u64,
        caller: String,
        task: String,
        context: String,
        message: String,
        trace: [u8; 16],
        turns: Vec<Turn>,
        parts: Vec<Part>,
        output_schema: Option<String>,
        structured: bool,
        limits: Limits,
    }

    struct Turn {
        role: Role,
        text: String,
    }

    enum Role {
        Caller,
        Agent,
    }

    enum Part {
        Text(String),
        Data(String),
        File { name: String, media_type: String, bytes: Vec<u8> },
        Link { url: String, media_type: String },
    }

    struct Limits {
        wall_seconds: u32,
        output_bytes: u64,
        files: u8,
        file_bytes: u32,
    }

    enum Reason {
        Caller,
        CallerLeft,
        Operator,
        WorkerStops,
        SupervisorLost,
    }

    enum From {
        HelloAck(Box<Ack>),
        Accepted { job: u64 },
        Refused { job: u64, reason: Refused, detail: String },
        Output { job: u64, offset: u64, fresh: bool, text: String },
        Progress { job: u64, event: Progress },
        File { job: u64, name: String, bytes: Vec<u8>, last: bool },
        Finished { job: u64, outcome: Box<Outcome> },
        Pong { nonce: u64, jobs: u16, resident_kib: u32, descriptors: u32 },
        Bye { reason: Bye },
    }

    struct Ack {
        version: u16,
        build: String,
        instance: [u8; 16],
        slots: u16,
        backend: String,
        backend_version: String,
        limits: Limits,
        holds: u64,
        lacks: u64,
        landlock_abi: u8,
        own_holds: u64,
        own_lacks: u64,
        own_landlock_abi: u8,
    }

    enum Refused {
        Busy,
        Draining,
        Invalid,
        Weak,
        ContainmentDoubt,
    }

    enum Progress {
        Started,
        Model { id: String },
        ToolStarted { name: String },
        ToolEnded { name: String, ok: bool },
        Retry { attempt: u16, of: u16, http_status: u16, kind: String },
        Slept { seconds: u32 },
    }

    struct Outcome {
        end: End,
        usage: Option<Usage>,
        redactions: Vec<Redaction>,
        output_bytes: u64,
        timing: [u64; 3],
        ended_by: EndedBy,
    }

    enum End {
        Completed,
        Failed { kind: Failure, sentence: String },
        Cancelled { reason: Reason },
    }

    enum Failure {
        CredentialMissing,
        CredentialRejected,
        Quota,
        ProviderRateLimit,
        ModelUnknown,
        StepLimit,
        TimedOutFirstLine,
        TimedOutIdle,
        TimedOutWall,
        TimedOutRetries,
        OutputTooLarge,
        CouldNotStart,
        Environment,
        Killed,
        Crashed,
        SchemaViolation,
        Other,
    }

    struct Usage {
        calls: u32,
        tokens: [u64; 4],
    }

    struct Redaction {
        kind: String,
        count: u32,
    }

    enum EndedBy {
        Itself,
        Leftovers,
        Term,
        Kill,
        NotStarted,
        Doubt,
    }

    enum Bye {
        Stopping,
        Replaced,
        Violation,
    }
}

pub(crate) fn agrees_to(message: &ToWorker, bytes: &[u8]) {
    let theirs: To = wincode::deserialize_exact(bytes).unwrap_or_else(|error| panic!("{error} at {message:?}"));
    assert_eq!(wincode::serialize(&theirs).expect("what was read can be written"), bytes);
}

pub(crate) fn agrees_from(message: &FromWorker, bytes: &[u8]) {
    let theirs: From = wincode::deserialize_exact(bytes).unwrap_or_else(|error| panic!("{error} at {message:?}"));
    assert_eq!(wincode::serialize(&theirs).expect("what was read can be written"), bytes);
}
