//! What no single field can refuse at decode: sums over fields, and values that only the other end may say.
//! `order.rs` asks this of every message, in both directions.

use super::{
    CancelReason, FromWorker, HelloAck, MAX_INPUT_FILE, MAX_JOBS, MAX_TEXT, PROTOCOL, PromptPart, Report, StartJob,
    ToWorker,
};

/// A message contradicts itself or this file's constants.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Flaw {
    /// Another [`PROTOCOL`] than the preambles agreed on.
    #[error("hello of another protocol version")]
    Version,
    /// Turns and parts together hold more than [`MAX_TEXT`].
    #[error("more text than a job may have")]
    Text,
    /// Files together hold more than [`MAX_INPUT_FILE`].
    #[error("more bytes of files than a job may have")]
    Files,
    /// A reason that only the worker can have.
    #[error("a cancel reason that is the worker's own")]
    Reason,
    /// No slot, or more than [`MAX_JOBS`].
    #[error("number of slots out of range")]
    Slots,
    /// A layer that holds and is lacking.
    #[error("a layer holds and is lacking")]
    Report,
}

fn unless(wrong: bool, flaw: Flaw) -> Result<(), Flaw> {
    if wrong { Err(flaw) } else { Ok(()) }
}

impl ToWorker {
    /// # Errors
    /// [`Flaw`]: to be treated like any other violation.
    pub fn check(&self) -> Result<(), Flaw> {
        match self {
            Self::Hello(hello) => unless(hello.version != PROTOCOL, Flaw::Version),
            Self::Start(start) => start.check(),
            Self::Cancel { reason: CancelReason::WorkerStops | CancelReason::SupervisorLost, .. } => Err(Flaw::Reason),
            Self::Cancel { .. } | Self::Credit { .. } | Self::Ping { .. } | Self::Drain => Ok(()),
        }
    }
}

impl FromWorker {
    /// # Errors
    /// [`Flaw`]: to be treated like any other violation.
    pub fn check(&self) -> Result<(), Flaw> {
        match self {
            Self::HelloAck(ack) => ack.check(),
            _ => Ok(()),
        }
    }
}

impl StartJob {
    /// Bytes of text of the conversation and of the new message, as [`MAX_TEXT`] counts them.
    #[must_use]
    pub fn text_bytes(&self) -> usize {
        let turns = self.turns.iter().map(|turn| turn.text.len());
        let parts = self.parts.iter().map(|part| match part {
            PromptPart::Text(text) | PromptPart::Data(text) => text.len(),
            PromptPart::File { .. } | PromptPart::Link { .. } => 0,
        });
        turns.chain(parts).sum()
    }

    /// Bytes of files of the new message, as [`MAX_INPUT_FILE`] counts them.
    #[must_use]
    pub fn file_bytes(&self) -> usize {
        let parts = self.parts.iter().map(|part| match part {
            PromptPart::File { bytes, .. } => bytes.len(),
            PromptPart::Text(_) | PromptPart::Data(_) | PromptPart::Link { .. } => 0,
        });
        parts.sum()
    }

    fn check(&self) -> Result<(), Flaw> {
        unless(self.text_bytes() > MAX_TEXT, Flaw::Text)?;
        unless(self.file_bytes() > MAX_INPUT_FILE, Flaw::Files)
    }
}

impl HelloAck {
    fn check(&self) -> Result<(), Flaw> {
        unless(self.version != PROTOCOL, Flaw::Version)?;
        unless(!(1..=MAX_JOBS).contains(&usize::from(self.slots)), Flaw::Slots)?;
        let contradicts = |report: &Report| report.holds.0 & report.lacks.0 != 0;
        unless(contradicts(&self.report) || contradicts(&self.own), Flaw::Report)
    }
}
