//! The connection to the pusher: POSTs go out over it, and what became of each comes back.
//!
//! Promises: at most as many POSTs are on their way as were let in; whatever ends the connection, everybody who waits on
//! it hears that the pusher is away; it is looked for again, at most once a second. Refuses to know Tasks.

use crate::link::{connect_trusted, jitter};
use bytes::BytesMut;
use musegate_protocol::codec::PusherEnd;
use musegate_protocol::push::{FromPusher, Outcome, Post, ToPusher, VERSION};
use std::collections::HashMap;
use std::io;
use std::path::PathBuf;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::{Instant, timeout};
use tokio_util::codec::{Decoder, Encoder};

/// The pusher must have said hello, or taken what is written, after this long.
const PATIENCE: Duration = Duration::from_secs(5);
/// Pauses between attempts to find it: this one first, each further one twice as long.
const FIRST: Duration = Duration::from_millis(20);
const LONGEST: Duration = Duration::from_secs(1);

/// The pusher is not there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Away;

type Job = (Post, oneshot::Sender<Outcome>);

/// Where POSTs are handed in.
#[derive(Debug)]
pub(super) struct Desk {
    jobs: mpsc::Sender<Job>,
    there: watch::Receiver<bool>,
}

/// What has to run for a [`Desk`] to work.
#[derive(Debug)]
pub(super) struct Clerk {
    socket: PathBuf,
    uid: Option<u32>,
    jobs: mpsc::Receiver<Job>,
    there: watch::Sender<bool>,
    last: u64,
}

impl Desk {
    /// `room`: POSTs that may wait to be written.
    pub(super) fn new(socket: PathBuf, uid: Option<u32>, room: usize) -> (Self, Clerk) {
        let (sender, jobs) = mpsc::channel(room.max(1));
        let (there, seen) = watch::channel(false);
        (Self { jobs: sender, there: seen }, Clerk { socket, uid, jobs, there, last: 0 })
    }

    /// Waits until the pusher is there.
    pub(super) async fn open(&self) {
        let mut there = self.there.clone();
        if there.wait_for(|there| *there).await.is_err() {
            std::future::pending::<()>().await; // the process ends
        }
    }

    /// Makes one attempt.
    ///
    /// # Errors
    /// [`Away`]: the connection ended, before or after the POST was made.
    pub(super) async fn post(&self, post: Post) -> Result<Outcome, Away> {
        if !*self.there.borrow() {
            return Err(Away);
        }
        let (answer, heard) = oneshot::channel();
        self.jobs.send((post, answer)).await.map_err(|_| Away)?;
        heard.await.map_err(|_| Away)
    }
}

impl Clerk {
    /// Keeps the connection, for as long as it is polled.
    pub(super) async fn run(mut self) {
        let (mut wait, mut said) = (FIRST, String::new());
        loop {
            let since = Instant::now();
            let trouble = match self.once().await {
                Err(error) => error.to_string(),
                Ok(()) => return, // nobody is left to hand in anything
            };
            self.there.send_replace(false);
            // What was handed in meanwhile was handed to nobody.
            while self.jobs.try_recv().is_ok() {}
            if since.elapsed() > LONGEST {
                (wait, said) = (FIRST, String::new());
            }
            if trouble != said {
                tracing::warn!(socket = %self.socket.display(), trouble, "no pusher");
                said = trouble;
            }
            tokio::time::sleep(jitter(wait)).await;
            wait = wait.saturating_mul(2).min(LONGEST);
        }
    }

    async fn once(&mut self) -> io::Result<()> {
        let mut stream = connect_trusted(&self.socket, self.uid).await?;
        let (mut codec, mut input) = (PusherEnd::default(), BytesMut::new());
        let hello = timeout(PATIENCE, read(&mut stream, &mut codec, &mut input)).await;
        let at_once = match hello.map_err(|_| broken("it did not say hello in time"))?? {
            FromPusher::Hello { version: VERSION, at_once } => at_once,
            _ => return Err(broken("it is of another version")),
        };
        tracing::info!(at_once, "pusher connected");
        self.there.send_replace(true);
        self.talk(stream, codec, input).await
    }

    async fn talk(&mut self, mut stream: UnixStream, mut codec: PusherEnd, mut input: BytesMut) -> io::Result<()> {
        let mut waiting: HashMap<u64, oneshot::Sender<Outcome>> = HashMap::new();
        let mut output = BytesMut::new();
        loop {
            tokio::select! {
                said = read(&mut stream, &mut codec, &mut input) => match said? {
                    FromPusher::Done { id, outcome } => match waiting.remove(&id) {
                        Some(answer) => drop(answer.send(outcome)),
                        None => return Err(broken("it answers what was not asked")),
                    },
                    FromPusher::Hello { .. } => return Err(broken("it says hello twice")),
                },
                job = self.jobs.recv() => {
                    let Some((mut post, answer)) = job else { return Ok(()) };
                    self.last = self.last.wrapping_add(1);
                    post.id = self.last;
                    waiting.insert(post.id, answer);
                    codec.encode(&ToPusher::Post(post), &mut output)?;
                    let written = timeout(PATIENCE, stream.write_all_buf(&mut output)).await;
                    written.map_err(|_| broken("it does not read"))??;
                }
            }
        }
    }
}

/// The next message. Nothing is lost when it is dropped half way.
async fn read(stream: &mut UnixStream, codec: &mut PusherEnd, input: &mut BytesMut) -> io::Result<FromPusher> {
    loop {
        if let Some(message) = codec.decode(input)? {
            return Ok(message);
        }
        if stream.read_buf(input).await? == 0 {
            return Err(broken("it closed the connection"));
        }
    }
}

fn broken(what: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}
