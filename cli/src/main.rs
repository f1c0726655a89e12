//! `musegate`: the operator's and user's command. A few lines over the library.

use std::process::ExitCode;

fn main() -> ExitCode {
    musegate::main()
}
