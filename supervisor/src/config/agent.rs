//! Sections `[agent]` and `[skills.ID]`: what the card says of us. Spec: A2A 1.0.1 §4.4.

use super::narrow;
use crate::schema::Schema;
use musegate_settings::{Section, Settings};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// What the card says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Agent {
    /// For people.
    pub name: String,
    /// For people and agents; a sentence on what an answer is gets appended.
    pub description: String,
    /// Organization and URL, both or none.
    pub organization: Option<(String, String)>,
    /// Where to read more.
    pub documentation_url: Option<String>,
    /// A picture.
    pub icon_url: Option<String>,
    /// What a stranger sees.
    pub card: CardAccess,
    /// Which form the card has when the client does not say.
    pub card_form: CardForm,
    /// `Cache-Control: max-age` of the card.
    pub card_max_age: Duration,
    /// The private key that signs cards.
    pub card_key_file: Option<PathBuf>,
    /// Where its public half is published.
    pub card_keys_url: Option<String>,
    /// Media types taken, unless a skill says otherwise.
    pub input_modes: Vec<String>,
    /// Media types given, unless a skill says otherwise.
    pub output_modes: Vec<String>,
}

/// What is shown to somebody without a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CardAccess {
    /// Name, URL and how to authenticate; skills only with a token.
    Minimal,
    /// Nothing: 401.
    Authenticated,
    /// Everything.
    Public,
}

/// Which fields a card has when the GET names no version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CardForm {
    /// Those of 1.0 and those of 0.3, so that clients of either accept it.
    Hybrid,
    /// Those of 1.0 only.
    Strict,
}

/// One declared skill.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skill {
    /// `[A-Za-z0-9._-]{1,64}`.
    pub id: String,
    /// For people.
    pub name: String,
    /// For people and agents.
    pub description: String,
    /// For searching.
    pub tags: Vec<String>,
    /// For people and agents.
    pub examples: Vec<String>,
    /// Media types taken; empty: the agent's.
    pub input_modes: Vec<String>,
    /// Media types given; empty: the agent's.
    pub output_modes: Vec<String>,
    /// JSON Schema of the input, as text.
    pub input_schema: Option<String>,
    /// JSON Schema of the answer, as text.
    pub output_schema: Option<String>,
}

const MODES: &str = "media types";

impl Agent {
    pub(super) fn read(settings: &mut Settings, folder: &Path) -> Self {
        let mut s = settings.section("agent");
        let card_key_file = s.text(
            "card_key_file",
            None,
            "a path",
            "private key that signs cards, made by `musegate card key`; none: not signed",
            |text| {
                if text.is_empty() { Err("must not be empty".to_owned()) } else { Ok(folder.join(text)) }
            },
        );
        let card_keys_url = s.text(
            "card_keys_url",
            None,
            "an https URL",
            "where the public half is published, said in signatures (`jku`)",
            |text| {
                if text.starts_with("https://") { web(text) } else { Err("must be an https URL".to_owned()) }
            },
        );
        if card_keys_url.is_some() && card_key_file.is_none() {
            s.problem("card_keys_url", "needs card_key_file");
        }
        let organization = s.text("organization", None, "text", "who runs this agent; needs organization_url", line);
        let url = s.text("organization_url", None, "a URL", "home of who runs this agent", web);
        if organization.is_some() != url.is_some() {
            s.problem("organization", "organization and organization_url go together");
        }
        let access = [
            ("minimal", CardAccess::Minimal),
            ("authenticated", CardAccess::Authenticated),
            ("public", CardAccess::Public),
        ];
        let forms = [("hybrid", CardForm::Hybrid), ("strict", CardForm::Strict)];
        Self {
            name: s.text("name", Some("Muse"), "text", "name in the card", line).unwrap_or_default(),
            description: s
                .text(
                    "description",
                    Some("A terminal agent that works on a task and answers in text."),
                    "text",
                    "description in the card",
                    line,
                )
                .unwrap_or_default(),
            organization: organization.zip(url),
            documentation_url: s.text("documentation_url", None, "a URL", "shown in the card", web),
            icon_url: s.text("icon_url", None, "a URL", "shown in the card", web),
            card: s.word("card", CardAccess::Minimal, &access, "what a client without a token sees of the card"),
            card_form: s.word(
                "card_form",
                CardForm::Hybrid,
                &forms,
                "fields of the card when the GET names no version",
            ),
            card_max_age: s.duration(
                "card_max_age",
                Duration::from_secs(300),
                Duration::ZERO..=Duration::from_secs(86_400),
                "how long clients may keep the card",
            ),
            card_key_file,
            card_keys_url,
            input_modes: s.list("input_modes", &["text/plain", "application/json"], MODES, "media types taken", media),
            output_modes: s.list(
                "output_modes",
                &["text/plain", "application/json"],
                MODES,
                "media types given",
                media,
            ),
        }
    }
}

impl Skill {
    pub(super) fn read_all(settings: &mut Settings) -> Vec<Self> {
        let skills = settings.each("skills", Self::read);
        if skills.is_empty() { vec![Self::general()] } else { skills }
    }

    /// What is declared when the operator declares nothing.
    fn general() -> Self {
        Self {
            id: "general".to_owned(),
            name: "General task".to_owned(),
            description: "Takes a task in plain text, works on it, and answers in text.".to_owned(),
            tags: vec!["general".to_owned(), "text".to_owned()],
            examples: Vec::new(),
            input_modes: Vec::new(),
            output_modes: Vec::new(),
            input_schema: None,
            output_schema: None,
        }
    }

    fn read(id: &str, s: &mut Section<'_>) -> Self {
        let legal = |b: u8| b.is_ascii_alphanumeric() || b"._-".contains(&b);
        if id != "*" && (id.len() > 64 || !id.bytes().all(legal)) {
            s.problem("", "a skill's id is 1 to 64 letters, digits and . _ -");
        }
        let name = s.text("name", None, "text", "name in the card; the id when absent", line);
        let description = s.text("description", None, "text", "what it does, for people and agents", line);
        if description.is_none() && s.present() {
            s.problem("description", "is needed");
        }
        let mut tags = s.list("tags", &[], "texts", "for searching", line);
        if tags.is_empty() {
            tags.push(id.to_owned());
        }
        Self {
            id: id.to_owned(),
            name: name.unwrap_or_else(|| id.to_owned()),
            description: description.unwrap_or_default(),
            tags,
            examples: s.list("examples", &[], "texts", "requests that suit it", line),
            input_modes: s.list("input_modes", &[], MODES, "media types taken; empty: the agent's", media),
            output_modes: s.list("output_modes", &[], MODES, "media types given; empty: the agent's", media),
            input_schema: s.text("input_schema", None, "a JSON Schema", "input that violates it starts no job", schema),
            output_schema: s.text(
                "output_schema",
                None,
                "a JSON Schema",
                "an answer that violates it is a failed Task",
                schema,
            ),
        }
    }
}

/// A JSON object of at most the bytes that the boundary carries.
fn schema(text: &str) -> Result<String, String> {
    const MAX: usize = 32 * 1024;
    let value: serde_json::Value = serde_json::from_str(text).map_err(|error| format!("is not JSON: {error}"))?;
    if !value.is_object() {
        return Err("must be a JSON object".to_owned());
    }
    Schema::parse(text)?;
    if text.len() > MAX { Err(format!("is over {MAX} bytes")) } else { Ok(value.to_string()) }
}

fn line(text: &str) -> Result<String, String> {
    let max: usize = narrow(2048);
    match text {
        text if text.trim().is_empty() => Err("must not be empty".to_owned()),
        text if text.len() > max => Err(format!("is over {max} bytes")),
        text if text.chars().any(|c| c.is_control() && c != '\n' && c != '\t') => {
            Err("holds a control character".to_owned())
        }
        text => Ok(text.to_owned()),
    }
}

fn web(text: &str) -> Result<String, String> {
    let known = text.starts_with("https://") || text.starts_with("http://");
    if known && !text.contains(char::is_whitespace) {
        line(text)
    } else {
        Err("must be an http or https URL".to_owned())
    }
}

fn media(text: &str) -> Result<String, String> {
    let token =
        |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_alphanumeric() || b"!#$&^_.+-*".contains(&b));
    match text.split_once('/') {
        Some((kind, sub)) if token(kind) && token(sub) => Ok(text.to_ascii_lowercase()),
        _ => Err("must be a media type such as text/plain".to_owned()),
    }
}
