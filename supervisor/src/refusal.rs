//! Every way in which the supervisor says no, in one table: what the caller is told, in each binding, and what the
//! audit calls it. A [`Refusal`] is the caller's to know; a [`Refusal::Fault`] is ours and shows an incident id only.

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
    /// All slots are taken: 503 (or a JSON-RPC error in 200, by the caller's setting).
    Busy {
        /// When to come back.
        retry: Duration,
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
    /// -32009. Says which version.
    VersionNotSupported(String),

    /// Ours: -32603 with an incident id.
    Fault {
        /// Also in the log.
        incident: String,
    },
}
