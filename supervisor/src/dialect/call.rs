//! What the dialects hand to the core: one operation of the specification, free of the shape it came in, and what is
//! needed to answer in that shape.

use crate::a2a::{ContextId, Json, Message, TaskId, TaskState, Timestamp};

/// Which edition of A2A the client speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Version {
    /// 1.0 and 1.0.1.
    V1,
    /// 0.2 and 0.3.
    V03,
    /// 0.1, the dialect of spring 2025.
    Early,
}

impl Version {
    /// What `A2A-Version` calls it.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::V1 => "1.0",
            Self::V03 => "0.3",
            Self::Early => "0.1",
        }
    }
}

/// How it is carried.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Binding {
    /// JSON-RPC 2.0 over HTTP.
    JsonRpc,
    /// HTTP+JSON (REST).
    Rest,
}

/// What is asked, and how to answer.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    /// What is asked.
    pub operation: Operation,
    /// How to answer.
    pub reply: ReplyTo,
}

/// The shape of the answer.
#[derive(Clone, Debug, PartialEq)]
pub struct ReplyTo {
    /// Edition.
    pub version: Version,
    /// Carrier.
    pub binding: Binding,
    /// The JSON-RPC id as it stood in the request: a JSON string, number or null.
    pub id: Json,
    /// Extensions that the client named and we activate.
    pub extensions: Vec<&'static str>,
    /// The client's own task id in the early dialect, kept per caller by the core. Of a [`Version::Early`] call the
    /// operation's Task is the one that this caller gave this name, and no other. Where 0.3 and 0.1 have a method in
    /// common (`tasks/get`, `tasks/cancel`, `tasks/resubscribe`) and the client does not say which it speaks, the name is
    /// set with [`Version::V03`]: when the caller has given it to a Task, the core answers by
    /// [`ReplyTo::as_early`], otherwise the operation's own id counts.
    pub early_id: Option<String>,
    /// REST: answer as `application/a2a+json`.
    pub a2a_json: bool,
    /// The client waits for events, so that an error too is said as one.
    pub streams: bool,
}

/// The operations of the specification, §3.1.
#[derive(Clone, Debug, PartialEq)]
pub enum Operation {
    /// §3.1.1
    SendMessage(Box<SendMessage>),
    /// §3.1.2
    SendStreamingMessage(Box<SendMessage>),
    /// §3.1.3
    GetTask {
        /// Which.
        id: TaskId,
        /// Most entries of history; none said: all that is kept.
        history_length: Option<u32>,
    },
    /// §3.1.4
    ListTasks(ListTasks),
    /// §3.1.5
    CancelTask {
        /// Which.
        id: TaskId,
    },
    /// §3.1.6
    SubscribeToTask {
        /// Which.
        id: TaskId,
    },
    /// §3.1.7
    CreatePushConfig {
        /// Of which task.
        task: TaskId,
        /// What to set.
        config: PushConfig,
    },
    /// §3.1.8; `config` may be absent in 0.3: the only one.
    GetPushConfig {
        /// Of which task.
        task: TaskId,
        /// Which.
        config: Option<String>,
    },
    /// §3.1.9
    ListPushConfigs {
        /// Of which task.
        task: TaskId,
    },
    /// §3.1.10
    DeletePushConfig {
        /// Of which task.
        task: TaskId,
        /// Which.
        config: String,
    },
    /// §3.1.11
    GetExtendedAgentCard,
}

impl Operation {
    /// The Task that is asked about, where one is.
    #[must_use]
    pub const fn task(&self) -> Option<&TaskId> {
        match self {
            Self::GetTask { id, .. } | Self::CancelTask { id } | Self::SubscribeToTask { id } => Some(id),
            Self::CreatePushConfig { task, .. }
            | Self::GetPushConfig { task, .. }
            | Self::ListPushConfigs { task }
            | Self::DeletePushConfig { task, .. } => Some(task),
            Self::SendMessage(_) | Self::SendStreamingMessage(_) | Self::ListTasks(_) | Self::GetExtendedAgentCard => {
                None
            }
        }
    }

    /// The specification's name.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::SendMessage(_) => "SendMessage",
            Self::SendStreamingMessage(_) => "SendStreamingMessage",
            Self::GetTask { .. } => "GetTask",
            Self::ListTasks(_) => "ListTasks",
            Self::CancelTask { .. } => "CancelTask",
            Self::SubscribeToTask { .. } => "SubscribeToTask",
            Self::CreatePushConfig { .. } => "CreateTaskPushNotificationConfig",
            Self::GetPushConfig { .. } => "GetTaskPushNotificationConfig",
            Self::ListPushConfigs { .. } => "ListTaskPushNotificationConfigs",
            Self::DeletePushConfig { .. } => "DeleteTaskPushNotificationConfig",
            Self::GetExtendedAgentCard => "GetExtendedAgentCard",
        }
    }
}

/// §3.2.1
#[derive(Clone, Debug, PartialEq)]
pub struct SendMessage {
    /// What is said.
    pub message: Message,
    /// Media types the client takes; empty: any.
    pub accepted_output_modes: Vec<String>,
    /// Most entries of history in the answer.
    pub history_length: Option<u32>,
    /// Answer as soon as the Task exists.
    pub return_immediately: bool,
    /// Set with the Task.
    pub push: Option<PushConfig>,
    /// A digest of the message as it was understood, the same in every dialect, for telling a repeat from another message under the same id.
    pub digest: [u8; 32],
}

/// §3.1.4
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ListTasks {
    /// Only of this conversation.
    pub context_id: Option<ContextId>,
    /// Only in this state.
    pub state: Option<TaskState>,
    /// 1 to 100; none said: 50.
    pub page_size: Option<u32>,
    /// From an earlier answer.
    pub page_token: Option<String>,
    /// Most entries of history each.
    pub history_length: Option<u32>,
    /// Only with a status at or after this.
    pub status_after: Option<Timestamp>,
    /// Whether artifacts are shown.
    pub include_artifacts: bool,
}

/// §4.3.1
#[derive(Clone, Debug, PartialEq)]
pub struct PushConfig {
    /// Unique within its Task; ours when none was said.
    pub id: Option<String>,
    /// Where to.
    pub url: String,
    /// Sent back with each notification.
    pub token: Option<String>,
    /// HTTP authentication for the webhook: scheme and credentials.
    pub authentication: Option<(String, Option<String>)>,
}
