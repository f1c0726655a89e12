//! From the command line to a running worker, as a list: flags, settings, socket, log, run.
//!
//! Exit statuses as in sysexits.h: 64 wrong flags, 69 something it needs is not there, 71 the system, 73 the socket,
//! 77 root, 78 settings.

use crate::config::Config;
use crate::listen::{self, Bound};
use crate::process::JailCommand;
use crate::{Ready, WorkerError, run};
use musegate_sandbox_profiles::{inherited_listeners, set_not_dumpable};
use musegate_settings::private::{self, Rule};
use nix::sys::stat::{Mode, umask};
use nix::unistd::Uid;
use std::env;
use std::ffi::OsString;
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::os::unix::net::UnixListener;
use std::panic;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe::Receiver;
use tokio::signal::unix::{SignalKind, signal};

const USAGE: u8 = 64;
const UNAVAILABLE: u8 = 69;
const OS: u8 = 71;
const SOCKET: u8 = 73;
const ROOT: u8 = 77;
const SETTINGS: u8 = 78;

/// Longest file of settings, bytes.
const MAX_SETTINGS: u64 = 256 << 10;
const HELP: &str = "\
Runs Muse for musegate's supervisor, which connects on a Unix socket.

Usage: musegate-worker [--config PATH] [--check]

  --config PATH  the settings [default: /etc/musegate/worker.toml]
  --check        say whether the settings are right, and end
  --version      say which version this is
  --help         say this
";

/// How this program was called.
#[derive(Clone, Debug)]
pub struct Invocation {
    /// The arguments without the program's name.
    pub args: Vec<OsString>,
    /// How to start its jail.
    pub jail: JailCommand,
    /// Whether stdin is a pipe whose end means stop: for a pair in the foreground, so that it outlives nobody.
    pub stop_with_stdin: bool,
}

/// The program `musegate-worker`. Its jail is the program `musegate-jail` in the same folder.
#[must_use]
pub fn main() -> ExitCode {
    let jail = env::current_exe().map(|own| own.with_file_name("musegate-jail"));
    match jail {
        Ok(program) => main_with(Invocation {
            args: env::args_os().skip(1).collect(),
            jail: JailCommand { program, args: Vec::new() },
            stop_with_stdin: false,
        }),
        Err(error) => fail(OS, &format!("cannot find its own folder: {error}")),
    }
}

/// The same, for a program that is several.
#[must_use]
pub fn main_with(invocation: Invocation) -> ExitCode {
    let flags = match Flags::read(&invocation.args) {
        Ok(flags) => flags,
        Err(wrong) => return fail(USAGE, &wrong),
    };
    if let Some(text) = flags.say {
        return if io::stdout().write_all(text.as_bytes()).is_ok() { ExitCode::SUCCESS } else { ExitCode::from(OS) };
    }
    harden();
    let config = match read_config(&flags.config) {
        Ok(config) => config,
        Err(wrong) => return fail(SETTINGS, &wrong),
    };
    if flags.check {
        return ExitCode::SUCCESS;
    }
    if Uid::effective().is_root() && !config.allow_root {
        return fail(ROOT, &WorkerError::Root.to_string());
    }
    musegate_logs::start(&config.log);
    let (listener, bound) = match socket(&config) {
        Ok(socket) => socket,
        Err(wrong) => return fail(SOCKET, &wrong),
    };
    let name = bound.is_some().then(|| config.socket.path.clone());
    let ended = Ready::make(config, listener, invocation.jail, name.as_deref())
        .and_then(|ready| serve(ready, invocation.stop_with_stdin));
    drop(bound);
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => fail(status(&error), &error.to_string()),
    }
}

/// Nothing of ours is written for others, dumped, or read by processes of the same user.
fn harden() {
    umask(Mode::from_bits_truncate(0o077));
    if let Err(error) = set_not_dumpable() {
        let _ = writeln!(io::stderr(), "musegate-worker: its memory stays readable for its own user: {error}");
    }
    // A panic's message may quote what was being handled; where it happened is enough.
    panic::set_hook(Box::new(|info| {
        let place = info.location().map_or_else(String::new, |at| format!(" at {}:{}", at.file(), at.line()));
        let _ = writeln!(io::stderr(), "musegate-worker: internal error{place}");
    }));
}

fn serve(ready: Ready, with_stdin: bool) -> Result<(), WorkerError> {
    let os = |error| WorkerError::Os { what: "the runtime", error };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(os)?;
    runtime.block_on(async {
        let stop = told_to_stop(with_stdin).map_err(|error| WorkerError::Os { what: "signals or stdin", error })?;
        run(ready, stop).await
    })
}

/// Resolves at SIGTERM, at SIGINT, and, if so wished, at the end of stdin.
fn told_to_stop(with_stdin: bool) -> io::Result<impl Future<Output = ()>> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let stdin =
        if with_stdin { Some(Receiver::from_owned_fd(io::stdin().as_fd().try_clone_to_owned()?)?) } else { None };
    let stdin_ends = async move {
        let Some(mut stdin) = stdin else { return std::future::pending().await };
        while stdin.read(&mut [0; 64]).await.is_ok_and(|count| count > 0) {}
    };
    Ok(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
            () = stdin_ends => {}
        }
    })
}

#[derive(Debug, PartialEq, Eq)]
struct Flags {
    config: PathBuf,
    check: bool,
    say: Option<String>,
}

impl Flags {
    fn read(args: &[OsString]) -> Result<Self, String> {
        let mut flags = Self { config: PathBuf::from("/etc/musegate/worker.toml"), check: false, say: None };
        let mut args = args.iter();
        while let Some(arg) = args.next() {
            match arg.to_str() {
                Some("--config") => {
                    flags.config = args.next().map(PathBuf::from).ok_or("--config needs a path")?;
                }
                Some("--check") => flags.check = true,
                Some("--version") => flags.say = Some(format!("musegate-worker {}\n", env!("CARGO_PKG_VERSION"))),
                Some("--help" | "-h") => flags.say = Some(HELP.to_owned()),
                _ => return Err(format!("unknown argument {}; see --help", arg.display())),
            }
        }
        Ok(flags)
    }
}

fn read_config(path: &Path) -> Result<Config, String> {
    let text = private::read(path, Rule::Settings, MAX_SETTINGS).map_err(|refused| refused.to_string())?;
    Config::parse(path, &text).map_err(|problems| problems.to_string())
}

/// The one that a service manager holds for us, or our own.
fn socket(config: &Config) -> Result<(UnixListener, Option<Bound>), String> {
    let mut held = inherited_listeners(&["worker"]).map_err(|error| error.to_string())?;
    if let Some(socket) = held.pop() {
        return Ok((socket.fd.into(), None));
    }
    let shared = config.socket.supervisor.is_some_and(|uid| uid != Uid::effective().as_raw());
    let bound = listen::bind(&config.socket.path, shared).map_err(|error| error.to_string())?;
    Ok((bound.0, Some(bound.1)))
}

fn status(error: &WorkerError) -> u8 {
    match error {
        WorkerError::Root => ROOT,
        WorkerError::Rules(_) => SETTINGS,
        WorkerError::Agent(_) | WorkerError::Key(_) | WorkerError::Scratch(_) | WorkerError::Weak(_) => UNAVAILABLE,
        WorkerError::Os { .. } => OS,
    }
}

/// To stderr, whether or not there is a log yet.
fn fail(status: u8, what: &str) -> ExitCode {
    let _ = writeln!(io::stderr(), "musegate-worker: {what}");
    ExitCode::from(status)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flags(args: &[&str]) -> Result<Flags, String> {
        Flags::read(&args.iter().map(OsString::from).collect::<Vec<_>>())
    }

    #[test]
    fn flags_are_read_and_unknown_ones_refused() {
        assert_eq!(flags(&[]).unwrap().config, Path::new("/etc/musegate/worker.toml"));
        let all = flags(&["--check", "--config", "/x/y.toml"]).unwrap();
        assert!(all.check && all.config == Path::new("/x/y.toml"));
        assert!(flags(&["--version"]).unwrap().say.unwrap().starts_with("musegate-worker "));
        for wrong in [&["--config"][..], &["--conf=x"], &["x"], &[""]] {
            assert!(flags(wrong).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn the_help_names_every_flag() {
        for flag in ["--config", "--check", "--version", "--help"] {
            assert!(HELP.contains(flag));
            let args: &[&str] = if flag == "--config" { &["--config", "x"] } else { &[flag] };
            assert!(flags(args).is_ok());
        }
    }
}
