//! A [`Refusal`] in each shape: the JSON-RPC error object with its `data`, and the bodies of the HTTP+JSON bindings.
//!
//! The table of 1.0 is `refusal.rs`. The older editions give some of its numbers another meaning, so each has its own
//! translation here; the details (spec §9.5, §11.6) are the same in all.

use super::call::Version;
use super::json::Out;
use crate::refusal::Refusal;

/// JSON-RPC: `{"code":…,"message":…,"data":[…]}`.
pub(super) fn rpc_error(out: &mut Out<'_>, version: Version, refusal: &Refusal) {
    out.object(|out| {
        out.number_in("code", code(version, refusal));
        out.string_in("message", &refusal.to_string());
        out.array_in("data", |out| details(out, refusal));
    });
}

/// HTTP+JSON of 1.0: a google.rpc.Status in `error`.
pub(super) fn status_body(out: &mut Out<'_>, refusal: &Refusal) {
    out.object(|out| status_member(out, refusal));
}

/// HTTP+JSON of the older editions, which never said how an error looks: clients look for a code of JSON-RPC, or for
/// the name of a class, beside a message. `error` is there for those that know 1.0.
pub(super) fn old_body(out: &mut Out<'_>, version: Version, refusal: &Refusal) {
    out.object(|out| {
        out.number_in("code", code(version, refusal));
        out.string_in("type", class(refusal));
        out.string_in("message", &refusal.to_string());
        status_member(out, refusal);
    });
}

fn status_member(out: &mut Out<'_>, refusal: &Refusal) {
    let row = refusal.row();
    out.object_in("error", |out| {
        out.number_in("code", row.http);
        out.string_in("status", row.grpc);
        out.string_in("message", &refusal.to_string());
        out.array_in("details", |out| details(out, refusal));
    });
}

/// ErrorInfo always; what is wrong with which field, and when to come back, where there is something to say.
fn details(out: &mut Out<'_>, refusal: &Refusal) {
    let row = refusal.row();
    out.object(|out| {
        out.string_in("@type", "type.googleapis.com/google.rpc.ErrorInfo");
        out.string_in("reason", row.reason);
        out.string_in("domain", row.domain);
    });
    if let Refusal::InvalidParams { field, what } = refusal {
        out.object(|out| {
            out.string_in("@type", "type.googleapis.com/google.rpc.BadRequest");
            out.array_in("fieldViolations", |out| {
                out.object(|out| {
                    out.string_in("field", field);
                    out.string_in("description", what);
                });
            });
        });
    }
    if let Some(seconds) = refusal.retry_seconds() {
        out.object(|out| {
            out.string_in("@type", "type.googleapis.com/google.rpc.RetryInfo");
            out.string_in("retryDelay", &format!("{seconds}s"));
        });
    }
}

/// The JSON-RPC code of an edition.
pub(super) fn code(version: Version, refusal: &Refusal) -> i32 {
    match version {
        Version::V1 => refusal.row().code,
        Version::V03 => code_03(refusal),
        Version::Early => code_early(refusal),
    }
}

/// 0.3 §8.2 ends at -32007, which means the same as in 1.0.
fn code_03(refusal: &Refusal) -> i32 {
    match refusal {
        Refusal::ExtensionSupportRequired(_) | Refusal::VersionNotSupported(_) => -32600,
        _ => refusal.row().code,
    }
}

/// 0.1 has numbers of its own for what later travels as an HTTP status.
fn code_early(refusal: &Refusal) -> i32 {
    match refusal {
        Refusal::Unauthenticated => -32007,
        Refusal::Forbidden(_) | Refusal::ForeignHost => -32008,
        Refusal::TooManyRequests { .. } => -32010,
        Refusal::Busy { .. } | Refusal::WorkerAway { .. } | Refusal::Unavailable { .. } => -32011,
        Refusal::InvalidAgentResponse => -32603,
        Refusal::ExtendedCardNotConfigured => -32004,
        Refusal::ExtensionSupportRequired(_) | Refusal::VersionNotSupported(_) => -32600,
        _ => refusal.row().code,
    }
}

/// What the public clients of 0.3 call an error.
fn class(refusal: &Refusal) -> &'static str {
    match refusal.row().code {
        -32001 => "TaskNotFoundError",
        -32002 => "TaskNotCancelableError",
        -32003 => "PushNotificationNotSupportedError",
        -32004 => "UnsupportedOperationError",
        -32005 => "ContentTypeNotSupportedError",
        -32006 => "InvalidAgentResponseError",
        -32007 => "AuthenticatedExtendedCardNotConfiguredError",
        -32700 => "JSONParseError",
        -32601 => "MethodNotFoundError",
        -32602 => "InvalidParamsError",
        -32603 => "InternalError",
        _ => "InvalidRequestError",
    }
}
