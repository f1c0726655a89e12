//! A supervisor and a worker in the foreground, as children of this command. Each has a pipe of ours as stdin and ends
//! when that closes, so that even a SIGKILL of this command leaves nothing behind.

use crate::exit::Exit;
use crate::out;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::time::{Duration, Instant};
use tokio::process::{Child, ChildStdin, Command};
use tokio::signal::unix::{SignalKind, signal};

/// The internal word under which this program is a supervisor, a worker, a jail.
pub(crate) const SUPERVISOR: &str = "__supervisor";
pub(crate) const WORKER: &str = "__worker";
pub(crate) const JAIL: &str = "__jail";

/// How long one of the two may take to end after SIGTERM.
const PATIENCE: Duration = Duration::from_secs(20);
/// A child that lived for less than this has failed at its start.
const YOUNG: Duration = Duration::from_secs(5);
/// So many failed starts in a row end the pair.
const MAX_FAILED_STARTS: u32 = 5;

/// One of the two.
struct Half {
    word: &'static str,
    config: PathBuf,
    child: Child,
    /// Its end is the child's sign to stop. Apart from the child, whose `wait` would close it.
    stdin: Option<ChildStdin>,
    since: Instant,
    failed_starts: u32,
}

impl Half {
    fn start(word: &'static str, config: &Path) -> io::Result<Self> {
        let (child, stdin) = spawn(word, config)?;
        Ok(Self { word, config: config.to_owned(), child, stdin, since: Instant::now(), failed_starts: 0 })
    }

    fn name(&self) -> &'static str {
        self.word.trim_start_matches('_')
    }

    /// Starts it again after it ended by itself; `Err` when that is of no use.
    async fn again(&mut self, status: ExitStatus) -> Result<(), Exit> {
        if status.code() == Some(Exit::Config as i32) {
            return Err(Exit::Config);
        }
        self.failed_starts = if self.since.elapsed() < YOUNG { self.failed_starts + 1 } else { 0 };
        // One that says why it ends will say the same again; one that was killed may not be killed again.
        if status.code().is_some() && self.failed_starts >= MAX_FAILED_STARTS {
            out::complain(&format!("the {} failed {MAX_FAILED_STARTS} times at its start", self.name()), None);
            return Err(Exit::Unavailable);
        }
        out::note(&format!("the {} ended ({status}); starting it again", self.name()));
        tokio::time::sleep(Duration::from_millis(100) * 2u32.pow(self.failed_starts.min(MAX_FAILED_STARTS))).await;
        let started = spawn(self.word, &self.config).map_err(|error| {
            out::complain(&format!("cannot start the {}: {error}", self.name()), None);
            Exit::Os
        })?;
        (self.child, self.stdin) = started;
        self.since = Instant::now();
        Ok(())
    }

    /// SIGTERM, patience, SIGKILL.
    async fn stop(mut self) {
        if let Some(pid) = self.child.id().and_then(|pid| i32::try_from(pid).ok()) {
            let _ = kill(Pid::from_raw(pid), Signal::SIGTERM);
        }
        drop(self.stdin.take());
        if tokio::time::timeout(PATIENCE, self.child.wait()).await.is_err() {
            out::note(&format!("the {} does not end; killing it", self.name()));
            let _ = self.child.kill().await;
        }
    }
}

fn spawn(word: &str, config: &Path) -> io::Result<(Child, Option<ChildStdin>)> {
    let mut child = Command::new(std::env::current_exe()?)
        .args([OsStr::new(word), OsStr::new("--config"), config.as_os_str()])
        .stdin(Stdio::piped())
        .process_group(0) // Ctrl-C is ours to pass on, in the right order
        .kill_on_drop(true)
        .spawn()?;
    let stdin = child.stdin.take();
    Ok((child, stdin))
}

/// Both of them.
pub(crate) struct Pair {
    supervisor: Half,
    worker: Half,
}

impl Pair {
    /// Starts the worker, then the supervisor.
    ///
    /// # Errors
    /// When one of the processes cannot be started at all.
    pub(crate) fn start(config: &Path) -> io::Result<Self> {
        let worker = Half::start(WORKER, &config.join("worker.toml"))?;
        let supervisor = Half::start(SUPERVISOR, &config.join("supervisor.toml"))?;
        Ok(Self { supervisor, worker })
    }

    /// Process ids of supervisor and worker.
    pub(crate) fn pids(&self) -> (Option<u32>, Option<u32>) {
        (self.supervisor.child.id(), self.worker.child.id())
    }

    /// Keeps both alive until `enough`, SIGINT or SIGTERM, or until one of them cannot be kept alive.
    pub(crate) async fn keep<T>(&mut self, enough: impl Future<Output = T>) -> Result<Option<T>, Exit> {
        let os = |error: io::Error| {
            out::complain(&format!("no signals: {error}"), None);
            Exit::Os
        };
        let mut interrupt = signal(SignalKind::interrupt()).map_err(os)?;
        let mut terminate = signal(SignalKind::terminate()).map_err(os)?;
        tokio::pin!(enough);
        loop {
            let (half, status) = tokio::select! {
                value = &mut enough => return Ok(Some(value)),
                _ = interrupt.recv() => return Ok(None),
                _ = terminate.recv() => return Ok(None),
                status = self.worker.child.wait() => (&mut self.worker, status),
                status = self.supervisor.child.wait() => (&mut self.supervisor, status),
            };
            half.again(status.map_err(os)?).await?;
        }
    }

    /// Ends both, the supervisor first, so that callers are told before the worker is gone.
    pub(crate) async fn stop(self) {
        self.supervisor.stop().await;
        self.worker.stop().await;
    }
}
