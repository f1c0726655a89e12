//! A valid request of every kind, with every member that is read and the type it must have.

use musegate_supervisor::http::router::{Route, route};
use serde_json::{Value, json};

/// What a member has to be.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Is {
    Text,
    /// Text that protocol buffers also know as a number.
    Enum,
    Count,
    Flag,
    Object,
    List,
    Words,
}

impl Is {
    pub(crate) fn fits(self, value: &Value) -> bool {
        matches!(
            (self, value),
            (_, Value::Null)
                | (Self::Text, Value::String(_))
                | (Self::Flag, Value::Bool(_))
                | (Self::Object, Value::Object(_))
                | (Self::List | Self::Words, Value::Array(_))
        )
    }
}

pub(crate) struct Request {
    pub(crate) version: &'static str,
    pub(crate) route: Route,
    /// Where the parameters stand in the body.
    pub(crate) at: &'static str,
    pub(crate) body: Value,
    pub(crate) members: Vec<(&'static str, Is)>,
}

fn rpc(version: &'static str, method: &str, params: Value, members: Vec<(&'static str, Is)>) -> Request {
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
    Request { version, route: Route::Rpc, at: "/params", body, members }
}

fn post(version: &'static str, path: &str, body: Value, members: Vec<(&'static str, Is)>) -> Request {
    Request { version, route: route(&hyper::Method::POST, path).unwrap(), at: "", body, members }
}

/// A valid request of every kind with every member that is read, and the type of each.
pub(crate) fn requests() -> Vec<Request> {
    use Is::{Count, Enum, Flag, List, Object, Text, Words};
    let push = json!({"id": "c", "url": "https://x", "token": "t", "authentication": {"scheme": "Bearer", "credentials": "c"}});
    let old_push =
        json!({"id": "c", "url": "https://x", "token": "t", "authentication": {"schemes": ["a"], "credentials": "c"}});
    let v1_send = json!({
        "tenant": "t", "metadata": {},
        "message": {"messageId": "m", "contextId": "c", "taskId": "t", "role": "ROLE_USER", "metadata": {}, "extensions": ["urn:x"],
            "referenceTaskIds": ["t"], "parts": [{"text": "x", "mediaType": "a/b", "filename": "f", "metadata": {}}, {"raw": "aGk="}, {"url": "https://x"}]},
        "configuration": {"acceptedOutputModes": ["a/b"], "historyLength": 1, "returnImmediately": true, "taskPushNotificationConfig": push}});
    let v1_send_members = vec![
        ("/tenant", Text),
        ("/metadata", Object),
        ("/message", Object),
        ("/message/messageId", Text),
        ("/message/contextId", Text),
        ("/message/taskId", Text),
        ("/message/role", Enum),
        ("/message/metadata", Object),
        ("/message/extensions", Words),
        ("/message/referenceTaskIds", Words),
        ("/message/parts", List),
        ("/message/parts/0", Object),
        ("/message/parts/0/text", Text),
        ("/message/parts/0/mediaType", Text),
        ("/message/parts/0/filename", Text),
        ("/message/parts/0/metadata", Object),
        ("/message/parts/1/raw", Text),
        ("/message/parts/2/url", Text),
        ("/configuration", Object),
        ("/configuration/acceptedOutputModes", Words),
        ("/configuration/historyLength", Count),
        ("/configuration/returnImmediately", Flag),
        ("/configuration/taskPushNotificationConfig", Object),
        ("/configuration/taskPushNotificationConfig/id", Text),
        ("/configuration/taskPushNotificationConfig/url", Text),
        ("/configuration/taskPushNotificationConfig/token", Text),
        ("/configuration/taskPushNotificationConfig/authentication", Object),
        ("/configuration/taskPushNotificationConfig/authentication/scheme", Text),
        ("/configuration/taskPushNotificationConfig/authentication/credentials", Text),
    ];
    let v03_send = json!({
        "metadata": {},
        "message": {"kind": "message", "messageId": "m", "contextId": "c", "taskId": "t", "role": "user", "metadata": {}, "extensions": ["urn:x"],
            "referenceTaskIds": ["t"], "parts": [{"kind": "text", "text": "x", "metadata": {}},
            {"kind": "file", "file": {"bytes": "aGk=", "name": "n", "mimeType": "a/b"}}, {"kind": "file", "file": {"uri": "https://x"}},
            {"kind": "data", "data": {}, "metadata": {}}]},
        "configuration": {"acceptedOutputModes": ["a/b"], "historyLength": 1, "blocking": true, "pushNotificationConfig": old_push}});
    let v03_send_members = vec![
        ("/metadata", Object),
        ("/message", Object),
        ("/message/kind", Text),
        ("/message/messageId", Text),
        ("/message/contextId", Text),
        ("/message/taskId", Text),
        ("/message/role", Text),
        ("/message/metadata", Object),
        ("/message/extensions", Words),
        ("/message/referenceTaskIds", Words),
        ("/message/parts", List),
        ("/message/parts/0", Object),
        ("/message/parts/0/kind", Text),
        ("/message/parts/0/text", Text),
        ("/message/parts/0/metadata", Object),
        ("/message/parts/1/file", Object),
        ("/message/parts/1/file/bytes", Text),
        ("/message/parts/1/file/name", Text),
        ("/message/parts/1/file/mimeType", Text),
        ("/message/parts/2/file/uri", Text),
        ("/message/parts/3/data", Object),
        ("/message/parts/3/metadata", Object),
        ("/configuration", Object),
        ("/configuration/acceptedOutputModes", Words),
        ("/configuration/historyLength", Count),
        ("/configuration/blocking", Flag),
        ("/configuration/pushNotificationConfig", Object),
        ("/configuration/pushNotificationConfig/id", Text),
        ("/configuration/pushNotificationConfig/url", Text),
        ("/configuration/pushNotificationConfig/token", Text),
        ("/configuration/pushNotificationConfig/authentication", Object),
        ("/configuration/pushNotificationConfig/authentication/schemes", Words),
        ("/configuration/pushNotificationConfig/authentication/credentials", Text),
    ];
    let rest_send = json!({
        "metadata": {},
        "message": {"messageId": "m", "contextId": "c", "taskId": "t", "role": "ROLE_USER", "metadata": {}, "extensions": ["urn:x"],
            "content": [{"text": "x", "metadata": {}}, {"file": {"fileWithBytes": "aGk=", "name": "n", "mimeType": "a/b"}},
            {"file": {"fileWithUri": "https://x"}}, {"data": {"data": {}}, "metadata": {}}]},
        "configuration": {"acceptedOutputModes": ["a/b"], "historyLength": 1, "blocking": true, "pushNotification": old_push}});
    let rest_send_members = vec![
        ("/metadata", Object),
        ("/message", Object),
        ("/message/messageId", Text),
        ("/message/contextId", Text),
        ("/message/taskId", Text),
        ("/message/role", Enum),
        ("/message/metadata", Object),
        ("/message/extensions", Words),
        ("/message/content", List),
        ("/message/content/0", Object),
        ("/message/content/0/text", Text),
        ("/message/content/0/metadata", Object),
        ("/message/content/1/file", Object),
        ("/message/content/1/file/fileWithBytes", Text),
        ("/message/content/1/file/name", Text),
        ("/message/content/1/file/mimeType", Text),
        ("/message/content/2/file/fileWithUri", Text),
        ("/message/content/3/data", Object),
        ("/message/content/3/metadata", Object),
        ("/configuration", Object),
        ("/configuration/acceptedOutputModes", Words),
        ("/configuration/historyLength", Count),
        ("/configuration/blocking", Flag),
        ("/configuration/pushNotification", Object),
        ("/configuration/pushNotification/url", Text),
        ("/configuration/pushNotification/token", Text),
    ];
    let early_send = json!({"id": "t", "sessionId": "s", "metadata": {}, "acceptedOutputModes": ["text"], "historyLength": 1, "pushNotification": old_push,
        "message": {"role": "user", "metadata": {}, "parts": [{"type": "text", "text": "x", "metadata": {}}, {"type": "file", "file": {"bytes": "aGk="}}]}});
    let early_send_members = vec![
        ("/id", Text),
        ("/sessionId", Text),
        ("/metadata", Object),
        ("/acceptedOutputModes", Words),
        ("/historyLength", Count),
        ("/pushNotification", Object),
        ("/pushNotification/url", Text),
        ("/message", Object),
        ("/message/role", Text),
        ("/message/metadata", Object),
        ("/message/parts", List),
        ("/message/parts/0", Object),
        ("/message/parts/0/type", Text),
        ("/message/parts/0/text", Text),
        ("/message/parts/1/file", Object),
        ("/message/parts/1/file/bytes", Text),
    ];
    let list = json!({"contextId": "c", "status": "TASK_STATE_WORKING", "pageSize": 1, "pageToken": "p", "historyLength": 1,
        "statusTimestampAfter": "2026-11-30T19:24:05Z", "includeArtifacts": true});
    let list_members = vec![
        ("/contextId", Text),
        ("/status", Enum),
        ("/pageSize", Count),
        ("/pageToken", Text),
        ("/historyLength", Count),
        ("/statusTimestampAfter", Text),
        ("/includeArtifacts", Flag),
    ];
    let v1_push = json!({"tenant": "x", "taskId": "t", "id": "c", "url": "https://x", "token": "t", "authentication": {"scheme": "a", "credentials": "c"}});
    let v1_push_members = vec![
        ("/taskId", Text),
        ("/id", Text),
        ("/url", Text),
        ("/token", Text),
        ("/authentication", Object),
        ("/authentication/scheme", Text),
        ("/authentication/credentials", Text),
    ];
    let old_set = json!({"taskId": "t", "pushNotificationConfig": old_push});
    let old_set_members =
        vec![("/taskId", Text), ("/pushNotificationConfig", Object), ("/pushNotificationConfig/url", Text)];
    let query = || json!({"id": "t", "historyLength": 1});
    let query_members = || vec![("/id", Text), ("/historyLength", Count)];
    let of_task = || json!({"taskId": "t", "id": "c"});
    let of_task_members = || vec![("/taskId", Text), ("/id", Text)];
    let old_of_task = || json!({"id": "t", "pushNotificationConfigId": "c"});
    let old_of_task_members = || vec![("/id", Text), ("/pushNotificationConfigId", Text)];
    let id = || json!({"id": "t"});
    let id_member = || vec![("/id", Text)];
    vec![
        rpc("1.0", "SendMessage", v1_send.clone(), v1_send_members.clone()),
        rpc("1.0", "SendStreamingMessage", v1_send.clone(), v1_send_members.clone()),
        post("1.0", "/message:send", v1_send.clone(), v1_send_members.clone()),
        post("1.0", "/message:stream", v1_send, v1_send_members),
        rpc("1.0", "GetTask", query(), query_members()),
        rpc("1.0", "ListTasks", list, list_members),
        rpc("1.0", "CancelTask", id(), id_member()),
        rpc("1.0", "SubscribeToTask", id(), id_member()),
        rpc("1.0", "CreateTaskPushNotificationConfig", v1_push, v1_push_members),
        rpc("1.0", "GetTaskPushNotificationConfig", of_task(), of_task_members()),
        rpc("1.0", "DeleteTaskPushNotificationConfig", of_task(), of_task_members()),
        rpc("1.0", "ListTaskPushNotificationConfigs", json!({"taskId": "t"}), vec![("/taskId", Text)]),
        rpc("0.3", "message/send", v03_send.clone(), v03_send_members.clone()),
        rpc("0.3", "message/stream", v03_send, v03_send_members),
        rpc("0.3", "tasks/get", query(), query_members()),
        rpc("0.3", "tasks/cancel", id(), id_member()),
        rpc("0.3", "tasks/resubscribe", id(), id_member()),
        rpc("0.3", "tasks/pushNotificationConfig/set", old_set, old_set_members),
        rpc("0.3", "tasks/pushNotificationConfig/get", old_of_task(), old_of_task_members()),
        rpc("0.3", "tasks/pushNotificationConfig/delete", old_of_task(), old_of_task_members()),
        post("0.3", "/v1/message:send", rest_send.clone(), rest_send_members.clone()),
        post("0.3", "/v1/message:stream", rest_send, rest_send_members),
        rpc("0.1", "tasks/send", early_send.clone(), early_send_members.clone()),
        rpc("0.1", "tasks/sendSubscribe", early_send.clone(), early_send_members.clone()),
        post("0.1", "/tasks/send", early_send, early_send_members),
        rpc("0.1", "tasks/get", query(), query_members()),
        rpc("0.1", "tasks/cancel", id(), id_member()),
    ]
}
