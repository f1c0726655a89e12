//! Standard output and standard error, written without locks and line buffers.
//!
//! Output is gathered, as a program does whose stdout is a pipe, until somebody asks for [`Output::flush`] or much has
//! gathered. A reader that goes away ends the process.

use std::io::{stderr, stdout};
use std::os::fd::AsFd;

/// So much is gathered at most, bytes.
const MAX_GATHERED: usize = 60 * 1024;
/// Exit code when the reader is gone: EX_IOERR.
const READER_GONE: i32 = 74;

#[derive(Debug, Default)]
pub(crate) struct Output {
    gathered: Vec<u8>,
}

impl Output {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// What is gathered so far, to be added to.
    pub(crate) fn buffer(&mut self) -> &mut Vec<u8> {
        if self.gathered.len() > MAX_GATHERED {
            self.flush();
        }
        &mut self.gathered
    }

    pub(crate) fn text(&mut self, text: &str) {
        self.buffer().extend_from_slice(text.as_bytes());
    }

    pub(crate) fn flush(&mut self) {
        write_all(stdout(), &self.gathered);
        self.gathered.clear();
    }

    /// Straight to standard error.
    pub(crate) fn note(&mut self, text: &str) {
        write_all(stderr(), text.as_bytes());
    }
}

fn write_all(to: impl AsFd, mut bytes: &[u8]) {
    while !bytes.is_empty() {
        match nix::unistd::write(&to, bytes) {
            Ok(count) => bytes = bytes.get(count..).unwrap_or_default(),
            Err(nix::errno::Errno::EINTR) => {}
            Err(_) => std::process::exit(READER_GONE),
        }
    }
}
