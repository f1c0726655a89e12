//! Clients of our own, one per dialect: what they send is what arrives.

use crate::cases;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use hyper::{HeaderMap, Method};
use musegate_supervisor::a2a::{Content, ContextId, Json, Message, MessageId, Part, Role, TaskId};
use musegate_supervisor::dialect::{Binding, Operation, PushConfig, SendMessage, Version, decode};
use musegate_supervisor::http::router::route;
use proptest::prelude::*;
use serde_json::{Map, Value, json};

/// What every edition can say.
fn part() -> impl Strategy<Value = Part> {
    let plain = |content| Part { content, ..Part::text("") };
    let name = proptest::option::of("[a-z]{1,8}\\.[a-z]{1,3}");
    let media_type = proptest::option::of("[a-z]{1,8}/[a-z0-9.+-]{1,8}");
    let file = prop_oneof![
        prop::collection::vec(any::<u8>(), 0..40).prop_map(|bytes| Content::Raw(Bytes::from(bytes))),
        "https://[a-z]{1,9}/[a-z0-9?=&%]{0,20}".prop_map(Content::Url),
    ];
    let data = prop::collection::btree_map("[a-zé]{1,4}", any::<i32>(), 1..4);
    prop_oneof![
        any::<String>().prop_map(Part::text),
        (file, name, media_type).prop_map(move |(content, filename, media_type)| Part {
            filename,
            media_type,
            ..plain(content)
        }),
        data.prop_map(move |data| plain(Content::Data(Json(serde_json::to_string(&data).unwrap().into())))),
    ]
}

fn id() -> impl Strategy<Value = String> {
    "[A-Za-z0-9._:-]{1,40}"
}

fn push() -> impl Strategy<Value = PushConfig> {
    let authentication = proptest::option::of(("[A-Z][a-z]{2,6}", proptest::option::of("[!-~]{1,20}")));
    (proptest::option::of(id()), "https://[a-z]{1,9}/", proptest::option::of("[!-~]{1,20}"), authentication)
        .prop_map(|(id, url, token, authentication)| PushConfig { id, url, token, authentication })
}

fn send() -> impl Strategy<Value = SendMessage> {
    let ids = (id(), proptest::option::of(id()), proptest::option::of(id()));
    let modes = prop::collection::vec("[a-z]{1,6}/[a-z*]{1,6}", 0..3);
    let rest = (modes, proptest::option::of(1_u32..1000), any::<bool>(), proptest::option::of(push()));
    (ids, prop::collection::vec(part(), 1..5), rest).prop_map(|((message, context, task), parts, rest)| SendMessage {
        message: Message {
            message_id: MessageId(message.into()),
            context_id: context.map(|id| ContextId(id.into())),
            task_id: task.map(|id| TaskId(id.into())),
            parts,
            ..cases::message(Role::User, "")
        },
        accepted_output_modes: rest.0,
        history_length: rest.1,
        return_immediately: rest.2,
        push: rest.3,
        digest: [0; 32],
    })
}

fn object<const N: usize>(members: [(&str, Option<Value>); N]) -> Value {
    Value::Object(
        members.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect::<Map<_, _>>(),
    )
}

fn text(text: &Option<String>) -> Option<Value> {
    text.as_ref().map(|text| json!(text))
}

fn data(json: &Json) -> Value {
    serde_json::from_str(&json.0).unwrap()
}

/// A part as a client of `version` writes it.
fn part_of(version: Version, binding: Binding, part: &Part) -> Value {
    let kind = if version == Version::Early { "type" } else { "kind" };
    let (name, media) = (text(&part.filename), text(&part.media_type));
    let bytes = |bytes: &Bytes| Some(json!(STANDARD.encode(bytes)));
    match (version, binding, &part.content) {
        (Version::V1, _, content) => {
            let (kind, value) = match content {
                Content::Text(text) => ("text", json!(text)),
                Content::Raw(raw) => ("raw", bytes(raw).unwrap()),
                Content::Url(url) => ("url", json!(url)),
                Content::Data(json) => ("data", data(json)),
            };
            object([(kind, Some(value)), ("filename", name), ("mediaType", media)])
        }
        (Version::V03, Binding::Rest, Content::Text(text)) => json!({"text": text}),
        (Version::V03, Binding::Rest, Content::Raw(raw)) => {
            json!({"file": object([("fileWithBytes", bytes(raw)), ("name", name), ("mimeType", media)])})
        }
        (Version::V03, Binding::Rest, Content::Url(url)) => {
            json!({"file": object([("fileWithUri", Some(json!(url))), ("name", name), ("mimeType", media)])})
        }
        (Version::V03, Binding::Rest, Content::Data(json)) => json!({"data": {"data": data(json)}}),
        (_, _, Content::Text(text)) => json!({kind: "text", "text": text}),
        (_, _, Content::Raw(raw)) => {
            json!({kind: "file", "file": object([("bytes", bytes(raw)), ("name", name), ("mimeType", media)])})
        }
        (_, _, Content::Url(url)) => {
            json!({kind: "file", "file": object([("uri", Some(json!(url))), ("name", name), ("mimeType", media)])})
        }
        (_, _, Content::Data(json)) => json!({kind: "data", "data": data(json)}),
    }
}

fn push_of(version: Version, config: &PushConfig) -> Value {
    let authentication = config.authentication.as_ref().map(|(scheme, credentials)| {
        let schemes = if version == Version::V1 { ("scheme", json!(scheme)) } else { ("schemes", json!([scheme])) };
        object([(schemes.0, Some(schemes.1)), ("credentials", text(credentials))])
    });
    object([
        ("id", text(&config.id)),
        ("url", Some(json!(config.url))),
        ("token", text(&config.token)),
        ("authentication", authentication),
    ])
}

/// The parameters as a client of `version` writes them.
fn written(version: Version, binding: Binding, send: &SendMessage) -> Value {
    let said = &send.message;
    let parts: Value = said.parts.iter().map(|part| part_of(version, binding, part)).collect();
    let push = send.push.as_ref().map(|config| push_of(version, config));
    let modes = (!send.accepted_output_modes.is_empty()).then(|| json!(send.accepted_output_modes));
    let history = send.history_length.map(|length| json!(length));
    let context = said.context_id.as_ref().map(|id| json!(&*id.0));
    if version == Version::Early {
        let message = json!({"role": "user", "parts": parts, "messageId": &*said.message_id.0});
        return object([
            ("id", Some(json!("my-task"))),
            ("sessionId", context),
            ("message", Some(message)),
            ("acceptedOutputModes", modes),
            ("historyLength", history),
            ("pushNotification", push),
        ]);
    }
    let (role, name) = match (version, binding) {
        (Version::V1, _) => ("ROLE_USER", "parts"),
        (_, Binding::Rest) => ("ROLE_USER", "content"),
        _ => ("user", "parts"),
    };
    let kind = (role == "user").then(|| json!("message"));
    let message = object([
        ("kind", kind),
        ("messageId", Some(json!(&*said.message_id.0))),
        ("contextId", context),
        ("taskId", said.task_id.as_ref().map(|id| json!(&*id.0))),
        ("role", Some(json!(role))),
        (name, Some(parts)),
    ]);
    let (wait, push_name) = match (version, binding) {
        (Version::V1, _) => (("returnImmediately", send.return_immediately), "taskPushNotificationConfig"),
        (_, Binding::Rest) => (("blocking", !send.return_immediately), "pushNotification"),
        _ => (("blocking", !send.return_immediately), "pushNotificationConfig"),
    };
    let configuration = object([
        ("acceptedOutputModes", modes),
        ("historyLength", history),
        (wait.0, Some(json!(wait.1))),
        (push_name, push),
    ]);
    json!({"message": message, "configuration": configuration})
}

fn arrived(version: Version, binding: Binding, params: &Value, streaming: bool) -> Operation {
    let mut headers = HeaderMap::new();
    headers.insert("a2a-version", version.word().parse().unwrap());
    let (method, path) = match (version, streaming) {
        (Version::V1, false) => ("SendMessage", "/message:send"),
        (Version::V1, true) => ("SendStreamingMessage", "/message:stream"),
        (Version::V03, false) => ("message/send", "/v1/message:send"),
        (Version::V03, true) => ("message/stream", "/v1/message:stream"),
        (Version::Early, false) => ("tasks/send", "/tasks/send"),
        (Version::Early, true) => ("tasks/sendSubscribe", "/tasks/sendSubscribe"),
    };
    let (path, body) = match binding {
        Binding::JsonRpc => ("/", json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).to_string()),
        Binding::Rest => (path, params.to_string()),
    };
    let call = decode(&route(&Method::POST, path).unwrap(), &headers, None, body.as_bytes());
    call.unwrap_or_else(|no| panic!("{}: {body}", no.refusal)).operation
}

proptest! {
    #[test]
    fn what_a_client_sends_is_what_arrives(sent in send(), streaming in any::<bool>()) {
        for (version, binding) in crate::SPOKEN {
            let params = written(version, binding, &sent);
            let (got, said) = match arrived(version, binding, &params, streaming) {
                Operation::SendMessage(got) => (got, false),
                Operation::SendStreamingMessage(got) => (got, true),
                other => panic!("{other:?}"),
            };
            prop_assert_eq!(said, streaming);
            let mut expected = SendMessage { digest: got.digest, ..sent.clone() };
            if version == Version::Early {
                // It has no word for these.
                expected.message.task_id = None;
                expected.return_immediately = false;
            }
            prop_assert_eq!(*got, expected);
        }
    }

    /// A repeat is told from another message by its bytes.
    #[test]
    fn another_message_has_another_digest(sent in send(), other in send()) {
        for (version, binding) in crate::SPOKEN {
            let digest = |sent: &SendMessage| match arrived(version, binding, &written(version, binding, sent), false) {
                Operation::SendMessage(got) => got.digest,
                other => panic!("{other:?}"),
            };
            prop_assert_eq!(digest(&sent), digest(&sent.clone()));
            let same = written(version, binding, &sent)["message"] == written(version, binding, &other)["message"];
            prop_assert_eq!(digest(&sent) == digest(&other), same);
        }
    }
}
