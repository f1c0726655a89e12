//! musegate
fn main() {}
