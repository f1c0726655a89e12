//! Descriptors: received, and kept from a program that is about to be started.

use nix::fcntl::{FcntlArg, FdFlag, fcntl};
use nix::sys::socket::{ControlMessageOwned, MsgFlags, RecvMsg, recvmsg};
use std::io::{self, IoSliceMut};
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd, RawFd};

/// Most descriptors that one message may carry.
pub const MOST_AT_ONCE: usize = 8;

/// Reads once from a socket, with the descriptors that came along; all of them are close-on-exec.
///
/// # Errors
/// As recvmsg(2). More descriptors than [`MOST_AT_ONCE`]: none of them is handed out.
pub fn receive(socket: impl AsFd, buffer: &mut [u8]) -> io::Result<(usize, Vec<OwnedFd>)> {
    let mut room = nix::cmsg_space!([RawFd; MOST_AT_ONCE]);
    let mut parts = [IoSliceMut::new(buffer)];
    #[cfg(target_os = "linux")]
    let flags = MsgFlags::MSG_CMSG_CLOEXEC;
    #[cfg(not(target_os = "linux"))]
    let flags = MsgFlags::empty();
    let message: RecvMsg<'_, '_, ()> = recvmsg(socket.as_fd().as_raw_fd(), &mut parts, Some(&mut room), flags)?;
    let mut owned = Vec::new();
    for control in message.cmsgs()? {
        if let ControlMessageOwned::ScmRights(numbers) = control {
            // SAFETY: the kernel has just made these descriptors for us and nobody else knows their numbers.
            owned.extend(numbers.into_iter().map(|number| unsafe { OwnedFd::from_raw_fd(number) }));
        }
    }
    #[cfg(not(target_os = "linux"))]
    for fd in &owned {
        close_on_exec(fd)?;
    }
    Ok((message.bytes, owned))
}

/// Keeps one descriptor from every program that is started.
///
/// # Errors
/// As fcntl(2).
pub fn close_on_exec(fd: impl AsFd) -> io::Result<()> {
    fcntl(fd, FcntlArg::F_SETFD(FdFlag::FD_CLOEXEC))?;
    Ok(())
}

/// Keeps every descriptor from 3 on from the program that this process will exec, whoever opened it.
///
/// # Errors
/// As close_range(2).
pub fn close_all_on_exec() -> io::Result<()> {
    #[cfg(target_os = "linux")]
    {
        // SAFETY: takes plain numbers and closes nothing now, so that no owner of a descriptor is cheated.
        let done = unsafe { libc::close_range(3, libc::c_uint::MAX, libc::CLOSE_RANGE_CLOEXEC.cast_signed()) };
        if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }
    #[cfg(not(target_os = "linux"))]
    {
        let numbers = std::fs::read_dir("/dev/fd")?
            .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<RawFd>().ok())
            .filter(|number| *number > 2);
        for number in numbers.collect::<Vec<_>>() {
            // SAFETY: sets a flag by number; one that is no longer open (that of the listing) is an error that
            // does not matter.
            unsafe { libc::fcntl(number, libc::F_SETFD, libc::FD_CLOEXEC) };
        }
        Ok(())
    }
}

/// Makes `from` the standard stream of that number (0, 1 or 2), also for programs that are started.
///
/// # Errors
/// As dup2(2); a number above 2 is an error.
pub fn set_standard(from: impl AsFd, number: u8) -> io::Result<()> {
    if number > 2 {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let from = from.as_fd().as_raw_fd();
    // SAFETY: replaces one of the three standard streams, which no `OwnedFd` of ours ever holds.
    let done = unsafe { libc::dup2(from, RawFd::from(number)) };
    if done < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use nix::sys::socket::{ControlMessage, sendmsg};
    use std::io::{IoSlice, Read, Write};
    use std::os::unix::net::UnixStream;

    #[test]
    fn descriptors_arrive_with_their_bytes_and_closed_on_exec() {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let (mut read, write) = std::io::pipe().unwrap();
        let rights = [write.as_raw_fd()];
        let control = [ControlMessage::ScmRights(&rights)];
        sendmsg::<()>(ours.as_raw_fd(), &[IoSlice::new(b"hi")], &control, MsgFlags::empty(), None).unwrap();
        let mut buffer = [0; 8];
        let (bytes, fds) = receive(&theirs, &mut buffer).unwrap();
        assert_eq!((&buffer[..bytes], fds.len()), (&b"hi"[..], 1));
        assert_eq!(fcntl(&fds[0], FcntlArg::F_GETFD).unwrap(), FdFlag::FD_CLOEXEC.bits());
        drop(write);
        std::fs::File::from(fds.into_iter().next().unwrap()).write_all(b"x").unwrap();
        let mut text = String::new();
        read.read_to_string(&mut text).unwrap();
        assert_eq!(text, "x");
    }

    #[test]
    fn a_fourth_standard_stream_is_refused() {
        assert_eq!(set_standard(std::io::stdin(), 3).unwrap_err().kind(), io::ErrorKind::InvalidInput);
    }
}
