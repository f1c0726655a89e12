//! Golden requests: what a client sends, and the call that it means or the answer that it gets instead.

use crate::{answers, golden};
use hyper::{HeaderMap, Method};
use musegate_supervisor::a2a::{Content, Json, Message};
use musegate_supervisor::dialect::{
    Binding, Call, ListTasks, Operation, PushConfig, Rejection, ReplyTo, SendMessage, decode,
};
use musegate_supervisor::http::router::route;
use serde_json::{Map, Value, json};

const FILES: [&str; 6] = ["1.0-jsonrpc", "1.0-rest", "0.3-jsonrpc", "0.3-rest", "0.1-jsonrpc", "0.1-rest"];

/// Reads a request as the server would: path, headers, query, body.
pub(crate) fn ask(request: &Value) -> Result<Call, Rejection> {
    let method: Method = request["method"].as_str().unwrap_or("POST").parse().unwrap();
    let target = request["path"].as_str().unwrap_or("/");
    let (path, query) = target.split_once('?').map_or((target, None), |(path, query)| (path, Some(query)));
    let mut headers = HeaderMap::new();
    for (name, value) in request["headers"].as_object().into_iter().flatten() {
        let name: hyper::header::HeaderName = name.parse().unwrap();
        headers.insert(name, value.as_str().unwrap().parse().unwrap());
    }
    let body = request.get("body").map(Value::to_string).unwrap_or_default();
    let route = route(&method, path).unwrap_or_else(|refusal| panic!("{method} {path}: {refusal}"));
    decode(&route, &headers, query, body.as_bytes())
}

/// An object of what is there.
fn members<const N: usize>(members: [(&str, Option<Value>); N]) -> Value {
    Value::Object(members.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect())
}

fn list(items: &[String]) -> Option<Value> {
    (!items.is_empty()).then(|| json!(items))
}

fn opaque(json: &Json) -> Value {
    serde_json::from_str(&json.0).unwrap()
}

fn message(message: &Message) -> Value {
    let parts = message.parts.iter().map(|part| {
        let (kind, value) = match &part.content {
            Content::Text(text) => ("text", json!(text)),
            Content::Raw(bytes) => ("raw", json!(bytes.iter().map(|b| format!("{b:02x}")).collect::<String>())),
            Content::Url(url) => ("url", json!(url)),
            Content::Data(data) => ("data", opaque(data)),
        };
        members([
            (kind, Some(value)),
            ("mediaType", part.media_type.as_ref().map(|it| json!(it))),
            ("filename", part.filename.as_ref().map(|it| json!(it))),
            ("metadata", part.metadata.as_ref().map(opaque)),
        ])
    });
    members([
        ("messageId", Some(json!(&*message.message_id.0))),
        ("contextId", message.context_id.as_ref().map(|id| json!(&*id.0))),
        ("taskId", message.task_id.as_ref().map(|id| json!(&*id.0))),
        ("role", Some(json!(format!("{:?}", message.role)))),
        ("parts", Some(parts.collect())),
        ("metadata", message.metadata.as_ref().map(opaque)),
        ("extensions", list(&message.extensions)),
        ("referenceTaskIds", list(&message.reference_task_ids)),
    ])
}

fn push(config: &PushConfig) -> Value {
    members([
        ("id", config.id.as_ref().map(|id| json!(id))),
        ("url", Some(json!(config.url))),
        ("token", config.token.as_ref().map(|token| json!(token))),
        ("authentication", config.authentication.as_ref().map(|said| json!([said.0, said.1]))),
    ])
}

fn send(send: &SendMessage) -> Value {
    members([
        ("message", Some(message(&send.message))),
        ("acceptedOutputModes", list(&send.accepted_output_modes)),
        ("historyLength", send.history_length.map(|n| json!(n))),
        ("returnImmediately", Some(json!(send.return_immediately))),
        ("push", send.push.as_ref().map(push)),
        ("digest", Some(json!(send.digest.iter().map(|b| format!("{b:02x}")).collect::<String>()))),
    ])
}

fn filters(list: &ListTasks) -> Value {
    members([
        ("contextId", list.context_id.as_ref().map(|id| json!(&*id.0))),
        ("state", list.state.map(|state| json!(format!("{state:?}")))),
        ("pageSize", list.page_size.map(|n| json!(n))),
        ("pageToken", list.page_token.as_ref().map(|token| json!(token))),
        ("historyLength", list.history_length.map(|n| json!(n))),
        ("statusAfterMs", list.status_after.map(|at| json!(at.0.as_millis() as u64))),
        ("includeArtifacts", Some(json!(list.include_artifacts))),
    ])
}

fn parameters(operation: &Operation) -> Value {
    match operation {
        Operation::SendMessage(it) | Operation::SendStreamingMessage(it) => send(it),
        Operation::GetTask { id, history_length } => {
            members([("id", Some(json!(&*id.0))), ("historyLength", history_length.map(|n| json!(n)))])
        }
        Operation::ListTasks(it) => filters(it),
        Operation::CancelTask { id } | Operation::SubscribeToTask { id } => json!({"id": &*id.0}),
        Operation::CreatePushConfig { task, config } => json!({"task": &*task.0, "config": push(config)}),
        Operation::GetPushConfig { task, config } => {
            members([("task", Some(json!(&*task.0))), ("config", config.as_ref().map(|id| json!(id)))])
        }
        Operation::ListPushConfigs { task } => json!({"task": &*task.0}),
        Operation::DeletePushConfig { task, config } => json!({"task": &*task.0, "config": config}),
        Operation::GetExtendedAgentCard => json!({}),
    }
}

fn reply(reply: &ReplyTo) -> Value {
    members([
        ("version", Some(json!(reply.version.word()))),
        ("binding", Some(json!(format!("{:?}", reply.binding)))),
        ("id", (reply.binding == Binding::JsonRpc).then(|| json!(reply.id.0))),
        ("earlyId", reply.early_id.as_ref().map(|id| json!(id))),
        ("extensions", (!reply.extensions.is_empty()).then(|| json!(reply.extensions))),
        ("a2aJson", reply.a2a_json.then_some(json!(true))),
        ("streams", reply.streams.then_some(json!(true))),
    ])
}

fn described(call: &Call) -> Value {
    json!({"operation": call.operation.name(), "parameters": parameters(&call.operation), "reply": reply(&call.reply)})
}

#[test]
fn every_request_means_what_its_edition_says() {
    for file in FILES {
        let name = format!("requests/{file}.json");
        let mut cases = golden::read(&name);
        for case in cases.as_array_mut().unwrap() {
            let case: &mut Map<String, Value> = case.as_object_mut().unwrap();
            case.retain(|name, _| matches!(name.as_str(), "about" | "request"));
            match ask(&case["request"]) {
                Ok(call) => case.insert("call".into(), described(&call)),
                Err(rejection) => {
                    let reply = rejection.reply.refusal(&rejection.refusal);
                    let refused = json!({"status": reply.status.as_u16(), "body": answers::body(&reply)});
                    case.insert("refused".into(), refused)
                }
            };
        }
        golden::same_json(&name, &cases);
    }
}
