//! Requests of A2A 0.1, from the `params` of JSON-RPC or the body of HTTP+JSON, which are the same.

use super::super::body::{of_body, of_query};
use super::super::call::{Operation, SendMessage};
use super::super::digest::digest;
use super::super::fields::{Fields, MAX_ID, MAX_NAMES, is_label, task_id};
use super::super::method::Method;
use super::super::v1::read::parts;
use super::super::v03::read::{part, push_config, user};
use crate::a2a::{Message, MessageId, Role, TaskId};
use crate::http::router::RestCall;
use crate::refusal::Refusal;
use sha2::{Digest, Sha256};

/// The operation, and the name that the client has for its Task. `rpc_id`: the id of the JSON-RPC request, if it is one.
///
/// # Errors
/// [`Refusal::InvalidParams`] naming the member, or [`Refusal::TaskNotFound`].
pub(crate) fn operation(method: Method, rpc_id: &str, params: &Fields<'_>) -> Result<(Operation, String), Refusal> {
    let id = if matches!(method, Method::Send | Method::Stream) {
        new_id(params)?
    } else {
        params.required_task_id("id")?
    };
    let name = id.to_string();
    let operation = match method {
        Method::Send => Operation::SendMessage(Box::new(send(&id, rpc_id, params)?)),
        Method::Stream => Operation::SendStreamingMessage(Box::new(send(&id, rpc_id, params)?)),
        Method::Get => Operation::GetTask { id, history_length: params.count("historyLength")? },
        Method::Cancel => Operation::CancelTask { id },
        Method::Subscribe => Operation::SubscribeToTask { id },
        Method::PushCreate => Operation::CreatePushConfig {
            task: id,
            config: push_config(&params.required_object("pushNotificationConfig")?)?,
        },
        Method::PushGet => Operation::GetPushConfig { task: id, config: None },
        Method::List | Method::PushList | Method::PushDelete | Method::ExtendedCard => {
            return Err(Refusal::MethodNotFound);
        }
    };
    Ok((operation, name))
}

/// `POST /tasks/send`, `POST /tasks/sendSubscribe` and `GET /tasks/{id}`.
///
/// # Errors
/// As [`operation`], and [`Refusal::NoRoute`] for what this edition has no path for.
pub(crate) fn rest(call: &RestCall, query: Option<&str>, body: &[u8]) -> Result<(Operation, String), Refusal> {
    match call {
        RestCall::Send => of_body(body, |body| operation(Method::Send, "", body)),
        RestCall::Stream => of_body(body, |body| operation(Method::Stream, "", body)),
        RestCall::Get(id) => {
            let history_length = of_query(query, |query| query.count("historyLength"))?;
            let id = task_id(id)?;
            let name = id.to_string();
            Ok((Operation::GetTask { id, history_length }, name))
        }
        _ => Err(Refusal::NoRoute),
    }
}

/// A Task's name, from a client that is about to use it for the first time.
fn new_id(params: &Fields<'_>) -> Result<TaskId, Refusal> {
    let id = params.required("id", MAX_ID)?;
    if is_label(&id) {
        Ok(TaskId(id.into()))
    } else {
        Err(params.no("id", "may hold letters, digits and . _ : - only"))
    }
}

/// TaskSendParams. Nothing here says whether to wait, so the answer is waited for.
fn send(id: &TaskId, rpc_id: &str, params: &Fields<'_>) -> Result<SendMessage, Refusal> {
    let fields = params.required_object("message")?;
    user(&fields)?;
    let message_id = match fields.short("messageId", MAX_ID)? {
        Some(id) => id,
        None => message_id(id, rpc_id, &fields),
    };
    params.metadata("metadata")?;
    let push = params.object("pushNotification")?;
    let message = Message {
        message_id: MessageId(message_id.into()),
        context_id: params.context_id("sessionId")?,
        task_id: None,
        role: Role::User,
        parts: parts(&fields, "parts", part)?,
        metadata: fields.metadata("metadata")?,
        extensions: Vec::new(),
        reference_task_ids: Vec::new(),
    };
    Ok(SendMessage {
        digest: digest(&message),
        message,
        accepted_output_modes: params.strings("acceptedOutputModes", MAX_NAMES)?,
        history_length: params.count("historyLength")?,
        return_immediately: false,
        push: push.map(|push| push_config(&push)).transpose()?,
    })
}

/// Messages of this edition have no id. The same request of the same Task has the same one, so that a client that sends
/// again after a broken connection does not start a second job; another request id makes it another message.
fn message_id(id: &TaskId, rpc_id: &str, message: &Fields<'_>) -> String {
    let mut digest = Sha256::new();
    for field in [&id.0, rpc_id, message.raw()] {
        digest.update((field.len() as u64).to_le_bytes());
        digest.update(field);
    }
    let digest: [u8; 32] = digest.finalize().into();
    let hex: String = digest.iter().take(16).map(|byte| format!("{byte:02x}")).collect();
    format!("early-{hex}")
}
