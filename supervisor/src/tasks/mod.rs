//! Tasks: what callers see of their jobs, from the first message to the last event.

mod budget;
mod flow;
mod log;
mod rope;
