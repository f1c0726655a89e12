//! Requests of A2A 1.0, from the members of `params` or of a REST body to an [`Operation`]. Spec §3.1, §4.

use super::super::digest::digest;
use super::super::fields::{Fields, MAX_ID, MAX_NAME, MAX_NAMES, MAX_URL};
use super::super::json::{Kind, Value};
use super::super::{ListTasks, Method, Operation, PushConfig, SendMessage, time};
use crate::a2a::{Content, Json, Message, MessageId, Part, Role, TaskState};
use crate::refusal::Refusal;
use musegate_protocol::message::MAX_PARTS;

/// # Errors
/// [`Refusal::InvalidParams`] naming the member, or [`Refusal::TaskNotFound`].
pub(crate) fn operation(method: Method, params: &Fields<'_>) -> Result<Operation, Refusal> {
    params.short("tenant", MAX_NAME)?;
    Ok(match method {
        Method::Send => Operation::SendMessage(Box::new(send(params)?)),
        Method::Stream => Operation::SendStreamingMessage(Box::new(send(params)?)),
        Method::Get => {
            Operation::GetTask { id: params.required_task_id("id")?, history_length: params.count("historyLength")? }
        }
        Method::List => Operation::ListTasks(list(params)?),
        Method::Cancel => Operation::CancelTask { id: params.required_task_id("id")? },
        Method::Subscribe => Operation::SubscribeToTask { id: params.required_task_id("id")? },
        Method::PushCreate => {
            Operation::CreatePushConfig { task: params.required_task_id("taskId")?, config: push_config(params)? }
        }
        Method::PushGet => Operation::GetPushConfig {
            task: params.required_task_id("taskId")?,
            config: Some(params.required("id", MAX_ID)?),
        },
        Method::PushList => Operation::ListPushConfigs { task: params.required_task_id("taskId")? },
        Method::PushDelete => Operation::DeletePushConfig {
            task: params.required_task_id("taskId")?,
            config: params.required("id", MAX_ID)?,
        },
        Method::ExtendedCard => Operation::GetExtendedAgentCard,
    })
}

/// §3.2.1, §3.2.2
pub(crate) fn send(params: &Fields<'_>) -> Result<SendMessage, Refusal> {
    let fields = params.required_object("message")?;
    let message = message(&fields)?;
    let mut send = SendMessage {
        digest: digest(&message),
        message,
        accepted_output_modes: Vec::new(),
        history_length: None,
        return_immediately: false,
        push: None,
    };
    params.metadata("metadata")?;
    if let Some(configuration) = params.object("configuration")? {
        send.accepted_output_modes = configuration.strings("acceptedOutputModes", MAX_NAMES)?;
        send.history_length = configuration.count("historyLength")?;
        send.return_immediately = configuration.boolean("returnImmediately")?.unwrap_or(false);
        let push = configuration.object("taskPushNotificationConfig")?;
        send.push = push.map(|push| push_config(&push)).transpose()?;
    }
    Ok(send)
}

/// §4.1.4. A client speaks as the user; in the agent's name only the agent speaks.
fn message(fields: &Fields<'_>) -> Result<Message, Refusal> {
    let role = fields.get("role")?.ok_or_else(|| fields.no("role", "is required"))?;
    match role.text().as_deref().unwrap_or(role.raw()) {
        "ROLE_USER" | "1" => {}
        "ROLE_AGENT" | "2" => return Err(fields.no("role", "must be ROLE_USER in a request")),
        _ => return Err(fields.no("role", "must be ROLE_USER")),
    }
    Ok(Message {
        message_id: MessageId(fields.required("messageId", MAX_ID)?.into()),
        context_id: fields.context_id("contextId")?,
        task_id: fields.task_id("taskId")?,
        role: Role::User,
        parts: parts(fields, "parts", part)?,
        metadata: fields.metadata("metadata")?,
        extensions: fields.strings("extensions", MAX_NAMES)?,
        reference_task_ids: fields.strings("referenceTaskIds", MAX_NAMES)?,
    })
}

/// At least one part, each read by `part`.
pub(crate) fn parts(
    message: &Fields<'_>,
    name: &str,
    part: impl Fn(&Fields<'_>) -> Result<Part, Refusal>,
) -> Result<Vec<Part>, Refusal> {
    let items = message.array(name, MAX_PARTS)?;
    if items.is_empty() {
        return Err(message.no(name, "must have at least one element"));
    }
    items.into_iter().map(|(item, place)| part(&Fields::of(item, place)?)).collect()
}

/// §4.1.6: exactly one of four.
pub(crate) fn part(fields: &Fields<'_>) -> Result<Part, Refusal> {
    let text = fields.string("text")?.map(|text| Content::Text(text.into_owned()));
    let raw = fields.bytes("raw")?.map(Content::Raw);
    let url = fields.short("url", MAX_URL)?.map(Content::Url);
    let mut said = [text, raw, url].into_iter().flatten();
    let first = said.next();
    let second = said.next();
    // `null` is a value for `data`, unless another member shows that it stands for nothing.
    let data = fields.present("data")?.filter(|data| data.kind() != Kind::Null || first.is_none()).map(data);
    let content = match (first, second, data) {
        (Some(content), None, None) | (None, None, Some(content)) => content,
        (None, None, None) => return Err(fields.no("text", "or one of raw, url and data is required")),
        _ => return Err(fields.bad("must have only one of text, raw, url and data")),
    };
    Ok(Part {
        content,
        media_type: fields.short("mediaType", MAX_NAME)?,
        filename: fields.short("filename", MAX_NAME)?,
        metadata: fields.metadata("metadata")?,
    })
}

/// Any JSON value; how long it may be, the body has decided.
pub(crate) fn data(value: Value<'_>) -> Content {
    Content::Data(Json(value.rewritten().into()))
}

/// §4.3.1
pub(crate) fn push_config(fields: &Fields<'_>) -> Result<PushConfig, Refusal> {
    let authentication = match fields.object("authentication")? {
        None => None,
        Some(said) => Some((said.required("scheme", MAX_NAME)?, said.short("credentials", 8 * MAX_NAME)?)),
    };
    Ok(PushConfig {
        id: push_id(fields, "id")?,
        url: fields.required("url", MAX_URL)?,
        token: fields.short("token", 8 * MAX_NAME)?,
        authentication,
    })
}

/// The client may name a configuration.
pub(crate) fn push_id(fields: &Fields<'_>, name: &str) -> Result<Option<String>, Refusal> {
    fields.short(name, MAX_ID)
}

/// §3.1.4
pub(crate) fn list(params: &Fields<'_>) -> Result<ListTasks, Refusal> {
    let page_size = params.count("pageSize")?;
    if page_size.is_some_and(|size| !(1..=100).contains(&size)) {
        return Err(params.no("pageSize", "must be from 1 to 100"));
    }
    let status_after = match params.short("statusTimestampAfter", MAX_NAME)? {
        None => None,
        Some(text) => Some(time::read(&text).ok_or_else(|| params.no("statusTimestampAfter", "must be RFC 3339"))?),
    };
    Ok(ListTasks {
        context_id: params.context_id("contextId")?,
        state: params.get("status")?.map(|status| state(params, status)).transpose()?.flatten(),
        page_size,
        page_token: params.short("pageToken", MAX_NAME)?,
        history_length: params.count("historyLength")?,
        status_after,
        include_artifacts: params.boolean("includeArtifacts")?.unwrap_or(false),
    })
}

/// An enum of ProtoJSON: its name, or its number.
fn state(params: &Fields<'_>, status: Value<'_>) -> Result<Option<TaskState>, Refusal> {
    let said = status.text();
    match said.as_deref().unwrap_or(status.raw()) {
        "TASK_STATE_UNSPECIFIED" | "0" => Ok(None),
        "TASK_STATE_SUBMITTED" | "1" => Ok(Some(TaskState::Submitted)),
        "TASK_STATE_WORKING" | "2" => Ok(Some(TaskState::Working)),
        "TASK_STATE_COMPLETED" | "3" => Ok(Some(TaskState::Completed)),
        "TASK_STATE_FAILED" | "4" => Ok(Some(TaskState::Failed)),
        "TASK_STATE_CANCELED" | "TASK_STATE_CANCELLED" | "5" => Ok(Some(TaskState::Canceled)),
        "TASK_STATE_INPUT_REQUIRED" | "6" => Ok(Some(TaskState::InputRequired)),
        "TASK_STATE_REJECTED" | "7" => Ok(Some(TaskState::Rejected)),
        "TASK_STATE_AUTH_REQUIRED" | "8" => Ok(Some(TaskState::AuthRequired)),
        _ => Err(params.no("status", "must be the name of a task state")),
    }
}
