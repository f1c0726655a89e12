//! One job: from what was asked to how it ended.

pub mod limits;
pub mod prompt;
pub mod tools;
