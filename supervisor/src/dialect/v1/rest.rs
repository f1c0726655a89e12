//! HTTP+JSON of A2A 1.0: ids in the path, the rest in the body of a POST or the query of a GET. Spec §11.

use super::super::body::{of_body, of_query};
use super::super::fields::{Fields, MAX_ID, MAX_NAME, task_id};
use super::super::{Operation, PushConfig, SendMessage};
use super::read;
use crate::http::router::RestCall;
use crate::refusal::Refusal;

/// # Errors
/// As for a JSON-RPC request, and [`Refusal::BadRequest`] for a broken query.
pub(crate) fn operation(call: &RestCall, query: Option<&str>, body: &[u8]) -> Result<Operation, Refusal> {
    Ok(match call {
        RestCall::Send => Operation::SendMessage(send(body)?),
        RestCall::Stream => Operation::SendStreamingMessage(send(body)?),
        RestCall::Get(id) => Operation::GetTask {
            id: task_id(id)?,
            history_length: of_query(query, |query| query.count("historyLength"))?,
        },
        RestCall::List => Operation::ListTasks(of_query(query, read::list)?),
        RestCall::Cancel(id) => {
            of_body(body, nothing_else)?;
            Operation::CancelTask { id: task_id(id)? }
        }
        RestCall::Subscribe(id) => {
            of_body(body, nothing_else)?;
            Operation::SubscribeToTask { id: task_id(id)? }
        }
        RestCall::PushCreate(id) => {
            Operation::CreatePushConfig { task: task_id(id)?, config: of_body(body, |body| push_config(id, body))? }
        }
        RestCall::PushGet(id, config) => {
            Operation::GetPushConfig { task: task_id(id)?, config: Some(push_id(config)?) }
        }
        RestCall::PushList(id) => Operation::ListPushConfigs { task: task_id(id)? },
        RestCall::PushDelete(id, config) => {
            Operation::DeletePushConfig { task: task_id(id)?, config: push_id(config)? }
        }
        RestCall::ExtendedCard => Operation::GetExtendedAgentCard,
    })
}

fn send(body: &[u8]) -> Result<Box<SendMessage>, Refusal> {
    of_body(body, |body| {
        body.short("tenant", MAX_NAME)?;
        read::send(body).map(Box::new)
    })
}

/// Members that are of no use here still have to be of their types.
fn nothing_else(body: &Fields<'_>) -> Result<(), Refusal> {
    body.short("tenant", MAX_NAME)?;
    body.metadata("metadata").map(drop)
}

/// The body may name the Task too, and then it must be the one of the path.
fn push_config(path_id: &str, body: &Fields<'_>) -> Result<PushConfig, Refusal> {
    if body.string("taskId")?.is_some_and(|id| !id.is_empty() && id != path_id) {
        return Err(body.no("taskId", "is not the one of the path"));
    }
    read::push_config(body)
}

/// An id that is too long to be one of ours leads to nothing that exists.
pub(crate) fn push_id(text: &str) -> Result<String, Refusal> {
    if text.len() <= MAX_ID { Ok(text.to_owned()) } else { Err(Refusal::TaskNotFound) }
}
