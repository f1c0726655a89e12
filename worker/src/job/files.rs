//! The files that a job hands back, on their way from its `out/` folder to frames.
//!
//! Promises: only of a job that has completed; as many files and bytes as its limits permit, counted as sent; text is
//! redacted like the answer, and a file of another kind that holds a secret is not sent at all. Refuses to know what a
//! file is good for.

use super::outcome::Stopped;
use super::running::Running;
use crate::redact::{Counts, Rules};
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
            let bytes = read(&mut file).and_then(|bytes| fit_to_leave(bytes, &self.worker.rules, &mut self.ears.files));
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

/// A file as it may leave the worker. `None`: not at all.
fn fit_to_leave(bytes: Vec<u8>, rules: &Rules, counts: &mut Counts) -> Option<Vec<u8>> {
    match String::from_utf8(bytes) {
        Ok(text) => {
            let (text, found) = rules.redact(&text);
            counts.add(&found);
            Some(text.into_bytes())
        }
        Err(error) => {
            let (_, found) = rules.redact(&String::from_utf8_lossy(error.as_bytes()));
            counts.add(&found);
            found.is_empty().then(|| error.into_bytes())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use zeroize::Zeroizing;

    const SECRET: &str = "correct-horse-battery-staple";

    fn leaving(bytes: &[u8]) -> (Option<Vec<u8>>, u32) {
        let rules = Rules::new(&[Zeroizing::new(SECRET.to_owned())], &[]).unwrap();
        let mut counts = Counts::default();
        let bytes = fit_to_leave(bytes.to_vec(), &rules, &mut counts);
        (bytes, counts.iter().map(|(_, count)| count).sum())
    }

    #[test]
    fn text_is_redacted_and_the_rest_of_it_kept() {
        let (bytes, count) = leaving(format!("a {SECRET} b").as_bytes());
        let text = String::from_utf8(bytes.unwrap()).unwrap();
        assert!(text.starts_with("a [redacted:") && text.ends_with("] b"), "{text}");
        assert_eq!(count, 1);
        assert_eq!(leaving("語\0plain".as_bytes()), (Some("語\0plain".as_bytes().to_vec()), 0));
    }

    #[test]
    fn other_files_leave_unchanged_or_not_at_all() {
        let plain = [0xff, 0xfe, 0, 1, 2];
        assert_eq!(leaving(&plain), (Some(plain.to_vec()), 0));
        let holding = [&plain[..], SECRET.as_bytes(), &plain[..]].concat();
        assert_eq!(leaving(&holding), (None, 1));
    }
}
