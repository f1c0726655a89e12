//! From the bytes of a request to a [`Call`], and from the core's answer back to bytes in the shape that was asked for.
//!
//! Three versions of A2A speak over two bindings. Which one is meant is decided by path, method name and header, never
//! by guessing; each has one folder. All of it is functions of bytes: no clock, no I/O, no state. The core knows none of
//! the dialects, and they know nothing of the core but its types.

mod body;
mod call;
mod digest;
mod early;
mod edition;
mod fields;
pub(crate) mod json;
mod metadata;
mod method;
mod refuse;
mod reply;
mod rest;
mod rpc;
mod shape;
mod time;
mod v03;
mod v1;

pub use call::{Binding, Call, ListTasks, Operation, PushConfig, ReplyTo, SendMessage, Version};
pub use edition::extension;
pub(crate) use method::Method;
pub use reply::{EVENT_STREAM, Rejection};
pub use shape::Page;

use crate::a2a::Part;
use crate::http::router::Route;
use crate::refusal::Refusal;
use hyper::HeaderMap;

/// A part as 1.0 writes it, where nobody is to be told what is wrong with it: in the model's own answer.
pub(crate) fn part_of_answer(value: json::Value<'_>) -> Option<Part> {
    v1::read::part(&fields::Fields::of(value, "").ok()?).ok()
}

/// Reads a request of which all bytes are there. `query` is the part of the target after `?`.
///
/// # Errors
/// A [`Rejection`]: the [`Refusal`], and the shape to say it in, with the request's id as soon as one was legible.
pub fn decode(route: &Route, headers: &HeaderMap, query: Option<&str>, body: &[u8]) -> Result<Call, Rejection> {
    match route {
        Route::Rpc => rpc::decode(headers, query, body),
        Route::Rest { version, call } => rest::decode(*version, call, headers, query, body),
        // A card is no call: it has no body and asks for no Task.
        Route::Card(_) => Err(Rejection::new(ReplyTo::for_route(route), Refusal::NoRoute)),
    }
}

#[cfg(test)]
mod tests;
