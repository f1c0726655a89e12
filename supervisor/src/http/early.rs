//! Refusals of strangers, ready before anybody asks: who is not let in costs as little as possible.
//!
//! Promises: the same bytes as the dialect would make at the time. Refuses to know who asks.

use super::body::Body;
use super::reply::respond;
use super::router::{CardPath, RestCall, Route};
use crate::audit::UNWRITABLE;
use crate::dialect::{Binding, ReplyTo, Version};
use crate::refusal::Refusal;
use bytes::Bytes;
use hyper::{HeaderMap, Response, StatusCode};

/// Ready refusals by shape.
#[derive(Debug)]
pub(super) struct Early(Vec<Ready>);

#[derive(Debug)]
struct Ready {
    version: Version,
    binding: Binding,
    refusal: Refusal,
    status: StatusCode,
    headers: HeaderMap,
    body: Bytes,
}

impl Early {
    /// Those that come before the body is read and always look the same.
    #[must_use]
    pub(super) fn new() -> Self {
        let rest = |version| Route::Rest { version, call: RestCall::List };
        let routes =
            [Route::Rpc, rest(Version::V1), rest(Version::V03), rest(Version::Early), Route::Card(CardPath::AgentCard)];
        let ready = |route: &Route, refusal: Refusal| {
            let reply_to = ReplyTo::for_route(route);
            let reply = reply_to.refusal(&refusal);
            let (status, body) = (reply.status, reply.body.clone());
            let headers = respond(status, reply.content_type, reply.headers, Body::empty()).into_parts().0.headers;
            Ready { version: reply_to.version, binding: reply_to.binding, refusal, status, headers, body }
        };
        let each = |route| [Refusal::Unauthenticated, UNWRITABLE].map(|refusal| ready(route, refusal));
        Self(routes.iter().flat_map(each).collect())
    }

    /// A refusal in the shape of the route, its JSON-RPC id null.
    #[must_use]
    pub(super) fn refusal(&self, route: &Route, refusal: &Refusal) -> Response<Body> {
        let (version, binding) = match route {
            Route::Rpc => (Version::V1, Binding::JsonRpc),
            Route::Rest { version, .. } => (*version, Binding::Rest),
            Route::Card(_) => (Version::V1, Binding::Rest),
        };
        let fits = |ready: &&Ready| ready.binding == binding && ready.version == version && ready.refusal == *refusal;
        let Some(ready) = self.0.iter().find(fits) else {
            return ReplyTo::for_route(route).refusal(refusal).into_response();
        };
        let mut response = Response::new(Body::Full(ready.body.clone()));
        *response.status_mut() = ready.status;
        *response.headers_mut() = ready.headers.clone();
        response
    }
}

impl Default for Early {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_ready_is_what_would_be_made() {
        let early = Early::new();
        let rest = |version| Route::Rest { version, call: RestCall::Send };
        for route in [Route::Rpc, rest(Version::V1), rest(Version::V03), rest(Version::Early)] {
            for refusal in [Refusal::Unauthenticated, UNWRITABLE, Refusal::NoRoute] {
                let (ours, body) = early.refusal(&route, &refusal).into_parts();
                let (made, wanted) = ReplyTo::for_route(&route).refusal(&refusal).into_response().into_parts();
                assert_eq!((ours.status, ours.headers), (made.status, made.headers));
                match (body, wanted) {
                    (Body::Full(body), Body::Full(wanted)) => assert_eq!(body, wanted),
                    other => panic!("{other:?}"),
                }
            }
        }
    }
}
