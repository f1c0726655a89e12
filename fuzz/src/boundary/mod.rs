//! The protocol between supervisor and worker.

mod decode;
mod session;

pub(crate) use decode::{frames, from_worker, preamble, to_worker};
pub(crate) use session::session;
