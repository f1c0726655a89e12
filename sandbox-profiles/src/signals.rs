//! What this process does with signals: default or nothing, never a handler.

use nix::sys::signal::{SaFlags, SigAction, SigHandler, SigSet, SigmaskHow, Signal, sigaction};
use std::io;

/// What happens to a signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// What the system does without being told. For SIGCHLD: children that end wait to be waited for.
    Default,
    /// Nothing. For SIGCHLD: children that end are forgotten.
    Ignore,
}

/// Sets what happens to a signal.
///
/// # Errors
/// As sigaction(2).
pub fn set(signal: Signal, fate: Fate) -> io::Result<()> {
    let handler = if fate == Fate::Ignore { SigHandler::SigIgn } else { SigHandler::SigDfl };
    let action = SigAction::new(handler, SaFlags::empty(), SigSet::empty());
    // SAFETY: only SIG_DFL and SIG_IGN are ever set, so no handler of ours can run at a bad moment.
    unsafe { sigaction(signal, &action) }?;
    Ok(())
}

/// Gives every signal its default again and unblocks all of them, as a program expects to find them.
///
/// # Errors
/// As sigaction(2).
pub fn all_default() -> io::Result<()> {
    for signal in Signal::iterator().filter(|s| !matches!(s, Signal::SIGKILL | Signal::SIGSTOP)) {
        set(signal, Fate::Default)?;
    }
    Ok(nix::sys::signal::sigprocmask(SigmaskHow::SIG_SETMASK, Some(&SigSet::empty()), None)?)
}
