//! `musegate token`: the file of callers. A token is shown once, when it is made.

use crate::args::Token;
use crate::check::supervisor_config;
use crate::exit::Exit;
use crate::out;
use crate::paths::Folders;
use musegate_protocol::Label;
use musegate_supervisor::admission::edit::{self, EditError, NewToken};
use musegate_supervisor::admission::{Callers, Entry};
use musegate_supervisor::stamp;
use serde_json::json;
use std::io::Read;
use std::path::Path;
use std::time::Duration;
use zeroize::Zeroizing;

/// `musegate token …`
pub(crate) fn run(args: &Token, folders: &Folders) -> Exit {
    let config = match supervisor_config(folders) {
        Ok(config) => config,
        Err(exit) => return exit,
    };
    let file = config.callers.file.as_path();
    let done = match args {
        Token::Add { caller, expires } => label(caller).and_then(|caller| {
            edit::add(file, &caller, days(*expires)).map(|token| show(&token, file)).map_err(Wrong::from)
        }),
        Token::Import { caller, expires } => label(caller).and_then(|caller| {
            let token = edit::import(file, &caller, read_token()?, days(*expires))?;
            out::note(&format!(
                "token {} of {}; only its digest is kept in {}",
                token.id,
                token.caller,
                file.display()
            ));
            Ok(())
        }),
        Token::Rotate { caller, grace } => label(caller).and_then(|caller| {
            let overlap = Duration::from_secs(u64::from(*grace) * 3600);
            edit::rotate(file, &caller, overlap, None).map(|token| show(&token, file)).map_err(Wrong::from)
        }),
        Token::Revoke { caller, id } => {
            let name = id.as_ref().unwrap_or(caller);
            label(name).and_then(|name| revoke(file, caller, id.is_some(), &name))
        }
        Token::List(args) => list(file, args.json),
    };
    match done {
        Ok(()) => Exit::Ok,
        Err(wrong) => {
            out::complain(&wrong.to_string(), None);
            wrong.exit()
        }
    }
}

#[derive(Debug, thiserror::Error)]
enum Wrong {
    #[error("{0:?} is no name for a caller: {1}")]
    Name(String, musegate_protocol::bounded::Unfit),
    #[error("the token {0} is not one of {1}")]
    NotTheirs(String, String),
    #[error("cannot read the token from standard input: {0}")]
    Read(#[from] std::io::Error),
    #[error(transparent)]
    Edit(#[from] EditError),
}

impl Wrong {
    fn exit(&self) -> Exit {
        match self {
            Self::Name(..) | Self::Edit(EditError::Foreign(_)) => Exit::Usage,
            Self::NotTheirs(..) | Self::Edit(EditError::Unknown(_)) => Exit::Data,
            Self::Edit(EditError::Problems(_) | EditError::Refused(_)) => Exit::Config,
            Self::Edit(EditError::Random(_)) => Exit::Os,
            Self::Read(_) | Self::Edit(EditError::Io { .. }) => Exit::Io,
        }
    }
}

fn label(name: &str) -> Result<Label, Wrong> {
    Label::new(name).map_err(|unfit| Wrong::Name(name.to_owned(), unfit))
}

fn days(days: Option<u32>) -> Option<Duration> {
    days.map(|days| Duration::from_secs(u64::from(days) * 86_400))
}

/// One line of standard input, without what surrounds it.
fn read_token() -> Result<Zeroizing<String>, std::io::Error> {
    let mut text = Zeroizing::new(String::with_capacity(1024));
    std::io::stdin().lock().take(1024).read_to_string(&mut text)?;
    Ok(Zeroizing::new(text.trim().to_owned()))
}

fn show(token: &NewToken, file: &Path) {
    out::line(&token.clear);
    out::note(&format!(
        "token {} of {}; it is shown this once, only its digest is kept in {}",
        token.id,
        token.caller,
        file.display()
    ));
}

fn revoke(file: &Path, caller: &str, one: bool, name: &Label) -> Result<(), Wrong> {
    if one {
        let all = edit::list(file).map_err(EditError::from)?;
        if !all.iter().any(|entry| entry.id == *name && *entry.caller == *caller) {
            return Err(Wrong::NotTheirs(name.to_string(), caller.to_owned()));
        }
    }
    for id in edit::revoke(file, name)? {
        out::note(&format!("revoked {id}"));
    }
    Ok(())
}

fn list(file: &Path, json: bool) -> Result<(), Wrong> {
    let callers = Callers::load(file).map_err(EditError::from)?;
    let date = |date: Option<Duration>| date.map(stamp::show);
    let of = |name: &Label| callers.tokens().filter(|entry| entry.caller == *name).collect::<Vec<&Entry>>();
    if json {
        let entry = |e: &&Entry| json!({"id": *e.id, "created": date(e.created), "expires": date(e.expires)});
        let caller = |name: &Label| json!({"caller": **name, "tokens": of(name).iter().map(entry).collect::<Vec<_>>()});
        let all: Vec<_> = callers.callers().map(|c| caller(&c.name)).collect();
        out::line(&json!(all).to_string());
        return Ok(());
    }
    for caller in callers.callers() {
        let tokens = of(&caller.name);
        if tokens.is_empty() {
            out::line(&format!("{}  (no token)", caller.name));
        }
        for entry in tokens {
            let made = date(entry.created).unwrap_or_else(|| "unknown".to_owned());
            let ends = date(entry.expires).map_or("does not end".to_owned(), |end| format!("ends {end}"));
            out::line(&format!("{}  {}  made {made}  {ends}", caller.name, entry.id));
        }
    }
    Ok(())
}
