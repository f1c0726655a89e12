//! Asking a Muse what it is: one short start, confined like a job, whose stdout is the answer.

use super::check::Binary;
use super::muse::{launch, limits};
use crate::pipe::{read_now, read_rest};
use crate::process::{Exit, Group, Jail, LaunchError, Reaped, Stdin};
use crate::scratch::{Base, Folder, ScratchError};
use std::ffi::OsString;
use std::time::Duration;
use tokio::time::timeout;

/// How long it may take. The first start of a program of 260 MB reads it from the disk.
const PATIENCE: Duration = Duration::from_secs(20);
/// Most that it may say.
const MAX: usize = 256 << 10;

/// Why it gives no answer.
#[derive(Debug, thiserror::Error)]
pub enum ProbeError {
    /// No folder for it.
    #[error(transparent)]
    Scratch(#[from] ScratchError),
    /// It cannot be started.
    #[error("{0}")]
    Launch(#[from] LaunchError),
    /// It did not end.
    #[error("did not answer {asked} in {} seconds", PATIENCE.as_secs())]
    Slow {
        /// The arguments.
        asked: String,
    },
    /// It ended otherwise.
    #[error("answered {asked} with {exit:?}")]
    Exit {
        /// The arguments.
        asked: String,
        /// How it ended.
        exit: Exit,
    },
    /// Something of it is still alive.
    #[error("left processes behind that cannot be ended")]
    Doubt,
}

/// The stdout of `binary` with these arguments.
pub(super) async fn ask(jail: &Jail, base: &Base, binary: &Binary, args: &[&str]) -> Result<String, ProbeError> {
    let mut scratch = base.create()?;
    let workspace = scratch.folder(Folder::Ws)?;
    let mut argv = vec![binary.name.clone()];
    argv.extend(args.iter().map(OsString::from));
    let launch = launch(binary, argv, &workspace, &mut scratch, Stdin::Null, limits(PATIENCE))?;
    let mut group = jail.launch(launch).await?;
    let asked = args.join(" ");
    let said = timeout(PATIENCE, listen(&mut group)).await;
    group.tree.kill();
    if group.tree.reaped().await == Reaped::Doubt {
        return Err(ProbeError::Doubt);
    }
    scratch.remove()?;
    match said {
        Err(_) => Err(ProbeError::Slow { asked }),
        Ok((_, exit)) if exit != Exit::Code(0) => Err(ProbeError::Exit { asked, exit }),
        Ok((said, _)) => Ok(String::from_utf8_lossy(&said).into_owned()),
    }
}

/// Both streams, until the process has ended and nothing more is there.
async fn listen(group: &mut Group) -> (Vec<u8>, Exit) {
    let mut said = Vec::new();
    let mut buffer = [0; 4096];
    let (mut out, mut err) = (true, true);
    let exit = loop {
        tokio::select! {
            exit = group.tree.exited() => break exit,
            _ = group.stdout.readable(), if out => {
                let count = read_now(&group.stdout, &mut buffer, &mut out);
                keep(&mut said, &buffer, count);
            }
            _ = group.stderr.readable(), if err => drop(read_now(&group.stderr, &mut buffer, &mut err)),
        }
    };
    loop {
        let count = read_rest(&group.stdout, &mut buffer);
        if count == 0 {
            return (said, exit);
        }
        keep(&mut said, &buffer, count);
    }
}

/// As much as there is room for.
fn keep(said: &mut Vec<u8>, buffer: &[u8], count: usize) {
    let room = MAX.saturating_sub(said.len()).min(count);
    said.extend_from_slice(buffer.get(..room).unwrap_or_default());
}
