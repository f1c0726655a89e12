//! Files and streams of text.

mod config;
mod redact;
mod sanitize;
mod settings;

pub(crate) use config::{callers, supervisor, worker};
pub(crate) use redact::{patterns, redact};
pub(crate) use sanitize::sanitize;
pub(crate) use settings::settings;
