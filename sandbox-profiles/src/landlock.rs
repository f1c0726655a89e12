//! Landlock domains.
//!
//! Promises: each domain is applied whole or not at all (`HardRequirement`); what a kernel is too old for is said
//! before, by [`abi`], and never guessed.

use landlock::{CompatLevel, Compatible, Ruleset, RulesetAttr, RulesetCreated, RulesetCreatedAttr, Scope};
use std::io;

/// Landlock's ABI, 0 where there is none.
#[must_use]
pub fn abi() -> u8 {
    const VERSION: libc::c_ulong = 1;
    let null = std::ptr::null::<libc::c_void>();
    // SAFETY: with this flag the call reads no memory and returns a number.
    let abi = unsafe { libc::syscall(libc::SYS_landlock_create_ruleset, null, 0usize, VERSION) };
    u8::try_from(abi).unwrap_or(0)
}

/// A domain whose processes can signal only one another and the domains inside, not yet entered.
#[derive(Debug)]
pub struct SignalScope(RulesetCreated);

impl SignalScope {
    /// Makes one.
    ///
    /// # Errors
    /// Where the kernel has no Landlock, or one older than ABI 6.
    pub fn new() -> io::Result<Self> {
        let ruleset = Ruleset::default().set_compatibility(CompatLevel::HardRequirement).scope(Scope::Signal);
        let created = ruleset.and_then(Ruleset::create).map_err(fault)?;
        // The jail has set it before, and it is inherited.
        Ok(Self(created.no_new_privs(false)))
    }

    /// Enters it. Each call makes a new domain, inside the one that this process is in.
    ///
    /// # Errors
    /// As landlock_restrict_self(2).
    pub fn enter(&self) -> io::Result<()> {
        self.0.try_clone()?.restrict_self().map_err(fault)?;
        Ok(())
    }
}

/// The errno inside a crate's error, so that it can be told to others.
fn fault(error: landlock::RulesetError) -> io::Error {
    let errno = *landlock::Errno::from(error);
    io::Error::from_raw_os_error(errno)
}
