//! The first moments of a connection: who is it, and does it speak our language?
//!
//! Promises: only the one configured uid is talked to, root is not let in for it; whoever connects and says no complete
//! hello in two seconds is dropped, and only a few such are waited for at a time, so that nobody can hold the door.

use crate::link::Link;
use bytes::BytesMut;
use musegate_protocol::codec::WorkerCodec;
use musegate_protocol::message::{Hello, InstanceId, ToWorker};
use musegate_protocol::order::Violation;
use musegate_protocol::preamble::{self, Mismatch};
use std::io;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;
use tokio::time::timeout;
use tokio_util::codec::Decoder;

/// A complete hello must have come after this long.
const PATIENCE: Duration = Duration::from_secs(2);
/// Longest hello with its length, bytes; far more than one needs.
const MAX_HELLO: usize = 4096;

/// Why somebody is turned away.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Stranger {
    #[error("{0}")]
    Io(#[from] io::Error),
    #[error("uid {0} is not the supervisor's")]
    Uid(u32),
    #[error(transparent)]
    Mismatch(#[from] Mismatch),
    #[error("no hello in time")]
    Slow,
    #[error("its first message is no hello")]
    NoHello,
    #[error(transparent)]
    Violation(#[from] Violation),
}

/// A supervisor that has said hello.
pub(crate) struct Greeting {
    pub(crate) stream: UnixStream,
    pub(crate) link: Arc<Link>,
    pub(crate) codec: WorkerCodec,
    /// What came after the hello.
    pub(crate) input: BytesMut,
    pub(crate) hello: Hello,
}

/// Hears a hello on a fresh connection.
///
/// # Errors
/// [`Stranger`]: the connection is to be dropped.
pub(crate) async fn greet(stream: UnixStream, supervisor: u32, us: InstanceId) -> Result<Greeting, Stranger> {
    let uid = stream.peer_cred()?.uid();
    if uid != supervisor {
        return Err(Stranger::Uid(uid));
    }
    timeout(PATIENCE, hear(stream, us)).await.unwrap_or(Err(Stranger::Slow))
}

async fn hear(mut stream: UnixStream, us: InstanceId) -> Result<Greeting, Stranger> {
    let mut asked = [0; preamble::LEN];
    stream.read_exact(&mut asked).await?;
    let agreed = preamble::read_ask(&asked);
    stream.write_all(&preamble::answer(agreed, us)).await?;
    agreed?;
    let (link, mut codec, mut input) = (Arc::<Link>::default(), WorkerCodec::default(), BytesMut::new());
    loop {
        if let Some(message) = codec.decode(&mut input)? {
            link.received(&message)?;
            let ToWorker::Hello(hello) = message else { return Err(Stranger::NoHello) };
            return Ok(Greeting { stream, link, codec, input, hello });
        }
        if input.len() > MAX_HELLO {
            return Err(Stranger::NoHello);
        }
        if stream.read_buf(&mut input).await? == 0 {
            return Err(Stranger::Io(io::ErrorKind::UnexpectedEof.into()));
        }
    }
}
