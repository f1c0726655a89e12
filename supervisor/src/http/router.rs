//! From a method and a path to what is meant: room two of the house, and the only place that knows paths.
//!
//! Promises: one `match` over the segments; a path that is not listed is [`Refusal::NoRoute`], a listed one asked with
//! another method is told which it takes. Everything stands at the root and under `/a2a`, since some clients look for
//! an agent's card at its host and some under its path. Refuses to know bodies and callers.

use crate::dialect::Version;
use crate::refusal::Refusal;
use hyper::Method;

/// Longest path, bytes; beyond it nothing of ours can lie.
const MAX_PATH: usize = 1024;

/// Most segments of a path of ours: `a2a`, a tenant, `tasks`, an id, `pushNotificationConfigs`, an id, and one to spare.
const MAX_SEGMENTS: usize = 7;

/// What is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Route {
    /// The JSON-RPC endpoint of every edition.
    Rpc,
    /// An operation of the HTTP+JSON binding.
    Rest {
        /// Edition whose path it is. `GET /tasks/{id}` is of 1.0 and of 0.1; the header decides later.
        version: Version,
        /// Operation, and the ids that the path names.
        call: RestCall,
    },
    /// The agent card.
    Card(CardPath),
}

/// Under which name the card is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CardPath {
    /// `/.well-known/agent-card.json`, since 0.3.
    AgentCard,
    /// `/.well-known/agent.json`, until 0.2.6.
    Agent,
}

/// An operation of the HTTP+JSON binding, 1.0 §11.3 and 0.3 §3.5.6. Ids are as they decode, and not yet checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RestCall {
    /// `POST /message:send`
    Send,
    /// `POST /message:stream`
    Stream,
    /// `GET /tasks/{id}`
    Get(String),
    /// `GET /tasks`
    List,
    /// `POST /tasks/{id}:cancel`
    Cancel(String),
    /// `GET` or `POST /tasks/{id}:subscribe`: the specification says both.
    Subscribe(String),
    /// `POST /tasks/{id}/pushNotificationConfigs`
    PushCreate(String),
    /// `GET /tasks/{id}/pushNotificationConfigs/{config}`
    PushGet(String, String),
    /// `GET /tasks/{id}/pushNotificationConfigs`
    PushList(String),
    /// `DELETE /tasks/{id}/pushNotificationConfigs/{config}`
    PushDelete(String, String),
    /// `GET /extendedAgentCard`
    ExtendedCard,
}

/// # Errors
/// [`Refusal::NoRoute`], or [`Refusal::MethodNotAllowed`] where the path is one of ours.
pub fn route(method: &Method, path: &str) -> Result<Route, Refusal> {
    let path = path.strip_prefix('/').filter(|path| path.len() < MAX_PATH).ok_or(Refusal::NoRoute)?;
    let mut all = [""; MAX_SEGMENTS];
    let mut count = 0;
    for segment in path.split('/') {
        *all.get_mut(count).ok_or(Refusal::NoRoute)? = segment;
        count += 1;
    }
    let inside = match all.get(..count).unwrap_or_default() {
        ["a2a"] | ["a2a", ""] => return only(method, &Method::POST, Route::Rpc),
        ["a2a", inside @ ..] => inside,
        all => all,
    };
    match inside {
        [""] => only(method, &Method::POST, Route::Rpc),
        [".well-known", "agent-card.json"] => card(method, CardPath::AgentCard),
        [".well-known", "agent.json"] => card(method, CardPath::Agent),
        ["agent", "authenticatedExtendedCard"] | ["v1", "card"] => {
            only(method, &Method::GET, rest(Version::V03, RestCall::ExtendedCard))
        }
        ["tasks", "send"] if method == Method::POST => Ok(rest(Version::Early, RestCall::Send)),
        ["tasks", "sendSubscribe"] if method == Method::POST => Ok(rest(Version::Early, RestCall::Stream)),
        ["v1", inside @ ..] => operation(method, Version::V03, inside),
        inside => match (operation(method, Version::V1, inside), inside) {
            (Err(Refusal::NoRoute), [tenant, inside @ ..]) if !matches!(*tenant, "" | "." | "..") => {
                operation(method, Version::V1, inside)
            }
            (found, _) => found,
        },
    }
}

/// What 1.0 and 0.3 have in common below their prefixes.
fn operation(method: &Method, version: Version, segments: &[&str]) -> Result<Route, Refusal> {
    const CONFIGS: &str = "pushNotificationConfigs";
    let (get, post) = (&Method::GET, &Method::POST);
    match segments {
        segments if segments.contains(&"") => Err(Refusal::NoRoute),
        ["message:send"] => only(method, post, rest(version, RestCall::Send)),
        ["message:stream"] => only(method, post, rest(version, RestCall::Stream)),
        ["extendedAgentCard"] if version == Version::V1 => only(method, get, rest(version, RestCall::ExtendedCard)),
        ["tasks"] => only(method, get, rest(version, RestCall::List)),
        ["tasks", id] => match id.rsplit_once(':') {
            Some((id, "cancel")) => only(method, post, rest(version, RestCall::Cancel(segment(id)?))),
            Some((id, "subscribe")) if method == get || method == post => {
                Ok(rest(version, RestCall::Subscribe(segment(id)?)))
            }
            Some((_, "subscribe")) => Err(Refusal::MethodNotAllowed { allow: "GET, POST" }),
            _ => only(method, get, rest(version, RestCall::Get(segment(id)?))),
        },
        ["tasks", id, CONFIGS] if method == post => Ok(rest(version, RestCall::PushCreate(segment(id)?))),
        ["tasks", id, CONFIGS] if method == get => Ok(rest(version, RestCall::PushList(segment(id)?))),
        ["tasks", _, CONFIGS] => Err(Refusal::MethodNotAllowed { allow: "GET, POST" }),
        ["tasks", id, CONFIGS, config] if method == get => {
            Ok(rest(version, RestCall::PushGet(segment(id)?, segment(config)?)))
        }
        ["tasks", id, CONFIGS, config] if method == Method::DELETE => {
            Ok(rest(version, RestCall::PushDelete(segment(id)?, segment(config)?)))
        }
        ["tasks", _, CONFIGS, _] => Err(Refusal::MethodNotAllowed { allow: "GET, DELETE" }),
        _ => Err(Refusal::NoRoute),
    }
}

const fn rest(version: Version, call: RestCall) -> Route {
    Route::Rest { version, call }
}

fn only(method: &Method, allowed: &Method, route: Route) -> Result<Route, Refusal> {
    if method == allowed {
        return Ok(route);
    }
    Err(Refusal::MethodNotAllowed { allow: if allowed == Method::POST { "POST" } else { "GET" } })
}

/// `HEAD` is asked by caches; the server sends no body for it.
fn card(method: &Method, path: CardPath) -> Result<Route, Refusal> {
    if method == Method::GET || method == Method::HEAD {
        return Ok(Route::Card(path));
    }
    Err(Refusal::MethodNotAllowed { allow: "GET, HEAD" })
}

/// A segment without its percent escapes. Empty ones, and what is no text, lead nowhere.
fn segment(raw: &str) -> Result<String, Refusal> {
    unescaped(raw, false).filter(|id| !id.is_empty()).ok_or(Refusal::NoRoute)
}

/// Percent escapes resolved; in a form or query `+` is a space.
pub(crate) fn unescaped(raw: &str, plus: bool) -> Option<String> {
    let mut bytes = raw.bytes();
    let mut out = Vec::with_capacity(raw.len());
    while let Some(byte) = bytes.next() {
        out.push(match byte {
            b'%' => {
                let mut digit = || char::from(bytes.next()?).to_digit(16);
                u8::try_from(digit()? * 16 + digit()?).ok()?
            }
            b'+' if plus => b' ',
            other => other,
        });
    }
    String::from_utf8(out).ok()
}
