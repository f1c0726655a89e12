//! The process that faces the network: HTTP, callers, limits, sanitising, Tasks, history, audit.
//!
//! Promises: no credential of a model, no scratch folder and no way to start a process exist here. Rooms stand in the
//! order in which a request walks them; `http/serve.rs` alone sees them all.

pub mod a2a;
pub mod admission;
pub mod answer;
pub mod audit;
pub mod bind;
pub mod card;
pub mod config;
pub mod dialect;
pub mod flags;
pub mod http;
pub mod link;
pub mod notify;
pub mod operator;
pub mod push;
pub mod refusal;
pub mod rooms;
pub mod sanitize;
pub mod schema;
pub mod skills;
pub mod stamp;
pub mod start;
pub mod tasks;
pub mod trace;
pub mod walls;

pub use start::main;
