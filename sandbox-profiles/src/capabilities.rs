//! Capabilities, of which nothing of ours needs any.

use caps::{CapSet, Capability, CapsHashSet, clear, drop, has_cap, read, set};
use std::io;

/// Empties every set of this thread, and checks that they are empty. The bounding set can only be emptied by somebody
/// who may; whoever may not has nothing to empty it for, since no_new_privs is set as well.
///
/// # Errors
/// As capset(2), or when something is left.
pub fn drop_all() -> io::Result<()> {
    keep(&CapsHashSet::new())?;
    if are_empty()? { Ok(()) } else { Err(io::Error::from_raw_os_error(libc::EPERM)) }
}

/// The same for a process that starts others in user namespaces. Root, and only root, must keep one capability for
/// that: without CAP_SETFCAP in the parent, the kernel maps uid 0 into no namespace. Says whether all are gone.
///
/// # Errors
/// As capset(2).
pub fn drop_all_but_for_mapping() -> io::Result<bool> {
    if nix::unistd::geteuid().is_root() {
        keep(&CapsHashSet::from([Capability::CAP_SETFCAP]))?;
    } else {
        keep(&CapsHashSet::new())?;
    }
    are_empty()
}

/// Empties the sets that count once no_new_privs is set, for a process that is started often: the bounding set, which
/// bounds what an exec could give, takes a call for each capability and nothing away that no_new_privs leaves.
///
/// # Errors
/// As capset(2), or when something is left.
pub fn drop_quickly() -> io::Result<()> {
    clear(None, CapSet::Ambient).map_err(io::Error::other)?;
    for set in [CapSet::Inheritable, CapSet::Effective, CapSet::Permitted] {
        clear(None, set).map_err(io::Error::other)?;
    }
    // Without a permitted capability there is neither an effective nor an ambient one.
    let left = read(None, CapSet::Permitted).map_err(io::Error::other)?;
    if left.is_empty() { Ok(()) } else { Err(io::Error::from_raw_os_error(libc::EPERM)) }
}

fn keep(wanted: &CapsHashSet) -> io::Result<()> {
    if has_cap(None, CapSet::Effective, Capability::CAP_SETPCAP).map_err(io::Error::other)? {
        for capability in read(None, CapSet::Bounding).map_err(io::Error::other)?.difference(wanted) {
            drop(None, CapSet::Bounding, *capability).map_err(io::Error::other)?;
        }
    }
    clear(None, CapSet::Ambient).map_err(io::Error::other)?;
    clear(None, CapSet::Inheritable).map_err(io::Error::other)?;
    let permitted = read(None, CapSet::Permitted).map_err(io::Error::other)?;
    let kept: CapsHashSet = permitted.intersection(wanted).copied().collect();
    set(None, CapSet::Effective, &kept).map_err(io::Error::other)?;
    set(None, CapSet::Permitted, &kept).map_err(io::Error::other)
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
