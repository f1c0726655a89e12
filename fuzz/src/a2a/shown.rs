//! What we answer, read by another JSON reader.

use musegate_supervisor::a2a::{Artifact, ContextId, Message, Metadata, Status, Task, TaskId, TaskState, Timestamp};
use musegate_supervisor::dialect::{Binding, Version};
use serde_json::{Value, json as value};
use std::sync::Arc;
use std::time::Duration;

/// A body of ours; an event where a stream was asked for.
pub(crate) fn json(body: &[u8]) -> Value {
    let body = body.strip_prefix(b"data: ").unwrap_or(body);
    serde_json::from_slice(body).unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(body)))
}

/// No member of ours is `null`. What callers gave us as opaque values stays as it was.
pub(crate) fn no_null(value: &Value) {
    match value {
        Value::Object(members) => {
            for (name, inside) in members {
                assert!(!inside.is_null() || name == "id" || name == "data", "{name} is null");
                if !matches!(name.as_str(), "data" | "metadata" | "id") {
                    no_null(inside);
                }
            }
        }
        Value::Array(items) => items.iter().for_each(no_null),
        _ => {}
    }
}

/// A Task that has this message as its history and its parts as answer.
pub(crate) fn task(message: &Message) -> Task {
    Task {
        id: TaskId("8c1f2f6e-9a63-4f9b-8a5e-0d6f6f0a2b11".into()),
        context_id: ContextId("c1".into()),
        status: Status {
            state: TaskState::InputRequired,
            message: Some(Arc::new(message.clone())),
            timestamp: Timestamp(Duration::from_millis(1_764_500_000_123)),
        },
        artifacts: vec![Arc::new(Artifact {
            artifact_id: "answer".into(),
            name: None,
            description: None,
            parts: message.parts.clone(),
        })],
        history: vec![Arc::new(message.clone())],
        metadata: Metadata::default(),
    }
}

/// A request that sends the message of a Task as we showed it.
pub(crate) fn asked_again(version: Version, binding: Binding, shown: &Value) -> Option<Value> {
    let task = if binding == Binding::JsonRpc { &shown["result"] } else { shown };
    let task = task.get("task").unwrap_or(task);
    let said = task.get("history")?.get(0)?.clone();
    let (method, params) = match version {
        Version::V1 => ("SendMessage", value!({ "message": said })),
        Version::V03 => ("message/send", value!({ "message": said })),
        Version::Early => ("tasks/send", value!({ "id": "t1", "message": said })),
    };
    Some(match binding {
        Binding::JsonRpc => value!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params }),
        Binding::Rest => params,
    })
}
