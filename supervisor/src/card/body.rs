//! The text of a card in each of its forms.
//!
//! Strict is 1.0's; Legacy is 0.3's, with what clients of spring 2025 look for; Hybrid has the fields of both, spelled so
//! that the clients that were tried all accept it: both spellings of the security scheme in one entry.

use crate::config::{Agent, Skill};
use crate::dialect::extension;
use musegate_protocol::message::{JobLimits, Report};
use serde_json::{Map, Value, json};

/// Which fields a card has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Those of 1.0 and of 0.3.
    Hybrid,
    /// Those of 1.0.
    Strict,
    /// Those of 0.3.
    Legacy,
}

impl Form {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Hybrid, Self::Strict, Self::Legacy];
}

/// What is built and switched on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Abilities {
    /// SendStreamingMessage and SubscribeToTask.
    pub streaming: bool,
    /// Push notifications.
    pub push: bool,
    /// Extensions that a client may activate: URI and description.
    pub extensions: &'static [(&'static str, &'static str)],
}

impl Abilities {
    /// What is built.
    #[must_use]
    pub const fn built() -> Self {
        Self { streaming: true, push: false, extensions: &EXTENSIONS }
    }
}

/// What the worker enforces, for the extended card.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Enforced {
    /// Layers of confinement of a job.
    pub report: Report,
    /// Those of the worker itself.
    pub worker: Report,
    /// Those of the supervisor itself.
    pub supervisor: Report,
    /// Bounds of a job.
    pub limits: JobLimits,
    /// Jobs at once.
    pub slots: u16,
    /// What runs: `muse`, `echo` or `stub`.
    pub backend: String,
}

/// Extensions that a client may activate.
const EXTENSIONS: [(&str, &str); 2] = [
    (extension::CHUNKS_RAW, "The answer streams in pieces as they come, appended to one artifact."),
    (extension::CHUNKS_LINES, "The answer streams in pieces that end at line ends, appended to one artifact."),
];

/// Under which name the extended card says what is enforced. Not an extension that a client could activate.
pub(super) const ENFORCEMENT: &str = "urn:musegate:enforcement:1";

/// What an answer is, in every card: spec-wise a part of `description`, the only field that all clients show.
pub(super) const ANSWER_IS: &str = "Each answer is the product of a fresh, headless run of Muse started for that request; it is not the word of \
     a session that somebody has open, and nothing can be delegated to it anonymously.";

pub(super) struct Content<'a> {
    pub(super) agent: &'a Agent,
    pub(super) skills: &'a [Skill],
    pub(super) url: &'a str,
    pub(super) full: bool,
    pub(super) streaming: bool,
    pub(super) push: bool,
    pub(super) extensions: &'static [(&'static str, &'static str)],
    pub(super) enforced: Option<&'a Enforced>,
}

pub(super) fn write(content: &Content<'_>, form: Form) -> Value {
    let agent = content.agent;
    let mut card = Map::new();
    let mut put = |name: &str, value: Value| drop(card.insert(name.to_owned(), value));
    put("name", json!(agent.name));
    put("description", json!(format!("{} {ANSWER_IS}", agent.description.trim_end())));
    put("version", json!(env!("CARGO_PKG_VERSION")));
    put("capabilities", capabilities(content, form));
    put("securitySchemes", json!({ "bearer": scheme(form) }));
    put("defaultInputModes", json!(agent.input_modes));
    put("defaultOutputModes", json!(agent.output_modes));
    put("skills", skills(content));
    if content.full {
        let optional = [("documentationUrl", &agent.documentation_url), ("iconUrl", &agent.icon_url)];
        for (name, url) in optional {
            if let Some(url) = url {
                put(name, json!(url));
            }
        }
        if let Some((organization, url)) = &agent.organization {
            put("provider", json!({ "organization": organization, "url": url }));
        }
    }
    let rpc = format!("{}/a2a", content.url);
    if form != Form::Legacy {
        put("supportedInterfaces", interfaces(&rpc, form));
        put("securityRequirements", json!([{ "schemes": { "bearer": { "list": [] } } }]));
    }
    if form != Form::Strict {
        put("url", json!(rpc));
        put("preferredTransport", json!("JSONRPC"));
        put("protocolVersion", json!("0.3.0"));
        put(
            "additionalInterfaces",
            json!([
                { "url": rpc, "transport": "JSONRPC" },
                { "url": rpc, "transport": "HTTP+JSON" },
            ]),
        );
        put("security", json!([{ "bearer": [] }]));
        put("supportsAuthenticatedExtendedCard", json!(true));
    }
    if form == Form::Legacy {
        put("authentication", json!({ "schemes": ["bearer"] }));
    }
    Value::Object(card)
}

fn interfaces(rpc: &str, form: Form) -> Value {
    let interface =
        |binding: &str, version: &str| json!({ "url": rpc, "protocolBinding": binding, "protocolVersion": version });
    let mut all = vec![interface("JSONRPC", "1.0"), interface("HTTP+JSON", "1.0")];
    if form == Form::Hybrid {
        all.push(interface("JSONRPC", "0.3"));
    }
    Value::Array(all)
}

fn scheme(form: Form) -> Value {
    let new = json!({ "scheme": "Bearer", "description": "A token of this agent: ask its operator." });
    match form {
        Form::Strict => json!({ "httpAuthSecurityScheme": new }),
        Form::Legacy => json!({ "type": "http", "scheme": "bearer" }),
        Form::Hybrid => json!({ "httpAuthSecurityScheme": new, "type": "http", "scheme": "bearer" }),
    }
}

fn capabilities(content: &Content<'_>, form: Form) -> Value {
    let mut all = json!({ "streaming": content.streaming, "pushNotifications": content.push });
    if let Some(all) = all.as_object_mut() {
        if form == Form::Legacy {
            all.insert("stateTransitionHistory".to_owned(), json!(false));
        } else {
            all.insert("extendedAgentCard".to_owned(), json!(true));
        }
        let mut extensions: Vec<Value> = content
            .extensions
            .iter()
            .map(|(uri, description)| json!({ "uri": uri, "description": description, "required": false }))
            .collect();
        extensions.extend(content.enforced.map(enforcement));
        if !extensions.is_empty() {
            all.insert("extensions".to_owned(), Value::Array(extensions));
        }
    }
    all
}

fn enforcement(enforced: &Enforced) -> Value {
    let words =
        |layers: musegate_protocol::message::Layers| layers.iter().map(|layer| layer.word()).collect::<Vec<_>>();
    json!({
        "uri": ENFORCEMENT,
        "description": "What holds a job, the worker and the supervisor on this machine. For reading only.",
        "required": false,
        "params": {
            "holds": words(enforced.report.holds),
            "lacks": words(enforced.report.lacks),
            "worker": {"holds": words(enforced.worker.holds), "lacks": words(enforced.worker.lacks)},
            "supervisor": {"holds": words(enforced.supervisor.holds), "lacks": words(enforced.supervisor.lacks)},
            "backend": enforced.backend,
            "slots": enforced.slots,
            "jobSeconds": enforced.limits.wall_seconds,
            "outputBytes": enforced.limits.output_bytes,
        },
    })
}

fn skills(content: &Content<'_>) -> Value {
    if !content.full || content.skills.is_empty() {
        // At least one is required, spec §4.4.1.
        return json!([{
            "id": "general",
            "name": "General task",
            "description": "Takes a task in plain text and answers in text. A token shows the skills in full.",
            "tags": ["general"],
        }]);
    }
    Value::Array(content.skills.iter().map(skill).collect())
}

fn skill(skill: &Skill) -> Value {
    let mut all = Map::new();
    let mut put = |name: &str, value: Value| drop(all.insert(name.to_owned(), value));
    put("id", json!(skill.id));
    put("name", json!(skill.name));
    put("description", json!(skill.description));
    put("tags", json!(skill.tags));
    let lists =
        [("examples", &skill.examples), ("inputModes", &skill.input_modes), ("outputModes", &skill.output_modes)];
    for (name, list) in lists {
        if !list.is_empty() {
            put(name, json!(list));
        }
    }
    Value::Object(all)
}
