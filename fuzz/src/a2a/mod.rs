//! What the network sends, and what goes back to it.

mod answer;
mod calls;
mod shown;
mod stream;

pub(crate) use answer::structured;
pub(crate) use calls::{rest, rpc};
pub(crate) use stream::{resume, stream};
