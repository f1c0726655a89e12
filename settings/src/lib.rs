//! How both processes read a file of settings, and a file that must be private.
//!
//! Promises: a wrong file yields *every* problem, each with file, line and key, never only the first; a key that nobody
//! asked for is a problem; each key is declared once, with its default and a sentence, and the commented default file
//! and docs/CONFIG.md are printed from these declarations. Refuses to know what any key means.

pub mod private;
mod value;

use std::collections::BTreeSet;
use std::fmt::{self, Display, Write};
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::time::Duration;
use toml_edit::{Document, Item, Table, TableLike};

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
            write!(f, ": {}", self.key)?;
        }
        write!(f, ": {}", self.what)
    }
}

/// All problems of one or more files, in the order of their lines. Exit status 78 (`EX_CONFIG`).
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", .0.iter().map(Problem::to_string).collect::<Vec<_>>().join("\n"))]
pub struct Problems(pub Vec<Problem>);

/// One declared key: what the commented default file and docs/CONFIG.md print.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Declared {
    /// Dotted name of the section, empty at the top.
    pub section: String,
    /// The key.
    pub key: &'static str,
    /// Its default, as it would be written in the file; `None`: it has none.
    pub default: Option<String>,
    /// What may be written, such as `1 to 65536` or `"strip", "mark" or "reject"`.
    pub allowed: String,
    /// What it does.
    pub help: &'static str,
}

/// A file of settings being read. Ask for every key, then call [`Settings::finish`].
#[derive(Debug)]
pub struct Settings {
    file: PathBuf,
    text: String,
    root: Table,
    problems: Vec<Problem>,
    declared: Vec<Declared>,
    asked: BTreeSet<String>,
}

impl Settings {
    /// From text. A syntax error is a problem like any other; all keys then have their defaults.
    #[must_use]
    pub fn parse(file: &Path, text: &str) -> Self {
        let mut settings = Self {
            file: file.to_owned(),
            text: text.to_owned(),
            root: Table::new(),
            problems: Vec::new(),
            declared: Vec::new(),
            asked: BTreeSet::new(),
        };
        match Document::parse(text.to_owned()) {
            Ok(document) => settings.root = document.as_table().clone(),
            Err(error) => {
                let line = error.span().map_or(0, |span| settings.line_at(span.start));
                settings.problem_at(line, "", error.message().lines().collect::<Vec<_>>().join(", "));
            }
        }
        settings
    }

    /// A file without content: every key has its default. For printing declarations.
    #[must_use]
    pub fn empty() -> Self {
        Self::parse(Path::new(""), "")
    }

    /// The keys before any `[section]`.
    pub fn top(&mut self) -> Section<'_> {
        Section { table: Some(self.root.clone()), name: String::new(), path: String::new(), settings: self }
    }

    /// The keys of `[name]`. `help` heads the section in the commented file.
    pub fn section(&mut self, name: &'static str) -> Section<'_> {
        self.asked.insert(name.to_owned());
        let table = match self.root.get(name) {
            None => None,
            Some(Item::Table(table)) => Some(table.clone()),
            Some(Item::Value(value)) if value.is_inline_table() => value.as_inline_table().map(|t| t.clone().into_table()),
            Some(item) => {
                let line = self.line_of(item);
                self.problem_at(line, name, format!("is not a section; write [{name}]"));
                None
            }
        };
        Section { table, name: name.to_owned(), path: name.to_owned(), settings: self }
    }

    /// One call for each `[name.KEY]` with its key, such as `[callers.hermes]`. Declarations are made once, under
    /// `name.*`, also when there is none.
    pub fn each<T>(&mut self, name: &'static str, mut read: impl FnMut(&str, &mut Section<'_>) -> T) -> Vec<T> {
        self.asked.insert(name.to_owned());
        let tables: Vec<(String, Option<Table>, usize)> = match self.root.get(name).and_then(Item::as_table_like) {
            Some(all) => all
                .iter()
                .map(|(key, item)| (key.to_owned(), as_table(item), self.line_of(item)))
                .collect(),
            None => Vec::new(),
        };
        if tables.is_empty() {
            let problems = self.problems.len();
            let mut section =
                Section { table: None, name: format!("{name}.*"), path: format!("{name}.*"), settings: self };
            read("*", &mut section);
            self.problems.truncate(problems);
            return Vec::new();
        }
        let mut all = Vec::new();
        for (key, table, line) in tables {
            let path = format!("{name}.{key}");
            self.asked.insert(path.clone());
            if table.is_none() {
                self.problem_at(line, &path, format!("is not a section; write [{path}]"));
            }
            let mut section = Section { table, name: format!("{name}.*"), path, settings: self };
            all.push(read(&key, &mut section));
        }
        all
    }

    /// Whether the file has a `[name]` at all.
    #[must_use]
    pub fn has(&self, name: &str) -> bool {
        self.root.contains_key(name)
    }

    /// What was declared so far, each key once.
    #[must_use]
    pub fn declared(&self) -> &[Declared] {
        &self.declared
    }

    /// The end: unknown keys are problems too.
    ///
    /// # Errors
    /// [`Problems`], all of them, by line.
    pub fn finish(mut self) -> Result<(), Problems> {
        let mut unknown = Vec::new();
        walk(&self.root, "", &mut |path, item| {
            if !self.asked.contains(path) {
                unknown.push((path.to_owned(), self.line_of(item)));
            }
        });
        for (path, line) in unknown {
            let near = self.asked.iter().map(|known| (distance(known, &path), known)).min();
            let hint = match near {
                Some((d, known)) if d <= 3 => format!("is unknown; did you mean {known}?"),
                _ => "is unknown".to_owned(),
            };
            self.problem_at(line, &path, hint);
        }
        if self.problems.is_empty() {
            return Ok(());
        }
        self.problems.sort_by_key(|problem| problem.line);
        Err(Problems(self.problems))
    }

    fn line_at(&self, offset: usize) -> usize {
        1 + self.text.bytes().take(offset).filter(|b| *b == b'\n').count()
    }

    fn line_of(&self, item: &Item) -> usize {
        item.span().map_or(0, |span| self.line_at(span.start))
    }

    fn problem_at(&mut self, line: usize, key: &str, what: impl Into<String>) {
        self.problems.push(Problem { file: self.file.clone(), line, key: key.to_owned(), what: what.into() });
    }

    fn declare(&mut self, declared: Declared) {
        if !self.declared.iter().any(|known| known.section == declared.section && known.key == declared.key) {
            self.declared.push(declared);
        }
    }
}

fn as_table(item: &Item) -> Option<Table> {
    match item {
        Item::Table(table) => Some(table.clone()),
        Item::Value(value) => value.as_inline_table().map(|table| table.clone().into_table()),
        _ => None,
    }
}

/// Every path of a document: sections and keys. Tables inside arrays are left to whoever asked for the array.
fn walk(table: &dyn TableLike, prefix: &str, visit: &mut dyn FnMut(&str, &Item)) {
    for (key, item) in table.iter() {
        let path = if prefix.is_empty() { key.to_owned() } else { format!("{prefix}.{key}") };
        visit(&path, item);
        if let Some(inner) = item.as_table_like() {
            walk(inner, &path, visit);
        }
    }
}

/// Edit distance, for "did you mean"; long names count as far.
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

/// The keys of one section. Each reader returns the value, or the default when it is absent or wrong; what is wrong is
/// kept for [`Settings::finish`].
#[derive(Debug)]
pub struct Section<'a> {
    table: Option<Table>,
    name: String,
    path: String,
    settings: &'a mut Settings,
}

impl Section<'_> {
    /// Whether the file has this section.
    #[must_use]
    pub fn present(&self) -> bool {
        self.table.is_some()
    }

    /// Reports a problem with a key that needs more than its own value to be seen.
    pub fn problem(&mut self, key: &str, what: impl Into<String>) {
        let line = self.table.as_ref().and_then(|table| table.get(key)).map_or(0, |item| self.settings.line_of(item));
        let path = self.dotted(key);
        self.settings.problem_at(line, &path, what);
    }

    /// `true` or `false`.
    pub fn flag(&mut self, key: &'static str, default: bool, help: &'static str) -> bool {
        self.read(key, Some(default.to_string()), "true or false", help, value::flag).unwrap_or(default)
    }

    /// A whole number.
    pub fn number(&mut self, key: &'static str, default: u64, range: RangeInclusive<u64>, help: &'static str) -> u64 {
        let allowed = format!("{} to {}", range.start(), range.end());
        self.read(key, Some(default.to_string()), &allowed, help, |v| value::number(v, &range)).unwrap_or(default)
    }

    /// A span of time: `"250ms"`, `"30s"`, `"5m"`, `"2h"`, `"7d"`, or a whole number of seconds.
    pub fn duration(
        &mut self,
        key: &'static str,
        default: Duration,
        range: RangeInclusive<Duration>,
        help: &'static str,
    ) -> Duration {
        let allowed = format!("{} to {}", value::show_duration(*range.start()), value::show_duration(*range.end()));
        let shown = format!("\"{}\"", value::show_duration(default));
        self.read(key, Some(shown), &allowed, help, |v| value::duration(v, &range)).unwrap_or(default)
    }

    /// A number of bytes: `"16 KiB"`, `"1 MiB"`, or a whole number.
    pub fn size(&mut self, key: &'static str, default: u64, range: RangeInclusive<u64>, help: &'static str) -> u64 {
        let allowed = format!("{} to {}", value::show_size(*range.start()), value::show_size(*range.end()));
        let shown = format!("\"{}\"", value::show_size(default));
        self.read(key, Some(shown), &allowed, help, |v| value::size(v, &range)).unwrap_or(default)
    }

    /// One of some words.
    pub fn word<T: Copy + PartialEq>(
        &mut self,
        key: &'static str,
        default: T,
        words: &[(&'static str, T)],
        help: &'static str,
    ) -> T {
        let shown = words.iter().find(|(_, v)| *v == default).map(|(word, _)| format!("\"{word}\""));
        let allowed = words.iter().map(|(word, _)| format!("\"{word}\"")).collect::<Vec<_>>().join(", ");
        self.read(key, shown, &allowed, help, |v| value::word(v, words, &allowed)).unwrap_or(default)
    }

    /// Text that `check` turns into a value; its error is the problem, a lowercase fragment. `default`: as it would be
    /// written, without quotes; it must pass `check`, or the key has no value when absent.
    pub fn text<T>(
        &mut self,
        key: &'static str,
        default: Option<&str>,
        allowed: &str,
        help: &'static str,
        check: impl Fn(&str) -> Result<T, String>,
    ) -> Option<T> {
        let shown = default.map(|text| format!("{text:?}"));
        let read = self.read(key, shown, allowed, help, |v| value::text(v).and_then(&check));
        read.or_else(|| default.and_then(|text| check(text).ok()))
    }

    /// A list of texts, each checked. Empty when absent.
    pub fn list<T>(
        &mut self,
        key: &'static str,
        default: &[&str],
        allowed: &str,
        help: &'static str,
        check: impl Fn(&str) -> Result<T, String>,
    ) -> Vec<T> {
        let shown = format!("{default:?}");
        let read = self.read(key, Some(shown), allowed, help, |v| value::list(v, &check));
        read.unwrap_or_else(|| default.iter().filter_map(|text| check(text).ok()).collect())
    }

    fn dotted(&self, key: &str) -> String {
        if self.path.is_empty() { key.to_owned() } else { format!("{}.{key}", self.path) }
    }

    fn read<T>(
        &mut self,
        key: &'static str,
        default: Option<String>,
        allowed: &str,
        help: &'static str,
        read: impl FnOnce(&toml_edit::Value) -> Result<T, String>,
    ) -> Option<T> {
        let path = self.dotted(key);
        self.settings.asked.insert(path.clone());
        let declared = Declared { section: self.name.clone(), key, default, allowed: allowed.to_owned(), help };
        self.settings.declare(declared);
        let item = self.table.as_ref().and_then(|table| table.get(key))?;
        let line = self.settings.line_of(item);
        let found = match item.as_value() {
            Some(value) => read(value),
            None => Err("is a section, not a value".to_owned()),
        };
        found.map_err(|what| self.settings.problem_at(line, &path, what)).ok()
    }
}

/// A file with every key commented out at its default: what `musegate up` writes at its first use.
#[must_use]
pub fn commented_file(head: &str, declared: &[Declared]) -> String {
    let mut out = String::new();
    for line in head.lines() {
        let _ = writeln!(out, "{}", format!("# {line}").trim_end());
    }
    let mut section = "";
    for key in declared {
        if key.section != section {
            section = &key.section;
            let hash = if section.contains('*') { "# " } else { "" };
            let _ = writeln!(out, "\n{hash}[{}]", section.replace('*', "NAME"));
        }
        let _ = writeln!(out, "\n# {} ({})", key.help, key.allowed);
        let _ = writeln!(out, "# {} = {}", key.key, key.default.as_deref().unwrap_or("…"));
    }
    out
}

/// The same as a table in Markdown, a part of docs/CONFIG.md.
#[must_use]
pub fn markdown(declared: &[Declared]) -> String {
    let mut out = String::new();
    let mut section = None;
    for key in declared {
        if section != Some(&key.section) {
            section = Some(&key.section);
            let name = if key.section.is_empty() { "Top".to_owned() } else { format!("`[{}]`", key.section) };
            let _ = writeln!(out, "\n### {name}\n\n| key | default | allowed | what it does |\n|---|---|---|---|");
        }
        let default = key.default.as_deref().map_or("none".to_owned(), |default| format!("`{default}`"));
        let _ = writeln!(out, "| `{}` | {default} | {} | {} |", key.key, key.allowed.replace('|', "\\|"), key.help);
    }
    out
}
