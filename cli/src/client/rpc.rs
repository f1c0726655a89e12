//! What is said to an agent, in the dialect that its card names, and what came back of it: an HTTP status, a JSON-RPC
//! error, or a [`View`].

use super::http::{Answer, NoAnswer, Peer};
use super::task::View;
use hyper::{StatusCode, Uri};
use serde_json::{Value, json};

/// Which edition of A2A the agent speaks; a2a-protocol 1.x, 0.2 and 0.3, or 0.1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// `SendMessage`
    V1,
    /// `message/send`
    V03,
    /// `tasks/send`
    Early,
}

/// Why a call has no result.
#[derive(Debug, thiserror::Error)]
pub enum CallError {
    /// There was no answer.
    #[error(transparent)]
    NoAnswer(#[from] NoAnswer),
    /// An HTTP status that is not a success, and what its body said.
    #[error("HTTP {status}{}", said.as_ref().map(|s| format!(": {s}")).unwrap_or_default())]
    Http {
        /// The status.
        status: StatusCode,
        /// The message of a JSON-RPC error, where the body was one.
        said: Option<String>,
        /// `Retry-After`, seconds.
        retry_after: Option<u64>,
    },
    /// A JSON-RPC error.
    #[error("JSON-RPC error {code}: {message}")]
    Rpc {
        /// Its code.
        code: i64,
        /// Its message.
        message: String,
    },
    /// Not A2A.
    #[error("the answer is not A2A: {0}")]
    NotA2a(String),
    /// The card sends us to another host.
    #[error("the card at {card} names an endpoint on another host ({endpoint}); call that URL itself if you trust it")]
    OtherHost {
        /// Where the card was.
        card: String,
        /// Where it points to.
        endpoint: String,
    },
}

/// An agent that has been found.
#[derive(Clone)]
pub struct Target {
    /// Where to post.
    pub endpoint: Uri,
    /// How to speak.
    pub dialect: Dialect,
    peer: Peer,
}

/// One message to send.
#[derive(Clone, Debug)]
pub struct Outgoing<'a> {
    /// What is said.
    pub text: &'a str,
    /// Conversation.
    pub context: Option<&'a str>,
    /// The Task it continues.
    pub task: Option<&'a str>,
    /// Our name for it.
    pub message_id: &'a str,
    /// Whether to wait for the end.
    pub wait: bool,
}

/// Finds out how to speak to the agent at `base`: its card, new or old place, else version 1 at the URL itself.
///
/// # Errors
/// [`CallError`] when the card cannot be had for another reason than its absence, or points to another host.
pub async fn discover(mut peer: Peer, base: &Uri) -> Result<Target, CallError> {
    let text = base.to_string();
    let root = text.trim_end_matches('/');
    peer.version = Some("1.0");
    for place in ["/.well-known/agent-card.json", "/.well-known/agent.json"] {
        let url: Uri =
            format!("{root}{place}").parse().map_err(|_| CallError::NotA2a(format!("{root} is no base URL")))?;
        let answer = peer.get(&url).await?;
        match answer.status {
            StatusCode::OK => {
                let card = parse(&answer)?;
                let (endpoint, dialect) = endpoint(&card, base);
                if endpoint.authority() != base.authority() {
                    return Err(CallError::OtherHost { card: url.to_string(), endpoint: endpoint.to_string() });
                }
                return Ok(Target::new(endpoint, dialect, peer));
            }
            StatusCode::NOT_FOUND | StatusCode::METHOD_NOT_ALLOWED => {}
            _ => return Err(refused(&answer)),
        }
    }
    Ok(Target::new(base.clone(), Dialect::V1, peer))
}

fn endpoint(card: &Value, base: &Uri) -> (Uri, Dialect) {
    let interfaces = card.get("supportedInterfaces").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let text = |value: &Value, key: &str| value.get(key).and_then(Value::as_str).map(str::to_owned);
    let at = |url: Option<String>| url.and_then(|url| url.parse().ok()).unwrap_or_else(|| base.clone());
    let rpc = interfaces.iter().filter(|i| text(i, "protocolBinding").as_deref() == Some("JSONRPC"));
    let mut rpc = rpc.map(|i| (text(i, "url"), text(i, "protocolVersion").unwrap_or_else(|| "1.0".into())));
    if let Some((url, _)) = rpc.clone().find(|(_, version)| version.starts_with("1.")) {
        return (at(url), Dialect::V1);
    }
    if let Some((url, _)) = rpc.next() {
        return (at(url), Dialect::V03);
    }
    let old = at(text(card, "url"));
    let v03 = card.get("protocolVersion").is_some() || card.get("preferredTransport").is_some();
    (old, if v03 { Dialect::V03 } else { Dialect::Early })
}

impl Target {
    fn new(endpoint: Uri, dialect: Dialect, mut peer: Peer) -> Self {
        peer.version = match dialect {
            Dialect::V1 => Some("1.0"),
            Dialect::V03 => Some("0.3"),
            Dialect::Early => None,
        };
        Self { endpoint, dialect, peer }
    }

    /// Sends a message.
    ///
    /// # Errors
    /// [`CallError`].
    pub async fn send(&self, out: &Outgoing<'_>) -> Result<View, CallError> {
        let (method, params) = match self.dialect {
            Dialect::V1 => {
                let mut message = json!({"messageId": out.message_id, "role": "ROLE_USER",
                    "parts": [{"text": out.text, "mediaType": "text/plain"}]});
                ids(&mut message, out);
                ("SendMessage", json!({"message": message, "configuration": {"returnImmediately": !out.wait}}))
            }
            Dialect::V03 => {
                let mut message = json!({"kind": "message", "messageId": out.message_id, "role": "user",
                    "parts": [{"kind": "text", "text": out.text}]});
                ids(&mut message, out);
                let configuration = json!({"blocking": out.wait, "acceptedOutputModes": ["text/plain"]});
                ("message/send", json!({"message": message, "configuration": configuration}))
            }
            Dialect::Early => {
                let id = out.task.unwrap_or(out.message_id);
                let mut params = json!({"id": id, "message": {"role": "user",
                    "parts": [{"type": "text", "text": out.text}]}});
                set(&mut params, "sessionId", out.context);
                ("tasks/send", params)
            }
        };
        self.call(method, params).await
    }

    /// Asks for a Task.
    ///
    /// # Errors
    /// [`CallError`].
    pub async fn get(&self, id: &str) -> Result<View, CallError> {
        let method = if self.dialect == Dialect::V1 { "GetTask" } else { "tasks/get" };
        self.call(method, json!({"id": id})).await
    }

    /// Cancels a Task.
    ///
    /// # Errors
    /// [`CallError`].
    pub async fn cancel(&self, id: &str) -> Result<View, CallError> {
        let method = if self.dialect == Dialect::V1 { "CancelTask" } else { "tasks/cancel" };
        self.call(method, json!({"id": id})).await
    }

    async fn call(&self, method: &str, params: Value) -> Result<View, CallError> {
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        let answer = self.peer.post(&self.endpoint, body.to_string().into()).await?;
        if !answer.status.is_success() {
            return Err(refused(&answer));
        }
        let mut value = parse(&answer)?;
        if let Some(error) = value.get("error") {
            let message = error.get("message").and_then(Value::as_str).unwrap_or("no message").to_owned();
            return Err(CallError::Rpc { code: error.get("code").and_then(Value::as_i64).unwrap_or(0), message });
        }
        let result = value.get_mut("result").map(Value::take);
        let view = result.and_then(View::of);
        view.ok_or_else(|| CallError::NotA2a("its result is neither a Task nor a Message".into()))
    }
}

fn ids(message: &mut Value, out: &Outgoing<'_>) {
    set(message, "contextId", out.context);
    set(message, "taskId", out.task);
}

fn set(object: &mut Value, key: &str, value: Option<&str>) {
    if let (Some(object), Some(value)) = (object.as_object_mut(), value) {
        object.insert(key.to_owned(), value.into());
    }
}

fn parse(answer: &Answer) -> Result<Value, CallError> {
    serde_json::from_slice(&answer.body).map_err(|error| CallError::NotA2a(error.to_string()))
}

fn refused(answer: &Answer) -> CallError {
    let body: Option<Value> = serde_json::from_slice(&answer.body).ok();
    let said =
        body.as_ref().and_then(|b| b.pointer("/error/message").or_else(|| b.get("error"))).and_then(Value::as_str);
    CallError::Http { status: answer.status, said: said.map(str::to_owned), retry_after: answer.retry_after }
}
