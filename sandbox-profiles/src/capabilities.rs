//! Capabilities, of which nothing of ours needs any.

use caps::{CapSet, Capability, clear, has_cap, read};
use std::io;

/// Empties every set of this thread, and checks that they are empty. The bounding set can only be emptied by somebody
/// who may; whoever may not has nothing to empty it for, since no_new_privs is set as well.
///
/// # Errors
/// As capset(2), or when something is left.
pub fn drop_all() -> io::Result<()> {
    if has_cap(None, CapSet::Effective, Capability::CAP_SETPCAP).map_err(io::Error::other)? {
        clear(None, CapSet::Bounding).map_err(io::Error::other)?;
    }
    for set in [CapSet::Ambient, CapSet::Inheritable, CapSet::Effective, CapSet::Permitted] {
        clear(None, set).map_err(io::Error::other)?;
    }
    if are_empty()? { Ok(()) } else { Err(io::Error::from_raw_os_error(libc::EPERM)) }
}

/// Whether this thread has no capability and can gain none but by the exec of a privileged file.
///
/// # Errors
/// As capget(2).
pub fn are_empty() -> io::Result<bool> {
    for set in [CapSet::Permitted, CapSet::Inheritable, CapSet::Ambient] {
        if !read(None, set).map_err(io::Error::other)?.is_empty() {
            return Ok(false);
        }
    }
    Ok(true)
}
