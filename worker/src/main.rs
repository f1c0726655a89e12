//! `musegate-worker`: runs Muse for the supervisor.

use std::process::ExitCode;

fn main() -> ExitCode {
    musegate_worker::main()
}
