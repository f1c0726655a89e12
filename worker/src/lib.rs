//! The process that runs Muse: slots, scratch folders, process groups, limits, redaction. Listens on a Unix socket only.

pub mod backend;
pub mod config;
pub mod job;
pub mod process;
pub mod redact;
pub mod scratch;
pub mod session;
