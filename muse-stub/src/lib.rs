//! A stand-in for Muse Code that speaks the wire format of its headless mode, for demonstrations, tests and benchmarks.
//!
//! It answers `--version`, `exec --help` and `exec … --prompt-file F` as the real program does: JSON lines on stdout,
//! notes on stderr, exit codes 0, 1, 2, 130 and 143. What it answers, and how it misbehaves, is told by a small script
//! in the newest message of the prompt (`@stub answer="…"`) or in the environment variable `MUSE_STUB`; `--help` lists
//! the words. Without a script it answers in a fixed friendly form.
//!
//! It starts fast: no threads, no runtime. It refuses to know who runs it: nothing here depends on the rest of the
//! workspace. Whatever it starts ends by itself within a minute.

mod bench;
mod clock;
mod damage;
mod fail;
mod files;
mod flags;
mod output;
mod play;
mod probe;
mod prompt;
mod schema;
mod script;
mod shape;
mod start;
mod steps;
mod text;
mod wire;
mod words;

use output::Output;
use std::process::ExitCode;

/// Version that `--version` names, unless the stand-in is asked to act as an older build.
const NEWEST: flags::Build = flags::Build([1, 4, 14]);

/// The program. Reads its arguments, its environment and standard input.
#[must_use]
pub fn main() -> ExitCode {
    let args: Vec<String> = std::env::args_os().map(|arg| arg.to_string_lossy().into_owned()).collect();
    let mut output = Output::new();
    let (name, rest) = args.split_first().map_or(("", &[][..]), |(name, rest)| (name.as_str(), rest));
    let build = flags::Build::acted(name).unwrap_or(NEWEST);
    let code = match rest.split_first() {
        Some((word, role)) if word == shape::ROLE => shape::act(role),
        Some((word, _)) if word == "--version" || word == "-V" => {
            output.text(&format!("Muse Code {build} ({build}-R7309.1) stand-in {}\n", env!("CARGO_PKG_VERSION")));
            0
        }
        Some((word, rest)) if word == "exec" => exec(rest, build, &mut output),
        Some((word, _)) if word == "--help" || word == "-h" || word == "help" => {
            output.text(&words::help());
            0
        }
        _ => {
            output.note(&format!(
                "error: this is a stand-in for Muse Code that knows only `exec`; see `{name} --help`\n"
            ));
            2
        }
    };
    output.flush();
    ExitCode::from(code)
}

fn exec(args: &[String], build: flags::Build, output: &mut Output) -> u8 {
    if args.iter().any(|arg| arg == "--help" || arg == "-h") {
        output.text(&flags::help(build));
        return 0;
    }
    let call = match flags::parse(args, build) {
        Ok(call) => call,
        Err(refusal) => {
            output.note(&format!("error: {}\n", refusal.text));
            return refusal.code;
        }
    };
    let prompt = match prompt::Prompt::read(&call) {
        Ok(prompt) => prompt,
        Err(text) => {
            output.note(&format!("error: {text}\n"));
            return 1;
        }
    };
    play::run(&call, &prompt, output)
}
