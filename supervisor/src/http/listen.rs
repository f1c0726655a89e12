//! Accepting connections, and ending them: room 1.
//!
//! Promises: a connection is accepted only when there is a permit for it, so that descriptors and memory are bounded;
//! one that does nothing is ended; a stop lets running requests finish within a bounded time. Speaks HTTP/1.1, and
//! HTTP/2 to clients that begin with it. Never says what software it is. Refuses to know paths, callers and A2A.

use super::bell::{Bell, Ear, Phase};
use super::body::Body;
use super::deadline::{Activity, Deadlines, Running, Watched};
use super::life::{Life, Next};
use crate::config::Listen;
use bytes::Bytes;
use hyper::body::{Body as HttpBody, Frame, Incoming, SizeHint};
use hyper::service::service_fn;
use hyper::{Request, Response, Version};
use hyper_util::rt::{TokioExecutor, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use std::convert::Infallible;
use std::future::poll_fn;
use std::io;
use std::net::SocketAddr;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// How long accepting rests when the system has no descriptor or memory for a connection.
const EXHAUSTED: Duration = Duration::from_millis(100);
/// Bytes that one stream of HTTP/2 may have on the way to us.
const STREAM_WINDOW: u32 = 64 * 1024;
/// The same for a whole connection.
const CONNECTION_WINDOW: u32 = 256 * 1024;

/// Serves until `shutdown` is ready, then lets running requests finish within the drain timeout.
pub async fn run<H, F>(listeners: Vec<TcpListener>, listen: &Listen, shutdown: impl Future<Output = ()>, handler: H)
where
    H: Fn(Request<Incoming>, SocketAddr) -> F + Clone + Send + Sync + 'static,
    F: Future<Output = Response<Body>> + Send + 'static,
{
    let permits = Arc::new(Semaphore::new(listen.max_connections));
    let bell = Arc::new(Bell::default());
    let server = server(listen);
    let deadlines = Deadlines::from(listen);
    let mut shutdown = pin!(shutdown);
    let mut turn = 0;
    loop {
        let next = async {
            let permit = Arc::clone(&permits).acquire_owned().await;
            (accept(&listeners, &mut turn).await, permit)
        };
        let (accepted, permit) = tokio::select! {
            biased;
            () = &mut shutdown => break,
            accepted = next => accepted,
        };
        match (accepted, permit) {
            (Ok((socket, peer)), Ok(permit)) => {
                let connection = serve(socket, peer, server.clone(), deadlines, bell.ear(), handler.clone());
                tokio::spawn(holding(permit, connection));
            }
            (Err(error), _) if exhausted(&error) => {
                tracing::warn!(%error, "cannot accept connections for the moment");
                tokio::time::sleep(EXHAUSTED).await;
            }
            _ => {} // the client gave up before it was accepted
        }
    }
    drop(listeners);
    bell.ring(Phase::Draining);
    let all = u32::try_from(listen.max_connections).unwrap_or(u32::MAX);
    if tokio::time::timeout(listen.drain_timeout, permits.acquire_many(all)).await.is_err() {
        bell.ring(Phase::Over);
        let _ = permits.acquire_many(all).await;
    }
}

async fn holding(permit: OwnedSemaphorePermit, connection: impl Future<Output = ()>) {
    connection.await;
    drop(permit);
}

/// From whichever listener has one; they are asked in turn.
async fn accept(listeners: &[TcpListener], turn: &mut usize) -> io::Result<(TcpStream, SocketAddr)> {
    *turn = turn.wrapping_add(1);
    let first = *turn % listeners.len().max(1);
    poll_fn(|cx| {
        let (before, after) = listeners.split_at_checked(first).unwrap_or((listeners, &[]));
        for listener in after.iter().chain(before) {
            if let Poll::Ready(accepted) = listener.poll_accept(cx) {
                return Poll::Ready(accepted);
            }
        }
        Poll::Pending
    })
    .await
}

fn exhausted(error: &io::Error) -> bool {
    use nix::errno::Errno;
    let known = [Errno::EMFILE, Errno::ENFILE, Errno::ENOBUFS, Errno::ENOMEM];
    error.raw_os_error().is_some_and(|code| known.contains(&Errno::from_raw(code)))
}

fn server(listen: &Listen) -> Builder<TokioExecutor> {
    let mut server = Builder::new(TokioExecutor::new());
    // Deadlines are ours (`deadline.rs`): hyper's would cost a timer per request.
    server.http1().header_read_timeout(None).max_buf_size(listen.max_header_bytes).half_close(false);
    server
        .http2()
        .timer(TokioTimer::new())
        .max_concurrent_streams(listen.max_streams)
        .max_header_list_size(u32::try_from(listen.max_header_bytes).unwrap_or(u32::MAX))
        .initial_stream_window_size(STREAM_WINDOW)
        .initial_connection_window_size(CONNECTION_WINDOW);
    server
}

async fn serve<H, F>(
    socket: TcpStream,
    peer: SocketAddr,
    server: Builder<TokioExecutor>,
    deadlines: Deadlines,
    ear: Ear,
    handler: H,
) where
    H: Fn(Request<Incoming>, SocketAddr) -> F + Send + Sync + 'static,
    F: Future<Output = Response<Body>> + Send + 'static,
{
    let _ = socket.set_nodelay(true); // a small event must not wait for an acknowledgement
    let activity = Activity::new();
    let watched = Watched::new(socket, Arc::clone(&activity));
    let counted = Arc::clone(&activity);
    let service = service_fn(|request: Request<Incoming>| {
        let running = counted.request(request.version() == Version::HTTP_2);
        let answer = handler(request, peer);
        async move { Ok::<_, Infallible>(answer.await.map(|body| Counted { body, _running: running })) }
    });
    let mut connection = pin!(server.serve_connection(watched, service));
    let mut life = Life::new(activity, deadlines, ear);
    poll_fn(|cx| {
        loop {
            if connection.as_mut().poll(cx).is_ready() {
                return Poll::Ready(());
            }
            match life.next(cx) {
                Next::Wait => return Poll::Pending,
                Next::Leave => connection.as_mut().graceful_shutdown(),
                Next::End => return Poll::Ready(()),
            }
        }
    })
    .await;
}

/// A body that keeps its request counted as running until it is sent or dropped.
struct Counted {
    body: Body,
    _running: Running,
}

impl HttpBody for Counted {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Pin::new(&mut self.body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
