//! Test only: the whole supervisor on a real socket, with a worker's end that the test drives by hand.

use crate::admission::Admitted;
use crate::admission::token::{Digest, generate};
use crate::card::Abilities;
use crate::config::Config;
use crate::http::listen;
use crate::http::serve::Serve;
use crate::link::hand::{Hand, Place, soon, until};
use crate::rooms::Rooms;
use crate::tasks::Ticket;
use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::client::conn::http1::SendRequest;
use hyper::{HeaderMap, Request, Response};
use hyper_util::rt::TokioIo;
use musegate_protocol::message::{End, FromWorker, StartJob};
use serde_json::{Value, json};
use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;
use tokio::net::{TcpListener, TcpStream};

pub(crate) struct House {
    pub(crate) place: Place,
    pub(crate) serve: Arc<Serve>,
    pub(crate) address: SocketAddr,
    pub(crate) folder: tempfile::TempDir,
    tokens: Vec<(String, String)>,
}

/// One client's connection.
pub(crate) struct Client {
    sender: SendRequest<Full<Bytes>>,
    token: String,
    address: SocketAddr,
}

/// A stream of events as a client reads it.
pub(crate) struct Stream {
    body: Incoming,
    text: String,
}

/// One event: its id and its data.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Seen {
    pub(crate) id: String,
    pub(crate) data: Value,
}

impl House {
    /// `grant`: keys of every caller; `settings`: of the supervisor.
    pub(crate) async fn new(grant: &str, settings: &str) -> Self {
        let place = Place::new();
        let folder = tempfile::tempdir().unwrap();
        let mut callers = String::new();
        let mut tokens = Vec::new();
        for name in ["ann", "bob"] {
            let token = generate().unwrap();
            let digest = Digest::of(token.as_bytes());
            callers += &format!(
                "[callers.{name}]\nrate_per_minute = 0\n{grant}\n[tokens.t-{name}]\ncaller = \"{name}\"\ndigest = \"{digest}\"\n"
            );
            tokens.push((name.to_owned(), token.to_string()));
        }
        private(&folder.path().join("callers.toml"), &callers);
        let socket = place.spec().socket;
        let text = format!("{settings}\n[worker]\nsocket = \"{}\"\n", socket.display());
        let config = Config::parse(&folder.path().join("supervisor.toml"), &text).unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let limits = config.listen.clone();
        let abilities = Abilities { streaming: true, push: false, extensions: &[] };
        let (serve, background) = Serve::new(Rooms::open(config, &[address], abilities).unwrap());
        tokio::spawn(background.run());
        let handler = serve.clone();
        tokio::spawn(async move {
            let handler = move |request, peer| handler.clone().answer(request, peer);
            listen::run(vec![listener], &limits, std::future::pending(), handler).await;
        });
        Self { place, serve, address, folder, tokens }
    }

    /// With a worker that has said hello.
    pub(crate) async fn with_worker(grant: &str, settings: &str) -> (Self, Hand) {
        let house = Self::new(grant, settings).await;
        let hand = house.worker().await;
        (house, hand)
    }

    pub(crate) async fn worker(&self) -> Hand {
        let hand = self.place.accept().await;
        until(|| self.serve.link.worker().is_some()).await;
        hand
    }

    pub(crate) async fn client(&self, name: &str) -> Client {
        let token = self.tokens.iter().find(|(known, _)| known == name).map(|(_, token)| token.clone());
        let stream = TcpStream::connect(self.address).await.unwrap();
        let (sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await.unwrap();
        tokio::spawn(connection);
        Client { sender, token: token.unwrap_or_else(|| "wrong".into()), address: self.address }
    }

    /// An admitted request of this caller, without HTTP.
    pub(crate) fn admitted(&self, name: &str) -> Admitted {
        let token = self.tokens.iter().find(|(known, _)| known == name).map(|(_, token)| token).unwrap();
        let mut headers = HeaderMap::new();
        headers.insert("authorization", format!("Bearer {token}").parse().unwrap());
        self.serve.rooms.admission.authenticate(&headers, self.address.ip()).unwrap()
    }

    /// Starts a turn, in a slot that must be free.
    pub(crate) fn hand_over(&self, ticket: Ticket, admitted: &Admitted) {
        let slot = self.serve.rooms.admission.slot(admitted).unwrap();
        ticket.start(slot, self.serve.rooms.audit.begin(admitted).unwrap());
    }

    /// Asks on a connection of its own, in the background.
    pub(crate) async fn ask(&self, name: &str, body: Value) -> tokio::task::JoinHandle<(u16, Value)> {
        let mut client = self.client(name).await;
        tokio::spawn(async move { client.rpc(body).await })
    }

    /// The audit trail.
    pub(crate) fn audit(&self) -> Vec<Value> {
        let text = std::fs::read_to_string(self.folder.path().join("audit.jsonl")).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// The records of requests.
    pub(crate) fn records(&self) -> Vec<Value> {
        self.audit().into_iter().filter(|line| line["kind"] == "request").collect()
    }
}

fn private(path: &Path, text: &str) {
    std::fs::write(path, text).unwrap();
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600)).unwrap();
}

impl Client {
    pub(crate) async fn request(&mut self, request: Request<Full<Bytes>>) -> Response<Incoming> {
        soon(self.sender.send_request(request)).await.unwrap()
    }

    pub(crate) fn build(&self, body: &Value) -> hyper::http::request::Builder {
        let builder = Request::post("/a2a").header("host", self.address.to_string()).header("a2a-version", "1.0");
        let length = body.to_string().len();
        builder.header("authorization", format!("Bearer {}", self.token)).header("content-length", length)
    }

    pub(crate) async fn rpc(&mut self, body: Value) -> (u16, Value) {
        let request = self.build(&body).body(Full::from(body.to_string())).unwrap();
        let response = self.request(request).await;
        let status = response.status().as_u16();
        let bytes = soon(response.into_body().collect()).await.unwrap().to_bytes();
        (status, serde_json::from_slice(&bytes).unwrap())
    }

    /// A request of a client that names no version.
    pub(crate) async fn old(&mut self, body: &Value) -> Value {
        let mut request = self.build(body).body(Full::from(body.to_string())).unwrap();
        request.headers_mut().remove("a2a-version");
        let response = self.request(request).await;
        let bytes = soon(response.into_body().collect()).await.unwrap().to_bytes();
        serde_json::from_slice(&bytes).unwrap()
    }

    pub(crate) async fn call(&mut self, method: &str, params: Value) -> Value {
        self.rpc(rpc(method, params)).await.1
    }

    pub(crate) async fn stream(mut self, body: Value, headers: &[(&str, &str)]) -> Stream {
        let mut builder = self.build(&body);
        for (name, value) in headers {
            builder = builder.header(*name, *value);
        }
        let response = self.request(builder.body(Full::from(body.to_string())).unwrap()).await;
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        Stream { body: response.into_body(), text: String::new() }
    }
}

impl Stream {
    /// The next event; `None` when the stream has ended properly.
    pub(crate) async fn next(&mut self) -> Option<Seen> {
        loop {
            if let Some((event, rest)) = self.text.split_once("\n\n") {
                let mut lines = event.lines().filter(|line| !line.starts_with(':') && !line.starts_with("retry:"));
                let id = lines.clone().find_map(|line| line.strip_prefix("id: ")).unwrap_or_default().to_owned();
                let data = lines.find_map(|line| line.strip_prefix("data: ")).unwrap();
                let seen = Seen { id, data: serde_json::from_str(data).unwrap() };
                self.text = rest.to_owned();
                return Some(seen);
            }
            match soon(self.body.frame()).await {
                Some(frame) => self.text.push_str(std::str::from_utf8(frame.unwrap().data_ref().unwrap()).unwrap()),
                None => {
                    assert!(self.text.is_empty(), "cut in an event: {}", self.text);
                    return None;
                }
            }
        }
    }

    /// Everything until the end.
    pub(crate) async fn rest(&mut self) -> Vec<Seen> {
        let mut all = Vec::new();
        while let Some(seen) = self.next().await {
            all.push(seen);
        }
        all
    }

    /// Raw bytes as they come, until they hold this.
    pub(crate) async fn bytes_until(&mut self, what: &str) -> String {
        let mut all = std::mem::take(&mut self.text);
        while !all.contains(what) {
            let frame = soon(self.body.frame()).await.unwrap().unwrap();
            all.push_str(std::str::from_utf8(frame.data_ref().unwrap()).unwrap());
        }
        all
    }
}

impl Seen {
    /// What kind of event it is, in a word, with its state or text.
    pub(crate) fn word(&self) -> String {
        let result = &self.data["result"];
        let text = |value: &Value| value["parts"][0]["text"].as_str().unwrap_or_default().to_owned();
        let state = |value: &Value| value["status"]["state"].as_str().unwrap_or_default().replace("TASK_STATE_", "");
        if result["task"].is_object() {
            return format!("task {}", state(&result["task"]));
        }
        if result["statusUpdate"].is_object() {
            return format!("status {}", state(&result["statusUpdate"]));
        }
        let update = &result["artifactUpdate"];
        let chunk = if update["append"] == true { "append" } else { "artifact" };
        let last = if update["lastChunk"] == true { " last" } else { "" };
        format!("{chunk}{last} {}", text(&update["artifact"]))
    }
}

pub(crate) fn rpc(method: &str, params: Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": 7, "method": method, "params": params })
}

/// A message, with further members of `message` and of `params`.
pub(crate) fn message(id: &str, text: &str, inside: Value, beside: Value) -> Value {
    let mut message = json!({ "messageId": id, "role": "ROLE_USER", "parts": [{ "text": text }] });
    merge(&mut message, inside);
    let mut params = json!({ "message": message });
    merge(&mut params, beside);
    params
}

pub(crate) fn say(method: &str, id: &str, text: &str) -> Value {
    rpc(method, message(id, text, json!({}), json!({})))
}

fn merge(into: &mut Value, from: Value) {
    if let (Value::Object(into), Value::Object(from)) = (into, from) {
        into.extend(from);
    }
}

impl Hand {
    /// Takes the next job and says it runs.
    pub(crate) async fn accept(&mut self) -> StartJob {
        let start = self.start().await;
        self.say(&FromWorker::Accepted { job: start.job }).await;
        start
    }

    /// Takes the next job and answers it.
    pub(crate) async fn answer(&mut self, text: &str) -> StartJob {
        let start = self.accept().await;
        self.output(start.job, text).await;
        self.finish(start.job, End::Completed).await;
        start
    }
}

pub(crate) fn state(task: &Value) -> &str {
    task["status"]["state"].as_str().unwrap_or_default()
}

/// The text of the first artifact.
pub(crate) fn answer(task: &Value) -> &str {
    task["artifacts"][0]["parts"][0]["text"].as_str().unwrap_or_default()
}

/// The text of the status.
pub(crate) fn sentence(task: &Value) -> &str {
    task["status"]["message"]["parts"][0]["text"].as_str().unwrap_or_default()
}
