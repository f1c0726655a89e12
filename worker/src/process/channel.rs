//! The jail as the worker holds it: started once, told launches, started again when it died.

use super::pipes::Pipes;
use super::record::{self, Record, Setup};
use super::{Confinement, Group, JailCommand, JailError, Launch, LaunchError};
use musegate_protocol::message::{Layer, Report};
use nix::sys::socket::{ControlMessage, sendmsg};
use std::io::{self, IoSlice};
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt, Interest};
use tokio::net::UnixStream;
use tokio::sync::Mutex;
use tokio::time::timeout;

/// A jail that has not said which layers hold within this long does not work.
const PATIENCE: Duration = Duration::from_secs(10);
/// Ways to kill a tree. One of them is enough.
const KILLS: [Layer; 2] = [Layer::KillByPidNamespace, Layer::KillByLandlock];

/// The jail, running.
#[derive(Debug)]
pub struct Jail {
    command: JailCommand,
    confinement: Confinement,
    report: Report,
    running: Mutex<Running>,
}

impl Jail {
    /// Starts it and lets it try which layers hold here.
    ///
    /// # Errors
    /// [`JailError`].
    pub async fn start(command: &JailCommand, confinement: Confinement) -> Result<Self, JailError> {
        let (running, report) = Running::start(command, &confinement).await?;
        let missing = missing(report, &confinement.allow_weak);
        if !missing.is_empty() {
            return Err(JailError::Weak(missing));
        }
        Ok(Self { command: command.clone(), confinement, report, running: Mutex::new(running) })
    }

    /// Which layers hold.
    #[must_use]
    pub fn report(&self) -> Report {
        self.report
    }

    /// Starts a program in a group of its own. Starts the jail again if it has died.
    ///
    /// # Errors
    /// [`LaunchError`]; then nothing runs.
    pub async fn launch(&self, launch: Launch) -> Result<Group, LaunchError> {
        let record = Record::new(&launch)?.encode()?;
        let pipes = Pipes::new(&launch.stdin)?;
        {
            let mut running = self.running.lock().await;
            if !running.is_sound() {
                *running = self.restart().await?;
            }
            let sent = running.send(&record, &pipes.theirs(&launch.lock)).await;
            sent.map_err(|error| LaunchError::Resources { what: "word with the jail", error })?;
        }
        drop(launch);
        let mut group = pipes.into_group(self.report.holds.has(Layer::KillByPidNamespace))?;
        group.tree.started().await?;
        Ok(group)
    }

    /// A jail that holds less than the first one is not taken.
    async fn restart(&self) -> Result<Running, JailError> {
        let (running, report) = Running::start(&self.command, &self.confinement).await?;
        let lost: Vec<Layer> = self.report.holds.iter().filter(|layer| !report.holds.has(*layer)).collect();
        if lost.is_empty() { Ok(running) } else { Err(JailError::Weak(lost)) }
    }
}

/// The layers that this machine lacks although they are required.
fn missing(report: Report, allowed: &[Layer]) -> Vec<Layer> {
    let sound = KILLS.iter().any(|kill| report.holds.has(*kill));
    let excused = |layer: &Layer| allowed.contains(layer) || (sound && KILLS.contains(layer));
    report.lacks.iter().filter(|layer| !excused(layer)).collect()
}

#[derive(Debug)]
struct Running {
    channel: UnixStream,
    child: Child,
    /// A launch was cut off in its middle; what follows would be misread.
    torn: bool,
}

impl Running {
    /// A tiny process, so that starting it here, by posix_spawn, is cheap.
    #[expect(clippy::disallowed_methods, reason = "the one place where the worker starts a process")]
    async fn start(command: &JailCommand, confinement: &Confinement) -> Result<(Self, Report), JailError> {
        let failed = |error: io::Error| JailError::Start { program: command.program.display().to_string(), error };
        let (ours, theirs) = std::os::unix::net::UnixStream::pair().map_err(failed)?;
        ours.set_nonblocking(true).map_err(failed)?;
        let channel = UnixStream::from_std(ours).map_err(failed)?;
        let spawned = Command::new(&command.program)
            .args(&command.args)
            .env_clear()
            .stdin(Stdio::from(OwnedFd::from(theirs)))
            .stdout(Stdio::null())
            .stderr(Stdio::inherit())
            .spawn();
        let mut running = Self { channel, child: spawned.map_err(failed)?, torn: false };
        let mut bytes = [0; record::REPORT];
        let answer = async {
            running.channel.write_all(&Setup::new(confinement).encode()).await?;
            running.channel.read_exact(&mut bytes).await
        };
        match timeout(PATIENCE, answer).await {
            Ok(Ok(_)) => Ok((running, record::read_report(&bytes))),
            Ok(Err(error)) => Err(failed(error)),
            Err(elapsed) => Err(failed(elapsed.into())),
        }
    }

    fn is_sound(&mut self) -> bool {
        !self.torn && matches!(self.child.try_wait(), Ok(None))
    }

    /// The descriptors go with the first bytes.
    async fn send(&mut self, frame: &[u8], descriptors: &[RawFd]) -> io::Result<()> {
        self.torn = true;
        let rights = [ControlMessage::ScmRights(descriptors)];
        let channel = self.channel.as_raw_fd();
        let first = || Ok(sendmsg::<()>(channel, &[IoSlice::new(frame)], &rights, record::QUIET, None)?);
        let sent = self.channel.async_io(Interest::WRITABLE, first).await?;
        self.channel.write_all(frame.get(sent..).unwrap_or_default()).await?;
        self.torn = false;
        Ok(())
    }
}

impl Drop for Running {
    /// No job depends on the jail: its end ends nothing else.
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use musegate_protocol::message::Layers;

    fn report(holds: &[Layer], lacks: &[Layer]) -> Report {
        let set = |layers: &[Layer]| layers.iter().fold(Layers::default(), |set, layer| set.with(*layer));
        Report { holds: set(holds), lacks: set(lacks), landlock_abi: 0 }
    }

    #[test]
    fn one_sound_way_to_kill_is_enough() {
        let one = report(&[Layer::KillByLandlock], &[Layer::KillByPidNamespace]);
        assert_eq!(missing(one, &[]), []);
        let none = report(&[], &KILLS);
        assert_eq!(missing(none, &[]), KILLS);
        assert_eq!(missing(none, &[Layer::KillByLandlock]), [Layer::KillByPidNamespace]);
        assert_eq!(missing(none, &KILLS), []);
    }

    #[test]
    fn any_other_missing_layer_must_be_allowed_by_name() {
        let lacks = report(&KILLS, &[Layer::Seccomp]);
        assert_eq!(missing(lacks, &[Layer::IpcNamespace]), [Layer::Seccomp]);
        assert_eq!(missing(lacks, &[Layer::Seccomp]), []);
    }
}
