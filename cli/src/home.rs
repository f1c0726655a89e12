//! The configuration folder: made at its first use, every key in it, commented at its default, but for the few that one
//! user's pair needs to have.

use crate::paths::Folders;
use musegate_settings::{Declared, commented_file};
use nix::unistd::Uid;
use std::fs::{DirBuilder, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// A value that a new file sets.
pub(crate) struct Set {
    pub(crate) section: &'static str,
    pub(crate) key: &'static str,
    pub(crate) value: String,
}

impl Set {
    pub(crate) fn text(section: &'static str, key: &'static str, value: impl AsRef<Path>) -> Self {
        Self { section, key, value: toml_text(&value.as_ref().to_string_lossy()) }
    }
}

/// A TOML string. JSON's escapes are TOML's.
fn toml_text(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// The files of a folder that does not have them yet. Returns what was made.
///
/// # Errors
/// When a folder or file cannot be made; the path is in the message.
pub(crate) fn make(folders: &Folders, supervisor: &[Set], worker: &[Set]) -> io::Result<Vec<PathBuf>> {
    for folder in [&folders.config, &folders.state, &folders.run] {
        let made = DirBuilder::new().recursive(true).mode(0o700).create(folder);
        made.map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", folder.display())))?;
    }
    let socket = folders.run.join("worker.sock");
    let mut for_supervisor = vec![
        Set::text("worker", "socket", &socket),
        Set::text("status", "socket", folders.run.join("status.sock")),
        Set::text("audit", "file", folders.state.join("audit.jsonl")),
        Set::text("audit", "key_file", folders.state.join("audit.key")),
    ];
    let mut for_worker =
        vec![Set::text("socket", "path", &socket), Set::text("jobs", "scratch", folders.run.join("jobs"))];
    if Uid::effective().is_root() {
        for_worker.push(Set { section: "", key: "allow_root", value: "true".to_owned() });
        for_supervisor.push(Set { section: "", key: "allow_root", value: "true".to_owned() });
    }
    for_supervisor.extend(supervisor.iter().map(Set::copy));
    for_worker.extend(worker.iter().map(Set::copy));
    let files = [
        ("supervisor.toml", SUPERVISOR, musegate_supervisor::config::Config::declare(), for_supervisor),
        ("worker.toml", WORKER, musegate_worker::config::Config::declare(), for_worker),
        ("agents.toml", AGENTS, crate::client::agents::declare(), Vec::new()),
    ];
    let mut made = Vec::new();
    for (name, head, declared, set) in files {
        let path = folders.config.join(name);
        if write_new(&path, &filled(head, &declared, &set))? {
            made.push(path);
        }
    }
    Ok(made)
}

const SUPERVISOR: &str = "The process that faces the network. It has no key that names the model or a credential of it.
Every key is listed at its default; take the # away to change one. Check with: musegate check";
const WORKER: &str = "The process that runs Muse. It has no key that names a caller or an address to listen on.
Every key is listed at its default; take the # away to change one. Check with: musegate check";
const AGENTS: &str = "Agents that you call: musegate send --to NAME. A token stands in a file of its own, mode 0600.";

impl Set {
    fn copy(&self) -> Self {
        Self { section: self.section, key: self.key, value: self.value.clone() }
    }
}

/// The commented file, with some keys set. A later one of the same key wins.
fn filled(head: &str, declared: &[Declared], set: &[Set]) -> String {
    let mut section = String::new();
    let mut out = String::new();
    for line in commented_file(head, declared).lines() {
        if let Some(name) = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            name.clone_into(&mut section);
        }
        let commented = line.strip_prefix("# ").and_then(|rest| rest.split_once(" = ")).map(|(key, _)| key);
        let ours = set.iter().rev().find(|set| set.section == section && Some(set.key) == commented);
        match ours {
            Some(set) => out.push_str(&format!("{} = {}", set.key, set.value)),
            None => out.push_str(line),
        }
        out.push('\n');
    }
    out
}

/// Writes a file that is not there yet, for its owner only. False when it is there.
fn write_new(path: &Path, text: &str) -> io::Result<bool> {
    match OpenOptions::new().write(true).create_new(true).mode(0o600).open(path) {
        Ok(mut file) => file.write_all(text.as_bytes()).map(|()| true),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
        Err(error) => Err(io::Error::new(error.kind(), format!("{}: {error}", path.display()))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use musegate_settings::Settings;

    #[test]
    fn a_new_folder_passes_its_own_check() {
        let folder = tempfile::tempdir().expect("a folder");
        let folders = Folders::below(folder.path().join("musegate"));
        let made = make(&folders, &[], &[]).expect("files");
        assert_eq!(made.len(), 3);
        let problems = crate::check::all(&folders);
        let others: Vec<_> = problems.iter().filter(|p| !p.what.contains("token add")).collect();
        assert!(others.is_empty(), "{others:?}");
        assert!(make(&folders, &[], &[]).expect("nothing").is_empty(), "what is there stays");
    }

    #[test]
    fn a_set_key_is_set_in_its_own_section_only() {
        let mut settings = Settings::empty();
        settings.section("a").number("n", 1, 0..=9, "one");
        settings.section("b").number("n", 2, 0..=9, "two");
        let set = [Set { section: "b", key: "n", value: "7".to_owned() }];
        let text = filled("head", settings.declared(), &set);
        let mut read = Settings::parse(Path::new("x"), &text);
        assert_eq!(read.section("a").number("n", 1, 0..=9, "one"), 1);
        assert_eq!(read.section("b").number("n", 2, 0..=9, "two"), 7);
    }
}
