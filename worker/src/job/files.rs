//! The files that a job hands back, on their way from its `out/` folder to frames.
//!
//! Promises: only of a job that has completed; as many files and bytes as its limits permit, counted as sent; text is
//! redacted like the answer, and a file of another kind that holds a secret is not sent at all. Refuses to know what a
//! file is good for.

use super::outcome::Stopped;
use super::running::Running;
use crate::scratch::{OutFile, OutLimits};
use musegate_protocol::bounded::{Blob, FileName};
use musegate_protocol::message::{FromWorker, MAX_CHUNK};
use std::io::Read;
use tokio::time::Instant;

impl Running<'_> {
    /// Sends all of them, or what is permitted of them.
    pub(super) async fn send_files(&mut self, limits: OutLimits, due: Instant) -> Result<(), Stopped> {
        if limits.files == 0 {
            return Ok(());
        }
        let mut files = match self.scratch.read_out(limits) {
            Ok(files) => files,
            Err(error) => {
                tracing::warn!(%error, "files cannot be handed back");
                return Ok(());
            }
        };
        let (mut left, mut sent, mut withheld) = (limits.bytes, 0u32, 0u32);
        for mut file in files.by_ref() {
            let bytes = read(&mut file).and_then(|bytes| self.worker.rules.redact_file(bytes, &mut self.ears.files));
            match bytes.filter(|bytes| bytes.len() as u64 <= left) {
                Some(bytes) => {
                    left -= bytes.len() as u64;
                    sent += 1;
                    self.send_file(file.name(), &bytes, due).await?;
                }
                None => withheld += 1,
            }
        }
        tracing::info!(sent, withheld, left_out = ?files.left_out(), "files handed back");
        Ok(())
    }

    async fn send_file(&mut self, name: &FileName, bytes: &[u8], due: Instant) -> Result<(), Stopped> {
        let mut rest = bytes;
        loop {
            let (piece, after) = rest.split_at_checked(MAX_CHUNK).unwrap_or((rest, &[]));
            let bytes = Blob::new(piece.to_vec()).unwrap_or_default();
            let piece = FromWorker::File { job: self.line.job(), name: name.clone(), bytes, last: after.is_empty() };
            self.send_in_time(&piece, due).await?;
            if after.is_empty() {
                return Ok(());
            }
            rest = after;
        }
    }
}

/// All of it. `None`: it cannot be read.
fn read(file: &mut OutFile) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(usize::try_from(file.size()).ok()?);
    file.read_to_end(&mut bytes).ok()?;
    Some(bytes)
}
