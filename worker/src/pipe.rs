//! Reading a pipe of a program without waiting: while it runs, and when it has ended.

use nix::errno::Errno;
use nix::unistd::read;
use std::io::ErrorKind;
use tokio::net::unix::pipe::Receiver;

/// What is there now. 0: nothing now, or, with `open` then false, nothing ever again. A pipe that is not open must not be
/// waited for: it is always ready.
pub(crate) fn read_now(pipe: &Receiver, into: &mut [u8], open: &mut bool) -> usize {
    match pipe.try_read(into) {
        Ok(0) => {
            *open = false;
            0
        }
        Ok(count) => count,
        Err(error) => {
            *open = error.kind() == ErrorKind::WouldBlock;
            0
        }
    }
}

/// What is left in a pipe that nobody writes to any more; 0: all was read. Asks the kernel itself: the runtime answers
/// "nothing" until it has heard of the bytes, and they may have come together with the word that the writer is gone.
/// Nothing may wait for this pipe afterwards.
pub(crate) fn read_rest(pipe: &Receiver, into: &mut [u8]) -> usize {
    loop {
        match read(pipe, into) {
            Err(Errno::EINTR) => {}
            read => return read.unwrap_or(0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    /// The one thread of this runtime never asks the kernel what is ready, so `try_read` would find nothing.
    #[tokio::test]
    async fn the_rest_is_read_although_the_runtime_has_not_heard_of_it() {
        let (theirs, mut ours) = std::io::pipe().unwrap();
        let pipe = Receiver::from_owned_fd(theirs.into()).unwrap();
        ours.write_all(b"all of it").unwrap();
        drop(ours);
        let (mut buffer, mut open) = ([0; 64], true);
        assert_eq!((read_now(&pipe, &mut buffer, &mut open), open), (0, true), "the reason for the other function");
        assert_eq!(read_rest(&pipe, &mut buffer), 9);
        assert_eq!(&buffer[..9], b"all of it");
        assert_eq!(read_rest(&pipe, &mut buffer), 0);
    }
}
