//! `musegate card`: keys that sign cards, signing a card, verifying one.
//!
//! Promises: a private key stands in one new file that nobody else can read, and is never printed; nothing is fetched
//! because a card says so: a key is trusted because it was given. Refuses to know what a card means.

use crate::args::{Algorithm, Card};
use crate::client::http::{NoAnswer, Peer};
use crate::exit::Exit;
use crate::out;
use hyper::Uri;
use musegate_settings::private::{self, Refused, Rule};
use musegate_supervisor::card::jws::{self, KeyError, KeySet, SigningKey, Unsigned, canonical};
use serde_json::{Value, json};
use std::fs::OpenOptions;
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Largest card, bytes.
const MAX_CARD: u64 = 4 << 20;
/// Largest file of keys, bytes.
const MAX_KEYS: u64 = 1 << 20;
/// For fetching a card.
const TIMEOUT: Duration = Duration::from_secs(30);
/// Where a card is when a URL names no path, A2A 1.0 §8.2.
const WELL_KNOWN: &str = "/.well-known/agent-card.json";

#[derive(Debug, thiserror::Error)]
enum Wrong {
    #[error("{}: {error}", path.display())]
    File { path: PathBuf, error: io::Error },
    #[error("{}: there is such a file already; a key is never written over", .0.display())]
    Exists(PathBuf),
    #[error(transparent)]
    Refused(#[from] Refused),
    #[error("{}: {error}", path.display())]
    Key { path: PathBuf, error: KeyError },
    #[error("no key could be made: {0}")]
    Generate(KeyError),
    #[error("stdin: {0}")]
    Stdin(io::Error),
    #[error("the card is over {MAX_CARD} bytes")]
    TooLong,
    #[error("the card: {0}")]
    Card(String),
    #[error("{0} is no URL")]
    Url(String),
    #[error(transparent)]
    NoAnswer(#[from] NoAnswer),
    #[error("HTTP {0}")]
    Http(u16),
    #[error(transparent)]
    Unsigned(#[from] Unsigned),
}

impl Wrong {
    const fn exit(&self) -> Exit {
        match self {
            Self::File { .. } | Self::Stdin(_) => Exit::Io,
            Self::Exists(_) => Exit::CannotCreate,
            Self::Refused(_) | Self::Key { .. } => Exit::Config,
            Self::Generate(_) => Exit::Os,
            Self::TooLong | Self::Card(_) | Self::Unsigned(Unsigned::Card(_)) => Exit::Data,
            Self::Url(_) | Self::NoAnswer(NoAnswer::Url(_)) => Exit::Usage,
            Self::NoAnswer(_) => Exit::NoConnection,
            Self::Http(401 | 403) => Exit::Unauthorized,
            Self::Http(429 | 503) => Exit::Later,
            Self::Http(_) => Exit::HttpError,
            Self::Unsigned(_) => Exit::NotInOrder,
        }
    }
}

/// `musegate card …`
pub(crate) async fn run(args: &Card) -> Exit {
    let done = match args {
        Card::Key { file, algorithm, show } => key(file, *algorithm, *show),
        Card::Sign { key, keys_url, card } => sign(key, keys_url.as_deref(), card),
        Card::Verify { key, specified, card, json } => verify(key, *specified, card, *json).await,
    };
    match done {
        Ok(()) => Exit::Ok,
        Err(wrong) => {
            out::complain(&wrong.to_string(), None);
            wrong.exit()
        }
    }
}

fn key(file: &Path, algorithm: Algorithm, show: bool) -> Result<(), Wrong> {
    let key = if show { signing_key(file)? } else { make(file, algorithm)? };
    out::line(&format!("{:#}", json!({ "keys": [key.public()] })));
    if !show {
        out::note(&format!("the private key is in {}; above is what others verify with", file.display()));
    }
    Ok(())
}

fn make(file: &Path, algorithm: Algorithm) -> Result<SigningKey, Wrong> {
    let key = SigningKey::generate(match algorithm {
        Algorithm::Es256 => jws::Algorithm::Es256,
        Algorithm::Eddsa => jws::Algorithm::EdDsa,
    });
    let key = key.map_err(Wrong::Generate)?;
    let failed = |error: io::Error| match error.kind() {
        io::ErrorKind::AlreadyExists => Wrong::Exists(file.to_owned()),
        _ => Wrong::File { path: file.to_owned(), error },
    };
    let mut made = OpenOptions::new().write(true).create_new(true).mode(0o600).open(file).map_err(failed)?;
    made.write_all(key.private().as_bytes()).and_then(|()| made.sync_all()).map_err(failed)?;
    Ok(key)
}

fn sign(key: &Path, keys_url: Option<&str>, card: &str) -> Result<(), Wrong> {
    let key = signing_key(key)?;
    let text = local(card)?;
    let mut card = canonical::read(&text).map_err(|no_form| Wrong::Card(no_form.to_string()))?;
    if !card.is_object() {
        return Err(Wrong::Card("it is no object".to_owned()));
    }
    jws::sign(&mut card, &key, keys_url);
    // Printed as it is: what is JSON has no control characters, and what is taken away would break the signature.
    let _ = writeln!(io::stdout(), "{}", ascii(&card));
    Ok(())
}

/// JSON in which everything beyond ASCII is escaped: the same value, harmless on every terminal.
fn ascii(card: &Value) -> String {
    let mut out = String::new();
    for c in format!("{card:#}").chars() {
        if c.is_ascii() && c != '\u{7f}' {
            out.push(c);
        } else {
            c.encode_utf16(&mut [0; 2]).iter().for_each(|unit| out.push_str(&format!("\\u{unit:04x}")));
        }
    }
    out
}

async fn verify(keys: &Path, specified: bool, card: &str, json: bool) -> Result<(), Wrong> {
    let text = private::read(keys, Rule::Settings, MAX_KEYS)?;
    let keys = KeySet::parse(&text).map_err(|error| Wrong::Key { path: keys.to_owned(), error })?;
    let text =
        if card.starts_with("http://") || card.starts_with("https://") { fetch(card).await? } else { local(card)? };
    let verified = jws::verify(&text, &keys, specified)?;
    let form = match verified.form {
        jws::Form::Specified => "specified",
        jws::Form::Sdk => "sdk",
    };
    let (kid, alg) = (&verified.kid, verified.algorithm.name());
    if json {
        out::line(&json!({ "verified": true, "kid": kid, "alg": alg, "form": form }).to_string());
    } else {
        out::line(&format!("in order: signed by {kid} ({alg})"));
        if verified.form == jws::Form::Sdk {
            out::note("over the form of the official SDKs, in which empty members do not count");
        }
    }
    Ok(())
}

fn signing_key(file: &Path) -> Result<SigningKey, Wrong> {
    let text = private::read(file, Rule::Secret, MAX_KEYS)?;
    SigningKey::parse(&text).map_err(|error| Wrong::Key { path: file.to_owned(), error })
}

/// A file, or stdin for `-`.
fn local(card: &str) -> Result<Vec<u8>, Wrong> {
    let mut text = Vec::new();
    if card == "-" {
        io::stdin().lock().take(MAX_CARD + 1).read_to_end(&mut text).map_err(Wrong::Stdin)?;
    } else {
        let failed = |error| Wrong::File { path: card.into(), error };
        let file = std::fs::File::open(card).map_err(failed)?;
        file.take(MAX_CARD + 1).read_to_end(&mut text).map_err(failed)?;
    }
    if text.len() as u64 > MAX_CARD { Err(Wrong::TooLong) } else { Ok(text) }
}

async fn fetch(url: &str) -> Result<Vec<u8>, Wrong> {
    let parsed: Uri = url.parse().map_err(|_| Wrong::Url(url.to_owned()))?;
    let bare = parsed.path() == "/" && parsed.query().is_none();
    let full = if bare { format!("{}{WELL_KNOWN}", url.trim_end_matches('/')) } else { url.to_owned() };
    let uri: Uri = full.parse().map_err(|_| Wrong::Url(full.clone()))?;
    let peer = Peer { token: None, version: Some("1.0"), timeout: TIMEOUT };
    let answer = peer.get(&uri).await?;
    match answer.status.as_u16() {
        200 if answer.body.len() as u64 <= MAX_CARD => Ok(answer.body.to_vec()),
        200 => Err(Wrong::TooLong),
        status => Err(Wrong::Http(status)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    fn cli(words: &[&str]) -> Exit {
        use clap::Parser;
        let words = ["musegate", "card"].iter().chain(words);
        let crate::args::Command::Card(args) = crate::args::Cli::try_parse_from(words).unwrap().command else {
            panic!("another command")
        };
        crate::wait_for(run(&args))
    }

    #[test]
    fn a_key_is_made_once_in_a_file_that_nobody_else_can_read() {
        let folder = tempfile::tempdir().unwrap();
        for algorithm in ["es256", "eddsa"] {
            let file = folder.path().join(algorithm);
            let name = file.to_str().unwrap();
            assert_eq!(cli(&["key", name, "--algorithm", algorithm]), Exit::Ok);
            assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o7777, 0o600);
            let text = std::fs::read_to_string(&file).unwrap();
            assert_eq!(cli(&["key", name]), Exit::CannotCreate);
            assert_eq!(std::fs::read_to_string(&file).unwrap(), text, "as it was");
            assert_eq!(cli(&["key", "--show", name]), Exit::Ok);
            std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o640)).unwrap();
            assert_eq!(cli(&["key", "--show", name]), Exit::Config);
        }
    }

    #[test]
    fn every_end_of_a_verification_has_its_status() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
        let put = |name: &str, text: &str| std::fs::write(at(name), text).unwrap();
        let key = SigningKey::generate(jws::Algorithm::EdDsa).unwrap();
        let mut card = json!({ "name": "M\u{fc}se", "supportedInterfaces": [] });
        jws::sign(&mut card, &key, None);
        put("card", &ascii(&card));
        assert!(ascii(&card).is_ascii() && ascii(&card).contains("M\\u00fcse"));
        put("keys", &json!({ "keys": [key.public()] }).to_string());
        put("altered", &ascii(&card).replace("name", "nome"));
        put("twice", &ascii(&card).replacen('{', "{\"name\":1,", 1));
        put("unsigned", "{}");
        put("none", "[");
        for (card, status) in [
            ("card", Exit::Ok),
            ("altered", Exit::NotInOrder),
            ("unsigned", Exit::NotInOrder),
            ("twice", Exit::Data),
            ("none", Exit::Data),
            ("absent", Exit::Io),
        ] {
            assert_eq!(cli(&["verify", "--key", &at("keys"), &at(card)]), status, "{card}");
        }
        assert_eq!(cli(&["verify", "--key", &at("none"), &at("card")]), Exit::Config);
        assert_eq!(cli(&["verify", "--key", &at("keys"), "http://[x"]), Exit::Usage);
        assert_eq!(cli(&["verify", "--key", &at("keys"), "http://127.0.0.1:1/"]), Exit::NoConnection);
        let other = SigningKey::generate(jws::Algorithm::Es256).unwrap();
        put("keys", &other.public().to_string());
        assert_eq!(cli(&["verify", "--key", &at("keys"), &at("card")]), Exit::NotInOrder, "another key");
        assert_eq!(cli(&["sign", "--key", &at("keys"), &at("card")]), Exit::Config, "a public key signs nothing");
    }
}
