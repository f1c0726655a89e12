//! Requests of A2A 0.3 over HTTP+JSON: the JSON of its protocol buffers below `/v1`. Spec 0.3 §3.5.3, §11.

use super::super::body::{of_body, of_query};
use super::super::call::{Operation, PushConfig, SendMessage};
use super::super::digest::digest;
use super::super::fields::{Fields, MAX_ID, MAX_NAME, MAX_NAMES, task_id};
use super::super::v1::read::{list, parts, push_id};
use super::super::v1::rest::push_id as path_push_id;
use super::read::{data_part, file, push_config};
use crate::a2a::{Message, MessageId, Part, Role};
use crate::http::router::RestCall;
use crate::refusal::Refusal;

/// # Errors
/// As for a JSON-RPC request, and [`Refusal::BadRequest`] for a broken query.
pub(crate) fn operation(call: &RestCall, query: Option<&str>, body: &[u8]) -> Result<Operation, Refusal> {
    Ok(match call {
        RestCall::Send => Operation::SendMessage(Box::new(of_body(body, send)?)),
        RestCall::Stream => Operation::SendStreamingMessage(Box::new(of_body(body, send)?)),
        RestCall::Get(id) => Operation::GetTask {
            id: task_id(id)?,
            history_length: of_query(query, |query| query.count("historyLength"))?,
        },
        RestCall::List => Operation::ListTasks(of_query(query, list)?),
        RestCall::Cancel(id) => Operation::CancelTask { id: task_id(id)? },
        RestCall::Subscribe(id) => Operation::SubscribeToTask { id: task_id(id)? },
        RestCall::PushCreate(id) => {
            let named = of_query(query, |query| push_id(query, "configId"))?;
            let mut config = of_body(body, create)?;
            config.id = config.id.or(named);
            Operation::CreatePushConfig { task: task_id(id)?, config }
        }
        RestCall::PushGet(id, config) => {
            Operation::GetPushConfig { task: task_id(id)?, config: Some(path_push_id(config)?) }
        }
        RestCall::PushList(id) => Operation::ListPushConfigs { task: task_id(id)? },
        RestCall::PushDelete(id, config) => {
            Operation::DeletePushConfig { task: task_id(id)?, config: path_push_id(config)? }
        }
        RestCall::ExtendedCard => Operation::GetExtendedAgentCard,
    })
}

/// The field is called `request` and its JSON name is `message`; both are legal ProtoJSON.
fn send(body: &Fields<'_>) -> Result<SendMessage, Refusal> {
    let fields = match body.object("request")? {
        Some(fields) => fields,
        None => body.required_object("message")?,
    };
    let message = message(&fields)?;
    let mut send = SendMessage {
        digest: digest(&message),
        message,
        accepted_output_modes: Vec::new(),
        history_length: None,
        return_immediately: false,
        push: None,
    };
    body.metadata("metadata")?;
    if let Some(configuration) = body.object("configuration")? {
        send.accepted_output_modes = configuration.strings("acceptedOutputModes", MAX_NAMES)?;
        // Zero is what protocol buffers have where nothing was said.
        send.history_length = configuration.count("historyLength")?.filter(|length| *length > 0);
        // False is too, and the public clients leave it out when they mean it.
        send.return_immediately = configuration.boolean("blocking")? != Some(true);
        let push = configuration.object("pushNotification")?;
        send.push = push.map(|push| push_config(&push)).transpose()?;
    }
    Ok(send)
}

fn message(fields: &Fields<'_>) -> Result<Message, Refusal> {
    let role = fields.get("role")?.ok_or_else(|| fields.no("role", "is required"))?;
    if !matches!(role.text().as_deref().unwrap_or(role.raw()), "ROLE_USER" | "1") {
        return Err(fields.no("role", "must be ROLE_USER in a request"));
    }
    Ok(Message {
        message_id: MessageId(fields.required("messageId", MAX_ID)?.into()),
        context_id: fields.context_id("contextId")?,
        task_id: fields.task_id("taskId")?,
        role: Role::User,
        parts: parts(fields, if fields.get("content")?.is_some() { "content" } else { "parts" }, part)?,
        metadata: fields.metadata("metadata")?,
        extensions: fields.strings("extensions", MAX_NAMES)?,
        reference_task_ids: Vec::new(),
    })
}

/// Exactly one of `text`, `file` and `data`; the object inside `data` is again called `data`.
fn part(fields: &Fields<'_>) -> Result<Part, Refusal> {
    let text = fields.string("text")?;
    let holder = fields.object("file")?;
    let data = fields.object("data")?;
    let mut part = match (text, holder, data) {
        (Some(text), None, None) => Part::text(text),
        (None, Some(holder), None) => file(&holder, ["fileWithBytes", "fileWithUri"])?,
        (None, None, Some(data)) => return data_part(fields, data.get("data")?),
        (None, None, None) => return Err(fields.no("text", "or one of file and data is required")),
        _ => return Err(fields.bad("must have only one of text, file and data")),
    };
    part.metadata = fields.metadata("metadata")?;
    Ok(part)
}

/// `{configId, config: {name, pushNotificationConfig}}`, or what is inside, as far as the client wrapped it.
fn create(body: &Fields<'_>) -> Result<PushConfig, Refusal> {
    let outer = body.object("config")?;
    let outer = outer.as_ref().unwrap_or(body);
    let inner = outer.object("pushNotificationConfig")?;
    let mut config = push_config(inner.as_ref().unwrap_or(outer))?;
    let name = outer.short("name", 2 * MAX_NAME)?;
    let named = name.as_deref().and_then(|name| name.rsplit_once("/pushNotificationConfigs/")).map(|(_, id)| id);
    let named = named.filter(|id| !id.is_empty() && id.len() <= MAX_ID).map(str::to_owned);
    config.id = config.id.or(push_id(body, "configId")?).or(named);
    Ok(config)
}
