//! JSON, read strictly and written directly.
//!
//! Promises: one pass, no recursion past [`MAX_DEPTH`], no more than [`MAX_NODES`] values, no key twice, no text that
//! is not Unicode, nothing after the end. What is read keeps its place in the request, so that an id can be echoed byte
//! for byte and a message can be digested as it was sent. It refuses to know what any member means.

mod read;
mod value;
mod write;

pub(crate) use read::{Flaw, parse};
#[cfg(test)]
pub(crate) use read::{MAX_DEPTH, MAX_NODES};
pub(crate) use value::{Kind, Value};
pub(crate) use write::{Out, escape};

#[cfg(test)]
mod tests;
