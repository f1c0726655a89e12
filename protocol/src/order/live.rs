//! What both ends count of one job while it lives: credit, the length of its answer, its files.
//! Each function changes either all it has to or nothing.

use super::{Kind, Phase, Violation};
use crate::message::{FileName, FromWorker, INITIAL_CREDIT, JobLimits, MAX_CREDIT};

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Live {
    pub(super) phase: Phase,
    /// What may still be sent, as [`FromWorker::cost`] counts.
    pub(super) credit: u32,
    /// Bytes of the answer so far.
    offset: u64,
    /// The file of which a piece was sent, and not the last.
    open: Option<FileName>,
    files_left: u8,
    file_bytes_left: u32,
}

impl Live {
    pub(super) fn new(limits: JobLimits) -> Self {
        Self {
            phase: Phase::Asked,
            credit: INITIAL_CREDIT,
            offset: 0,
            open: None,
            files_left: limits.files,
            file_bytes_left: limits.file_bytes,
        }
    }

    pub(super) fn add_credit(&mut self, bytes: u32) -> Result<(), Violation> {
        let credit = self.credit.checked_add(bytes).filter(|sum| *sum <= MAX_CREDIT);
        self.credit = credit.ok_or(Violation::CreditOverflow)?;
        Ok(())
    }

    /// The worker says this of the job.
    pub(super) fn spend(&mut self, message: &FromWorker) -> Result<(), Violation> {
        let (cost, credit) = (message.cost(), self.credit);
        let left = credit.checked_sub(cost).ok_or(Violation::Overdraft { kind: Kind::from(message), cost, credit })?;
        match message {
            FromWorker::Output { offset, fresh, text, .. } => {
                let expected = if *fresh { 0 } else { self.offset };
                continues(*offset, expected)?;
                self.offset = expected.saturating_add(text.len() as u64);
            }
            FromWorker::Finished { outcome, .. } => continues(outcome.output_bytes, self.offset)?,
            FromWorker::File { name, bytes, last, .. } => self.file(name, bytes.len(), *last)?,
            _ => {}
        }
        self.credit = left;
        Ok(())
    }

    fn file(&mut self, name: &FileName, bytes: usize, last: bool) -> Result<(), Violation> {
        let files_left = match &self.open {
            Some(open) if open == name => self.files_left,
            Some(_) => return Err(Violation::FileInFile),
            None => self.files_left.checked_sub(1).ok_or(Violation::TooManyFiles)?,
        };
        let left = u32::try_from(bytes).ok().and_then(|bytes| self.file_bytes_left.checked_sub(bytes));
        self.file_bytes_left = left.ok_or(Violation::TooManyFiles)?;
        self.files_left = files_left;
        self.open = (!last).then(|| name.clone());
        Ok(())
    }
}

fn continues(said: u64, expected: u64) -> Result<(), Violation> {
    if said == expected { Ok(()) } else { Err(Violation::Gap { said, expected }) }
}
