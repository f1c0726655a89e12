//! What stands between the worker and Muse.

mod answer;
mod jsonl;
mod prompt;

pub(crate) use answer::answer;
pub(crate) use jsonl::jsonl;
pub(crate) use prompt::prompt;
