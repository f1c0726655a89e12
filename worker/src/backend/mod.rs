//! The agent behind the worker: what runs, with which arguments and environment, and what its lines mean.

pub mod jsonl;
pub mod records;
