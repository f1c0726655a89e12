//! Files and streams of text.

mod settings;

pub(crate) use settings::settings;
