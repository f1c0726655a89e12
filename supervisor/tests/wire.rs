//! The listener, spoken to in bytes: what a client sees whatever stands behind it.
#![expect(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, reason = "a test may fail")]
#![expect(clippy::disallowed_methods, reason = "a client connects")]

use bytes::Bytes;
use hyper::body::Incoming;
use hyper::{Request, Response, StatusCode};
use musegate_supervisor::config::{Config, Listen};
use musegate_supervisor::http::body::{self, Body};
use musegate_supervisor::http::listen;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Notify, oneshot};
use tokio::task::JoinHandle;

/// Longer than anything here takes on a loaded machine.
const LONG: Duration = Duration::from_secs(20);
const GET: &str = "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n";

/// A listener with a small world behind it.
struct World {
    address: SocketAddr,
    stop: Option<oneshot::Sender<()>>,
    served: Arc<AtomicUsize>,
    release: Arc<Notify>,
    dropped: Arc<AtomicBool>,
    task: JoinHandle<()>,
}

impl World {
    async fn new(change: impl FnOnce(&mut Listen)) -> Self {
        let mut limits = Config::defaults(Path::new("")).listen;
        limits.drain_timeout = Duration::from_millis(300);
        change(&mut limits);
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (stop, stopped) = oneshot::channel();
        let (served, release, dropped) = (Arc::default(), Arc::default(), Arc::default());
        let behind =
            Behind { served: Arc::clone(&served), release: Arc::clone(&release), dropped: Arc::clone(&dropped) };
        let (max, deadline) = (limits.max_body_bytes, limits.body_timeout);
        let handler = move |request, _| behind.clone().answer(request, max, deadline);
        let task = tokio::spawn(async move {
            let shutdown = async { drop(stopped.await) };
            listen::run(vec![listener], &limits, shutdown, handler).await;
        });
        Self { address, stop: Some(stop), served, release, dropped, task }
    }

    async fn connect(&self) -> TcpStream {
        TcpStream::connect(self.address).await.unwrap()
    }

    async fn say(&self, bytes: &str) -> TcpStream {
        let mut stream = self.connect().await;
        stream.write_all(bytes.as_bytes()).await.unwrap();
        stream
    }

    fn stop(&mut self) {
        self.stop.take().unwrap().send(()).unwrap();
    }
}

#[derive(Clone)]
struct Behind {
    served: Arc<AtomicUsize>,
    release: Arc<Notify>,
    dropped: Arc<AtomicBool>,
}

struct Dropped(Arc<AtomicBool>);

impl Drop for Dropped {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

impl Behind {
    async fn answer(self, request: Request<Incoming>, max: usize, deadline: Duration) -> Response<Body> {
        self.served.fetch_add(1, Ordering::SeqCst);
        match request.uri().path() {
            "/wait" => {
                self.release.notified().await;
                Response::new(Body::from(Bytes::from_static(b"waited")))
            }
            "/endless" => {
                let dropped = Dropped(self.dropped);
                let piece = Bytes::from(vec![b'x'; 64 * 1024]);
                let next = move |()| {
                    let _alive = &dropped;
                    let piece = piece.clone();
                    async move { Some((piece, ())) }
                };
                Response::new(Body::stream(futures_util::stream::unfold((), next)))
            }
            "/body" => match body::collect(request.into_body(), max, deadline).await {
                Ok(bytes) => Response::new(Body::from(Bytes::from(bytes.len().to_string()))),
                Err(refusal) => {
                    let mut response = Response::new(Body::from(Bytes::from(refusal.to_string())));
                    *response.status_mut() = StatusCode::from_u16(refusal.row().http).unwrap();
                    response
                }
            },
            _ => Response::new(Body::from(Bytes::from_static(b"hello"))),
        }
    }
}

/// Reads until the peer closes, or fails after [`LONG`].
async fn rest(stream: &mut TcpStream) -> String {
    let mut bytes = Vec::new();
    match tokio::time::timeout(LONG, stream.read_to_end(&mut bytes)).await.expect("not closed") {
        Ok(_) | Err(_) => String::from_utf8_lossy(&bytes).into_owned(),
    }
}

/// Reads until `end` has come.
async fn until(stream: &mut TcpStream, end: &str) -> String {
    let mut text = String::new();
    let mut bytes = [0; 4096];
    while !text.contains(end) {
        let read = tokio::time::timeout(LONG, stream.read(&mut bytes)).await.expect("nothing came").unwrap();
        assert!(read > 0, "closed after {text:?}");
        text.push_str(&String::from_utf8_lossy(&bytes[..read]));
    }
    text
}

async fn eventually(what: &str, condition: impl Fn() -> bool) {
    let begun = Instant::now();
    while !condition() {
        assert!(begun.elapsed() < LONG, "{what}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test]
async fn two_requests_share_a_connection_and_no_answer_names_the_software() {
    let world = World::new(|_| {}).await;
    let mut stream = world.connect().await;
    for _ in 0..2 {
        stream.write_all(GET.as_bytes()).await.unwrap();
        let answer = until(&mut stream, "hello").await;
        assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
        assert!(!answer.to_ascii_lowercase().contains("\r\nserver:"), "{answer}");
    }
}

#[tokio::test]
async fn http_2_is_spoken_to_whoever_begins_with_it() {
    let world = World::new(|_| {}).await;
    let mut stream = world.connect().await;
    let mut bytes = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec();
    bytes.extend_from_slice(&[0, 0, 0, 4, 0, 0, 0, 0, 0]); // SETTINGS
    let block = b"\x82\x86\x84\x41\x09localhost"; // GET, http, /, authority
    bytes.extend_from_slice(&[0, 0, u8::try_from(block.len()).unwrap(), 1, 5, 0, 0, 0, 1]); // HEADERS, ends all, stream 1
    bytes.extend_from_slice(block);
    stream.write_all(&bytes).await.unwrap();
    loop {
        let mut head = [0; 9];
        tokio::time::timeout(LONG, stream.read_exact(&mut head)).await.unwrap().unwrap();
        let mut frame = vec![0; usize::from(head[0]) << 16 | usize::from(head[1]) << 8 | usize::from(head[2])];
        stream.read_exact(&mut frame).await.unwrap();
        match head[3] {
            1 => assert_eq!(frame[0], 0x88, "status 200"),
            0 if !frame.is_empty() => {
                assert_eq!(frame, b"hello");
                return;
            }
            _ => {}
        }
    }
}

#[tokio::test]
async fn a_head_that_does_not_arrive_in_time_ends_the_connection_however_slowly_it_drips() {
    let world = World::new(|limits| limits.header_timeout = Duration::from_millis(400)).await;
    let mut silent = world.connect().await;
    let begun = Instant::now();
    assert_eq!(rest(&mut silent).await, "");
    assert!(begun.elapsed() >= Duration::from_millis(390), "{:?}", begun.elapsed());

    let mut dripping = world.connect().await;
    let begun = Instant::now();
    let drops = GET.as_bytes().iter().chain(std::iter::repeat(&b'x'));
    for byte in drops {
        tokio::time::sleep(Duration::from_millis(50)).await; // the whole head would take 1.9 s
        if dripping.write_all(&[*byte]).await.is_err() {
            break;
        }
        assert!(begun.elapsed() < LONG, "still open");
    }
    assert_eq!(world.served.load(Ordering::SeqCst), 0);

    // Also on a connection that has served before, and long before it would be idle.
    let mut stream = world.say(GET).await;
    until(&mut stream, "hello").await;
    stream.write_all(b"GET / HT").await.unwrap();
    let begun = Instant::now();
    assert_eq!(rest(&mut stream).await, "");
    assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
}

#[tokio::test]
async fn an_idle_connection_ends_and_one_that_waits_for_its_answer_does_not() {
    let world = World::new(|limits| limits.idle_timeout = Duration::from_millis(300)).await;
    let mut waiting = world.say("GET /wait HTTP/1.1\r\nHost: localhost\r\n\r\n").await;
    let mut idle = world.say(GET).await;
    until(&mut idle, "hello").await;
    let begun = Instant::now();
    assert_eq!(rest(&mut idle).await, "");
    assert!(begun.elapsed() >= Duration::from_millis(290), "{:?}", begun.elapsed());
    tokio::time::sleep(Duration::from_millis(400)).await;
    world.release.notify_one();
    until(&mut waiting, "waited").await;
}

#[tokio::test]
async fn the_deadline_of_a_head_does_not_end_a_connection_that_rests() {
    let world = World::new(|limits| limits.header_timeout = Duration::from_millis(200)).await;
    let post = "POST /body HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n\r\n";
    let mut stream = world.say(post).await;
    eventually("not served", || world.served.load(Ordering::SeqCst) == 1).await;
    stream.write_all(b"12345").await.unwrap();
    until(&mut stream, "\r\n\r\n5").await;
    assert!(tokio::time::timeout(Duration::from_millis(700), stream.read_u8()).await.is_err(), "ended");
    stream.write_all(GET.as_bytes()).await.unwrap();
    until(&mut stream, "hello").await;
}

#[tokio::test]
async fn a_client_that_reads_nothing_of_an_endless_answer_is_cut_off() {
    let world = World::new(|limits| limits.stall_timeout = Duration::from_millis(400)).await;
    let _stalled = world.say("GET /endless HTTP/1.1\r\nHost: localhost\r\n\r\n").await;
    let dropped = Arc::clone(&world.dropped);
    eventually("the answer was not dropped", || dropped.load(Ordering::SeqCst)).await;
}

#[tokio::test]
async fn a_connection_is_accepted_only_when_there_is_a_permit_for_it() {
    let world = World::new(|limits| limits.max_connections = 2).await;
    let mut one = world.say("GET /wait HTTP/1.1\r\nHost: localhost\r\n\r\n").await;
    let _two = world.say("GET /wait HTTP/1.1\r\nHost: localhost\r\n\r\n").await;
    eventually("two were not served", || world.served.load(Ordering::SeqCst) == 2).await;
    let mut third = world.say(GET).await;
    assert!(tokio::time::timeout(Duration::from_millis(200), third.read_u8()).await.is_err(), "served beyond the cap");
    world.release.notify_one();
    until(&mut one, "waited").await;
    drop(one);
    until(&mut third, "hello").await;
}

#[tokio::test]
async fn a_body_over_its_bound_is_refused_as_soon_as_it_is_announced_or_comes() {
    let world = World::new(|limits| limits.max_body_bytes = 1000).await;
    let head = "POST /body HTTP/1.1\r\nHost: localhost\r\n";
    let mut announced = world.say(&format!("{head}Content-Length: 1001\r\n\r\n")).await;
    until(&mut announced, "413 Payload Too Large").await;
    let mut chunked =
        world.say(&format!("{head}Transfer-Encoding: chunked\r\n\r\n1f4\r\n{}\r\n", "x".repeat(500))).await;
    chunked.write_all(format!("1f5\r\n{}\r\n", "x".repeat(501)).as_bytes()).await.unwrap();
    until(&mut chunked, "413 Payload Too Large").await;
    let mut whole = world.say(&format!("{head}Content-Length: 1000\r\n\r\n{}", "x".repeat(1000))).await;
    assert!(until(&mut whole, "1000").await.starts_with("HTTP/1.1 200"));
}

#[tokio::test]
async fn a_body_that_does_not_arrive_in_time_is_refused() {
    let world = World::new(|limits| limits.body_timeout = Duration::from_millis(200)).await;
    let mut slow = world.say("POST /body HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\nabc").await;
    until(&mut slow, "408 Request Timeout").await;
}

#[tokio::test]
async fn a_body_is_asked_for_only_by_whoever_wants_it() {
    let world = World::new(|_| {}).await;
    let head = "HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n";
    let mut unwanted = world.say(&format!("POST / {head}")).await;
    assert!(until(&mut unwanted, "hello").await.starts_with("HTTP/1.1 200 OK"));
    let mut wanted = world.say(&format!("POST /body {head}")).await;
    assert!(until(&mut wanted, "100 Continue").await.starts_with("HTTP/1.1 100"));
    wanted.write_all(b"12345").await.unwrap();
    until(&mut wanted, "HTTP/1.1 200 OK").await;
}

#[tokio::test]
async fn what_is_no_http_or_too_much_of_it_gets_a_status_and_an_end() {
    let world = World::new(|limits| limits.max_header_bytes = 8192).await;
    for (bytes, status) in [
        ("nonsense\r\n\r\n".to_owned(), "400"),
        ("GET / HTTP/1.1\r\nHost: localhost\r\nBad Header: x\r\n\r\n".to_owned(), "400"),
        ("GET / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n".to_owned(), "400"),
        (format!("GET / HTTP/1.1\r\nHost: localhost\r\nX: {}\r\n\r\n", "x".repeat(20_000)), "431"),
        (format!("GET / HTTP/1.1\r\n{}\r\n", "X: y\r\n".repeat(200)), "431"),
    ] {
        let mut stream = world.connect().await;
        let _ = stream.write_all(bytes.as_bytes()).await;
        let answer = rest(&mut stream).await;
        assert!(answer.starts_with(&format!("HTTP/1.1 {status}")), "{status}: {answer:?}");
        assert!(!answer.to_ascii_lowercase().contains("server:"));
    }
    assert_eq!(world.served.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn a_stop_lets_a_running_request_finish_and_ends_idle_connections_at_once() {
    let mut world = World::new(|limits| limits.drain_timeout = LONG).await;
    let mut idle = world.say(GET).await;
    until(&mut idle, "hello").await;
    let mut running = world.say("GET /wait HTTP/1.1\r\nHost: localhost\r\n\r\n").await;
    eventually("not served", || world.served.load(Ordering::SeqCst) == 2).await;
    world.stop();
    assert_eq!(rest(&mut idle).await, "");
    assert!(TcpStream::connect(world.address).await.is_err(), "still listening");
    world.release.notify_one();
    assert!(until(&mut running, "waited").await.contains("200 OK"));
    tokio::time::timeout(LONG, world.task).await.expect("did not end").unwrap();
}

#[tokio::test]
async fn a_stop_does_not_wait_for_ever() {
    let mut world = World::new(|limits| limits.drain_timeout = Duration::from_millis(300)).await;
    let mut stuck = world.say("GET /wait HTTP/1.1\r\nHost: localhost\r\n\r\n").await;
    eventually("not served", || world.served.load(Ordering::SeqCst) == 1).await;
    let begun = Instant::now();
    world.stop();
    assert_eq!(rest(&mut stuck).await, "");
    tokio::time::timeout(LONG, world.task).await.expect("did not end").unwrap();
    assert!(begun.elapsed() >= Duration::from_millis(290));
}
