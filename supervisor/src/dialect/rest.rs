//! The HTTP+JSON binding of every edition: which one a path and a header mean, and how the answer looks. The operations
//! themselves are read in the folder of the edition.

use super::call::{Binding, Call, Operation, ReplyTo, Version};
use super::reply::Rejection;
use super::{early, edition, v1, v03};
use crate::http::router::RestCall;
use crate::refusal::Refusal;
use hyper::HeaderMap;

pub(super) fn decode(
    version: Version,
    call: &RestCall,
    headers: &HeaderMap,
    query: Option<&str>,
    body: &[u8],
) -> Result<Call, Rejection> {
    let mut reply = ReplyTo::new(version, Binding::Rest);
    reply.extensions = edition::extensions(headers);
    reply.a2a_json = edition::accepts(headers, "application/a2a+json");
    match operation(&mut reply, call, headers, query, body) {
        Ok(operation) => Ok(Call { operation, reply }),
        Err(refusal) => Err(Rejection::new(reply, refusal)),
    }
}

fn operation(
    reply: &mut ReplyTo,
    call: &RestCall,
    headers: &HeaderMap,
    query: Option<&str>,
    body: &[u8],
) -> Result<Operation, Refusal> {
    // Until an edition is agreed upon, an error is one of 1.0: the header that names editions is too.
    let of_path = std::mem::replace(&mut reply.version, Version::V1);
    let asked = edition::asked(headers, query)?;
    // `GET /tasks/{id}` is of 1.0 and of 0.1, and 0.1 has no header.
    let by_name = of_path == Version::V1 && matches!(call, RestCall::Get(_)) && asked != Some(Version::V1);
    let version = if by_name { Version::Early } else { of_path };
    edition::check(version, asked, "this path")?;
    reply.version = version;
    if !body.is_empty() {
        reply.a2a_json |= edition::body_type(headers)? == edition::Body::A2aJson;
    }
    match version {
        Version::V1 => v1::rest::operation(call, query, body),
        Version::V03 => v03::rest_read::operation(call, query, body),
        Version::Early => {
            let (operation, name) = early::read::rest(call, query, body)?;
            reply.early_id = Some(name);
            Ok(operation)
        }
    }
}
