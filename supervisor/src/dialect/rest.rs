//! The HTTP+JSON binding of every edition: which one a path and a header mean, and how the answer looks. The operations
//! themselves are read in the folder of the edition.

use super::call::{Binding, Call, Operation, ReplyTo, Version};
use super::reply::Rejection;
use super::{edition, v1};
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
    let asked = edition::asked(headers, query)?;
    if !body.is_empty() {
        reply.a2a_json |= edition::body_type(headers)? == edition::Body::A2aJson;
    }
    edition::check(reply.version, asked, "this path")?;
    match reply.version {
        Version::V1 => v1::rest::operation(call, query, body),
        Version::V03 | Version::Early => Err(Refusal::NoRoute),
    }
}
