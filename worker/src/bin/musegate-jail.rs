//! musegate-jail
fn main() {}
