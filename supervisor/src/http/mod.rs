//! HTTP: the rooms between a socket and a [`Call`](crate::dialect::Call).

mod bell;
pub mod body;
mod deadline;
mod early;
pub mod guard;
mod life;
pub mod listen;
mod push;
pub mod reply;
pub mod router;
mod send;
pub mod serve;
pub mod sse;
mod stream;
mod walk;
