//! The file of callers: `[callers.NAME]` with what each may do, `[tokens.ID]` with the digest of each token.
//!
//! Promises: it is read only if nobody else can read it; a wrong file changes nothing and yields all of its problems;
//! whether a token is known is found in a time that depends on the number of tokens only. Refuses to know tokens in
//! clear text and HTTP.

use super::grant::{Caller, Grant};
use super::token::{self, Digest};
use crate::stamp;
use musegate_protocol::bounded::Label;
use musegate_settings::private::{self, Rule};
use musegate_settings::{Declared, Problem, Problems, Settings};
use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use subtle::{Choice, ConditionallySelectable, ConstantTimeEq};

/// Most callers of a file.
pub const MAX_CALLERS: usize = 1024;
/// Most tokens of a file; each costs every login a comparison.
pub const MAX_TOKENS: usize = 2048;
/// Longest file, bytes.
pub const MAX_FILE: u64 = 4 * 1024 * 1024;

/// One token as the file has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Its name: in the audit, and for revoking it.
    pub id: Label,
    /// Whose it is.
    pub caller: Label,
    /// What is kept of it.
    pub digest: Digest,
    /// When it was made, since the epoch.
    pub created: Option<Duration>,
    /// When it ends, since the epoch.
    pub expires: Option<Duration>,
    /// Made elsewhere, so it need not have the form of ours.
    pub foreign: bool,
}

/// A file of callers, checked.
#[derive(Debug, Default)]
pub struct Callers {
    callers: Vec<Arc<Caller>>,
    tokens: Vec<(Entry, Arc<Caller>)>,
}

/// What a digest is.
#[derive(Debug, PartialEq, Eq)]
pub enum Known {
    /// Nobody's.
    No,
    /// Somebody's, but it has ended.
    Expired(Label),
    /// Somebody's.
    Yes(Arc<Caller>, Label),
}

impl Callers {
    /// Reads the file at `path`.
    ///
    /// # Errors
    /// All problems; among them a mode that lets others read, with the `chmod` to run.
    pub fn load(path: &Path) -> Result<Self, Problems> {
        let whole = |what: String| Problems(vec![Problem { file: path.to_owned(), line: 0, key: String::new(), what }]);
        match private::read(path, Rule::Secret, MAX_FILE) {
            Ok(text) => Self::parse(path, &text),
            Err(private::Refused::Io { error, .. }) if error.kind() == std::io::ErrorKind::NotFound => {
                Err(whole("is missing; make it with: musegate token add NAME".to_owned()))
            }
            Err(refused) => {
                let what = refused.to_string();
                let file = format!("{}: ", path.display());
                Err(whole(what.strip_prefix(&file).map(str::to_owned).unwrap_or(what)))
            }
        }
    }

    /// From text.
    ///
    /// # Errors
    /// All problems.
    pub fn parse(path: &Path, text: &str) -> Result<Self, Problems> {
        let mut settings = Settings::parse(path, text);
        let callers: Vec<Option<Arc<Caller>>> = settings.each("callers", |name, s| {
            let grant = Grant::read(s);
            match Label::new(name) {
                Ok(name) => Some(Arc::new(Caller { name, grant })),
                Err(error) => {
                    s.problem("", format!("is no name for a caller: {error}"));
                    None
                }
            }
        });
        let callers: Vec<Arc<Caller>> = callers.into_iter().flatten().collect();
        let by_name: HashMap<&str, &Arc<Caller>> = callers.iter().map(|caller| (&*caller.name, caller)).collect();
        let mut seen: HashMap<Digest, String> = HashMap::new();
        let tokens = settings.each("tokens", |id, s| {
            let entry = read_token(id, s)?;
            let Some(caller) = by_name.get(&*entry.caller) else {
                s.problem("caller", format!("is unknown; add a section [callers.{}]", entry.caller));
                return None;
            };
            if let Some(other) = seen.insert(entry.digest, id.to_owned()) {
                s.problem("digest", format!("is the same as that of {other}"));
            }
            Some((entry, Arc::clone(caller)))
        });
        let tokens: Vec<_> = tokens.into_iter().flatten().collect();
        let mut top = settings.top();
        if callers.len() > MAX_CALLERS {
            top.problem("callers", format!("are over {MAX_CALLERS}"));
        }
        if tokens.len() > MAX_TOKENS {
            top.problem("tokens", format!("are over {MAX_TOKENS}"));
        }
        settings.finish().map(|()| Self { callers, tokens })
    }

    /// Every key, for docs/CONFIG.md.
    #[must_use]
    pub fn declare() -> Vec<Declared> {
        let mut settings = Settings::empty();
        settings.each("callers", |_, s| drop(Grant::read(s)));
        settings.each("tokens", |id, s| drop(read_token(id, s)));
        settings.declared().to_vec()
    }

    /// Whose token has this digest. Every token is compared, whole.
    #[must_use]
    pub fn find(&self, digest: &Digest, now: Duration) -> Known {
        let mut at = 0u32;
        let mut found = Choice::from(0);
        for (index, (entry, _)) in (0u32..).zip(&self.tokens) {
            let same = entry.digest.matches(digest);
            at.conditional_assign(&index, same);
            found |= same;
        }
        let known = found.ct_eq(&Choice::from(1));
        match self.tokens.get(at as usize).filter(|_| bool::from(known)) {
            None => Known::No,
            Some((entry, _)) if entry.expires.is_some_and(|end| end <= now) => Known::Expired(entry.id.clone()),
            Some((entry, caller)) => Known::Yes(Arc::clone(caller), entry.id.clone()),
        }
    }

    /// All callers, in the order of the file.
    pub fn callers(&self) -> impl Iterator<Item = &Arc<Caller>> {
        self.callers.iter()
    }

    /// Whether a text of this form may be a token of this file: one of ours, or of any form where one was made elsewhere.
    #[must_use]
    pub fn may_be_token(&self, text: &[u8]) -> bool {
        let foreign = || self.tokens.iter().any(|(entry, _)| entry.foreign);
        token::well_formed(text) || (token::FOREIGN_LEN.contains(&text.len()) && foreign())
    }

    /// All tokens, in the order of the file.
    pub fn tokens(&self) -> impl Iterator<Item = &Entry> {
        self.tokens.iter().map(|(entry, _)| entry)
    }
}

fn read_token(id: &str, s: &mut musegate_settings::Section<'_>) -> Option<Entry> {
    const DATE: &str = "2026-11-30 or 2026-11-30T19:07:00Z";
    let date = |text: &str| stamp::read(text).ok_or_else(|| format!("must be a date such as {DATE}"));
    let label = |text: &str| Label::new(text).map_err(|error| error.to_string());
    let caller = s.text("caller", None, "a name", "whose token it is", label);
    let digest = s.text("digest", None, "sha256:HEX", "SHA-256 of the token", Digest::parse);
    let created = s.text("created", None, DATE, "when it was made", date);
    let expires = s.text("expires", None, DATE, "when it ends; never when absent", date);
    let foreign = s.flag("foreign", false, "made elsewhere (musegate token import): it need not have the form of ours");
    if caller.is_none() || digest.is_none() {
        s.problem("", "needs a caller and a digest; make tokens with: musegate token add NAME");
    }
    let id = match Label::new(id) {
        Ok(id) => id,
        Err(_) if id == "*" => return None,
        Err(error) => {
            s.problem("", format!("is no name for a token: {error}"));
            return None;
        }
    };
    Some(Entry { id, caller: caller?, digest: digest?, created, expires, foreign })
}
