//! muse-stub
use std::process::ExitCode;

fn main() -> ExitCode {
    muse_stub::main()
}
