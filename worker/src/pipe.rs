//! Reading a pipe of a program without waiting.

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
