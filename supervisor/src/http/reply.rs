//! An answer on its way out: status, type, a few headers, and a body that is ready or streams.
//!
//! Promises: every answer carries the same guarding headers and never says what software sent it. Refuses to know A2A.

use super::body::Body;
use crate::refusal::Refusal;
use bytes::Bytes;
use hyper::header::{
    ACCEPT_ENCODING, ALLOW, CACHE_CONTROL, CONTENT_TYPE, HeaderName, HeaderValue, RETRY_AFTER, WWW_AUTHENTICATE,
};
use hyper::{Response, StatusCode};

const NOSNIFF: (HeaderName, HeaderValue) =
    (HeaderName::from_static("x-content-type-options"), HeaderValue::from_static("nosniff"));
const NO_STORE: HeaderValue = HeaderValue::from_static("no-store");
/// The challenge of a 401, RFC 6750 §3.
const CHALLENGE: HeaderValue = HeaderValue::from_static("Bearer realm=\"musegate\"");

/// A complete answer, as a dialect makes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reply {
    /// HTTP status.
    pub status: StatusCode,
    /// `Content-Type`.
    pub content_type: &'static str,
    /// Further headers.
    pub headers: Vec<(HeaderName, HeaderValue)>,
    /// The whole body.
    pub body: Bytes,
}

impl Reply {
    /// 200 without further headers.
    #[must_use]
    pub fn ok(content_type: &'static str, body: impl Into<Bytes>) -> Self {
        Self { status: StatusCode::OK, content_type, headers: Vec::new(), body: body.into() }
    }

    /// Adds the headers that a refusal needs: `WWW-Authenticate`, `Retry-After`, `Allow`, `Accept-Encoding`.
    #[must_use]
    pub fn with_refusal_headers(mut self, refusal: &Refusal) -> Self {
        match refusal {
            Refusal::Unauthenticated => self.headers.push((WWW_AUTHENTICATE, CHALLENGE)),
            Refusal::MethodNotAllowed { allow } => self.headers.push((ALLOW, HeaderValue::from_static(allow))),
            Refusal::ContentCoding => self.headers.push((ACCEPT_ENCODING, HeaderValue::from_static("identity"))),
            _ => {}
        }
        if let Some(seconds) = refusal.retry_seconds() {
            self.headers.push((RETRY_AFTER, HeaderValue::from(seconds)));
        }
        self
    }

    /// For hyper.
    #[must_use]
    pub fn into_response(self) -> Response<Body> {
        respond(self.status, self.content_type, self.headers, Body::Full(self.body))
    }
}

/// A streaming or ready answer for hyper. `Cache-Control: no-store` unless the headers say otherwise.
pub fn respond(
    status: StatusCode,
    content_type: &'static str,
    headers: impl IntoIterator<Item = (HeaderName, HeaderValue)>,
    body: Body,
) -> Response<Body> {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    let map = response.headers_mut();
    map.insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    map.insert(CACHE_CONTROL, NO_STORE);
    map.insert(NOSNIFF.0, NOSNIFF.1);
    for (name, value) in headers {
        map.insert(name, value);
    }
    response
}
