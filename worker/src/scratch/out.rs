//! What a job hands back: the regular files in its `out/` folder.
//!
//! Promises: no link is followed, neither symbolic nor hard, nothing is opened that could make us wait, and nothing
//! beyond the bounds is read, however large it is by then. What is left out is counted, never silent. Names come in
//! alphabetical order. Refuses to know what is in the files.

use super::ScratchError;
use super::base::FOLDER;
use super::folder::{Folder, Scratch};
use super::sweep::is_kind;
use musegate_protocol::message::FileName;
use nix::dir::Dir;
use nix::errno::Errno;
use nix::fcntl::{OFlag, openat};
use nix::sys::stat::{Mode, SFlag, fstat};
use std::fs::File;
use std::io::{self, Read, Take};
use std::os::fd::{AsFd, OwnedFd};

/// Entries of the folder that are looked at.
const MAX_ENTRIES: usize = 4096;

/// How much is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutLimits {
    /// Files.
    pub files: usize,
    /// Bytes of all of them together.
    pub bytes: u64,
}

/// What is not taken, by reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LeftOut {
    /// Names that cannot be handed on, or more than are looked at.
    pub names: u64,
    /// Folders, links, pipes, files that have a second name, files that cannot be opened.
    pub kinds: u64,
    /// Files beyond the number or the bytes allowed.
    pub beyond: u64,
}

/// One file. Reads no more than [`OutFile::size`] bytes.
#[derive(Debug)]
pub struct OutFile {
    name: FileName,
    size: u64,
    bytes: Take<File>,
}

impl OutFile {
    /// Its name.
    #[must_use]
    pub fn name(&self) -> &FileName {
        &self.name
    }

    /// Its size, bytes.
    #[must_use]
    pub fn size(&self) -> u64 {
        self.size
    }
}

impl Read for OutFile {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.bytes.read(buffer)
    }
}

/// The files, one at a time.
#[derive(Debug)]
pub struct OutFiles {
    dir: Option<OwnedFd>,
    names: std::vec::IntoIter<FileName>,
    left: OutLimits,
    left_out: LeftOut,
}

impl Scratch {
    /// The files that the job left in its `out/` folder. None if it never had one.
    ///
    /// # Errors
    /// [`ScratchError::Job`] when the folder cannot be read, also when the job has put something else in its place.
    pub fn read_out(&self, limits: OutLimits) -> Result<OutFiles, ScratchError> {
        // Step by step: a link in place of a folder above is not followed either.
        let mut steps = Folder::Out.name().split('/');
        let first = openat(self.dir(), steps.next().unwrap_or_default(), FOLDER, Mode::empty());
        let opened = first.and_then(|dir| steps.try_fold(dir, |dir, step| openat(&dir, step, FOLDER, Mode::empty())));
        match opened {
            Ok(dir) => OutFiles::of(dir, limits),
            Err(Errno::ENOENT) => Ok(OutFiles::none(limits)),
            Err(error) => Err(ScratchError::job("open out folder", error)),
        }
    }
}

impl OutFiles {
    /// The files of an open folder.
    ///
    /// # Errors
    /// [`ScratchError::Job`] when it cannot be read.
    pub fn of(dir: OwnedFd, limits: OutLimits) -> Result<Self, ScratchError> {
        let mut out = Self::none(limits);
        let fault = |error| ScratchError::job("read out folder", error);
        let mut listing = Dir::openat(&dir, ".", FOLDER, Mode::empty()).map_err(fault)?;
        let mut names = Vec::new();
        for entry in listing.iter() {
            let entry = entry.map_err(fault)?;
            let name = entry.file_name().to_bytes();
            if name == b"." || name == b".." {
                continue;
            }
            match std::str::from_utf8(name).ok().and_then(|name| FileName::new(name).ok()) {
                Some(name) if names.len() < MAX_ENTRIES => names.push(name),
                _ => out.left_out.names += 1,
            }
            if out.left_out.names > MAX_ENTRIES as u64 {
                break;
            }
        }
        names.sort_unstable_by(|one, other| one.as_bytes().cmp(other.as_bytes()));
        out.names = names.into_iter();
        out.dir = Some(dir);
        Ok(out)
    }

    fn none(limits: OutLimits) -> Self {
        Self { dir: None, names: Vec::new().into_iter(), left: limits, left_out: LeftOut::default() }
    }

    /// What has not been taken; complete when the iteration is over.
    #[must_use]
    pub fn left_out(&self) -> LeftOut {
        self.left_out
    }

    fn open(&mut self, name: FileName) -> Option<OutFile> {
        let opened = self.dir.as_ref().map(|dir| open_regular(dir, &name));
        let Some(Ok((file, size))) = opened else {
            self.left_out.kinds += 1;
            return None;
        };
        if self.left.files == 0 || size > self.left.bytes {
            self.left_out.beyond += 1;
            return None;
        }
        self.left.files -= 1;
        self.left.bytes -= size;
        Some(OutFile { name, size, bytes: file.take(size) })
    }
}

impl Iterator for OutFiles {
    type Item = OutFile;

    fn next(&mut self) -> Option<OutFile> {
        while let Some(name) = self.names.next() {
            if let Some(file) = self.open(name) {
                return Some(file);
            }
        }
        None
    }
}

/// Opens a file that is nothing but a file. One with a second name may be somebody else's.
fn open_regular(dir: &OwnedFd, name: &str) -> Result<(File, u64), Errno> {
    let flags = OFlag::O_RDONLY | OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK | OFlag::O_NOCTTY | OFlag::O_CLOEXEC;
    let file = openat(dir.as_fd(), name, flags, Mode::empty())?;
    let stat = fstat(&file)?;
    if !is_kind(stat.st_mode, SFlag::S_IFREG) || stat.st_nlink != 1 {
        return Err(Errno::EINVAL);
    }
    Ok((File::from(file), u64::try_from(stat.st_size).map_err(|_| Errno::EINVAL)?))
}
