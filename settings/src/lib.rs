//! How both processes read a file of settings, and a file that must be private.
//!
//! Promises: a wrong file yields *every* problem, each with file, line and key, never only the first; a key that nobody
//! asked for is a problem; each key is declared once, with its default and a sentence, and the commented default file
//! and docs/CONFIG.md are printed from these declarations. Refuses to know what any key means.
//!
//! [`Settings`] is a file, [`Section`] reads keys of it, [`Problems`] is what was wrong, [`private`] judges files by
//! owner and mode before their content is believed.

mod print;
pub mod private;
mod problem;
mod section;
#[cfg(test)]
mod tests;
mod value;

pub use print::{Declared, commented_file, markdown};
pub use problem::{Problem, Problems};
pub use section::Section;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use toml_edit::{Document, Item, Table, TableLike};

/// A file of settings being read. Ask for every key, then call [`Settings::finish`].
#[derive(Debug)]
pub struct Settings {
    file: PathBuf,
    text: String,
    root: Table,
    /// The file is not TOML: the one problem worth telling.
    syntax: Option<Problem>,
    problems: Vec<Problem>,
    declared: Vec<Declared>,
    /// Paths of all keys that were asked for.
    keys: BTreeSet<String>,
    /// Paths of all sections that were asked for.
    sections: BTreeSet<String>,
}

impl Settings {
    /// From text. When it is not TOML, all keys have their defaults and [`Settings::finish`] says where it breaks, and
    /// nothing else: what is missing from a file that cannot be read is no news.
    #[must_use]
    pub fn parse(file: &Path, text: &str) -> Self {
        let mut settings = Self {
            file: file.to_owned(),
            text: text.to_owned(),
            root: Table::new(),
            syntax: None,
            problems: Vec::new(),
            declared: Vec::new(),
            keys: BTreeSet::new(),
            sections: BTreeSet::new(),
        };
        match Document::parse(text.to_owned()) {
            Ok(document) => settings.root = document.as_table().clone(),
            Err(error) => {
                let line = error.span().map_or(0, |span| settings.line_at(span.start));
                let what = error.message().lines().collect::<Vec<_>>().join(", ");
                settings.syntax = Some(Problem { file: file.to_owned(), line, key: String::new(), what });
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
        Section::new(self, Some(self.root.clone()), String::new(), String::new(), 0)
    }

    /// The keys of `[name]`.
    pub fn section(&mut self, name: &'static str) -> Section<'_> {
        self.sections.insert(name.to_owned());
        let item = self.root.get(name);
        let line = item.map_or(0, |item| self.line_of(item));
        let table = item.and_then(as_table);
        if item.is_some() && table.is_none() {
            self.problem_at(line, name, format!("is not a section; write [{name}]"));
        }
        Section::new(self, table, name.to_owned(), name.to_owned(), line)
    }

    /// One call for each `[name.KEY]` with its key, such as `[callers.hermes]`. Declarations are made once, under
    /// `name.*`, also when there is none.
    pub fn each<T>(&mut self, name: &'static str, mut read: impl FnMut(&str, &mut Section<'_>) -> T) -> Vec<T> {
        self.sections.insert(name.to_owned());
        let any = format!("{name}.*");
        let item = self.root.get(name);
        let entries = item.and_then(Item::as_table_like).map(|all| all.iter().map(|(key, item)| self.entry(key, item)));
        let entries: Vec<_> = entries.map(Iterator::collect).unwrap_or_default();
        if let Some(item) = item.filter(|item| !item.is_table_like()) {
            let line = self.line_of(item);
            self.problem_at(line, name, format!("is not a section; write [{name}.NAME]"));
        }
        if entries.is_empty() {
            let problems = self.problems.len();
            read("*", &mut Section::new(self, None, any.clone(), any, 0));
            self.problems.truncate(problems);
            return Vec::new();
        }
        let mut all = Vec::new();
        for (key, table, line) in entries {
            let path = format!("{name}.{key}");
            self.sections.insert(path.clone());
            if table.is_some() {
                all.push(read(&key, &mut Section::new(self, table, any.clone(), path, line)));
            } else {
                self.problem_at(line, &path, format!("is not a section; write [{path}]"));
            }
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
        if let Some(syntax) = self.syntax {
            return Err(Problems(vec![syntax]));
        }
        let mut unknown = Vec::new();
        self.walk(&self.root, "", &mut |path, item| unknown.push((path.to_owned(), self.line_of(item))));
        for (path, line) in unknown {
            let known = self.keys.union(&self.sections).map(String::as_str);
            let what = match problem::nearest(&path, known) {
                Some(known) => format!("is unknown; did you mean {known}?"),
                None => "is unknown".to_owned(),
            };
            self.problem_at(line, &path, what);
        }
        if self.problems.is_empty() {
            return Ok(());
        }
        self.problems.sort_by_key(|problem| problem.line);
        Err(Problems(self.problems))
    }

    /// Visits each key that nobody asked for. What is inside an unknown section, or inside a value, is not told apart.
    fn walk(&self, table: &dyn TableLike, prefix: &str, unknown: &mut dyn FnMut(&str, &Item)) {
        for (key, item) in table.iter() {
            let path = if prefix.is_empty() { key.to_owned() } else { format!("{prefix}.{key}") };
            match item.as_table_like() {
                Some(inner) if self.sections.contains(&path) => self.walk(inner, &path, unknown),
                _ if self.sections.contains(&path) || self.keys.contains(&path) => {}
                _ => unknown(&path, item),
            }
        }
    }

    fn entry(&self, key: &str, item: &Item) -> (String, Option<Table>, usize) {
        (key.to_owned(), as_table(item), self.line_of(item))
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
