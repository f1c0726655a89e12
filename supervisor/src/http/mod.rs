//! HTTP: the rooms between a socket and a [`Call`](crate::dialect::Call).

pub mod body;
mod deadline;
pub mod guard;
pub mod listen;
pub mod reply;
pub mod router;
mod send;
pub mod serve;
pub mod sse;
mod stream;
mod walk;
