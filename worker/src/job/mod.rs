//! One job: from what was asked to how it ended.

pub mod answer;
mod ears;
mod files;
pub mod limits;
pub mod outcome;
pub mod prompt;
pub(crate) mod run;
mod running;
pub mod tools;
