//! The boundary between the supervisor (faces the network) and the worker (runs Muse).
//!
//! Promises: every frame that decodes is within the bounds written beside its fields; a frame that is not legal in the
//! present state is a [`order::Violation`], on both ends by the same table; nothing here does I/O, reads a clock or the
//! environment. Refuses to know: paths, argv, environments, uids, descriptors, tokens. None of them can be said.
//!
//! Read in this order: [`message`] (what may be said), [`order`] (when), [`bounded`] (how much), [`codec`] (as which
//! bytes), [`preamble`] (before the first of them). Beside them [`push`]: the other, smaller boundary, to the process that
//! sends push notifications.

pub mod bounded;
pub mod codec;
pub mod message;
pub mod order;
pub mod preamble;
pub mod push;

pub use bounded::{Blob, Label, List, Text};
pub use message::{FromWorker, JobId, ToWorker};
