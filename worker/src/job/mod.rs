//! One job: from what was asked to how it ended.

pub mod prompt;
