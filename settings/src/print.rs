//! What the declarations of the keys print: the commented default file and a part of docs/CONFIG.md.

use std::fmt::Write;

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

/// A file with every key commented out at its default: what `musegate up` writes at its first use.
#[must_use]
pub fn commented_file(head: &str, declared: &[Declared]) -> String {
    let mut out = String::new();
    for line in head.lines() {
        let _ = writeln!(out, "{}", format!("# {line}").trim_end());
    }
    let mut section = "";
    for key in by_section(declared) {
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

/// The keys before any section first, then section by section, each in the order of its first declaration.
fn by_section(declared: &[Declared]) -> Vec<&Declared> {
    let mut sections = vec![""];
    for key in declared {
        if !sections.contains(&key.section.as_str()) {
            sections.push(&key.section);
        }
    }
    sections.iter().flat_map(|section| declared.iter().filter(move |key| key.section == *section)).collect()
}

/// The same as a table in Markdown, a part of docs/CONFIG.md.
#[must_use]
pub fn markdown(declared: &[Declared]) -> String {
    let mut out = String::new();
    let mut section = None;
    for key in by_section(declared) {
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
