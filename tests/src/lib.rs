//! What several tests of whole processes share.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    reason = "a test ends at what it does not expect, and says what it saw"
)]

pub mod pair_bench;
#[cfg(target_os = "linux")]
pub mod recorder;
pub mod worker_bench;
