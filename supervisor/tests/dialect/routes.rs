//! Every path that clients of any edition ask for, and what leads nowhere.

use hyper::Method;
use musegate_supervisor::dialect::Version;
use musegate_supervisor::http::router::{CardPath, RestCall, Route, route};
use musegate_supervisor::refusal::Refusal;
use proptest::prelude::*;

fn get(path: &str) -> Result<Route, Refusal> {
    route(&Method::GET, path)
}

fn post(path: &str) -> Result<Route, Refusal> {
    route(&Method::POST, path)
}

fn rest(version: Version, call: RestCall) -> Result<Route, Refusal> {
    Ok(Route::Rest { version, call })
}

/// Every operation below a prefix.
fn operations(prefix: &str, version: Version) {
    let at = |path: &str| format!("{prefix}{path}");
    let id = || "t-1".to_owned();
    let config = || "c:1".to_owned();
    for (method, path, call) in [
        (Method::POST, "/message:send", RestCall::Send),
        (Method::POST, "/message:stream", RestCall::Stream),
        (Method::GET, "/tasks", RestCall::List),
        (Method::GET, "/tasks/t-1", RestCall::Get(id())),
        (Method::GET, "/tasks/t%2d1", RestCall::Get(id())),
        (Method::GET, "/tasks/a:b", RestCall::Get("a:b".into())),
        (Method::POST, "/tasks/t-1:cancel", RestCall::Cancel(id())),
        (Method::POST, "/tasks/a:b:cancel", RestCall::Cancel("a:b".into())),
        (Method::POST, "/tasks/t-1:subscribe", RestCall::Subscribe(id())),
        (Method::GET, "/tasks/t-1:subscribe", RestCall::Subscribe(id())),
        (Method::POST, "/tasks/t-1/pushNotificationConfigs", RestCall::PushCreate(id())),
        (Method::GET, "/tasks/t-1/pushNotificationConfigs", RestCall::PushList(id())),
        (Method::GET, "/tasks/t-1/pushNotificationConfigs/c%3a1", RestCall::PushGet(id(), config())),
        (Method::DELETE, "/tasks/t-1/pushNotificationConfigs/c:1", RestCall::PushDelete(id(), config())),
    ] {
        assert_eq!(route(&method, &at(path)), rest(version, call), "{method} {prefix}{path}");
        let not_allowed = route(&Method::PATCH, &at(path));
        assert!(matches!(not_allowed, Err(Refusal::MethodNotAllowed { .. })), "PATCH {prefix}{path}: {not_allowed:?}");
    }
}

#[test]
fn every_operation_has_its_path_also_below_a_prefix_and_a_tenant() {
    operations("", Version::V1);
    operations("/a2a", Version::V1);
    operations("/acme", Version::V1);
    operations("/a2a/acme", Version::V1);
    operations("/v1", Version::V03);
    operations("/a2a/v1", Version::V03);
}

#[test]
fn json_rpc_is_asked_at_the_root_and_below_a2a_with_and_without_a_slash() {
    for path in ["/", "/a2a", "/a2a/"] {
        assert_eq!(post(path), Ok(Route::Rpc), "{path}");
        assert_eq!(get(path), Err(Refusal::MethodNotAllowed { allow: "POST" }), "{path}");
    }
}

#[test]
fn cards_stand_at_both_names_and_both_places() {
    for prefix in ["", "/a2a"] {
        let card = |name: &str| format!("{prefix}/.well-known/{name}");
        for method in [Method::GET, Method::HEAD] {
            assert_eq!(route(&method, &card("agent-card.json")), Ok(Route::Card(CardPath::AgentCard)));
            assert_eq!(route(&method, &card("agent.json")), Ok(Route::Card(CardPath::Agent)));
        }
        assert_eq!(post(&card("agent.json")), Err(Refusal::MethodNotAllowed { allow: "GET, HEAD" }));
        let extended = |version| rest(version, RestCall::ExtendedCard);
        assert_eq!(get(&format!("{prefix}/extendedAgentCard")), extended(Version::V1));
        assert_eq!(get(&format!("{prefix}/acme/extendedAgentCard")), extended(Version::V1));
        assert_eq!(get(&format!("{prefix}/v1/card")), extended(Version::V03));
        assert_eq!(get(&format!("{prefix}/agent/authenticatedExtendedCard")), extended(Version::V03));
    }
}

#[test]
fn the_early_dialect_has_paths_of_its_own() {
    for prefix in ["", "/a2a"] {
        assert_eq!(post(&format!("{prefix}/tasks/send")), rest(Version::Early, RestCall::Send));
        assert_eq!(post(&format!("{prefix}/tasks/sendSubscribe")), rest(Version::Early, RestCall::Stream));
        assert_eq!(get(&format!("{prefix}/tasks/send")), rest(Version::V1, RestCall::Get("send".into())));
    }
}

#[test]
fn what_is_not_listed_leads_nowhere() {
    let long = format!("/tasks/{}", "a".repeat(2000));
    for path in [
        "",
        "x",
        "//",
        "/a2a//",
        "/x",
        "/x/",
        "/a2a/x/y/z",
        "/tasks/",
        "/tasks//",
        "/tasks/a/b",
        "/tasks/:cancel",
        "/tasks/%",
        "/tasks/%zz",
        "/tasks/%ff",
        "/message:send/",
        "/message%3Asend",
        "/v1",
        "/v1/",
        "/v1/message",
        "/v1/acme/message:send",
        "/v1/extendedAgentCard",
        "/a2a/a2a/message:send/",
        "/.well-known/",
        "/.well-known",
        "/.well-known/agent-card.json/",
        "/.well-known/jwks.json",
        "/a/b/message:send",
        "/../tasks",
        "/*",
        "/tasks/a/pushNotificationConfigs/",
        "/tasks/a/pushNotificationConfigs/b/c",
        &long,
    ] {
        for method in [Method::GET, Method::POST, Method::DELETE] {
            let found = route(&method, path);
            assert_eq!(found, Err(Refusal::NoRoute), "{method} {path}");
        }
    }
}

proptest! {
    #[test]
    fn no_path_is_too_strange(path in "[/a-z0-9%.:*~\u{1}\u{e9}-]{0,60}") {
        let _ = get(&path);
        let _ = post(&path);
    }
}
