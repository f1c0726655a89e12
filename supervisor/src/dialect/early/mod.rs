//! A2A 0.1, the dialect of spring 2025: the client names the task, parts have a `type`, a conversation is a session, and
//! the answer to a message is always a Task. Both bindings have the same shapes.

pub(super) mod read;
pub(super) mod write;
