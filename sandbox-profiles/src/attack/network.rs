//! Ways out.

use super::system::raw;
use super::{Attempt, Target};
use nix::errno::Errno::{self, EACCES, EPERM};
use nix::sys::socket::{
    AddressFamily, Backlog, MsgFlags, SockFlag, SockType, SockaddrIn, UnixAddr, bind, connect, listen, sendmsg, sendto,
    socket,
};
use std::io::IoSlice;
use std::os::fd::{AsRawFd, OwnedFd};

const TCP: &str = "landlock-tcp";
const SECCOMP: &str = "seccomp";
const MPTCP: libc::c_int = 262;

#[rustfmt::skip] // one attempt a line
pub(super) const ATTEMPTS: &[Attempt] = &[
    Attempt { name: "tcp-connect", held_by: TCP, expected: &[EACCES], run: |t| connect(stream()?.as_raw_fd(), &port(t)) },
    Attempt { name: "tcp-bind", held_by: TCP, expected: &[EACCES], run: |_| bind_tcp() },
    Attempt { name: "tcp-fast-open-sendto", held_by: SECCOMP, expected: &[EPERM], run: |t| sendto(stream()?.as_raw_fd(), b"x", &port(t), MsgFlags::from_bits_retain(libc::MSG_FASTOPEN)).map(drop) },
    Attempt { name: "tcp-fast-open-sendmsg", held_by: SECCOMP, expected: &[EPERM], run: |t| sendmsg(stream()?.as_raw_fd(), &[IoSlice::new(b"x")], &[], MsgFlags::from_bits_retain(libc::MSG_FASTOPEN), Some(&port(t))).map(drop) },
    Attempt { name: "mptcp", held_by: SECCOMP, expected: &[EPERM], run: |_| family(libc::AF_INET, libc::SOCK_STREAM, MPTCP) },
    Attempt { name: "udp", held_by: SECCOMP, expected: &[EPERM], run: |_| family(libc::AF_INET, libc::SOCK_DGRAM, 0) },
    Attempt { name: "udp6", held_by: SECCOMP, expected: &[EPERM], run: |_| family(libc::AF_INET6, libc::SOCK_DGRAM, 0) },
    Attempt { name: "unix-connect", held_by: SECCOMP, expected: &[EPERM], run: |t| connect(unix_socket()?.as_raw_fd(), &UnixAddr::new(&t.unix)?) },
    Attempt { name: "unix-abstract", held_by: SECCOMP, expected: &[EPERM], run: |_| abstract_listener() },
    Attempt { name: "unix-datagram", held_by: SECCOMP, expected: &[EPERM], run: |_| family(libc::AF_UNIX, libc::SOCK_DGRAM, 0) },
    Attempt { name: "netlink", held_by: SECCOMP, expected: &[EPERM], run: |_| family(libc::AF_NETLINK, libc::SOCK_RAW, 0) },
];

/// A plain TCP socket, bound to any port of the loopback.
///
/// # Errors
/// As bind(2).
pub fn bind_tcp() -> nix::Result<()> {
    bind(stream()?.as_raw_fd(), &SockaddrIn::new(127, 0, 0, 1, 0))
}

/// A Unix stream socket.
///
/// # Errors
/// As socket(2).
pub fn unix_socket() -> nix::Result<OwnedFd> {
    socket(AddressFamily::Unix, SockType::Stream, SockFlag::SOCK_CLOEXEC, None)
}

fn stream() -> nix::Result<OwnedFd> {
    socket(AddressFamily::Inet, SockType::Stream, SockFlag::SOCK_CLOEXEC, None)
}

fn port(target: &Target) -> SockaddrIn {
    SockaddrIn::new(127, 0, 0, 1, target.tcp_port)
}

/// Families that nix does not know too, so by number. The descriptor is left to the end of the process.
fn family(family: libc::c_int, kind: libc::c_int, protocol: libc::c_int) -> nix::Result<()> {
    raw(libc::SYS_socket, [family, kind, protocol].map(i64::from))
}

fn abstract_listener() -> nix::Result<()> {
    let socket = unix_socket()?;
    let name = format!("musegate-attack-{}", std::process::id());
    bind(socket.as_raw_fd(), &UnixAddr::new_abstract(name.as_bytes())?)?;
    listen(&socket, Backlog::new(1).map_err(|_| Errno::EINVAL)?)
}
