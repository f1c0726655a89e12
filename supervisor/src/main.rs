//! `musegate-supervisor`: a few lines over the library.

use std::process::ExitCode;

fn main() -> ExitCode {
    musegate_supervisor::main(std::env::args_os().skip(1))
}
