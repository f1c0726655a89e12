//! The four flags of `musegate-supervisor`.

use std::ffi::OsString;
use std::path::PathBuf;

/// Where the settings are when no flag says so.
pub const DEFAULT_CONFIG: &str = "/etc/musegate/supervisor.toml";

/// What `--help` prints.
pub const HELP: &str = "\
musegate-supervisor: faces the network for musegate. Started by systemd, launchd, or `musegate up`.

usage: musegate-supervisor [--config FILE] [--check] [--until-stdin-closes]

  --config FILE   settings; default /etc/musegate/supervisor.toml
  --check         read settings and callers, print every problem, and exit: 0 without, 78 with
  --until-stdin-closes
                  stop when the pipe at standard input closes: whoever started us is gone
  --version       print the version
  --help          print this
";

/// What was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Order {
    /// Serve.
    Serve {
        /// The settings.
        config: PathBuf,
        /// Stop when the pipe at standard input closes.
        until_stdin_closes: bool,
    },
    /// Check these settings.
    Check(PathBuf),
    /// Print the version.
    Version,
    /// Print the help.
    Help,
}

/// The arguments after the program's name.
///
/// # Errors
/// A lowercase fragment about the first that is not understood.
pub fn parse(arguments: impl IntoIterator<Item = OsString>) -> Result<Order, String> {
    let mut arguments = arguments.into_iter();
    let mut config = PathBuf::from(DEFAULT_CONFIG);
    let mut check = false;
    let mut until_stdin_closes = false;
    while let Some(argument) = arguments.next() {
        match argument.to_str() {
            Some("--config") => config = arguments.next().ok_or("--config needs a file")?.into(),
            Some("--check") => check = true,
            Some("--until-stdin-closes") => until_stdin_closes = true,
            Some("--version") => return Ok(Order::Version),
            Some("--help" | "-h") => return Ok(Order::Help),
            Some(text) if text.starts_with("--config=") => {
                config = text.trim_start_matches("--config=").into();
            }
            _ => return Err(format!("{} is not understood; see --help", argument.display())),
        }
    }
    Ok(if check { Order::Check(config) } else { Order::Serve { config, until_stdin_closes } })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(arguments: &[&str]) -> Result<Order, String> {
        parse(arguments.iter().map(OsString::from))
    }

    #[test]
    fn the_flags_are_understood_and_nothing_else_is() {
        let serve = |config: &str, until_stdin_closes| Ok(Order::Serve { config: config.into(), until_stdin_closes });
        assert_eq!(order(&[]), serve(DEFAULT_CONFIG, false));
        assert_eq!(order(&["--config", "/x", "--until-stdin-closes"]), serve("/x", true));
        assert_eq!(order(&["--check", "--config=/x"]), Ok(Order::Check("/x".into())));
        assert_eq!(order(&["--version"]), Ok(Order::Version));
        assert_eq!(order(&["--nonsense", "--help"]), Err("--nonsense is not understood; see --help".to_owned()));
        assert!(order(&["--config"]).is_err() && order(&["serve"]).is_err());
    }
}
