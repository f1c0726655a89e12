//! The dialects from outside: bytes in, a [`Call`] out; the core's things in, bytes out.
//!
//! Golden files lie in `supervisor/golden/dialect/`. `MUSEGATE_BLESS=1` writes them anew; read the difference before
//! you keep it.

#![expect(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test says what it found by failing"
)]

mod answers;
mod cases;
#[expect(clippy::disallowed_methods, reason = "golden answers stand in files")]
mod golden;
mod hostile;
mod kinds;
mod members;
mod oracle;
mod requests;
mod routes;
mod schema;
mod sse;
mod story;
mod streams;

use musegate_supervisor::dialect::{Binding, Version};

/// Every combination that a client can speak.
const SPOKEN: [(Version, Binding); 6] = [
    (Version::V1, Binding::JsonRpc),
    (Version::V1, Binding::Rest),
    (Version::V03, Binding::JsonRpc),
    (Version::V03, Binding::Rest),
    (Version::Early, Binding::JsonRpc),
    (Version::Early, Binding::Rest),
];
