//! Requests of A2A 0.3 and 0.2 over JSON-RPC. Spec 0.3 §6, §7.

use super::super::call::{Operation, PushConfig, SendMessage};
use super::super::digest::digest;
use super::super::fields::{Fields, MAX_ID, MAX_NAME, MAX_NAMES, MAX_URL};
use super::super::json::{Kind, Value};
use super::super::method::Method;
use super::super::v1::read::{data, parts, push_id};
use super::WRAPPED;
use crate::a2a::{Content, Message, MessageId, Part, Role};
use crate::refusal::Refusal;

/// # Errors
/// [`Refusal::InvalidParams`] naming the member, or [`Refusal::TaskNotFound`].
pub(crate) fn operation(method: Method, params: &Fields<'_>) -> Result<Operation, Refusal> {
    Ok(match method {
        Method::Send => Operation::SendMessage(Box::new(send(params)?)),
        Method::Stream => Operation::SendStreamingMessage(Box::new(send(params)?)),
        Method::Get => {
            Operation::GetTask { id: params.required_task_id("id")?, history_length: params.count("historyLength")? }
        }
        Method::Cancel => Operation::CancelTask { id: params.required_task_id("id")? },
        Method::Subscribe => Operation::SubscribeToTask { id: params.required_task_id("id")? },
        Method::PushCreate => Operation::CreatePushConfig {
            task: params.required_task_id("taskId")?,
            config: push_config(&params.required_object("pushNotificationConfig")?)?,
        },
        Method::PushGet => Operation::GetPushConfig {
            task: params.required_task_id("id")?,
            config: push_id(params, "pushNotificationConfigId")?,
        },
        Method::PushList => Operation::ListPushConfigs { task: params.required_task_id("id")? },
        Method::PushDelete => Operation::DeletePushConfig {
            task: params.required_task_id("id")?,
            config: params.required("pushNotificationConfigId", MAX_ID)?,
        },
        Method::ExtendedCard => Operation::GetExtendedAgentCard,
        Method::List => return Err(Refusal::MethodNotFound),
    })
}

/// §7.1.1. Servers of this edition have always waited unless told not to.
fn send(params: &Fields<'_>) -> Result<SendMessage, Refusal> {
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
        send.return_immediately = configuration.boolean("blocking")? == Some(false);
        let push = configuration.object("pushNotificationConfig")?;
        send.push = push.map(|push| push_config(&push)).transpose()?;
    }
    Ok(send)
}

/// §6.4
fn message(fields: &Fields<'_>) -> Result<Message, Refusal> {
    if fields.string("kind")?.is_some_and(|kind| kind != "message") {
        return Err(fields.no("kind", "must be message"));
    }
    user(fields)?;
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

/// A client speaks as the user; in the agent's name only the agent speaks.
pub(crate) fn user(fields: &Fields<'_>) -> Result<(), Refusal> {
    match fields.string("role")?.as_deref() {
        Some("user") => Ok(()),
        None => Err(fields.no("role", "is required")),
        Some(_) => Err(fields.no("role", "must be user in a request")),
    }
}

/// §6.5, and 0.1, which calls the kind `type`. Where no kind is said, the member that is there says it.
pub(crate) fn part(fields: &Fields<'_>) -> Result<Part, Refusal> {
    let kind = match (fields.string("kind")?, fields.string("type")?) {
        (Some(kind), _) | (None, Some(kind)) => kind,
        (None, None) => ["text", "file", "data"]
            .into_iter()
            .find(|name| fields.get(name).is_ok_and(|value| value.is_some()))
            .unwrap_or_default()
            .into(),
    };
    let plain = |content| Part { content, media_type: None, filename: None, metadata: None };
    let mut part = match &*kind {
        "text" => {
            let text = fields.string("text")?.ok_or_else(|| fields.no("text", "is required"))?;
            plain(Content::Text(text.into_owned()))
        }
        "file" => file(&fields.required_object("file")?, ["bytes", "uri"])?,
        "data" => return data_part(fields, fields.get("data")?),
        _ => return Err(fields.no("kind", "must be text, file or data")),
    };
    part.metadata = fields.metadata("metadata")?;
    Ok(part)
}

/// `names`: of the member with the bytes, and of the one with the reference.
pub(crate) fn file(file: &Fields<'_>, names: [&str; 2]) -> Result<Part, Refusal> {
    let [bytes, uri] = names;
    let content = match (file.bytes(bytes)?, file.short(uri, MAX_URL)?) {
        (Some(bytes), None) => Content::Raw(bytes),
        (None, Some(uri)) => Content::Url(uri),
        (None, None) => return Err(file.no(bytes, format!("or {uri} is required"))),
        (Some(_), Some(_)) => return Err(file.bad(format!("must have only one of {bytes} and {uri}"))),
    };
    Ok(Part {
        content,
        media_type: file.short("mimeType", MAX_NAME)?,
        filename: file.short("name", MAX_NAME)?,
        metadata: None,
    })
}

/// `data` must be an object; what had to be wrapped in one is taken out again.
pub(crate) fn data_part(fields: &Fields<'_>, value: Option<Value<'_>>) -> Result<Part, Refusal> {
    let value = value.ok_or_else(|| fields.no("data", "is required"))?;
    if value.kind() != Kind::Object {
        return Err(fields.no("data", "must be an object"));
    }
    let metadata = fields.object("metadata")?;
    let flag = metadata.as_ref().map(|metadata| metadata.get(WRAPPED)).transpose()?.flatten();
    let wrapped = flag.is_some_and(|flag| flag.kind() == Kind::True);
    let inside = value.members().find(|(key, _)| wrapped && key.text().is_some_and(|key| key == "value"));
    Ok(Part {
        content: data(inside.map_or(value, |(_, inside)| inside)),
        media_type: None,
        filename: None,
        metadata: fields.metadata_without("metadata", if inside.is_some() { WRAPPED } else { "" })?,
    })
}

/// §6.8. One of its schemes is enough to say how the webhook is to be called.
pub(crate) fn push_config(fields: &Fields<'_>) -> Result<PushConfig, Refusal> {
    let authentication = match fields.object("authentication")? {
        None => None,
        Some(said) => {
            let scheme = said.strings("schemes", MAX_NAMES)?.into_iter().next();
            let credentials = said.short("credentials", 8 * MAX_NAME)?;
            scheme.map(|scheme| (scheme, credentials))
        }
    };
    Ok(PushConfig {
        id: push_id(fields, "id")?,
        url: fields.required("url", MAX_URL)?,
        token: fields.short("token", 8 * MAX_NAME)?,
        authentication,
    })
}
