//! The fixed 32 bytes that each side sends before its first frame, parsed by hand and before any codec, so that two
//! versions of this program can part with a clear word.
//!
//! ```text
//! supervisor: magic 8 · version min u16 · version max u16 · largest frame u32 · features u64 · build 8
//! worker:     magic 8 · version u16 · status u16 · largest frame u32 · instance 16
//! ```
//! Numbers are little endian. Status 0: this version is spoken from here on; 1: no common version, this is the one that
//! the worker speaks; 2: refused for another reason. Feature bits are for a later version to ask for more; this one asks
//! for none and ignores those it does not know, as the promise to later ones demands.

#[cfg(test)]
mod tests;

use crate::message::{InstanceId, MAX_FROM_WORKER, MAX_TO_WORKER, PROTOCOL};

/// Bytes of either preamble.
pub const LEN: usize = 32;
const MAGIC: &[u8; 8] = b"musegate";
const AGREED: u16 = 0;
const NO_VERSION: u16 = 1;
const REFUSED: u16 = 2;

/// Why the two cannot talk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Mismatch {
    /// Not our protocol at all.
    #[error("the other end does not speak musegate's protocol")]
    Magic,
    /// No common version.
    #[error("the other end speaks versions {min} to {max} of the protocol, this one speaks {PROTOCOL}")]
    Version {
        /// Lowest it speaks.
        min: u16,
        /// Highest it speaks.
        max: u16,
    },
    /// Another limit of frames under the same version: not the same program.
    #[error("the other end's largest frame differs, though it speaks the same version of the protocol")]
    Frame,
    /// The worker says no, and not because of the version.
    #[error("the worker refuses the connection (status {0})")]
    Refused(u16),
}

/// What the supervisor sends. `build`: eight bytes of the program's identity, for people only.
#[must_use]
pub fn ask(build: [u8; 8]) -> [u8; LEN] {
    let mut out = [0; LEN];
    let fields: [&[u8]; 6] = [
        MAGIC,
        &PROTOCOL.to_le_bytes(),
        &PROTOCOL.to_le_bytes(),
        &(MAX_TO_WORKER as u32).to_le_bytes(),
        &0u64.to_le_bytes(),
        &build,
    ];
    fill(&mut out, &fields);
    out
}

/// What the worker makes of it.
///
/// # Errors
/// [`Mismatch`]; answer it with [`answer`] all the same, then close.
pub fn read_ask(bytes: &[u8; LEN]) -> Result<(), Mismatch> {
    let mut rest = magic(bytes)?;
    let min = u16::from_le_bytes(take(&mut rest));
    let max = u16::from_le_bytes(take(&mut rest));
    if !(min..=max).contains(&PROTOCOL) {
        return Err(Mismatch::Version { min, max });
    }
    if u32::from_le_bytes(take(&mut rest)) as usize != MAX_TO_WORKER {
        return Err(Mismatch::Frame);
    }
    Ok(())
}

/// What the worker sends back.
#[must_use]
pub fn answer(asked: Result<(), Mismatch>, instance: InstanceId) -> [u8; LEN] {
    let status = match asked {
        Ok(()) => AGREED,
        Err(Mismatch::Version { .. }) => NO_VERSION,
        Err(Mismatch::Magic | Mismatch::Frame | Mismatch::Refused(_)) => REFUSED,
    };
    let mut out = [0; LEN];
    let fields: [&[u8]; 5] =
        [MAGIC, &PROTOCOL.to_le_bytes(), &status.to_le_bytes(), &(MAX_FROM_WORKER as u32).to_le_bytes(), &instance.0];
    fill(&mut out, &fields);
    out
}

/// What the supervisor makes of it.
///
/// # Errors
/// [`Mismatch`]: close.
pub fn read_answer(bytes: &[u8; LEN]) -> Result<InstanceId, Mismatch> {
    let mut rest = magic(bytes)?;
    let version = u16::from_le_bytes(take(&mut rest));
    let status = u16::from_le_bytes(take(&mut rest));
    match status {
        AGREED if version == PROTOCOL => {}
        AGREED | NO_VERSION => return Err(Mismatch::Version { min: version, max: version }),
        other => return Err(Mismatch::Refused(other)),
    }
    if u32::from_le_bytes(take(&mut rest)) as usize != MAX_FROM_WORKER {
        return Err(Mismatch::Frame);
    }
    Ok(InstanceId(take(&mut rest)))
}

fn fill(out: &mut [u8; LEN], fields: &[&[u8]]) {
    let bytes = fields.iter().flat_map(|field| field.iter());
    out.iter_mut().zip(bytes).for_each(|(to, from)| *to = *from);
}

fn magic(bytes: &[u8; LEN]) -> Result<&[u8], Mismatch> {
    bytes.strip_prefix(MAGIC.as_slice()).ok_or(Mismatch::Magic)
}

/// The next field. Both preambles have a fixed length, so there always is one.
fn take<const N: usize>(rest: &mut &[u8]) -> [u8; N] {
    let (field, after) = rest.split_first_chunk().unwrap_or((&[0; N], &[]));
    *rest = after;
    *field
}
