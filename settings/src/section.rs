//! The readers of one section's keys.

use crate::{Declared, Settings, value};
use std::ops::RangeInclusive;
use std::time::Duration;
use toml_edit::Table;

/// The keys of one section. Each reader returns the value, or the default when it is absent or wrong; what is wrong is
/// kept for [`Settings::finish`].
#[derive(Debug)]
pub struct Section<'a> {
    settings: &'a mut Settings,
    table: Option<Table>,
    /// As it is declared, such as `callers.*`.
    name: String,
    /// As it is written, such as `callers.hermes`.
    path: String,
    line: usize,
}

impl<'a> Section<'a> {
    pub(crate) fn new(
        settings: &'a mut Settings,
        table: Option<Table>,
        name: String,
        path: String,
        line: usize,
    ) -> Self {
        Self { settings, table, name, path, line }
    }

    /// Whether the file has this section.
    #[must_use]
    pub fn present(&self) -> bool {
        self.table.is_some()
    }

    /// Whether the section has this key, rightly written or not.
    #[must_use]
    pub fn has(&self, key: &str) -> bool {
        self.table.as_ref().is_some_and(|table| table.contains_key(key))
    }

    /// Reports a problem with a key that needs more than its own value to be seen. The line is that of the key, or of
    /// its section where the key is not written.
    pub fn problem(&mut self, key: &str, what: impl Into<String>) {
        let item = self.table.as_ref().and_then(|table| table.get(key));
        let line = item.map_or(self.line, |item| self.settings.line_of(item));
        let path = self.dotted(key);
        self.settings.problem_at(line, &path, what);
    }

    /// `true` or `false`.
    pub fn flag(&mut self, key: &'static str, default: bool, help: &'static str) -> bool {
        self.read(key, Some(default.to_string()), "true or false", help, |v| one(value::flag(v))).unwrap_or(default)
    }

    /// A whole number.
    pub fn number(&mut self, key: &'static str, default: u64, range: RangeInclusive<u64>, help: &'static str) -> u64 {
        let allowed = format!("{} to {}", range.start(), range.end());
        self.read(key, Some(default.to_string()), &allowed, help, |v| one(value::number(v, &range))).unwrap_or(default)
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
        self.read(key, Some(shown), &allowed, help, |v| one(value::duration(v, &range))).unwrap_or(default)
    }

    /// A number of bytes: `"16 KiB"`, `"1 MiB"`, or a whole number.
    pub fn size(&mut self, key: &'static str, default: u64, range: RangeInclusive<u64>, help: &'static str) -> u64 {
        let allowed = format!("{} to {}", value::show_size(*range.start()), value::show_size(*range.end()));
        let shown = format!("\"{}\"", value::show_size(default));
        self.read(key, Some(shown), &allowed, help, |v| one(value::size(v, &range))).unwrap_or(default)
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
        self.read(key, shown, &allowed, help, |v| one(value::word(v, words, &allowed))).unwrap_or(default)
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
        let read = self.read(key, shown, allowed, help, |v| one(value::text(v).and_then(&check)));
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

    /// [`Section::text`] without a default that has to be written; that it is missing is a problem.
    pub fn needed<T>(
        &mut self,
        key: &'static str,
        allowed: &str,
        help: &'static str,
        check: impl Fn(&str) -> Result<T, String>,
    ) -> Option<T> {
        if !self.has(key) {
            self.problem(key, format!("is missing; write {key} = … ({allowed})"));
        }
        self.text(key, None, allowed, help, check)
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
        read: impl FnOnce(&toml_edit::Value) -> Result<T, Vec<String>>,
    ) -> Option<T> {
        let path = self.dotted(key);
        self.settings.keys.insert(path.clone());
        let declared = Declared { section: self.name.clone(), key, default, allowed: allowed.to_owned(), help };
        self.settings.declare(declared);
        let item = self.table.as_ref().and_then(|table| table.get(key))?;
        let line = self.settings.line_of(item);
        let found = match item.as_value() {
            Some(value) => read(value),
            None => Err(vec!["is a section, not a value".to_owned()]),
        };
        found.map_err(|all| all.into_iter().for_each(|what| self.settings.problem_at(line, &path, what))).ok()
    }
}

/// A value that can be wrong in one way at a time.
fn one<T>(read: Result<T, String>) -> Result<T, Vec<String>> {
    read.map_err(|what| vec![what])
}
