//! The agent behind the worker: what runs, with which arguments and environment, and what its lines mean.

pub mod check;
pub mod flags;
pub mod jsonl;
pub mod muse;
pub mod probe;
pub mod records;
