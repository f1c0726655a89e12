//! `musegate-jail`: starts and ends the worker's programs. See `process/jail` of the library.

fn main() -> std::process::ExitCode {
    musegate_worker::process::jail_main()
}
