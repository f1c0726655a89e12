//! musegate-supervisor
fn main() {}
