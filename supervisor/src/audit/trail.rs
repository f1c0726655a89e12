//! The file of the trail: lines appended, chained, and begun anew by size.
//!
//! Promises: a line is whole or not there; the chain goes on over files and restarts; what could not be written is kept
//! for a while, then counted, and the count is written as soon as something can be. Refuses to know what a line says.

use super::keys::{Keys, Link, hex, unhex};
use std::collections::VecDeque;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// Longest line, bytes: what is read back from the end of a file.
pub(super) const MAX_LINE: usize = 64 * 1024;
/// Most records kept while the file cannot be written.
const MAX_BACKLOG: usize = 1024;

#[derive(Debug)]
pub(super) struct Trail {
    keys: Keys,
    path: PathBuf,
    file: File,
    len: u64,
    first_seq: u64,
    next_seq: u64,
    link: Link,
    max_bytes: u64,
    keep: usize,
    torn: bool,
    line: Vec<u8>,
    backlog: VecDeque<Vec<u8>>,
    lost: u64,
}

/// Where a file of the trail ends.
pub(super) struct End {
    pub(super) seq: u64,
    pub(super) link: Link,
    /// Bytes up to the end of the last whole line.
    pub(super) len: u64,
    /// Bytes after it.
    pub(super) torn: u64,
}

impl Trail {
    /// Goes on where the last line stands. Returns how many bytes of a torn line were cut off.
    pub(super) fn open(keys: Keys, path: &Path, max_bytes: u64, keep: usize) -> io::Result<(Self, u64)> {
        let mut file = open_append(path)?;
        let end = find_end(&mut file)?;
        if end.torn > 0 {
            file.set_len(end.len)?;
        }
        let (seq, link) = match (end.seq, older(path)?.pop()) {
            (0, Some((_, last))) => {
                let end = find_end(&mut File::open(last)?)?;
                (end.seq, end.link)
            }
            _ => (end.seq, end.link),
        };
        let first_seq = first_seq(path)?.unwrap_or(seq + 1);
        let trail = Self {
            keys,
            path: path.to_owned(),
            file,
            len: end.len,
            first_seq,
            next_seq: seq + 1,
            link,
            max_bytes,
            keep,
            torn: false,
            line: Vec::with_capacity(1024),
            backlog: VecDeque::new(),
            lost: 0,
        };
        Ok((trail, end.torn))
    }

    /// The present link, hex.
    pub(super) fn link_hex(&self) -> String {
        hex(&self.link)
    }

    /// Puts number and link into the log: a witness outside of the file.
    pub(super) fn tell(&self, what: &'static str) {
        tracing::info!(record = self.next_seq.saturating_sub(1), chain = self.link_hex(), "{what}");
    }

    /// Whether records wait to be written, or are lost and not yet counted in the file.
    pub(super) fn behind(&self) -> bool {
        !self.backlog.is_empty() || self.lost > 0
    }

    /// Writes a record, an object in JSON, after whatever waits. When it cannot be written it is kept.
    pub(super) fn write(&mut self, record: &[u8]) -> io::Result<()> {
        let written = self.catch_up().and_then(|()| self.append(record));
        if written.is_err() {
            if self.backlog.len() < MAX_BACKLOG {
                self.backlog.push_back(record.to_vec());
            } else {
                self.lost += 1;
            }
        }
        written
    }

    /// Writes what waits.
    pub(super) fn catch_up(&mut self) -> io::Result<()> {
        while let Some(record) = self.backlog.pop_front() {
            if let Err(error) = self.append(&record) {
                self.backlog.push_front(record);
                return Err(error);
            }
        }
        if self.lost > 0 {
            let record = format!("{{\"kind\":\"lost\",\"records\":{}}}", self.lost);
            self.append(record.as_bytes())?;
            self.lost = 0;
        }
        Ok(())
    }

    pub(super) fn sync(&self) -> io::Result<()> {
        self.file.sync_data()
    }

    /// Another file in its place, so that a test can make writing fail.
    #[cfg(test)]
    pub(super) fn exchange_file(&mut self, file: File) {
        self.file = file;
    }

    fn append(&mut self, record: &[u8]) -> io::Result<()> {
        if self.len >= self.max_bytes {
            self.rotate()?;
        }
        let mut line = std::mem::take(&mut self.line);
        let link = self.compose(&mut line, record);
        let written = self.put(&line);
        let len = line.len() as u64;
        self.line = line;
        written?;
        self.len += len;
        self.link = link;
        self.next_seq += 1;
        Ok(())
    }

    /// `{"seq":N,` + the record's members + `,"chain":"…"}`.
    fn compose(&self, line: &mut Vec<u8>, record: &[u8]) -> Link {
        line.clear();
        let members = record.strip_prefix(b"{").and_then(|rest| rest.strip_suffix(b"}")).unwrap_or_default();
        line.extend_from_slice(b"{\"seq\":");
        line.extend_from_slice(self.next_seq.to_string().as_bytes());
        line.push(b',');
        line.extend_from_slice(members);
        let link = self.keys.link(&self.link, line);
        line.extend_from_slice(b",\"chain\":\"");
        line.extend_from_slice(hex(&link).as_bytes());
        line.extend_from_slice(b"\"}\n");
        link
    }

    /// The whole line or nothing of it.
    fn put(&mut self, line: &[u8]) -> io::Result<()> {
        if self.torn {
            self.file.set_len(self.len)?;
            self.torn = false;
        }
        if let Err(error) = self.file.write_all(line) {
            self.torn = self.file.set_len(self.len).is_err();
            return Err(error);
        }
        Ok(())
    }

    /// The present file gets the number of its first record as its name; a new one goes on with the chain. Whatever
    /// fails on the way, the next attempt finds either both files or none changed.
    fn rotate(&mut self) -> io::Result<()> {
        self.file.sync_data()?;
        let new = self.path.with_added_extension("new");
        let _ = fs::remove_file(&new);
        let file = open_append(&new)?;
        match fs::rename(&self.path, numbered(&self.path, self.first_seq)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => fs::rename(&new, &self.path)?,
        }
        self.file = file;
        self.len = 0;
        self.first_seq = self.next_seq;
        let record = format!("{{\"kind\":\"continued\",\"previous\":\"{}\"}}", self.link_hex());
        self.append(record.as_bytes())?;
        if let Err(error) = self.forget_oldest() {
            tracing::warn!(%error, "old files of the audit trail cannot be removed");
        }
        Ok(())
    }

    fn forget_oldest(&self) -> io::Result<()> {
        let mut files = older(&self.path)?;
        files.truncate(files.len().saturating_sub(self.keep));
        files.into_iter().try_for_each(|(_, file)| fs::remove_file(file))
    }
}

fn open_append(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).append(true).create(true).mode(0o600).open(path)
}

/// `audit.jsonl` and 12 become `audit.jsonl.000000000012`.
fn numbered(path: &Path, first_seq: u64) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".{first_seq:012}"));
    PathBuf::from(name)
}

/// Older files of a trail with their numbers, oldest first.
pub(super) fn older(path: &Path) -> io::Result<Vec<(u64, PathBuf)>> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let mut files = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let file = entry.file_name();
        let number = file.to_str().and_then(|file| file.strip_prefix(&name)?.strip_prefix('.'));
        let digits = number.filter(|n| n.len() >= 12 && n.bytes().all(|b| b.is_ascii_digit()));
        if let Some(number) = digits.and_then(|digits| digits.parse().ok()) {
            files.push((number, folder.join(&file)));
        }
    }
    files.sort();
    Ok(files)
}

/// What of a line is needed to go on after it, or to check it.
#[derive(serde::Deserialize)]
pub(super) struct Tail<'a> {
    pub(super) seq: u64,
    #[serde(borrow)]
    pub(super) chain: std::borrow::Cow<'a, str>,
}

fn first_seq(path: &Path) -> io::Result<Option<u64>> {
    let mut head = Vec::new();
    File::open(path)?.take(MAX_LINE as u64).read_to_end(&mut head)?;
    let line = head.split(|b| *b == b'\n').next().unwrap_or_default();
    Ok(serde_json::from_slice::<Tail<'_>>(line).ok().map(|tail| tail.seq))
}

/// Finds the last whole line. An empty file ends at number 0.
pub(super) fn find_end(file: &mut File) -> io::Result<End> {
    let size = file.seek(SeekFrom::End(0))?;
    let start = size.saturating_sub(2 * MAX_LINE as u64);
    file.seek(SeekFrom::Start(start))?;
    let mut bytes = Vec::new();
    file.take(2 * MAX_LINE as u64).read_to_end(&mut bytes)?;
    let whole = bytes.iter().rposition(|b| *b == b'\n').map_or(0, |at| at + 1);
    let mut lines = bytes.get(..whole).unwrap_or_default().split_inclusive(|b| *b == b'\n');
    let torn_after = |len: u64| End { seq: 0, link: [0; 32], len, torn: size - len };
    let Some(last) = lines.next_back() else { return Ok(torn_after(start)) };
    let tail: Tail<'_> = serde_json::from_slice(last).map_err(|_| damaged())?;
    let link = unhex(&tail.chain).ok_or_else(damaged)?;
    let len = start + whole as u64;
    Ok(End { seq: tail.seq, link, len, torn: size - len })
}

fn damaged() -> io::Error {
    io::Error::new(
        io::ErrorKind::InvalidData,
        "the last record is damaged; see musegate audit verify, then move the file away",
    )
}
