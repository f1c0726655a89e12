//! What can be asked, before it is known of which Task: the specification's eleven operations, and the names that the
//! JSON-RPC methods of each edition have for them (1.0 §5.3, 0.3 §3.5.6, 0.1).

use super::Version;

/// An operation without its parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Method {
    Send,
    Stream,
    Get,
    List,
    Cancel,
    Subscribe,
    PushCreate,
    PushGet,
    PushList,
    PushDelete,
    ExtendedCard,
}

/// Which editions have a method of this name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Family {
    /// One.
    Only(Version),
    /// 0.3 and 0.1, with the same parameters and other answers.
    Shared,
}

/// The method of a name; nothing: no edition has it.
pub(super) fn named(name: &str) -> Option<(Family, Method)> {
    const V1: Family = Family::Only(Version::V1);
    const V03: Family = Family::Only(Version::V03);
    const EARLY: Family = Family::Only(Version::Early);
    Some(match name {
        "SendMessage" => (V1, Method::Send),
        "SendStreamingMessage" => (V1, Method::Stream),
        "GetTask" => (V1, Method::Get),
        "ListTasks" => (V1, Method::List),
        "CancelTask" => (V1, Method::Cancel),
        "SubscribeToTask" => (V1, Method::Subscribe),
        "CreateTaskPushNotificationConfig" => (V1, Method::PushCreate),
        "GetTaskPushNotificationConfig" => (V1, Method::PushGet),
        "ListTaskPushNotificationConfigs" => (V1, Method::PushList),
        "DeleteTaskPushNotificationConfig" => (V1, Method::PushDelete),
        "GetExtendedAgentCard" => (V1, Method::ExtendedCard),
        "message/send" => (V03, Method::Send),
        "message/stream" => (V03, Method::Stream),
        "tasks/get" => (Family::Shared, Method::Get),
        "tasks/cancel" => (Family::Shared, Method::Cancel),
        "tasks/resubscribe" => (Family::Shared, Method::Subscribe),
        "tasks/pushNotificationConfig/set" => (V03, Method::PushCreate),
        "tasks/pushNotificationConfig/get" => (V03, Method::PushGet),
        "tasks/pushNotificationConfig/list" => (V03, Method::PushList),
        "tasks/pushNotificationConfig/delete" => (V03, Method::PushDelete),
        "agent/getAuthenticatedExtendedCard" => (V03, Method::ExtendedCard),
        "tasks/send" => (EARLY, Method::Send),
        "tasks/sendSubscribe" => (EARLY, Method::Stream),
        "tasks/pushNotification/set" => (EARLY, Method::PushCreate),
        "tasks/pushNotification/get" => (EARLY, Method::PushGet),
        _ => return None,
    })
}
