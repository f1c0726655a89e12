//! One job: from what was asked to how it ended.

pub mod answer;
pub mod limits;
pub mod outcome;
pub mod prompt;
pub mod tools;
