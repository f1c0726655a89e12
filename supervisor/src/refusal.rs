//! Every way in which the supervisor says no, in one table: what the caller is told, in each binding, and what the
//! audit calls it. A [`Refusal`] is the caller's to know; a [`Refusal::Fault`] is ours and shows an incident id only.

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "a test reads the documentation")]
mod tests;

use std::fmt;
use std::time::Duration;

/// A no.
#[derive(Clone, Debug, PartialEq)]
pub enum Refusal {
    // ── HTTP: the request was not admitted ──
    /// No credential, or not one of ours: 401.
    Unauthenticated,
    /// The credential is known and may not do this: 403. Says what.
    Forbidden(&'static str),
    /// `Host` or `Origin` is not ours: 403.
    ForeignHost,
    /// Over the rate: 429.
    TooManyRequests {
        /// When to come back.
        retry: Duration,
    },
    /// All slots are taken: 503, or a JSON-RPC error in 200.
    Busy {
        /// When to come back.
        retry: Duration,
        /// The caller wants a JSON-RPC error in HTTP 200 (`busy = "rpc"`): the only text that reaches some models.
        in_band: bool,
    },
    /// The worker is not there: 503.
    WorkerAway {
        /// When to come back.
        retry: Duration,
    },
    /// The supervisor is stopping, or cannot write its audit: 503.
    Unavailable {
        /// When to come back.
        retry: Duration,
        /// Why, for the caller.
        why: &'static str,
    },
    /// No such path: 404.
    NoRoute,
    /// No such method on this path: 405.
    MethodNotAllowed {
        /// The `Allow` header.
        allow: &'static str,
    },
    /// Body too large: 413.
    BodyTooLarge {
        /// Limit in bytes.
        limit: usize,
    },
    /// Body too slow: 408.
    BodyTimeout,
    /// Not a content type of this binding: 415.
    MediaType,
    /// The body is compressed or otherwise coded: 415.
    ContentCoding,
    /// The request is broken as HTTP: 400.
    BadRequest(String),

    // ── JSON-RPC ──
    /// Not JSON: -32700.
    Parse(String),
    /// Not a JSON-RPC request: -32600.
    InvalidRequest(String),
    /// Unknown method: -32601.
    MethodNotFound,
    /// Wrong parameters: -32602. Field and what is wrong with it.
    InvalidParams {
        /// Dotted field, may be empty.
        field: String,
        /// What is wrong, a lowercase fragment.
        what: String,
    },

    // ── A2A ──
    /// -32001: no such task, or somebody else's: the two are never told apart.
    TaskNotFound,
    /// -32002.
    TaskNotCancelable,
    /// -32003.
    PushNotSupported,
    /// -32004. Says which operation.
    UnsupportedOperation(&'static str),
    /// -32005. Says which type.
    ContentTypeNotSupported(String),
    /// -32006.
    InvalidAgentResponse,
    /// -32007.
    ExtendedCardNotConfigured,
    /// -32008. Says which extension.
    ExtensionSupportRequired(String),
    /// -32009. Says which version was meant, and what to send instead.
    VersionNotSupported(String),

    /// Ours: -32603 with an incident id.
    Fault {
        /// Also in the log.
        incident: String,
    },
}

/// What a [`Refusal`] is in each binding: one row of docs/refusals.md.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    /// HTTP status of the HTTP+JSON binding.
    pub http: u16,
    /// HTTP status of the JSON-RPC binding: protocol errors travel in 200.
    pub rpc_http: u16,
    /// Code of the JSON-RPC error, 1.0. Older dialects translate it.
    pub code: i32,
    /// Name of the status in `google.rpc.Status`.
    pub grpc: &'static str,
    /// `reason` of the ErrorInfo.
    pub reason: &'static str,
    /// `domain` of the ErrorInfo: the specification's for its own errors, ours for the rest.
    pub domain: &'static str,
    /// What the audit and the metrics call it.
    pub word: &'static str,
}

/// ErrorInfo domain of the specification's own errors, §5.4.
pub const A2A_DOMAIN: &str = "a2a-protocol.org";
/// ErrorInfo domain of what the specification has no reason for.
pub const OUR_DOMAIN: &str = "musegate";

const fn http(status: u16, code: i32, grpc: &'static str, reason: &'static str, word: &'static str) -> Row {
    Row { http: status, rpc_http: status, code, grpc, reason, domain: OUR_DOMAIN, word }
}

const fn rpc(status: u16, code: i32, grpc: &'static str, reason: &'static str, word: &'static str) -> Row {
    Row { http: status, rpc_http: 200, code, grpc, reason, domain: OUR_DOMAIN, word }
}

const fn a2a(status: u16, code: i32, grpc: &'static str, reason: &'static str, word: &'static str) -> Row {
    Row { http: status, rpc_http: 200, code, grpc, reason, domain: A2A_DOMAIN, word }
}

impl Refusal {
    /// Its row of the table.
    #[must_use]
    pub const fn row(&self) -> Row {
        match self {
            Self::Unauthenticated => http(401, -32000, "UNAUTHENTICATED", "UNAUTHENTICATED", "unauthenticated"),
            Self::Forbidden(_) => http(403, -32000, "PERMISSION_DENIED", "FORBIDDEN", "forbidden"),
            Self::ForeignHost => http(403, -32000, "PERMISSION_DENIED", "FOREIGN_HOST", "foreign_host"),
            Self::TooManyRequests { .. } => http(429, -32000, "RESOURCE_EXHAUSTED", "RATE_LIMITED", "rate_limited"),
            Self::Busy { in_band: false, .. } => http(503, -32000, "UNAVAILABLE", "BUSY", "busy"),
            Self::Busy { in_band: true, .. } => rpc(503, -32000, "UNAVAILABLE", "BUSY", "busy"),
            Self::WorkerAway { .. } => http(503, -32000, "UNAVAILABLE", "WORKER_AWAY", "worker_away"),
            Self::Unavailable { .. } => http(503, -32000, "UNAVAILABLE", "UNAVAILABLE", "unavailable"),
            Self::NoRoute => http(404, -32600, "NOT_FOUND", "NO_ROUTE", "no_route"),
            Self::MethodNotAllowed { .. } => {
                http(405, -32600, "UNIMPLEMENTED", "METHOD_NOT_ALLOWED", "method_not_allowed")
            }
            Self::BodyTooLarge { .. } => http(413, -32600, "INVALID_ARGUMENT", "BODY_TOO_LARGE", "body_too_large"),
            Self::BodyTimeout => http(408, -32600, "DEADLINE_EXCEEDED", "BODY_TIMEOUT", "body_timeout"),
            Self::MediaType => Row {
                domain: A2A_DOMAIN,
                ..http(415, -32005, "INVALID_ARGUMENT", "CONTENT_TYPE_NOT_SUPPORTED", "media_type")
            },
            Self::ContentCoding => http(415, -32600, "INVALID_ARGUMENT", "CONTENT_CODING", "content_coding"),
            Self::BadRequest(_) => http(400, -32600, "INVALID_ARGUMENT", "BAD_REQUEST", "bad_request"),
            Self::Parse(_) => rpc(400, -32700, "INVALID_ARGUMENT", "PARSE_ERROR", "parse"),
            Self::InvalidRequest(_) => rpc(400, -32600, "INVALID_ARGUMENT", "INVALID_REQUEST", "invalid_request"),
            Self::MethodNotFound => rpc(404, -32601, "UNIMPLEMENTED", "METHOD_NOT_FOUND", "method_not_found"),
            Self::InvalidParams { .. } => rpc(400, -32602, "INVALID_ARGUMENT", "INVALID_PARAMS", "invalid_params"),
            Self::TaskNotFound => a2a(404, -32001, "NOT_FOUND", "TASK_NOT_FOUND", "task_not_found"),
            Self::TaskNotCancelable => {
                a2a(400, -32002, "FAILED_PRECONDITION", "TASK_NOT_CANCELABLE", "task_not_cancelable")
            }
            Self::PushNotSupported => {
                a2a(400, -32003, "FAILED_PRECONDITION", "PUSH_NOTIFICATION_NOT_SUPPORTED", "push_not_supported")
            }
            Self::UnsupportedOperation(_) => {
                a2a(400, -32004, "FAILED_PRECONDITION", "UNSUPPORTED_OPERATION", "unsupported_operation")
            }
            Self::ContentTypeNotSupported(_) => {
                a2a(400, -32005, "INVALID_ARGUMENT", "CONTENT_TYPE_NOT_SUPPORTED", "content_type")
            }
            Self::InvalidAgentResponse => {
                a2a(500, -32006, "INTERNAL", "INVALID_AGENT_RESPONSE", "invalid_agent_response")
            }
            Self::ExtendedCardNotConfigured => a2a(
                400,
                -32007,
                "FAILED_PRECONDITION",
                "EXTENDED_AGENT_CARD_NOT_CONFIGURED",
                "extended_card_not_configured",
            ),
            Self::ExtensionSupportRequired(_) => {
                a2a(400, -32008, "FAILED_PRECONDITION", "EXTENSION_SUPPORT_REQUIRED", "extension_required")
            }
            Self::VersionNotSupported(_) => {
                a2a(400, -32009, "FAILED_PRECONDITION", "VERSION_NOT_SUPPORTED", "version_not_supported")
            }
            Self::Fault { .. } => rpc(500, -32603, "INTERNAL", "INTERNAL", "fault"),
        }
    }

    /// `Retry-After`, whole seconds and at least one; none: trying again does not help.
    #[must_use]
    pub fn retry_seconds(&self) -> Option<u64> {
        match self {
            Self::TooManyRequests { retry }
            | Self::Busy { retry, .. }
            | Self::WorkerAway { retry }
            | Self::Unavailable { retry, .. } => Some(retry.as_millis().div_ceil(1000).max(1) as u64),
            _ => None,
        }
    }
}

/// What the caller reads: one sentence that says what to do where something can be done.
impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.retry_seconds().unwrap_or_default();
        match self {
            Self::Unauthenticated => {
                f.write_str("authentication is needed: send `Authorization: Bearer TOKEN` with a token of this agent")
            }
            Self::Forbidden(what) => write!(f, "this caller may not do that: {what}"),
            Self::ForeignHost => f.write_str("this Host or Origin is not one of this agent's"),
            Self::TooManyRequests { .. } => write!(f, "too many requests; try again in {seconds} s"),
            Self::Busy { .. } => write!(f, "the agent is busy with another task; try again in {seconds} s"),
            Self::WorkerAway { .. } => write!(f, "the agent's worker is away; try again in {seconds} s"),
            Self::Unavailable { why, .. } => write!(f, "the agent is not available: {why}; try again in {seconds} s"),
            Self::NoRoute => f.write_str("there is nothing at this path"),
            Self::MethodNotAllowed { allow } => write!(f, "this path takes {allow}"),
            Self::BodyTooLarge { limit } => write!(f, "the body is over {limit} bytes"),
            Self::BodyTimeout => f.write_str("the body did not arrive in time"),
            Self::MediaType => f.write_str("the body must be application/json or application/a2a+json"),
            Self::ContentCoding => f.write_str("the body must come as it is, without Content-Encoding"),
            Self::BadRequest(what) => write!(f, "bad request: {what}"),
            Self::Parse(what) => write!(f, "not JSON: {what}"),
            Self::InvalidRequest(what) => write!(f, "invalid request: {what}"),
            Self::MethodNotFound => f.write_str("no such method"),
            Self::InvalidParams { field, what } if field.is_empty() => write!(f, "invalid parameters: {what}"),
            Self::InvalidParams { field, what } => write!(f, "invalid parameters: {field}: {what}"),
            Self::TaskNotFound => f.write_str("no such task"),
            Self::TaskNotCancelable => f.write_str("the task has ended and cannot be canceled"),
            Self::PushNotSupported => f.write_str("push notifications are not available"),
            Self::UnsupportedOperation(what) => write!(f, "not supported: {what}"),
            Self::ContentTypeNotSupported(what) => write!(f, "content type not supported: {what}"),
            Self::InvalidAgentResponse => f.write_str("the agent's answer was not valid"),
            Self::ExtendedCardNotConfigured => f.write_str("there is no extended card"),
            Self::ExtensionSupportRequired(uri) => write!(f, "the extension {uri} must be named in A2A-Extensions"),
            Self::VersionNotSupported(what) => write!(f, "A2A version not supported: {what}"),
            Self::Fault { incident } => {
                write!(f, "something went wrong here; the operator finds it as incident {incident}")
            }
        }
    }
}
