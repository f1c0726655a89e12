//! Test only: a worker's end that a test drives by hand, over a real socket.

use super::{Link, Spec};
use bytes::BytesMut;
use musegate_protocol::bounded::{Label, List, Text};
use musegate_protocol::codec::WorkerCodec;
use musegate_protocol::message::{
    End, EndedBy, FromWorker, HelloAck, INITIAL_CREDIT, InstanceId, JobId, JobLimits, MAX_CHUNK, Outcome, PROTOCOL,
    Report, StartJob, Timing, ToWorker,
};
use musegate_protocol::preamble;
use std::collections::HashMap;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{UnixListener, UnixStream};
use tokio_util::codec::{Decoder, Encoder};

/// Longest wait of a test for anything.
pub(crate) const SOON: Duration = Duration::from_secs(20);

/// Waits for something that must come.
pub(crate) async fn soon<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(SOON, future).await.expect("in time")
}

/// Waits until a condition holds.
pub(crate) async fn until(mut condition: impl FnMut() -> bool) {
    soon(async {
        while !condition() {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    })
    .await;
}

/// Where the worker's end listens.
pub(crate) struct Place {
    dir: tempfile::TempDir,
    listener: Option<UnixListener>,
}

impl Place {
    pub(crate) fn new() -> Self {
        let mut place = Self { dir: tempfile::tempdir().unwrap(), listener: None };
        place.listen();
        place
    }

    pub(crate) fn listen(&mut self) {
        let path = self.spec().socket;
        let _ = std::fs::remove_file(&path);
        self.listener = Some(UnixListener::bind(path).unwrap());
    }

    pub(crate) fn vanish(&mut self) {
        self.listener = None;
    }

    pub(crate) fn spec(&self) -> Spec {
        Spec {
            socket: self.dir.path().join("worker.sock"),
            uid: None,
            heartbeat: Duration::from_secs(5),
            build: Label::new("test").unwrap(),
        }
    }

    /// A link whose connector runs, and the worker's end of it after the hellos.
    pub(crate) async fn connected(&self) -> (Link, Hand) {
        let (link, connector) = Link::new(self.spec());
        tokio::spawn(connector.run());
        let hand = self.accept().await;
        until(|| link.worker().is_some()).await;
        (link, hand)
    }

    pub(crate) async fn stream(&self) -> UnixStream {
        soon(self.listener.as_ref().unwrap().accept()).await.unwrap().0
    }

    /// The next connection, after the hellos.
    pub(crate) async fn accept(&self) -> Hand {
        let mut hand = Hand::new(self.stream().await);
        hand.greet().await;
        hand
    }
}

/// The worker's end of one connection.
pub(crate) struct Hand {
    pub(crate) stream: UnixStream,
    codec: WorkerCodec,
    input: BytesMut,
    /// Bytes of answer said of each job.
    said: HashMap<JobId, u64>,
    /// Credit that came back, by job.
    credit: HashMap<JobId, u64>,
    /// Credit that was spent on output, by job.
    spent: HashMap<JobId, u64>,
}

impl Hand {
    pub(crate) fn new(stream: UnixStream) -> Self {
        let (codec, input) = (WorkerCodec::default(), BytesMut::new());
        Self { stream, codec, input, said: HashMap::new(), credit: HashMap::new(), spent: HashMap::new() }
    }

    pub(crate) async fn preamble(&mut self) {
        let mut ask = [0; preamble::LEN];
        soon(self.stream.read_exact(&mut ask)).await.unwrap();
        let answer = preamble::answer(preamble::read_ask(&ask), InstanceId([7; 16]));
        self.stream.write_all(&answer).await.unwrap();
    }

    pub(crate) async fn greet(&mut self) {
        self.preamble().await;
        assert!(matches!(self.hear().await, ToWorker::Hello(_)));
        self.say(&FromWorker::HelloAck(Box::new(ack()))).await;
    }

    pub(crate) async fn say(&mut self, message: &FromWorker) {
        let mut out = BytesMut::new();
        self.codec.encode(message, &mut out).unwrap();
        self.stream.write_all(&out).await.unwrap();
    }

    /// The next message; `None` when the supervisor has closed.
    pub(crate) async fn try_hear(&mut self) -> Option<ToWorker> {
        loop {
            if let Some(message) = self.codec.decode(&mut self.input).unwrap() {
                if let ToWorker::Credit { job, bytes } = &message {
                    *self.credit.entry(*job).or_default() += u64::from(*bytes);
                }
                return Some(message);
            }
            match soon(self.stream.read_buf(&mut self.input)).await {
                Ok(0) | Err(_) => return None,
                Ok(_) => {}
            }
        }
    }

    pub(crate) async fn hear(&mut self) -> ToWorker {
        self.try_hear().await.expect("a message")
    }

    /// What a job may still send.
    pub(crate) fn room(&self, job: JobId) -> u64 {
        let of = |sums: &HashMap<JobId, u64>| sums.get(&job).copied().unwrap_or_default();
        u64::from(INITIAL_CREDIT) + of(&self.credit) - of(&self.spent)
    }

    fn spend(&mut self, job: JobId, bytes: u64) {
        *self.spent.entry(job).or_default() += bytes + 64;
    }

    /// The next start; credit is counted, pings are answered, cancels passed over.
    pub(crate) async fn start(&mut self) -> StartJob {
        loop {
            match self.hear().await {
                ToWorker::Start(start) => return *start,
                ToWorker::Ping { nonce } => {
                    self.say(&FromWorker::Pong { nonce, jobs: 0, resident_kib: 2048, descriptors: 9 }).await
                }
                ToWorker::Credit { .. } | ToWorker::Cancel { .. } => {}
                other => panic!("{other:?}"),
            }
        }
    }

    pub(crate) async fn output(&mut self, job: JobId, text: &str) {
        self.output_as(job, false, text).await;
    }

    pub(crate) async fn output_as(&mut self, job: JobId, fresh: bool, text: &str) {
        self.spend(job, text.len() as u64);
        let said = self.said.entry(job).or_default();
        let offset = if fresh { 0 } else { *said };
        *said = offset + text.len() as u64;
        let text = Text::<MAX_CHUNK>::new(text).unwrap();
        self.say(&FromWorker::Output { job, offset, fresh, text }).await;
    }

    /// The same text many times, each in a frame of its own, written at once.
    pub(crate) async fn outputs(&mut self, job: JobId, text: &str, times: u64) {
        let mut out = BytesMut::new();
        let said = self.said.entry(job).or_default();
        for _ in 0..times {
            let text = Text::<MAX_CHUNK>::new(text).unwrap();
            let (offset, len) = (*said, text.len() as u64);
            self.codec.encode(&FromWorker::Output { job, offset, fresh: false, text }, &mut out).unwrap();
            *said = offset + len;
            *self.spent.entry(job).or_default() += len + 64;
        }
        self.stream.write_all(&out).await.unwrap();
    }

    pub(crate) async fn finish(&mut self, job: JobId, end: End) {
        let outcome = Box::new(self.outcome(job, end));
        self.say(&FromWorker::Finished { job, outcome }).await;
    }

    pub(crate) fn outcome(&self, job: JobId, end: End) -> Outcome {
        Outcome {
            end,
            usage: None,
            redactions: List::default(),
            output_bytes: self.said.get(&job).copied().unwrap_or_default(),
            timing: Timing::default(),
            ended_by: EndedBy::Itself,
        }
    }
}

pub(crate) fn ack() -> HelloAck {
    HelloAck {
        version: PROTOCOL,
        build: Label::new("hand").unwrap(),
        instance: InstanceId([7; 16]),
        slots: 4,
        backend: Label::new("stub").unwrap(),
        backend_version: Text::cut("0"),
        limits: JobLimits { wall_seconds: 60, output_bytes: 1 << 20, files: 4, file_bytes: 1 << 20 },
        report: Report::default(),
        own: Report::default(),
    }
}

/// A job without content.
pub(crate) fn job() -> Box<StartJob> {
    let label = |text: &str| Label::new(text).unwrap();
    Box::new(StartJob {
        job: JobId(0),
        caller: label("ann"),
        task: label("t"),
        context: label("c"),
        message: Text::cut("m"),
        trace: [0; 16],
        turns: List::default(),
        parts: List::new(vec![musegate_protocol::message::PromptPart::Text(Text::cut("hello"))]).unwrap(),
        output_schema: None,
        structured: false,
        limits: JobLimits { wall_seconds: 0, output_bytes: 0, files: 4, file_bytes: 1 << 20 },
    })
}
