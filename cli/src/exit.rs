//! How the command ends: sysexits(3) for what goes wrong here, numbers of our own for what the other side said, so
//! that a script can tell an HTTP status, a JSON-RPC error and the state of a Task apart.

use std::process::ExitCode;

/// How the command ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Exit {
    /// Done; for `send`: the Task completed.
    Ok = 0,
    /// Something that was looked at is not in order (`doctor`, `audit verify`, `status`).
    NotInOrder = 1,
    /// The Task failed.
    Failed = 10,
    /// The Task was canceled.
    Canceled = 11,
    /// The agent rejected the Task.
    Rejected = 12,
    /// The agent asks for more input.
    InputRequired = 13,
    /// The agent lacks an authorization.
    AuthRequired = 14,
    /// The Task is not over.
    NotOver = 15,
    /// A JSON-RPC error.
    RpcError = 20,
    /// HTTP 401 or 403.
    Unauthorized = 30,
    /// HTTP 429 or 503: come back later.
    Later = 31,
    /// Any other HTTP status that is not a success.
    HttpError = 32,
    /// No connection, or it broke.
    NoConnection = 33,
    /// An answer that is not A2A.
    NotA2a = 34,
    /// EX_USAGE
    Usage = 64,
    /// EX_DATAERR
    Data = 65,
    /// EX_NOINPUT
    NoInput = 66,
    /// EX_UNAVAILABLE
    Unavailable = 69,
    /// EX_SOFTWARE
    Software = 70,
    /// EX_OSERR
    Os = 71,
    /// EX_CANTCREAT
    CannotCreate = 73,
    /// EX_IOERR
    Io = 74,
    /// EX_NOPERM
    NoPermission = 77,
    /// EX_CONFIG
    Config = 78,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}
