//! The command line. Help, completions and man pages are all made from this one tree. No argument ever takes a token or
//! the text of a message: both would be seen by everybody who can list processes.

use clap::{Args, Parser, Subcommand, ValueEnum};
use std::path::PathBuf;
use std::time::Duration;

/// Puts Muse Code on A2A, safely.
#[derive(Debug, Parser)]
#[command(name = "musegate", version, about, arg_required_else_help = true, max_term_width = 100)]
pub struct Cli {
    /// Folder with supervisor.toml, worker.toml, callers.toml and agents.toml [default: of this user]
    #[arg(long, global = true, value_name = "FOLDER")]
    pub config_dir: Option<PathBuf>,
    /// What to do
    #[command(subcommand)]
    pub command: Command,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Start a pair with a throw-away token and the bundled stand-in agent, send it a message, show everything
    Demo(Demo),
    /// Run a pair in the foreground from your configuration folder (made with commented defaults at first use)
    Up(Up),
    /// Send a message, read from stdin, to any A2A agent and print its answer
    #[command(after_help = EXITS)]
    Send(Send),
    /// Look at, wait for or cancel a Task of any A2A agent
    #[command(subcommand, after_help = EXITS)]
    Task(Task),
    /// Add, list, revoke or rotate the tokens of callers
    #[command(subcommand)]
    Token(Token),
    /// Make a key for cards, sign a card, verify one
    #[command(subcommand, after_help = CARD_EXITS)]
    Card(Card),
    /// Check both configurations: every problem at once, exit status 78 if there is one
    Check(Json),
    /// Verify or show the audit trail
    #[command(subcommand)]
    Audit(Audit),
    /// Show whether the pair is up, what is enforced, who calls, what runs
    Status(Status),
    /// Look for whatever would keep Muse from answering here, and say how to mend it
    Doctor(Doctor),
    /// Print the peer entry for Hermes Agent's configuration
    HermesConfig(HermesConfig),
    /// Print shell completions
    Completions {
        /// For which shell
        shell: clap_complete::Shell,
    },
    /// Write man pages into a folder
    Man {
        /// The folder
        folder: PathBuf,
    },
}

const EXITS: &str = "Exit status: 0 completed · 10 failed · 11 canceled · 12 rejected · 13 input required · \
14 authorization required · 15 not over yet · 20 JSON-RPC error · 30 HTTP 401 or 403 · 31 HTTP 429 or 503 (retry later) · \
32 other HTTP error · 33 no connection · 34 not A2A · 64 usage · 66 no message · 78 configuration";

const CARD_EXITS: &str = "Exit status: 0 in order · 1 not signed, or no signature is right · 30 HTTP 401 or 403 · \
31 HTTP 429 or 503 · 32 other HTTP error · 33 no connection · 64 usage · 65 not a card that everybody reads alike · \
73 the file exists · 74 a file cannot be read · 78 a key that cannot be used, or that others can read";

/// `card`
#[derive(Debug, Subcommand)]
pub enum Card {
    /// Make a private key in a new file (mode 0600) and print its public half as a JSON Web Key Set
    Key {
        /// The file
        file: PathBuf,
        /// What it signs with
        #[arg(long, value_enum, default_value_t = Algorithm::Es256)]
        algorithm: Algorithm,
        /// Make nothing: print the public half of the key that is in the file
        #[arg(long)]
        show: bool,
    },
    /// Print a card with signatures added
    Sign {
        /// File with the private key
        #[arg(long, value_name = "FILE")]
        key: PathBuf,
        /// Where the public half is published; said in the signatures
        #[arg(long, value_name = "URL")]
        keys_url: Option<String>,
        /// The card: a file, or - for stdin
        card: String,
    },
    /// Verify that a card is as somebody signed it whose key you have
    Verify {
        /// File with the public key, or a set of them
        #[arg(long, value_name = "FILE")]
        key: PathBuf,
        /// Only over the form of the specification, not over that of the official SDKs, in which nothing empty counts
        #[arg(long)]
        specified: bool,
        /// The card: a file, a URL, or - for stdin
        card: String,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
}

/// What a key signs with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Algorithm {
    /// ECDSA with P-256 and SHA-256; every client can verify it
    Es256,
    /// Ed25519
    Eddsa,
}

/// `demo`
#[derive(Debug, Args)]
pub struct Demo {
    /// Exit after the exchange: 0 only if the Task completed
    #[arg(long)]
    pub once: bool,
    /// A real Muse instead of the stand-in
    #[arg(long, value_name = "PATH")]
    pub muse: Option<PathBuf>,
    /// Passed to Muse; `echo` needs no credential and no network
    #[arg(long, value_name = "NAME")]
    pub provider: Option<Provider>,
    /// The message to send
    #[arg(long, hide = true, value_name = "FILE")]
    pub message_file: Option<PathBuf>,
}

/// Muse's provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Provider {
    /// Answers `echo: …`
    Echo,
    /// The real one
    Meta,
}

impl Provider {
    /// As Muse spells it.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Echo => "echo",
            Self::Meta => "meta",
        }
    }
}

/// `up`
#[derive(Debug, Args)]
pub struct Up {
    /// Only make the configuration folder, start nothing
    #[arg(long)]
    pub init: bool,
}

/// Which agent, as whom.
#[derive(Debug, Args)]
pub struct Agent {
    /// The agent: a URL, or a name from agents.toml
    #[arg(long, value_name = "URL|NAME")]
    pub to: String,
    /// File whose first line is the token; else the environment variable MUSEGATE_TOKEN, else agents.toml
    #[arg(long, value_name = "FILE")]
    pub token_file: Option<PathBuf>,
    /// For one request, in seconds
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub timeout: Option<Duration>,
    /// Print the answer as JSON
    #[arg(long)]
    pub json: bool,
}

fn seconds(text: &str) -> Result<Duration, String> {
    let seconds: u64 = text.parse().map_err(|_| "must be a whole number of seconds".to_owned())?;
    if (1..=86400).contains(&seconds) { Ok(Duration::from_secs(seconds)) } else { Err("must be 1 to 86400".to_owned()) }
}

/// `send`
#[derive(Debug, Args)]
pub struct Send {
    /// Which agent, as whom
    #[command(flatten)]
    pub agent: Agent,
    /// Continue this conversation
    #[arg(long, value_name = "ID")]
    pub context: Option<String>,
    /// Continue this Task (one that asked for input)
    #[arg(long, value_name = "ID")]
    pub task: Option<String>,
    /// Print the Task's id and leave; see `musegate task`
    #[arg(long)]
    pub no_wait: bool,
}

/// `task`
#[derive(Debug, Subcommand)]
pub enum Task {
    /// Show it as it stands
    Get(TaskOf),
    /// Wait until it is over, asking after 1, 2, 4, 8 … 30 seconds
    Wait(TaskOf),
    /// Cancel it
    Cancel(TaskOf),
}

/// One Task of one agent.
#[derive(Debug, Args)]
pub struct TaskOf {
    /// Its id
    pub id: String,
    /// Which agent, as whom
    #[command(flatten)]
    pub agent: Agent,
}

/// `token`
#[derive(Debug, Subcommand)]
pub enum Token {
    /// Make a token for a caller (made if new) and print it once
    Add {
        /// The caller's name
        caller: String,
        /// Ends after so many days
        #[arg(long, value_name = "DAYS")]
        expires: Option<u32>,
    },
    /// Take a token that was made elsewhere, read from standard input; only its digest is kept
    Import {
        /// The caller's name
        caller: String,
        /// Ends after so many days
        #[arg(long, value_name = "DAYS")]
        expires: Option<u32>,
    },
    /// List callers and their tokens, never a token itself
    List(Json),
    /// Revoke one token, or all of a caller
    Revoke {
        /// The caller's name
        caller: String,
        /// Only the token with this id (see `list`)
        #[arg(long, value_name = "ID")]
        id: Option<String>,
    },
    /// Make a new token; the old ones end after a while
    Rotate {
        /// The caller's name
        caller: String,
        /// Hours for which the old tokens go on
        #[arg(long, value_name = "HOURS", default_value_t = 24)]
        grace: u32,
    },
}

/// Output for scripts.
#[derive(Debug, Args)]
pub struct Json {
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// `audit`
#[derive(Debug, Subcommand)]
pub enum Audit {
    /// Check the chain of every record, over rotated files too
    Verify(Json),
    /// Print the newest records
    Show {
        /// How many
        #[arg(short = 'n', long, default_value_t = 20)]
        lines: usize,
        /// Only of this caller
        #[arg(long)]
        caller: Option<String>,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
}

/// `status`
#[derive(Debug, Args)]
pub struct Status {
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// `doctor`
#[derive(Debug, Args)]
pub struct Doctor {
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// `hermes-config`
#[derive(Debug, Args)]
pub struct HermesConfig {
    /// The peer's name in Hermes
    #[arg(long, default_value = "muse")]
    pub name: String,
}
