//! One connection with the supervisor, after its hello.
//!
//! Promises: a frame is judged by the order table before anything is done about it, and what the table does not permit
//! ends the connection; a connection that ends takes its jobs with it; reading waits while the supervisor does not read,
//! so that what waits for it is bounded; a supervisor that falls silent is gone.

use crate::greet::Greeting;
use crate::job::prompt;
use crate::job::run::Run;
use crate::link::Link;
use crate::worker::Worker;
use bytes::BytesMut;
use musegate_protocol::bounded::Text;
use musegate_protocol::codec::WorkerCodec;
use musegate_protocol::message::{ByeReason, CancelReason, FromWorker, Hello, JobId, StartJob, ToWorker};
use musegate_protocol::order::{self, Violation};
use musegate_sandbox_profiles::{open_descriptors, resident_kib};
use std::collections::HashMap;
use std::io;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::Interest;
use tokio::net::UnixStream;
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until, timeout};
use tokio_util::codec::Decoder;
use tracing::Instrument;

/// Bytes read at once.
const READ: usize = 64 << 10;
/// How long a last word may take to be written.
const PARTING: Duration = Duration::from_secs(1);

/// What the rest of the worker wants of the session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wish {
    /// That it goes on.
    Serve,
    /// That it says bye when its jobs are over.
    Drain,
    /// That it ends its jobs, then says bye.
    Stop,
    /// That it makes way for a newer supervisor.
    Yield,
}

/// Why a connection is over.
#[derive(Debug, thiserror::Error)]
enum Over {
    #[error("{0}")]
    Io(#[from] io::Error),
    #[error("the supervisor closed it")]
    Closed,
    #[error("the supervisor is silent")]
    Silent,
    #[error("the supervisor broke the protocol: {0}")]
    Violation(#[from] Violation),
    #[error("the supervisor broke the protocol: {0}")]
    Malformed(io::Error),
    #[error("we were about to break the protocol: {0}")]
    Own(String),
    #[error("bye, {0:?}")]
    Bye(ByeReason),
}

/// One connection.
pub(crate) struct Session {
    worker: Arc<Worker>,
    stream: UnixStream,
    link: Arc<Link>,
    codec: WorkerCodec,
    input: BytesMut,
    supervisor: Hello,
    jobs: HashMap<JobId, watch::Sender<Option<CancelReason>>>,
    wish: watch::Receiver<Wish>,
    heard: Instant,
}

impl Session {
    pub(crate) fn new(worker: Arc<Worker>, greeting: Greeting, wish: watch::Receiver<Wish>) -> Self {
        Self {
            worker,
            stream: greeting.stream,
            link: greeting.link,
            codec: greeting.codec,
            input: greeting.input,
            supervisor: greeting.hello,
            jobs: HashMap::new(),
            wish,
            heard: Instant::now(),
        }
    }

    /// Runs until the connection is over, then ends its jobs.
    pub(crate) async fn run(mut self) {
        tracing::info!(build = %self.supervisor.build, "supervisor connected");
        let over = match self.talk().await {
            Ok(never) => match never {},
            Err(over) => over,
        };
        match &over {
            Over::Bye(_) | Over::Closed => tracing::info!(%over, "connection over"),
            _ => tracing::warn!(%over, "connection over"),
        }
        let last_word = match over {
            Over::Bye(reason) => Some(reason),
            Over::Violation(_) | Over::Malformed(_) => Some(ByeReason::Violation),
            _ => None,
        };
        if let Some(reason) = last_word {
            self.part(reason).await;
        }
        self.link.close();
        self.cancel_all(CancelReason::SupervisorLost);
    }

    async fn talk(&mut self) -> Result<std::convert::Infallible, Over> {
        let ack = self.worker.hello().await;
        let _ = self.link.send(&FromWorker::HelloAck(Box::new(ack)));
        loop {
            self.link.write(&self.stream)?;
            if let Some(error) = self.link.broken() {
                return Err(Over::Own(error));
            }
            self.fulfil()?;
            let dead = self.heard + self.worker.config.socket.silence;
            let (waits, full) = self.link.waits();
            let interest = match (waits, full) {
                (false, _) => Interest::READABLE,
                (true, false) => Interest::READABLE | Interest::WRITABLE,
                (true, true) => Interest::WRITABLE,
            };
            tokio::select! {
                ready = self.stream.ready(interest) => if ready?.is_readable() && !full {
                    self.read()?;
                },
                () = self.link.stirred() => {}
                _ = self.wish.changed() => {}
                () = sleep_until(dead) => return Err(Over::Silent),
            }
        }
    }

    /// Does what the worker or the supervisor has asked of the whole connection.
    fn fulfil(&mut self) -> Result<(), Over> {
        let wish = *self.wish.borrow();
        match wish {
            Wish::Yield => return Err(Over::Bye(ByeReason::Replaced)),
            Wish::Stop => self.cancel_all(CancelReason::WorkerStops),
            Wish::Serve | Wish::Drain => {}
        }
        let asked = wish != Wish::Serve || self.link.state_is(order::Link::Draining);
        if asked && self.link.live() == 0 { Err(Over::Bye(ByeReason::Stopping)) } else { Ok(()) }
    }

    /// One read, and whatever complete frames there are then.
    fn read(&mut self) -> Result<(), Over> {
        self.input.reserve(READ);
        match self.stream.try_read_buf(&mut self.input) {
            Ok(0) => return Err(Over::Closed),
            Ok(_) => self.heard = Instant::now(),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
            Err(error) => return Err(error.into()),
        }
        while let Some(message) = self.codec.decode(&mut self.input).map_err(Over::Malformed)? {
            self.link.received(&message)?;
            self.obey(message);
        }
        Ok(())
    }

    fn obey(&mut self, message: ToWorker) {
        match message {
            ToWorker::Start(start) => self.start(start),
            ToWorker::Cancel { job, reason } => {
                if let Some(cancel) = self.jobs.get(&job) {
                    cancel.send_if_modified(|known| known.is_none() && known.insert(reason) == &reason);
                }
            }
            ToWorker::Ping { nonce } => {
                let jobs = u16::try_from(self.worker.running()).unwrap_or(u16::MAX);
                let small = |number: Option<u64>| number.map_or(0, |n| u32::try_from(n).unwrap_or(u32::MAX));
                let (resident_kib, descriptors) = (small(resident_kib()), small(open_descriptors()));
                let _ = self.link.send(&FromWorker::Pong { nonce, jobs, resident_kib, descriptors });
            }
            // The link has noted them.
            ToWorker::Hello(_) | ToWorker::Credit { .. } | ToWorker::Drain => {}
        }
    }

    fn start(&mut self, start: Box<StartJob>) {
        let job = start.job;
        self.jobs.retain(|_, cancel| !cancel.is_closed());
        match self.worker.admit(self.supervisor.instance, job, prompt::check(&start)) {
            Err((reason, detail)) => {
                tracing::info!(job = job.0, ?reason, "job refused");
                let _ = self.link.send(&FromWorker::Refused { job, reason, detail: Text::cut(&detail) });
            }
            Ok(slot) => {
                let (cancel, hears) = watch::channel(None);
                self.jobs.insert(job, cancel);
                let line = self.link.job(job);
                let _ = line.send(&FromWorker::Accepted { job });
                let run = Run { worker: Arc::clone(&self.worker), line, start, cancel: hears, slot };
                let span = run.span();
                tokio::spawn(run.run().instrument(span));
            }
        }
    }

    fn cancel_all(&self, reason: CancelReason) {
        for cancel in self.jobs.values() {
            cancel.send_if_modified(|known| known.is_none() && known.insert(reason) == &reason);
        }
    }

    /// Says bye, and writes it and all that waits before it as far as that can be done in a moment.
    async fn part(&mut self, reason: ByeReason) {
        let _ = self.link.send(&FromWorker::Bye { reason });
        let all = async {
            while self.link.write(&self.stream).is_ok() && self.link.waits().0 && self.stream.writable().await.is_ok() {
            }
        };
        if timeout(PARTING, all).await.is_err() {
            tracing::debug!("the supervisor did not read the last word");
        }
    }
}
