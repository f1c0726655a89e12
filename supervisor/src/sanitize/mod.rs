//! Sanitising of messages and answers: the rules are in the crate `musegate-sanitize`, which the worker uses too; here is
//! what they are applied to, and the mask over our own tokens.

pub mod message;
mod outgoing;
pub mod own_tokens;

pub use message::{Clean, clean_parts};
pub use musegate_sanitize::{Counts, HELD_MAX, Mode, Rejected, Stream, clean, for_terminal, stripped};
pub use outgoing::{Outgoing, outgoing};
