//! What is wrong in a file of settings: where, and what to do about it. Never shows a value: it might be a secret.

use std::fmt::{self, Display};
use std::path::PathBuf;

/// Something wrong in a file of settings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The file.
    pub file: PathBuf,
    /// Line, from 1; 0 where it concerns the whole file.
    pub line: usize,
    /// Dotted key, or empty.
    pub key: String,
    /// What is wrong and what to do about it, a lowercase fragment.
    pub what: String,
}

impl Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.file.display())?;
        if self.line > 0 {
            write!(f, ":{}", self.line)?;
        }
        if !self.key.is_empty() {
            write!(f, ": {}", self.key.escape_debug())?; // a quoted key may hold anything, an escape sequence too
        }
        write!(f, ": {}", self.what)
    }
}

/// All problems of one or more files, in the order of their lines. Exit status 78 (`EX_CONFIG`).
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", .0.iter().map(Problem::to_string).collect::<Vec<_>>().join("\n"))]
pub struct Problems(pub Vec<Problem>);

/// What was probably meant: the known path that is at most three letters away, and at most half of its last name.
pub(crate) fn nearest<'a>(path: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let last = path.rsplit('.').next().unwrap_or_default();
    let far = 3.min(last.chars().count() / 2);
    let near = known.filter(|known| !known.contains('*')).map(|known| (distance(known, path), known)).min();
    near.filter(|(distance, _)| *distance <= far).map(|(_, known)| known)
}

/// Letters to insert, remove or replace to get from one to the other. Long names count as far.
fn distance(a: &str, b: &str) -> usize {
    if a.len() > 64 || b.len() > 64 {
        return usize::MAX;
    }
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, ca) in a.chars().enumerate() {
        let mut corner = i;
        let mut left = i + 1;
        for (cell, cb) in row.iter_mut().skip(1).zip(&b) {
            let here = (corner + usize::from(ca != *cb)).min(left + 1).min(*cell + 1);
            corner = *cell;
            *cell = here;
            left = here;
        }
        if let Some(first) = row.first_mut() {
            *first = i + 1;
        }
    }
    row.last().copied().unwrap_or(usize::MAX)
}
