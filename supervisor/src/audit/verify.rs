//! Reading the trail: `musegate audit verify|show`.
//!
//! Promises: every file of the trail is read in order, line by line, in bounded memory; a changed, missing or foreign
//! line is found and told with its place, and the check goes on behind it. What the chain alone cannot show is a cut end:
//! compare the last number and link with those in the log of the service manager, where each start and stop writes them.

use super::keys::{Keys, Link, hex, unhex};
use super::trail::{MAX_LINE, Tail, older};
use super::{AuditError, config};
use serde_json::Value;
use std::fmt::Write;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

/// Most damages that are told; further ones are counted.
const MAX_TOLD: usize = 100;

/// One line of the trail.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// Its file.
    pub file: PathBuf,
    /// Its number in the file, from 1.
    pub number: u64,
    /// The line without its end.
    pub text: String,
}

/// What a check of the whole trail found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verified {
    /// Files read.
    pub files: usize,
    /// Lines read.
    pub records: u64,
    /// Of these, admitted requests.
    pub requests: u64,
    /// Records that the trail itself says are missing, since they could not be written.
    pub lost: u64,
    /// Starts of the supervisor that follow no stop: it was killed, or lost its power.
    pub killed: u64,
    /// Number of the first record; above 1 where older files were deleted.
    pub first: u64,
    /// Number of the last record.
    pub last: u64,
    /// The last link, hex.
    pub chain: String,
    /// What is wrong, at most a hundred of them.
    pub damages: Vec<Damage>,
    /// How many there are.
    pub damaged: u64,
}

/// Something wrong in the trail.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}:{line}: {what}", file.display())]
pub struct Damage {
    /// The file.
    pub file: PathBuf,
    /// The line, from 1.
    pub line: u64,
    /// What is wrong, a lowercase fragment.
    pub what: String,
}

/// Checks the whole trail.
///
/// # Errors
/// [`AuditError`]: the key or a file cannot be read. What is wrong *in* the trail is in [`Verified::damages`].
pub fn verify(config: &config::Audit) -> Result<Verified, AuditError> {
    let keys = Keys::read(&config.key_file)?;
    let error = |error| AuditError::File { path: config.file.clone(), error };
    let mut check = Check { keys, seen: Verified::default(), link: [0; 32], running: false };
    for file in files(&config.file).map_err(error)? {
        check.seen.files += 1;
        for line in lines(&file).map_err(error)? {
            check.line(&line.map_err(error)?);
        }
    }
    check.seen.chain = hex(&check.link);
    Ok(check.seen)
}

/// Every line of the trail, oldest first.
///
/// # Errors
/// The folder cannot be read. Each item may say that its file cannot.
pub fn read(file: &Path) -> io::Result<impl Iterator<Item = io::Result<Line>> + use<>> {
    let files = files(file)?;
    Ok(files.into_iter().flat_map(|file| match lines(&file) {
        Ok(lines) => Box::new(lines) as Box<dyn Iterator<Item = io::Result<Line>>>,
        Err(error) => Box::new(std::iter::once(Err(error))),
    }))
}

/// A line for people: when, who, what, how it ended, how long it took. Lines that are none stay as they are.
#[must_use]
pub fn show(text: &str) -> String {
    let Ok(line) = serde_json::from_str::<Value>(text) else { return text.to_owned() };
    let word = |key: &str| line.get(key).and_then(Value::as_str);
    let mut out =
        format!("{:>8}  {}", line.get("seq").and_then(Value::as_u64).unwrap_or_default(), word("time").unwrap_or("-"));
    if word("kind") != Some("request") {
        let _ = write!(out, "  ({})", word("kind").unwrap_or("?"));
        for key in ["records", "torn_bytes", "refusals", "build"] {
            let _ = line.get(key).map_or(Ok(()), |value| write!(out, "  {key} {value}"));
        }
        return out;
    }
    let _ = write!(out, "  {}  {}", word("caller").unwrap_or("-"), word("operation").unwrap_or("-"));
    let _ = write!(out, "  {}", word("verdict").unwrap_or("-"));
    let _ = word("reason").map_or(Ok(()), |reason| write!(out, " ({reason})"));
    let total = line.get("ms").and_then(|ms| ms.get("total")).and_then(Value::as_u64);
    let _ = total.map_or(Ok(()), |ms| write!(out, "  {ms} ms"));
    let _ = word("task").map_or(Ok(()), |task| write!(out, "  task {task}"));
    out
}

/// The files of a trail, oldest first; those that are missing are not among them.
fn files(file: &Path) -> io::Result<Vec<PathBuf>> {
    let mut files: Vec<PathBuf> = older(file)?.into_iter().map(|(_, file)| file).collect();
    if file.try_exists()? {
        files.push(file.to_owned());
    }
    if files.is_empty() { Err(io::ErrorKind::NotFound.into()) } else { Ok(files) }
}

fn lines(file: &Path) -> io::Result<impl Iterator<Item = io::Result<Line>> + use<>> {
    let mut reader = BufReader::new(File::open(file)?);
    let file = file.to_owned();
    let mut number = 0;
    Ok(std::iter::from_fn(move || {
        let mut bytes = Vec::new();
        let read = reader.by_ref().take(2 * MAX_LINE as u64).read_until(b'\n', &mut bytes);
        match read {
            Ok(0) => None,
            Ok(_) => {
                number += 1;
                // A line without its end is torn: the missing end is kept visible for the check.
                let text = bytes.strip_suffix(b"\n").map_or_else(
                    || format!("{}\u{fffd}", String::from_utf8_lossy(&bytes)),
                    |whole| String::from_utf8_lossy(whole).into_owned(),
                );
                Some(Ok(Line { file: file.clone(), number, text }))
            }
            Err(error) => Some(Err(error)),
        }
    }))
}

struct Check {
    keys: Keys,
    seen: Verified,
    link: Link,
    running: bool,
}

impl Check {
    fn line(&mut self, line: &Line) {
        self.seen.records += 1;
        let Some((tail, stated, signed)) = parse(&line.text) else {
            return self.damage(line, "is not a record".to_owned());
        };
        let value: Value = serde_json::from_str(&line.text).unwrap_or_default();
        let previous = value.get("previous").and_then(Value::as_str).and_then(unhex);
        if self.seen.records == 1 {
            self.seen.first = tail;
            self.link = previous.unwrap_or_default();
            if tail == 1 && self.link != [0; 32] {
                self.damage(line, "is the first record and names another before it".to_owned());
            }
        } else if tail != self.seen.last + 1 {
            self.damage(line, format!("is record {tail} and follows record {}", self.seen.last));
        } else if self.keys.link(&self.link, signed) != stated {
            self.damage(line, "was changed, or the record before it was".to_owned());
        }
        if self.seen.records == 1 && self.keys.link(&self.link, signed) != stated {
            self.damage(line, "was changed".to_owned());
        }
        self.seen.last = tail;
        self.link = stated;
        self.count(&value);
    }

    fn count(&mut self, value: &Value) {
        match value.get("kind").and_then(Value::as_str) {
            Some("request") => self.seen.requests += 1,
            Some("lost") => self.seen.lost += value.get("records").and_then(Value::as_u64).unwrap_or_default(),
            Some("begin") => {
                self.seen.killed += u64::from(self.running);
                self.running = true;
            }
            Some("end") => self.running = false,
            _ => {}
        }
    }

    fn damage(&mut self, line: &Line, what: String) {
        self.seen.damaged += 1;
        if self.seen.damages.len() < MAX_TOLD {
            self.seen.damages.push(Damage { file: line.file.clone(), line: line.number, what });
        }
    }
}

/// Number, stated link, and what the link is over.
fn parse(text: &str) -> Option<(u64, Link, &[u8])> {
    const LINK: usize = r#","chain":""}"#.len() + 64;
    let tail: Tail<'_> = serde_json::from_str(text).ok()?;
    let signed = text.as_bytes().get(..text.len().checked_sub(LINK)?)?;
    let rest = text.get(signed.len()..)?;
    let stated = rest.strip_prefix(r#","chain":""#)?.strip_suffix(r#""}"#)?;
    (stated == tail.chain).then_some(())?;
    Some((tail.seq, unhex(stated)?, signed))
}
