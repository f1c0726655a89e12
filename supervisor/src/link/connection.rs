//! One connection to the worker, from the preamble to its end.
//!
//! Promises: reading never waits for writing, nor writing for reading; all that waits is written at once; a frame is
//! judged by the order table before anybody hears of it. Whatever ends the connection, every job on it hears of it.

use super::outbox::{Outbox, Word};
use super::{Heard, Sink, Spec};
use bytes::BytesMut;
use musegate_protocol::codec::SupervisorCodec;
use musegate_protocol::message::{ByeReason, FromWorker, Hello, HelloAck, InstanceId, JobId, PROTOCOL, ToWorker};
use musegate_protocol::order::{Order, Violation};
use musegate_protocol::preamble::{self, Mismatch};
use std::collections::HashMap;
use std::io;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;
use tokio::sync::watch;
use tokio::time::{Instant, MissedTickBehavior, interval_at, timeout};
use tokio_util::codec::{Decoder, Encoder};

/// The worker must have said hello after this long.
const GREETING: Duration = Duration::from_secs(2);
/// Pings without an answer after which the worker is gone.
const MISSED: u32 = 3;
/// Bytes asked of the socket at once.
const READ: usize = 64 * 1024;
/// Bytes waiting to be written above which nothing is added: the worker does not read.
const HIGH: usize = 2 * 1024 * 1024;

/// Why a connection ended.
#[derive(Debug, thiserror::Error)]
pub(super) enum Ended {
    #[error(transparent)]
    Io(#[from] io::Error),
    #[error(transparent)]
    Mismatch(#[from] Mismatch),
    #[error("the worker broke the protocol: {0}")]
    Violation(#[from] Violation),
    #[error("the worker broke the protocol: its hello contradicts its preamble")]
    Hello,
    #[error("the worker did not say hello in time")]
    Silent,
    #[error("the worker does not answer pings")]
    Dead,
    #[error("the worker closed the connection")]
    Closed,
    #[error("the worker said bye: {0:?}")]
    Bye(ByeReason),
}

pub(super) struct Connection<'a> {
    stream: UnixStream,
    outbox: &'a Outbox,
    order: Order,
    codec: SupervisorCodec,
    input: BytesMut,
    output: BytesMut,
    jobs: HashMap<JobId, Sink>,
    unanswered: u32,
    nonce: u64,
}

impl<'a> Connection<'a> {
    pub(super) fn new(stream: UnixStream, outbox: &'a Outbox) -> Self {
        Self {
            stream,
            outbox,
            order: Order::new(),
            codec: SupervisorCodec::default(),
            input: BytesMut::new(),
            output: BytesMut::new(),
            jobs: HashMap::new(),
            unanswered: 0,
            nonce: 0,
        }
    }

    /// Runs until the connection ends. `connected` says who is there for as long as jobs can be handed over.
    pub(super) async fn run(
        mut self,
        spec: &Spec,
        us: InstanceId,
        connected: &watch::Sender<Option<Arc<HelloAck>>>,
    ) -> Ended {
        let ended = match timeout(GREETING, self.greet(spec, us)).await {
            Err(_) => Ended::Silent,
            Ok(Err(ended)) => ended,
            Ok(Ok(ack)) => {
                tracing::info!(build = %ack.build, slots = ack.slots, backend = %ack.backend, "worker connected");
                self.outbox.open();
                connected.send_replace(Some(Arc::new(ack)));
                let Err(ended) = self.talk(spec.heartbeat).await;
                connected.send_replace(None);
                ended
            }
        };
        let unsaid = self.outbox.close();
        self.jobs.into_values().chain(unsaid).for_each(|mut sink| sink(Heard::Lost));
        ended
    }

    async fn greet(&mut self, spec: &Spec, us: InstanceId) -> Result<HelloAck, Ended> {
        self.stream.write_all(&preamble::ask(us.0.first_chunk().copied().unwrap_or_default())).await?;
        let mut answer = [0; preamble::LEN];
        self.stream.read_exact(&mut answer).await?;
        let instance = preamble::read_answer(&answer)?;
        self.say(&ToWorker::Hello(Hello { version: PROTOCOL, build: spec.build.clone(), instance: us }))?;
        self.stream.write_all_buf(&mut self.output).await?;
        loop {
            match self.codec.decode(&mut self.input)? {
                Some(message) => {
                    self.order.from_worker(&message)?;
                    match message {
                        FromWorker::HelloAck(ack) if ack.instance == instance => return Ok(*ack),
                        FromWorker::Bye { reason } => return Err(Ended::Bye(reason)),
                        _ => return Err(Ended::Hello),
                    }
                }
                None => self.fill().await?,
            }
        }
    }

    async fn fill(&mut self) -> Result<(), Ended> {
        self.input.reserve(READ);
        if self.stream.read_buf(&mut self.input).await? == 0 {
            return Err(Ended::Closed);
        }
        Ok(())
    }

    async fn talk(&mut self, heartbeat: Duration) -> Result<std::convert::Infallible, Ended> {
        let mut beat = interval_at(Instant::now() + heartbeat, heartbeat);
        beat.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            self.hear()?;
            self.gather()?;
            self.input.reserve(READ);
            let (mut read, mut write) = self.stream.split();
            tokio::select! {
                read = read.read_buf(&mut self.input) => match read? {
                    0 => return Err(Ended::Closed),
                    // A worker that writes as fast as we read must not keep everybody else waiting.
                    n if n >= READ => tokio::task::yield_now().await,
                    _ => {}
                },
                written = write.write_buf(&mut self.output), if !self.output.is_empty() => {
                    written?;
                }
                () = self.outbox.filled(), if self.output.len() < HIGH => {}
                _ = beat.tick() => self.ping()?,
            }
        }
    }

    /// Tells the jobs what has arrived.
    fn hear(&mut self) -> Result<(), Ended> {
        while let Some(message) = self.codec.decode(&mut self.input)? {
            self.order.from_worker(&message)?;
            let cost = message.cost();
            match message {
                FromWorker::Accepted { job } => self.tell(job, Heard::Accepted),
                FromWorker::Output { job, fresh, text, .. } => self.tell(job, Heard::Output { fresh, text, cost }),
                FromWorker::Progress { job, event } => self.tell(job, Heard::Progress { event, cost }),
                FromWorker::File { job, name, bytes, last } => {
                    self.tell(job, Heard::File { name, bytes, last, cost });
                }
                FromWorker::Refused { job, reason, detail } => {
                    tracing::warn!(job = job.0, ?reason, detail = %*detail, "worker refused a job");
                    self.tell_last(job, Heard::Refused { reason });
                }
                FromWorker::Finished { job, outcome } => self.tell_last(job, Heard::Finished(outcome)),
                FromWorker::Pong { .. } => self.unanswered = 0,
                FromWorker::Bye { reason } => return Err(Ended::Bye(reason)),
                FromWorker::HelloAck(_) => {}
            }
        }
        Ok(())
    }

    fn tell(&mut self, job: JobId, heard: Heard) {
        if let Some(sink) = self.jobs.get_mut(&job) {
            sink(heard);
        }
    }

    fn tell_last(&mut self, job: JobId, heard: Heard) {
        if let Some(mut sink) = self.jobs.remove(&job) {
            sink(heard);
        }
    }

    /// Puts everything that waits into one buffer.
    fn gather(&mut self) -> Result<(), Ended> {
        while self.output.len() < HIGH {
            let Some(word) = self.outbox.take() else { break };
            match word {
                Word::Start(start, mut sink) => {
                    let job = start.job;
                    match self.say(&ToWorker::Start(start)) {
                        Ok(()) => drop(self.jobs.insert(job, sink)),
                        Err(error) => {
                            tracing::error!(job = job.0, %error, "a job cannot be handed over");
                            sink(Heard::Lost);
                        }
                    }
                }
                // Of a job that has ended here, or on an earlier connection, nothing is left to say.
                Word::Cancel(job, _) | Word::Credit(job, _) if !self.jobs.contains_key(&job) => {}
                Word::Cancel(job, reason) => self.say(&ToWorker::Cancel { job, reason })?,
                Word::Credit(job, bytes) => self.say(&ToWorker::Credit { job, bytes })?,
            }
        }
        Ok(())
    }

    fn ping(&mut self) -> Result<(), Ended> {
        if self.unanswered >= MISSED {
            return Err(Ended::Dead);
        }
        self.unanswered = self.unanswered.saturating_add(1);
        self.nonce = self.nonce.wrapping_add(1);
        self.say(&ToWorker::Ping { nonce: self.nonce })
    }

    fn say(&mut self, message: &ToWorker) -> Result<(), Ended> {
        let before = self.output.len();
        self.codec.encode(message, &mut self.output)?;
        if let Err(violation) = self.order.to_worker(message) {
            self.output.truncate(before);
            return Err(violation.into());
        }
        Ok(())
    }
}
