//! Reading the file of callers again when it changes, or when SIGHUP asks for it.
//!
//! Promises: a change is in force within two seconds; a wrong file changes nothing and is told once, with all of its
//! problems. It looks at the file instead of being told of changes: two system calls a second-pair cost nothing, and
//! work on every system and file system.

use super::Admission;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::Duration;

/// How often the file is looked at.
const EVERY: Duration = Duration::from_secs(2);

/// What tells one state of a file from another.
type Seen = Option<(u64, i64, i64, u64, i64, i64)>;

/// Runs until it is dropped. `ask` is ready whenever the file is to be read at once.
pub async fn watch(admission: &Admission, mut ask: impl AsyncFnMut()) {
    let mut seen = look(&admission.file);
    loop {
        let asked = tokio::select! {
            () = ask() => true,
            () = tokio::time::sleep(EVERY) => false,
        };
        let now = look(&admission.file);
        if asked || now != seen {
            seen = now;
            again(admission);
        }
    }
}

fn again(admission: &Admission) {
    match admission.reload() {
        Ok(callers) => {
            tracing::info!(
                callers = callers.callers().count(),
                tokens = callers.tokens().count(),
                "callers read again"
            );
        }
        Err(problems) => {
            for problem in &problems.0 {
                tracing::error!(%problem, "callers not read, those of before stay");
            }
        }
    }
}

fn look(file: &Path) -> Seen {
    let meta = fs::metadata(file).ok()?;
    Some((meta.ino(), meta.mtime(), meta.mtime_nsec(), meta.size(), meta.ctime(), meta.ctime_nsec()))
}
