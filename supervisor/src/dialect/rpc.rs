//! The JSON-RPC 2.0 envelope around every edition: one request object per POST, with an id. Batches and notifications
//! are no part of A2A and are refused with a text that says so.

use super::body::flawed;
use super::call::{Binding, Call, ReplyTo, Version};
use super::fields::Fields;
use super::json::{self, Kind, Value};
use super::method::{self, Family, Method};
use super::reply::Rejection;
use super::{early, edition, v1, v03};
use crate::a2a::Json;
use crate::refusal::Refusal;
use hyper::HeaderMap;

/// Longest id, bytes as it stands in the request.
const MAX_RPC_ID: usize = 512;
/// An object without members, for a request that needs no parameters.
const NO_PARAMS: &[u8] = b"{}";

pub(super) fn decode(headers: &HeaderMap, query: Option<&str>, body: &[u8]) -> Result<Call, Rejection> {
    let mut reply = ReplyTo::new(Version::V1, Binding::JsonRpc);
    reply.extensions = edition::extensions(headers);
    let decoded = call(&mut reply, headers, query, body);
    match decoded {
        Ok(operation) => Ok(Call { operation, reply }),
        Err(refusal) => Err(Rejection { reply, refusal }),
    }
}

fn call(
    reply: &mut ReplyTo,
    headers: &HeaderMap,
    query: Option<&str>,
    body: &[u8],
) -> Result<super::Operation, Refusal> {
    edition::body_type(headers)?;
    let document = json::parse(body).map_err(flawed)?;
    let request = Request::of(document.root(), reply)?;
    let asked = edition::asked(headers, query)?;
    let (family, method) = method::named(&request.method).ok_or(Refusal::MethodNotFound)?;
    reply.streams = matches!(method, Method::Stream | Method::Subscribe) && edition::wants_events(headers);
    let (version, shared) = match family {
        Family::Only(version) => (version, false),
        Family::Shared if asked == Some(Version::Early) => (Version::Early, false),
        Family::Shared => (Version::V03, asked.is_none()),
    };
    edition::check(version, asked, &request.method)?;
    reply.version = version;
    let empty;
    let params = match request.params {
        Some(params) => params,
        None => {
            empty = json::parse(NO_PARAMS).map_err(flawed)?;
            empty.root()
        }
    };
    let params = Fields::of(params, "params")?.at_top();
    match version {
        Version::V1 => v1::read::operation(method, &params),
        Version::V03 => {
            let operation = v03::read::operation(method, &params)?;
            if shared {
                reply.early_id = operation.task().map(ToString::to_string);
            }
            Ok(operation)
        }
        Version::Early => {
            let (operation, name) = early::read::operation(method, &reply.id.0, &params)?;
            reply.early_id = Some(name);
            Ok(operation)
        }
    }
}

/// The members of the envelope.
struct Request<'d> {
    method: String,
    params: Option<Value<'d>>,
}

impl<'d> Request<'d> {
    /// Sets the id of `reply` as soon as it is known to be a legal one.
    fn of(root: Value<'d>, reply: &mut ReplyTo) -> Result<Self, Refusal> {
        let no = |what: &str| Err(Refusal::InvalidRequest(what.to_owned()));
        match root.kind() {
            Kind::Object => {}
            Kind::Array => return no("batches are no part of A2A: send one request object per POST"),
            _ => return no("the body must be a request object"),
        }
        let member = |name: &str| {
            root.members().find(|(key, _)| key.text().is_some_and(|key| key == name)).map(|(_, value)| value)
        };
        match member("id") {
            None => return no("id is required: notifications are no part of A2A"),
            Some(id) if !id.is_string() && !matches!(id.kind(), Kind::Number | Kind::Null) => {
                return no("id must be a string, a number or null");
            }
            Some(id) if id.raw().len() > MAX_RPC_ID => return no("id is too long"),
            Some(id) => reply.id = Json(id.raw().into()),
        }
        if member("jsonrpc").and_then(Value::text).as_deref() != Some("2.0") {
            return no("jsonrpc must be \"2.0\"");
        }
        let Some(method) = member("method").and_then(Value::text) else {
            return no("method must be a string");
        };
        let params = member("params").filter(|params| params.kind() != Kind::Null);
        Ok(Self { method: method.into_owned(), params })
    }
}
