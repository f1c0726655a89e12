//! Agents by name: `agents.toml` in the configuration folder. It names a file for each token, never a token.

use hyper::Uri;
use musegate_settings::{Declared, Problems, Settings, private};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// One `[agents.NAME]`.
#[derive(Clone, Debug)]
pub struct Agent {
    /// Its name.
    pub name: String,
    /// Its base URL.
    pub url: Option<Uri>,
    /// File with its token.
    pub token_file: Option<PathBuf>,
    /// For one request.
    pub timeout: Duration,
}

/// Why a name or URL is not usable.
#[derive(Debug, thiserror::Error)]
pub enum Unknown {
    /// The file is not readable.
    #[error(transparent)]
    File(#[from] private::Refused),
    /// The file is wrong.
    #[error(transparent)]
    Problems(#[from] Problems),
    /// No such name, and not a URL either.
    #[error(
        "{0} is neither a URL nor a name in {1}; write there:\n\n    [agents.{0}]\n    url = \"http://127.0.0.1:8181\"\n    token_file = \"/path/to/token\""
    )]
    Name(String, String),
}

/// Time for one request, unless said otherwise: longer than most agents think.
pub const TIMEOUT: Duration = Duration::from_secs(900);

fn read(settings: &mut Settings) -> Vec<Agent> {
    settings.each("agents", |name, section| Agent {
        name: name.to_owned(),
        url: section.text("url", None, "http:// or https:// URL", "Where the agent listens.", |text| {
            absolute(text).ok_or_else(|| "must be an http or https URL".to_owned())
        }),
        token_file: section
            .text("token_file", None, "path", "File whose first line is the token.", |text| Ok(PathBuf::from(text))),
        timeout: section.duration(
            "timeout",
            TIMEOUT,
            Duration::from_secs(1)..=Duration::from_secs(86400),
            "For one request, from connecting to the last byte.",
        ),
    })
}

/// What may stand in `agents.toml`.
#[must_use]
pub fn declare() -> Vec<Declared> {
    let mut settings = Settings::empty();
    read(&mut settings);
    settings.declared().to_vec()
}

/// All agents of a file; none where there is no file.
///
/// # Errors
/// [`Unknown`] when the file is there and not usable.
pub fn load(file: &Path) -> Result<Vec<Agent>, Unknown> {
    if !file.exists() {
        return Ok(Vec::new());
    }
    let text = private::read(file, private::Rule::Settings, 1024 * 1024)?;
    let mut settings = Settings::parse(file, &text);
    let agents = read(&mut settings);
    settings.finish()?;
    Ok(agents)
}

/// An agent by URL, or by its name in `file`.
///
/// # Errors
/// [`Unknown`].
pub fn find(to: &str, file: &Path) -> Result<Agent, Unknown> {
    if let Some(url) = absolute(to) {
        return Ok(Agent { name: to.to_owned(), url: Some(url), token_file: None, timeout: TIMEOUT });
    }
    let unknown = || Unknown::Name(to.to_owned(), file.display().to_string());
    load(file)?.into_iter().find(|agent| agent.name == to).ok_or_else(unknown)
}

fn absolute(text: &str) -> Option<Uri> {
    let uri: Uri = text.parse().ok()?;
    (matches!(uri.scheme_str(), Some("http" | "https")) && uri.authority().is_some()).then_some(uri)
}
