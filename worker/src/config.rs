//! The worker's settings: every key with its default, its range and a sentence.
//!
//! Promises: a wrong file yields all of its problems; the declarations that print the commented default file and
//! docs/CONFIG.md are the very calls that read it. Refuses to know: a token of a caller, and any address to listen on;
//! there is no key for either. Reads no file but the one it is given as text: the credential is opened at the start.

mod check;
mod sections;

use crate::redact::{ExtraPattern, MAX_EXTRA};
use musegate_protocol::message::{JobLimits, Layer};
use musegate_settings::{Declared, Problems, Settings};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// All of them.
#[derive(Clone, Debug)]
pub struct Config {
    /// Whether the worker may run as uid 0. It then says so in its log.
    pub allow_root: bool,
    /// Where the supervisor connects.
    pub socket: Socket,
    /// Which agent runs, and with what.
    pub muse: Muse,
    /// How many jobs, and where.
    pub jobs: Jobs,
    /// Bounds of a job.
    pub limits: Limits,
    /// Layers that may be missing.
    pub allow_weak: Vec<Layer>,
    /// What this machine's Muse needs beyond the strict profile of a job.
    pub reach: Reach,
    /// Shapes of secrets beyond the built-in ones.
    pub redact: Vec<ExtraPattern>,
    /// The log on stderr.
    pub log: musegate_logs::Bounds,
}

/// What a job may reach beyond its strict profile, `[confinement]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reach {
    /// UDP sockets, to ask for names; only with Meta's model.
    pub names: bool,
    /// memfd_create.
    pub memory_files: bool,
    /// The names in every folder.
    pub list_folders: bool,
}

/// `[socket]`
#[derive(Clone, Debug)]
pub struct Socket {
    /// The socket to bind; unused where one is inherited.
    pub path: PathBuf,
    /// The only uid that may connect; `None`: the worker's own.
    pub supervisor: Option<u32>,
    /// A supervisor that says nothing for so long is gone.
    pub silence: Duration,
}

/// `[muse]`
#[derive(Clone, Debug)]
pub struct Muse {
    /// The executable, absolute.
    pub path: PathBuf,
    /// Who answers.
    pub provider: Provider,
    /// The model, `None`: Muse's default.
    pub model: Option<String>,
    /// The file with the credential.
    pub api_key_file: Option<PathBuf>,
    /// Whether prompts may be used to improve the model.
    pub contributor_mode: bool,
    /// Steps of the model in one job.
    pub max_steps: u32,
    /// Bytes of one tool's result that the model sees.
    pub max_tool_output: u64,
    /// What the agent may do beside answering.
    pub tools: Tools,
}

/// Who answers a prompt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Provider {
    /// Meta's model.
    Meta,
    /// Muse itself, which repeats the prompt: no credential, no network.
    Echo,
}

/// Tools, all off by default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tools {
    /// A shell inside the confinement.
    pub shell: bool,
    /// Writing files outside the shell.
    pub write: bool,
    /// Web search and fetch, which Meta serves.
    pub web: bool,
}

/// `[jobs]`
#[derive(Clone, Debug)]
pub struct Jobs {
    /// Jobs at once.
    pub slots: u16,
    /// Where jobs have their scratch folders.
    pub scratch: PathBuf,
    /// How long running jobs may go on after a SIGTERM to the worker.
    pub drain: Duration,
    /// Between SIGTERM and SIGKILL for a job.
    pub grace: Duration,
}

/// `[limits]`
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Until the first line.
    pub first_line: Duration,
    /// Between two lines while no tool runs.
    pub idle: Duration,
    /// The whole job, while the machine is awake.
    pub wall: Duration,
    /// The whole job, sleep of the machine included.
    pub wall_asleep: Duration,
    /// The answer, bytes.
    pub output: u64,
    /// One line, bytes; a longer one is skipped.
    pub line: u64,
    /// All of stdout, bytes.
    pub stdout: u64,
    /// All of stderr, bytes.
    pub stderr: u64,
    /// Retries of the provider in a row.
    pub retries: u32,
    /// Time from the first retry in a row.
    pub retry_time: Duration,
    /// Files taken from the job's `out/` folder.
    pub files: u8,
    /// Bytes of all of them together.
    pub file_bytes: u32,
}

impl Limits {
    /// As the supervisor is told.
    #[must_use]
    pub fn for_hello(&self) -> JobLimits {
        JobLimits {
            wall_seconds: u32::try_from(self.wall.as_secs()).unwrap_or(u32::MAX),
            output_bytes: self.output,
            files: self.files,
            file_bytes: self.file_bytes,
        }
    }

    /// The smaller of each and what a job asks for.
    #[must_use]
    pub fn narrowed(mut self, job: &JobLimits) -> Self {
        if job.wall_seconds > 0 {
            self.wall = self.wall.min(Duration::from_secs(job.wall_seconds.into()));
        }
        if job.output_bytes > 0 {
            self.output = self.output.min(job.output_bytes);
        }
        self.files = self.files.min(job.files);
        self.file_bytes = self.file_bytes.min(job.file_bytes);
        self
    }
}

impl Config {
    /// Reads a file's text; `file` is only named in problems.
    ///
    /// # Errors
    /// [`Problems`], all of them.
    pub fn parse(file: &Path, text: &str) -> Result<Self, Problems> {
        let mut settings = Settings::parse(file, text);
        let config = Self::read(&mut settings);
        settings.finish()?;
        config.ok_or_else(|| Problems(Vec::new()))
    }

    /// Every key that a file may have.
    #[must_use]
    pub fn declare() -> Vec<Declared> {
        let mut settings = Settings::empty();
        let _nothing_set = Self::read(&mut settings);
        settings.declared().to_vec()
    }

    /// `None` only where a problem was noted.
    fn read(settings: &mut Settings) -> Option<Self> {
        let allow_root = settings.top().flag(
            "allow_root",
            false,
            "Run as uid 0 all the same. Root in a user namespace keeps capabilities; give the worker a user of its own instead.",
        );
        let socket = sections::socket(&mut settings.section("socket"));
        let muse = sections::muse(&mut settings.section("muse"));
        let jobs = sections::jobs(&mut settings.section("jobs"));
        let limits = sections::limits(&mut settings.section("limits"));
        let mut confinement = settings.section("confinement");
        let allow_weak = confinement.list(
            "allow_weak",
            &[],
            "words of the layers, see docs/confinement.md",
            "Layers of confinement that may be missing on this machine. Without their word here the worker refuses to start.",
            check::layer,
        );
        let reach = sections::reach(&mut confinement);
        let mut redaction = settings.section("redaction");
        let redact = redaction.list(
            "patterns",
            &[],
            "shapes such as \"acme=AC-[A-Z0-9]{16,}\": a kind, a literal, an alphabet, a count; at most 8",
            "Further shapes of secrets to redact from answers, beside the built-in ones and the worker's own secrets.",
            check::pattern,
        );
        if redact.len() > MAX_EXTRA {
            redaction.problem("patterns", format!("has {}, there may be {MAX_EXTRA}", redact.len()));
        }
        let log = sections::log(&mut settings.section("log"));
        Some(Self { allow_root, socket: socket?, muse: muse?, jobs: jobs?, limits, allow_weak, reach, redact, log })
    }
}

#[cfg(test)]
mod tests;
