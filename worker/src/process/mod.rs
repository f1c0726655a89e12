//! Process groups: the worker's side of the jail, one small process that forks a job-init for each program.
//!
//! Promises: a [`Group`] that is dropped, or whose worker dies, is killed whole by its job-init; its end is told when
//! the tree is proven empty, never when a pipe closes; nothing runs where a layer is missing that the settings require.
//! Refuses to know what a program says and why it runs.

mod channel;
mod group;
mod jail;
mod pipes;
mod record;

pub use channel::Jail;
pub use group::{Exit, Group, Reaped, Tree};
pub use jail::jail_main;

use musegate_protocol::message::{Layer, losses};
use std::ffi::OsString;
use std::io;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use zeroize::Zeroizing;

/// Most bytes of [`Stdin::Bytes`]: what every system's pipe takes at once.
pub const MAX_STDIN: usize = 4096;

/// How the jail is started.
#[derive(Clone, Debug)]
pub struct JailCommand {
    /// Program, absolute.
    pub program: PathBuf,
    /// Its arguments.
    pub args: Vec<OsString>,
}

/// What holds every program of a worker.
#[derive(Clone, Debug, Default)]
pub struct Confinement {
    /// Layers that may be missing.
    pub allow_weak: Vec<Layer>,
    /// Files and folders that a program may read, beside the system's own and its scratch folder.
    pub read: Vec<PathBuf>,
    /// Files and folders that it may also execute.
    pub exec: Vec<PathBuf>,
    /// TCP ports that it may connect to; empty: none.
    pub connect_ports: Vec<u16>,
    /// Whether it may make UDP sockets, to ask for names. Linux before 7.2 cannot bound where they send.
    pub udp: bool,
    /// Whether it may make files in memory, and so run code that was never a file.
    pub memfd: bool,
    /// Whether it may list every folder: for a program that opens the ancestors of its own folders.
    pub list_folders: bool,
    /// How trees may be killed.
    pub kill: KillModes,
}

/// Which sound ways to kill a tree may be used. All that this machine has are used together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KillModes {
    /// By the end of a pid namespace.
    pub pid_namespace: bool,
    /// By a kill(-1) that a Landlock domain bounds.
    pub landlock: bool,
}

impl Default for KillModes {
    fn default() -> Self {
        Self { pid_namespace: true, landlock: true }
    }
}

/// What one program may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProcessLimits {
    /// Processor time of each process, seconds.
    pub cpu_seconds: u64,
    /// One file, bytes.
    pub file_bytes: u64,
    /// Open descriptors of each process.
    pub open_files: u64,
    /// Processes of the uid, `None`: as inherited. Counts the whole uid, so only for a uid of its own.
    pub processes: Option<u64>,
}

/// What a program reads.
#[derive(Debug)]
pub enum Stdin {
    /// Nothing.
    Null,
    /// These bytes, at most [`MAX_STDIN`], then the end.
    Bytes(Zeroizing<Vec<u8>>),
}

/// One program to start.
#[derive(Debug)]
pub struct Launch {
    /// Absolute path.
    pub program: PathBuf,
    /// Arguments, the first is the name.
    pub argv: Vec<OsString>,
    /// The whole environment.
    pub env: Vec<(OsString, OsString)>,
    /// Working folder.
    pub cwd: PathBuf,
    /// The only folder that may be written.
    pub scratch: PathBuf,
    /// Its lock, held as long as the tree lives.
    pub lock: OwnedFd,
    /// What it reads.
    pub stdin: Stdin,
    /// What it may use.
    pub limits: ProcessLimits,
}

/// Why there is no jail.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum JailError {
    /// It cannot be started, or does not answer.
    #[error("the jail {program} cannot be used: {error}")]
    Start {
        /// What was started.
        program: String,
        /// Why not.
        error: io::Error,
    },
    /// This machine lacks layers that the settings require.
    #[error("this machine lacks {}; see docs/confinement.md, or name them in confinement.allow_weak", losses(.0))]
    Weak(Vec<Layer>),
}

/// Why a program was not started. Nothing of it runs.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LaunchError {
    /// The jail died and could not be started again.
    #[error(transparent)]
    Jail(#[from] JailError),
    /// The jail or the job-init died before the program ran.
    #[error("the jail was lost while it started the program")]
    Lost,
    /// The launch itself is impossible: a NUL in a text, too long, too much for stdin.
    #[error("{0}")]
    Invalid(&'static str),
    /// Pipes, descriptors.
    #[error("no {what}: {error}")]
    Resources {
        /// What is missing.
        what: &'static str,
        /// Why.
        error: io::Error,
    },
    /// A step of the start failed in the new process.
    #[error("could not start: {stage} failed: {}", io::Error::from_raw_os_error(*errno))]
    Stage {
        /// Which step.
        stage: &'static str,
        /// Why, as in errno(3).
        errno: i32,
    },
}
