//! musegate-worker
fn main() {}
