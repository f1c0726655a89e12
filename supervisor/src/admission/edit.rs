//! Changing the file of callers: what `musegate token add|list|revoke|rotate` does.
//!
//! Promises: what stands in the file, comments too, stays as it is but for the change; the new file is whole or not
//! there, readable by its owner only, and was checked like any other before it took the old one's place; two changes at
//! once do not lose one. A token in clear text is returned once and written nowhere.

#[cfg(test)]
#[path = "edit_tests.rs"]
mod tests;

use super::callers::{Callers, Entry, MAX_FILE};
use super::token::{self, Digest};
use crate::stamp;
use musegate_protocol::bounded::Label;
use musegate_settings::Problems;
use musegate_settings::private::{self, Refused, Rule};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use toml_edit::{DocumentMut, Item, Table, value};
use zeroize::Zeroizing;

const HEAD: &str = "\
# Who may call this agent. [callers.NAME] says what a caller may do, [tokens.ID] holds the SHA-256 of one of its tokens.
# Made by: musegate token add NAME. What each key means: docs/CONFIG.md. Changes are noticed within two seconds.
";

/// Why the file was not changed.
#[derive(Debug, thiserror::Error)]
pub enum EditError {
    /// It, or what would have become of it, is wrong.
    #[error(transparent)]
    Problems(#[from] Problems),
    /// It may not be read.
    #[error(transparent)]
    Refused(#[from] Refused),
    /// Nothing has this name.
    #[error("no caller and no token is named {0}")]
    Unknown(String),
    /// A token that was made elsewhere cannot be taken.
    #[error("the token {0}")]
    Foreign(String),
    /// There is no randomness.
    #[error("no random bytes: {0}")]
    Random(String),
    /// It cannot be written.
    #[error("{}: {error}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
}

/// A token that was just made.
#[derive(Debug)]
pub struct NewToken {
    /// Its name in the file.
    pub id: Label,
    /// Whose it is.
    pub caller: Label,
    /// In clear text: show it once. Wiped from memory when dropped.
    pub clear: Zeroizing<String>,
}

/// Makes a token for a caller, who is added when there is no such. `lifetime` none: it does not end.
///
/// # Errors
/// [`EditError`]; the file is as before.
pub fn add(file: &Path, caller: &Label, lifetime: Option<Duration>) -> Result<NewToken, EditError> {
    change(file, |document, now| insert(document, caller, now, lifetime, fresh()?))
}

/// Takes a token that was made elsewhere, for callers whose token cannot be changed. Only its digest is kept; it is known
/// to nothing else here, so it is not masked where an answer repeats it.
///
/// # Errors
/// [`EditError`]; the file is as before.
pub fn import(
    file: &Path,
    caller: &Label,
    clear: Zeroizing<String>,
    lifetime: Option<Duration>,
) -> Result<NewToken, EditError> {
    token::check_foreign(&clear).map_err(EditError::Foreign)?;
    change(file, |document, now| insert(document, caller, now, lifetime, clear))
}

/// Makes a new token for a caller and lets the others of the same caller end after `overlap`, unless they end before.
///
/// # Errors
/// [`EditError`]; the file is as before.
pub fn rotate(
    file: &Path,
    caller: &Label,
    overlap: Duration,
    lifetime: Option<Duration>,
) -> Result<NewToken, EditError> {
    change(file, |document, now| {
        let mut known = false;
        for (_, token) in tables(document, "tokens") {
            if token.get("caller").and_then(Item::as_str) != Some(caller) {
                continue;
            }
            known = true;
            let ends = token.get("expires").and_then(Item::as_str).and_then(stamp::read);
            let end = ends.map_or(now + overlap, |ends| ends.min(now + overlap));
            token.insert("expires", value(stamp::show(end)));
        }
        if !known {
            return Err(EditError::Unknown(caller.to_string()));
        }
        insert(document, caller, now, lifetime, fresh()?)
    })
}

/// Removes a token by its name, or all tokens of a caller, whose grant stays. Returns the names of what was removed.
///
/// # Errors
/// [`EditError`]; the file is as before.
pub fn revoke(file: &Path, name: &Label) -> Result<Vec<String>, EditError> {
    change(file, |document, _| {
        let of_name = |(id, token): (String, &mut Table)| {
            let caller = token.get("caller").and_then(Item::as_str);
            (id == **name || caller == Some(name)).then_some(id)
        };
        let gone: Vec<String> = tables(document, "tokens").into_iter().filter_map(of_name).collect();
        let caller = document.get("callers").is_some_and(|callers| callers.get(&**name).is_some());
        if gone.is_empty() && !caller {
            return Err(EditError::Unknown(name.to_string()));
        }
        if let Some(tokens) = document.get_mut("tokens").and_then(Item::as_table_like_mut) {
            gone.iter().for_each(|id| drop(tokens.remove(id)));
        }
        Ok(gone)
    })
}

/// All tokens, without what they are.
///
/// # Errors
/// All problems of the file.
pub fn list(file: &Path) -> Result<Vec<Entry>, Problems> {
    Ok(Callers::load(file)?.tokens().cloned().collect())
}

fn random(error: getrandom::Error) -> EditError {
    EditError::Random(error.to_string())
}

fn fresh() -> Result<Zeroizing<String>, EditError> {
    token::generate().map_err(random)
}

fn insert(
    document: &mut DocumentMut,
    caller: &Label,
    now: Duration,
    lifetime: Option<Duration>,
    clear: Zeroizing<String>,
) -> Result<NewToken, EditError> {
    let mut id = [0u8; 4];
    getrandom::fill(&mut id).map_err(random)?;
    let id = format!("t{:08x}", u32::from_be_bytes(id));
    let shape =
        || EditError::Io { path: PathBuf::new(), error: io::Error::other("callers and tokens must be sections") };
    section(document, "callers", caller).ok_or_else(shape)?;
    let token = section(document, "tokens", &id).ok_or_else(shape)?;
    token.insert("caller", value(&**caller));
    token.insert("digest", value(Digest::of(clear.as_bytes()).to_string()));
    token.insert("created", value(stamp::show(now)));
    if !token::well_formed(clear.as_bytes()) {
        token.insert("foreign", value(true));
    }
    if let Some(lifetime) = lifetime {
        token.insert("expires", value(stamp::show(now.saturating_add(lifetime))));
    }
    let id = Label::new(id).map_err(|error| EditError::Random(error.to_string()))?;
    Ok(NewToken { id, caller: caller.clone(), clear })
}

/// `[kind.name]`, made when it is missing.
fn section<'a>(document: &'a mut DocumentMut, kind: &str, name: &str) -> Option<&'a mut Table> {
    let mut hidden = Table::new();
    hidden.set_implicit(true);
    as_table(as_table(document.as_table_mut(), kind, hidden)?, name, Table::new())
}

/// The table of this name, made when it is missing, spelled out when it is written in braces.
fn as_table<'a>(within: &'a mut Table, name: &str, new: Table) -> Option<&'a mut Table> {
    let item = within.entry(name).or_insert(Item::Table(new));
    if item.is_inline_table() {
        *item = Item::Table(std::mem::take(item).into_table().ok()?);
    }
    item.as_table_mut()
}

fn tables<'a>(document: &'a mut DocumentMut, kind: &str) -> Vec<(String, &'a mut Table)> {
    let all = document.get_mut(kind).and_then(Item::as_table_mut);
    let each = all.into_iter().flat_map(Table::iter_mut);
    each.filter_map(|(id, item)| Some((id.get().to_owned(), item.as_table_mut()?))).collect()
}

/// Reads, changes, checks, and puts the new file in the old one's place, while nobody else does.
fn change<T>(
    file: &Path,
    act: impl FnOnce(&mut DocumentMut, Duration) -> Result<T, EditError>,
) -> Result<T, EditError> {
    let io_error = |error| EditError::Io { path: file.to_owned(), error };
    let _lock = lock(file).map_err(io_error)?;
    let text = match private::read(file, Rule::Secret, MAX_FILE) {
        Ok(text) => text,
        Err(Refused::Io { error, .. }) if error.kind() == io::ErrorKind::NotFound => Zeroizing::new(HEAD.to_owned()),
        Err(refused) => return Err(refused.into()),
    };
    Callers::parse(file, &text)?;
    let mut document = text.parse::<DocumentMut>().map_err(|error| io_error(io::Error::other(error.to_string())))?;
    // Comments of a file without any section belong to its end, for the parser; for people they are its head.
    let head = if document.is_empty() { std::mem::take(&mut document).to_string() } else { String::new() };
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let done = act(&mut document, now)?;
    let text = Zeroizing::new(format!("{head}{document}"));
    Callers::parse(file, &text)?;
    replace(file, text.as_bytes()).map_err(io_error)?;
    Ok(done)
}

/// Held while the returned file is open. The lock is a file beside, since the file itself is replaced.
fn lock(file: &Path) -> io::Result<File> {
    let lock = OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(beside(file, "lock"))?;
    lock.lock()?;
    Ok(lock)
}

fn replace(file: &Path, bytes: &[u8]) -> io::Result<()> {
    let new = beside(file, "new");
    let _ = fs::remove_file(&new); // what a crash left; we hold the lock
    let write = || {
        let mut open = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&new)?;
        open.write_all(bytes)?;
        open.sync_all()?;
        fs::rename(&new, file)?;
        let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        File::open(folder)?.sync_all()
    };
    write().inspect_err(|_| drop(fs::remove_file(&new)))
}

/// `.callers.toml.lock` beside `callers.toml`.
fn beside(file: &Path, ending: &str) -> PathBuf {
    let mut name = std::ffi::OsString::from(".");
    name.push(file.file_name().unwrap_or_default());
    name.push(".");
    name.push(ending);
    file.with_file_name(name)
}
