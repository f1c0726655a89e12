//! The operator's and user's command: starts a pair on one machine, calls A2A agents, keeps tokens, looks after things.
//!
//! Promises: a token or a message never stands in an argument or in this command's own output, but for the one time a
//! new token is shown; every exit status means one thing (`exit.rs`). This one program is also the supervisor, the
//! worker, its jail and the stand-in agent of a pair that it starts, so that one build is enough: it starts itself
//! again with an internal word, or under the name `muse-stub`.

pub mod args;
mod audit;
mod card;
mod check;
pub mod client;
mod demo;
mod doctor;
pub mod exit;
mod hermes;
mod home;
mod out;
mod pair;
mod paths;
mod send;
mod status;
mod token;
mod up;

use args::{Cli, Command};
use clap::{CommandFactory, Parser};
use exit::Exit;
use std::ffi::OsString;
use std::io;
use std::path::Path;
use std::process::ExitCode;

/// The whole program.
#[must_use]
pub fn main() -> ExitCode {
    let mut argv = std::env::args_os();
    let called = argv.next().unwrap_or_default();
    if Path::new(&called).file_name().is_some_and(|name| name == "muse-stub") {
        return muse_stub::main();
    }
    if let Some(ended) = internal() {
        return ended;
    }
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            let _ = error.print();
            return if error.use_stderr() { Exit::Usage.into() } else { Exit::Ok.into() };
        }
    };
    run(cli).into()
}

/// This program as one of the others, where its first argument says so.
fn internal() -> Option<ExitCode> {
    let mut args = std::env::args_os().skip(1);
    let word = args.next()?;
    let mut args: Vec<OsString> = args.collect();
    match word.to_str()? {
        pair::JAIL => Some(musegate_worker::process::jail_main()),
        pair::SUPERVISOR => {
            args.push("--until-stdin-closes".into());
            Some(musegate_supervisor::main(args))
        }
        pair::WORKER => match std::env::current_exe() {
            Ok(program) => {
                let jail = musegate_worker::process::JailCommand { program, args: vec![pair::JAIL.into()] };
                let invocation = musegate_worker::Invocation { args, jail, stop_with_stdin: true };
                Some(musegate_worker::main_with(invocation))
            }
            Err(error) => {
                out::complain(&format!("cannot find its own program: {error}"), None);
                Some(Exit::Os.into())
            }
        },
        _ => None,
    }
}

fn run(cli: Cli) -> Exit {
    match &cli.command {
        Command::Completions { shell } => {
            clap_complete::generate(*shell, &mut Cli::command(), "musegate", &mut io::stdout());
            return Exit::Ok;
        }
        Command::Man { folder } => return man(folder),
        _ => {}
    }
    let folders = match paths::Folders::find(cli.config_dir) {
        Ok(folders) => folders,
        Err(error) => {
            out::complain(&error.to_string(), None);
            return Exit::Config;
        }
    };
    match cli.command {
        Command::Demo(args) => wait_for(demo::run(&args)),
        Command::Up(args) => wait_for(up::run(&args, &folders)),
        Command::Card(args) => wait_for(card::run(&args)),
        Command::Token(args) => token::run(&args, &folders),
        Command::Check(args) => check::run(args.json, &folders),
        Command::Audit(args) => audit::run(&args, &folders),
        Command::Doctor(args) => wait_for(doctor::run(&args, &folders)),
        Command::Status(args) => status::run(&args, &folders),
        Command::HermesConfig(args) => hermes::run(&args, &folders),
        Command::Send(args) => wait_for(send::send(&args, &folders)),
        Command::Task(args) => wait_for(send::task(&args, &folders)),
        Command::Completions { .. } | Command::Man { .. } => Exit::Ok,
    }
}

fn wait_for(work: impl Future<Output = Exit>) -> Exit {
    match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime.block_on(work),
        Err(error) => {
            out::complain(&format!("cannot start: {error}"), None);
            Exit::Os
        }
    }
}

fn man(folder: &Path) -> Exit {
    match clap_mangen::generate_to(Cli::command(), folder) {
        Ok(()) => Exit::Ok,
        Err(error) => {
            out::complain(&format!("{}: {error}", folder.display()), Some("make the folder first"));
            Exit::CannotCreate
        }
    }
}
