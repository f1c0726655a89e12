//! Requests of every edition over both bindings: no panic; a call or a complete refusal in the asked-for shape; and what a
//! call brought to the core goes back out, and in again, as the same.

use super::shown;
use bytes::Bytes;
use hyper::{HeaderMap, Method};
use musegate_supervisor::dialect::{Binding, Call, Operation, Rejection, Version, decode};
use musegate_supervisor::http::router::{Route, route};
use serde_json::Value;

const METHODS: [Method; 6] = [Method::GET, Method::POST, Method::DELETE, Method::PUT, Method::HEAD, Method::OPTIONS];

/// Headers that decide about the edition; the value of the last kind comes from the input.
fn headers(choice: u8, own: &str) -> HeaderMap {
    let mut headers = HeaderMap::new();
    let version = match choice % 6 {
        0 => None,
        1 | 2 => Some("1.0"),
        3 => Some("0.3"),
        4 => Some("0.1"),
        _ => Some(own),
    };
    if let Some(value) = version.and_then(|version| version.parse().ok()) {
        headers.insert("a2a-version", value);
    }
    headers
}

/// JSON-RPC: a byte for the headers, then the body.
pub(crate) fn rpc(input: &[u8]) {
    let Some((choice, body)) = input.split_first() else { return };
    let headers = headers(*choice, "1.0.1, 0.3");
    judge(&Route::Rpc, &headers, None, body);
}

/// HTTP+JSON: a byte for the method, one for the headers, a line for the target, then the body.
pub(crate) fn rest(input: &[u8]) {
    let Some(([method, choice], rest)) = input.split_first_chunk::<2>() else { return };
    let line = rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len());
    let (line, body) = rest.split_at(line);
    let Ok(target) = std::str::from_utf8(line) else { return };
    let (path, query) = target.split_once('?').map_or((target, None), |(path, query)| (path, Some(query)));
    let method = &METHODS[usize::from(*method) % METHODS.len()];
    let Ok(route) = route(method, path) else { return };
    judge(&route, &headers(*choice, query.unwrap_or_default()), query, body.get(1..).unwrap_or_default());
}

fn judge(route: &Route, headers: &HeaderMap, query: Option<&str>, body: &[u8]) {
    match decode(route, headers, query, body) {
        Ok(call) => accepted(route, headers, body, &call),
        Err(rejection) => refused(body, &rejection),
    }
}

/// A refusal is complete, and has the id that was asked with, or none.
fn refused(body: &[u8], rejection: &Rejection) {
    let reply = rejection.reply.refusal(&rejection.refusal);
    let shown = shown::json(&reply.body);
    assert!(!reply.status.is_success() || rejection.reply.binding == Binding::JsonRpc);
    if rejection.reply.binding == Binding::JsonRpc {
        assert_eq!(shown["jsonrpc"], "2.0");
        assert!(shown["error"]["code"].is_i64() && shown["error"]["message"].is_string());
        let asked: Option<Value> = serde_json::from_slice(body).ok();
        let id = asked.and_then(|asked| asked.get("id").cloned());
        assert!(shown["id"].is_null() || id.is_none_or(|id| id == shown["id"]), "{shown}");
    } else {
        assert!(shown.get("error").is_some() || shown.get("code").is_some() || shown.get("type").is_some(), "{shown}");
    }
}

fn accepted(route: &Route, headers: &HeaderMap, body: &[u8], call: &Call) {
    if call.reply.binding == Binding::JsonRpc {
        let asked: Value = serde_json::from_slice(body).expect("what we took is JSON");
        let shown = shown::json(&call.reply.empty().body);
        assert_eq!(shown.get("id"), asked.get("id"), "the id as it was");
    }
    assert!(!call.operation.name().is_empty());
    if let Operation::SendMessage(send) | Operation::SendStreamingMessage(send) = &call.operation {
        assert!((1..=64).contains(&send.message.parts.len()));
        let task = shown::task(&send.message);
        let reply = call.reply.task(&task);
        let out = shown::json(&reply.body);
        shown::no_null(&out);
        if let Some(back) = shown::asked_again(call.reply.version, call.reply.binding, &out) {
            again(route, headers, call, &back);
        }
    }
}

/// The message as we showed it, sent to us once more: the core hears the same.
fn again(route: &Route, headers: &HeaderMap, call: &Call, back: &Value) {
    let body = Bytes::from(serde_json::to_vec(back).expect("JSON"));
    let heard = match decode(route, headers, None, &body) {
        Ok(heard) => heard,
        Err(rejection) => panic!("{:?} at {back}", rejection.refusal),
    };
    let message = |call: &Call| match &call.operation {
        Operation::SendMessage(send) | Operation::SendStreamingMessage(send) => send.message.clone(),
        other => panic!("{other:?}"),
    };
    let (first, second) = (message(call), message(&heard));
    assert_eq!(first.parts, second.parts, "{back}");
    assert_eq!((&first.role, first.parts.len()), (&second.role, second.parts.len()));
    if call.reply.version != Version::Early {
        assert_eq!(first.message_id, second.message_id);
        assert_eq!(first.metadata, second.metadata);
    }
}
