//! Who is at the other end of a Unix socket, as the kernel says.

use std::io;
use std::os::fd::AsFd;

/// The process that connected, or that called listen(2), at that moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Peer {
    /// Its effective uid.
    pub uid: u32,
    /// Its effective gid.
    pub gid: u32,
    /// Its pid, where the kernel says. Only for people: it may be another process's by now.
    pub pid: Option<i32>,
}

/// Who is at the other end of a connected Unix socket. On the side that connected this is whoever called listen(2),
/// which is the service manager where that holds the socket.
///
/// # Errors
/// As getsockopt(2) or getpeereid(3).
pub fn peer_of(socket: impl AsFd) -> io::Result<Peer> {
    #[cfg(target_os = "linux")]
    {
        let peer = nix::sys::socket::getsockopt(&socket, nix::sys::socket::sockopt::PeerCredentials)?;
        Ok(Peer { uid: peer.uid(), gid: peer.gid(), pid: Some(peer.pid()) })
    }
    #[cfg(target_os = "macos")]
    {
        let (uid, gid) = nix::unistd::getpeereid(&socket)?;
        let pid = nix::sys::socket::getsockopt(&socket, nix::sys::socket::sockopt::LocalPeerPid).ok();
        Ok(Peer { uid: uid.as_raw(), gid: gid.as_raw(), pid })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_other_end_of_a_pair_is_this_process() {
        let (one, _other) = std::os::unix::net::UnixStream::pair().unwrap();
        let peer = peer_of(&one).unwrap();
        assert_eq!(peer.uid, nix::unistd::geteuid().as_raw());
        assert_eq!(peer.pid, Some(nix::unistd::getpid().as_raw()));
    }
}
