//! Golden answers: every kind, in every shape.

use crate::{SPOKEN, cases, golden, schema};
use hyper::header::HeaderName;
use musegate_supervisor::a2a::{Content, Event, Json, Message, Part, Role, TaskId, TaskState};
use musegate_supervisor::dialect::{Binding, Page, ReplyTo, Version};
use musegate_supervisor::http::reply::Reply;
use musegate_supervisor::http::router::route;
use musegate_supervisor::refusal::Refusal;
use serde_json::{Map, Value, json};
use std::sync::Arc;
use std::time::Duration;

/// The body, which must be JSON without a byte to spare.
pub(crate) fn body(reply: &Reply) -> Value {
    let text = std::str::from_utf8(&reply.body).expect("UTF-8");
    let text = text.strip_prefix("data: ").map_or(text, |event| event.trim_end_matches('\n'));
    let json: Value = serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"));
    assert_eq!(text.len(), json.to_string().len(), "bytes to spare, or a member twice: {text}");
    json
}

/// What stands in the envelope.
pub(crate) fn result(reply: &Reply, binding: Binding) -> Value {
    let body = body(reply);
    if binding == Binding::Rest {
        return body;
    }
    assert_eq!(body["jsonrpc"], "2.0");
    assert_eq!(body["id"], 7);
    assert_eq!(body.as_object().unwrap().len(), 3, "{body}");
    body.get("result").unwrap_or_else(|| panic!("{body}")).clone()
}

fn each_shape(check: impl Fn(Version, Binding, &str)) {
    for (version, binding) in SPOKEN {
        check(version, binding, &format!("answers/{}", cases::folder(version, binding)));
    }
}

#[test]
fn a_task_in_every_state_looks_as_its_edition_has_it() {
    each_shape(|version, binding, folder| {
        for (name, task) in cases::every_state() {
            let reply = cases::reply(version, binding).task(&task);
            assert_eq!((reply.status.as_u16(), reply.content_type), (200, "application/json"));
            golden::no_null(&result(&reply, binding), "");
            schema::task(version, binding, &result(&reply, binding));
            golden::same_json(&format!("{folder}/task-{name}.json"), &body(&reply));
        }
    });
}

#[test]
fn the_answer_to_a_message_looks_as_its_edition_has_it() {
    each_shape(|version, binding, folder| {
        let to = cases::reply(version, binding);
        let task = to.sent_task(&cases::task(TaskState::Working, None));
        golden::no_null(&body(&task), "");
        schema::sent(version, binding, &result(&task, binding));
        golden::same_json(&format!("{folder}/sent-task.json"), &body(&task));
        let message = to.sent_message(&cases::message(Role::Agent, "Just this."));
        golden::no_null(&body(&message), "");
        schema::sent(version, binding, &result(&message, binding));
        golden::same_json(&format!("{folder}/sent-message.json"), &body(&message));
    });
}

#[test]
fn a_list_has_a_next_page_token_also_at_its_end() {
    let tasks = [cases::task(TaskState::Working, None), cases::failed()];
    let page = Page { tasks: &tasks, next_page_token: "", page_size: 50, total_size: 2 };
    for (version, binding) in
        [(Version::V1, Binding::JsonRpc), (Version::V1, Binding::Rest), (Version::V03, Binding::Rest)]
    {
        let reply = cases::reply(version, binding).list(&page);
        let list = result(&reply, binding);
        assert_eq!(list["nextPageToken"], "");
        assert!(list["tasks"][0].get("artifacts").is_none());
        golden::same_json(&format!("answers/{}/list.json", cases::folder(version, binding)), &body(&reply));
    }
    let empty = Page { tasks: &[], next_page_token: "", page_size: 50, total_size: 0 };
    let reply = cases::reply(Version::V1, Binding::JsonRpc).list(&empty);
    assert_eq!(
        result(&reply, Binding::JsonRpc),
        json!({"tasks": [], "nextPageToken": "", "pageSize": 50, "totalSize": 0})
    );
}

#[test]
fn push_configurations_come_back_without_their_secrets() {
    each_shape(|version, binding, folder| {
        let to = cases::reply(version, binding);
        let (task, config) = (TaskId("t-1".into()), Arc::new(cases::push_config()));
        let one = to.push_config(&task, &config);
        let list = to.push_list(&task, &[config.clone(), config.clone()]);
        for reply in [&one, &list] {
            golden::no_null(&body(reply), "");
            assert!(!String::from_utf8_lossy(&reply.body).contains("secret"));
        }
        schema::push(version, binding, &result(&one, binding));
        golden::same_json(&format!("{folder}/push-config.json"), &body(&one));
        golden::same_json(&format!("{folder}/push-list.json"), &body(&list));
        golden::same_json(&format!("{folder}/push-deleted.json"), &body(&to.empty()));
    });
}

#[test]
fn the_only_null_is_the_one_that_0_3_demands() {
    each_shape(|version, binding, _| {
        let nulls = body(&cases::reply(version, binding).empty()).to_string().contains("null");
        assert_eq!(nulls, version == Version::V03 && binding == Binding::JsonRpc);
    });
}

#[test]
fn a_webhook_is_told_the_event_since_1_0_and_the_task_before() {
    let event = Event::Status { status: cases::failed().status, progress: None, last: true };
    each_shape(|version, binding, folder| {
        let (media_type, body) = cases::reply(version, binding).notification(&cases::failed(), &event);
        let body: Value = serde_json::from_slice(&body).unwrap();
        if version == Version::V1 {
            assert_eq!(media_type, "application/a2a+json");
            schema::event(version, binding, &body);
        } else {
            assert_eq!(media_type, "application/json");
            schema::task(version, Binding::JsonRpc, &body);
        }
        golden::same_json(&format!("{folder}/notification.json"), &body);
    });
}

#[test]
fn an_extended_card_is_handed_on_as_it_is() {
    let card = bytes::Bytes::from_static(b"{\"name\":\"x\"}");
    each_shape(|version, binding, _| {
        let reply = cases::reply(version, binding).card(&card);
        assert_eq!(result(&reply, binding), json!({"name": "x"}));
    });
}

#[test]
fn text_of_any_size_is_one_artifact_with_one_part() {
    let long = "line of text\n".repeat(100_000);
    let mut task = cases::task(TaskState::Completed, None);
    task.artifacts = vec![cases::artifact("answer", vec![Part::text(long.clone())])];
    let reply = cases::reply(Version::V1, Binding::JsonRpc).task(&task);
    assert_eq!(result(&reply, Binding::JsonRpc)["artifacts"][0]["parts"][0]["text"], long);
}

fn every_refusal() -> Vec<(&'static str, Refusal)> {
    let retry = Duration::from_millis(1500);
    vec![
        ("unauthenticated", Refusal::Unauthenticated),
        ("forbidden", Refusal::Forbidden("push notifications")),
        ("foreign-host", Refusal::ForeignHost),
        ("rate", Refusal::TooManyRequests { retry }),
        ("busy", Refusal::Busy { retry, in_band: false }),
        ("busy-in-band", Refusal::Busy { retry, in_band: true }),
        ("worker-away", Refusal::WorkerAway { retry }),
        ("unavailable", Refusal::Unavailable { retry, why: "stopping" }),
        ("no-route", Refusal::NoRoute),
        ("method-not-allowed", Refusal::MethodNotAllowed { allow: "POST" }),
        ("body-too-large", Refusal::BodyTooLarge { limit: 1_048_576 }),
        ("body-timeout", Refusal::BodyTimeout),
        ("media-type", Refusal::MediaType),
        ("bad-request", Refusal::BadRequest("a token in the query".into())),
        ("parse", Refusal::Parse("the body ends too early".into())),
        ("invalid-request", Refusal::InvalidRequest("id is required".into())),
        ("method-not-found", Refusal::MethodNotFound),
        (
            "invalid-params",
            Refusal::InvalidParams { field: "message.parts[0]".into(), what: "must be an \"object\"".into() },
        ),
        ("task-not-found", Refusal::TaskNotFound),
        ("task-not-cancelable", Refusal::TaskNotCancelable),
        ("push-not-supported", Refusal::PushNotSupported),
        ("unsupported-operation", Refusal::UnsupportedOperation("a message to a task that has ended")),
        ("content-type", Refusal::ContentTypeNotSupported("image/tiff".into())),
        ("invalid-agent-response", Refusal::InvalidAgentResponse),
        ("extended-card", Refusal::ExtendedCardNotConfigured),
        ("extension-required", Refusal::ExtensionSupportRequired("urn:x".into())),
        ("version", Refusal::VersionNotSupported("2.0".into())),
        ("fault", Refusal::Fault { incident: "1f".into() }),
    ]
}

#[test]
fn every_refusal_is_complete_in_every_shape() {
    each_shape(|version, binding, folder| {
        let mut all = Map::new();
        for (name, refusal) in every_refusal() {
            let reply = cases::reply(version, binding).refusal(&refusal);
            let body = body(&reply);
            golden::no_null(&body, "");
            let headers: Map<String, Value> =
                reply.headers.iter().map(|(name, value)| (name.to_string(), value.to_str().unwrap().into())).collect();
            let (code, details) = match binding {
                Binding::JsonRpc => {
                    assert_eq!((&body["jsonrpc"], &body["id"]), (&json!("2.0"), &json!(7)));
                    (body["error"]["code"].as_i64().unwrap(), &body["error"]["data"])
                }
                Binding::Rest => {
                    assert_eq!(body["error"]["code"], reply.status.as_u16());
                    assert!(body["error"]["status"].is_string());
                    (-32000, &body["error"]["details"])
                }
            };
            assert!((-32768..=-32000).contains(&code));
            assert_eq!(details[0]["@type"], "type.googleapis.com/google.rpc.ErrorInfo");
            all.insert(name.to_owned(), json!({"status": reply.status.as_u16(), "headers": headers, "body": body}));
        }
        golden::same_json(&format!("{folder}/refusals.json"), &Value::Object(all));
    });
}

#[test]
fn refusals_of_http_keep_their_status_and_what_to_do_about_them() {
    let named = |reply: &Reply, name: &str| {
        let name = HeaderName::try_from(name).unwrap();
        reply.headers.iter().find(|header| header.0 == name).map(|header| header.1.to_str().unwrap().to_owned())
    };
    for (version, binding) in SPOKEN {
        let to = cases::reply(version, binding);
        let refused = |refusal| to.refusal(&refusal);
        let busy = refused(Refusal::Busy { retry: Duration::from_millis(1500), in_band: false });
        assert_eq!((busy.status.as_u16(), named(&busy, "retry-after").as_deref()), (503, Some("2")));
        let stranger = refused(Refusal::Unauthenticated);
        assert_eq!(stranger.status, 401);
        assert!(named(&stranger, "www-authenticate").unwrap().starts_with("Bearer"));
        let method = refused(Refusal::MethodNotAllowed { allow: "GET, HEAD" });
        assert_eq!((method.status.as_u16(), named(&method, "allow").as_deref()), (405, Some("GET, HEAD")));
        let in_band = refused(Refusal::Busy { retry: Duration::from_secs(1), in_band: true });
        assert_eq!(in_band.status, if binding == Binding::JsonRpc { 200 } else { 503 });
    }
}

#[test]
fn an_error_reaches_a_client_that_waits_for_events_as_an_event() {
    let mut to = cases::reply(Version::V1, Binding::JsonRpc);
    to.streams = true;
    let reply = to.refusal(&Refusal::TaskNotFound);
    assert_eq!((reply.status.as_u16(), reply.content_type), (200, "text/event-stream"));
    let text = String::from_utf8(reply.body.to_vec()).unwrap();
    assert!(text.starts_with("data: {\"jsonrpc\"") && text.ends_with("}\n\n"), "{text}");
    assert_eq!(to.refusal(&Refusal::Unauthenticated).content_type, "application/json");
}

#[test]
fn before_the_body_is_read_the_id_is_null_and_the_path_decides_the_shape() {
    let post = |path| {
        let route = route(&hyper::Method::POST, path).unwrap();
        body(&ReplyTo::for_route(&route).refusal(&Refusal::Unauthenticated))
    };
    assert_eq!(post("/")["id"], Value::Null);
    assert_eq!(post("/")["error"]["code"], -32000);
    assert_eq!(post("/message:send")["error"]["status"], "UNAUTHENTICATED");
    assert_eq!(post("/v1/message:send")["error"]["status"], "UNAUTHENTICATED");
    assert_eq!(post("/tasks/send")["code"], -32007);
}

#[test]
fn activated_extensions_are_echoed_under_the_name_of_the_edition() {
    for (version, name) in [(Version::V1, "a2a-extensions"), (Version::V03, "x-a2a-extensions")] {
        let mut to = cases::reply(version, Binding::JsonRpc);
        assert!(to.task(&cases::failed()).headers.is_empty());
        to.extensions = vec!["urn:a", "urn:b"];
        let headers = to.task(&cases::failed()).headers;
        assert_eq!((headers[0].0.as_str(), headers[0].1.to_str().unwrap()), (name, "urn:a, urn:b"));
    }
}

#[test]
fn the_media_type_of_1_0_1_is_used_where_it_was_asked_for() {
    let mut to = cases::reply(Version::V1, Binding::Rest);
    to.a2a_json = true;
    assert_eq!(to.task(&cases::failed()).content_type, "application/a2a+json");
    assert_eq!(to.refusal(&Refusal::TaskNotFound).content_type, "application/a2a+json");
    to.binding = Binding::JsonRpc;
    assert_eq!(to.task(&cases::failed()).content_type, "application/json");
}

#[test]
fn every_task_says_what_its_answer_is_and_is_not() {
    each_shape(|version, binding, _| {
        let reply = cases::reply(version, binding).task(&cases::completed());
        let about = result(&reply, binding)["metadata"]["musegate"]["about"].as_str().unwrap().to_owned();
        assert!(about.contains("fresh headless run") && about.contains("not the word of a session"), "{about}");
    });
}

#[test]
fn a_value_that_0_3_cannot_hold_is_wrapped_and_says_so() {
    let flagged = Part {
        content: Content::Data(Json("null".into())),
        metadata: Some(Json(r#"{"data_part_compat":false}"#.into())),
        ..Part::text("")
    };
    let said = Message { parts: vec![flagged], ..cases::message(Role::Agent, "") };
    let reply = cases::reply(Version::V03, Binding::JsonRpc).sent_message(&said);
    let part = &result(&reply, Binding::JsonRpc)["parts"][0];
    assert_eq!(part, &json!({"kind": "data", "data": {"value": null}, "metadata": {"data_part_compat": true}}));
}
