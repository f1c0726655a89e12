//! One admitted request in the trail: who, what, how much, how it ended. Written by its own drop, so exactly once.
//!
//! Promises: metadata only. Its fields hold numbers, ids, digests under the trail's key, and words of ours; no text of a
//! caller or of the model fits in any. Refuses to know files.

use super::Audit;
use super::keys::Digester;
use crate::a2a::{ContextId, MessageId, Metadata, TaskId};
use crate::admission::Admitted;
use crate::dialect::{Binding, Version};
use crate::refusal::Refusal;
use serde::Serialize;
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How a request ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Answered: a read, a list, a card, a cancellation.
    Answered,
    /// Refused; the reason is the refusal's word.
    Refused(&'static str),
    /// Its job completed.
    Completed,
    /// Its job failed; the reason is the category.
    Failed(&'static str),
    /// Its job was canceled; the reason is whose wish it was.
    Canceled(&'static str),
    /// Its job ended by asking back.
    InputRequired,
    /// The agent needs a credential of its own.
    AuthRequired,
    /// The agent declined.
    Rejected,
    /// A repeat of a message: it attached to the Task of before.
    Repeated,
    /// The client left before the answer, or the process stopped: nobody said how it ended.
    Dropped,
}

impl Verdict {
    const fn words(self) -> (&'static str, Option<&'static str>) {
        match self {
            Self::Answered => ("answered", None),
            Self::Refused(reason) => ("refused", Some(reason)),
            Self::Completed => ("completed", None),
            Self::Failed(reason) => ("failed", Some(reason)),
            Self::Canceled(reason) => ("canceled", Some(reason)),
            Self::InputRequired => ("input_required", None),
            Self::AuthRequired => ("auth_required", None),
            Self::Rejected => ("rejected", None),
            Self::Repeated => ("repeated", None),
            Self::Dropped => ("dropped", None),
        }
    }
}

/// One admitted request. Fill it in as it walks; dropping it writes it.
#[derive(Debug)]
pub struct Record {
    audit: Audit,
    begun: Instant,
    fields: Fields,
}

#[derive(Debug, Serialize)]
struct Fields {
    kind: &'static str,
    time: String,
    caller: Name,
    token: String,
    peer: IpAddr,
    #[serde(skip_serializing_if = "Option::is_none")]
    trace: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    operation: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    binding: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    task: Option<Id>,
    #[serde(skip_serializing_if = "Option::is_none")]
    context: Option<Id>,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<Id>,
    #[serde(skip_serializing_if = "Text::is_empty")]
    request: Text,
    #[serde(skip_serializing_if = "Text::is_empty")]
    answer: Text,
    verdict: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    http: Option<u16>,
    #[serde(skip_serializing_if = "Option::is_none")]
    usage: Option<Usage>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    redactions: BTreeMap<String, u32>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    sanitized: BTreeMap<&'static str, u32>,
    ms: Times,
}

/// The name of a caller, shared.
#[derive(Debug)]
struct Name(Arc<crate::admission::Caller>);

impl Serialize for Name {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0.name)
    }
}

/// An id: ours as it stands; of one that a client made up, and that may say anything, only its digest.
#[derive(Debug)]
enum Id {
    Plain(Arc<str>),
    Digest(String),
}

impl Serialize for Id {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Plain(id) => serializer.serialize_str(id),
            Self::Digest(digest) => serializer.collect_str(&format_args!("digest:{digest}")),
        }
    }
}

/// What is told of a text: how long it was, and its digest.
#[derive(Debug, Default, Serialize)]
struct Text {
    #[serde(skip_serializing_if = "Option::is_none")]
    bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    parts: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    digest: Option<String>,
}

impl Text {
    const fn is_empty(&self) -> bool {
        self.bytes.is_none() && self.parts.is_none() && self.digest.is_none()
    }
}

#[derive(Debug, Serialize)]
struct Usage {
    calls: u32,
    input: u64,
    cached: u64,
    output: u64,
    reasoning: u64,
}

/// Milliseconds.
#[derive(Debug, Default, Serialize)]
struct Times {
    total: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    waited: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    answered: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    first_line: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    job: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    job_awake: Option<u64>,
}

impl Record {
    pub(super) fn new(audit: Audit, admitted: &Admitted, now: Duration) -> Self {
        let (verdict, reason) = Verdict::Dropped.words();
        let fields = Fields {
            kind: "request",
            time: crate::stamp::show(now),
            caller: Name(Arc::clone(admitted.caller())),
            token: admitted.token().to_string(),
            peer: admitted.peer(),
            trace: None,
            operation: None,
            version: None,
            binding: None,
            task: None,
            context: None,
            message: None,
            request: Text::default(),
            answer: Text::default(),
            verdict,
            reason,
            http: None,
            usage: None,
            redactions: BTreeMap::new(),
            sanitized: BTreeMap::new(),
            ms: Times::default(),
        };
        Self { audit, begun: Instant::now(), fields }
    }

    /// What was asked, by the specification's name, and in which dialect.
    pub fn operation(&mut self, name: &'static str, version: Version, binding: Binding) {
        self.fields.operation = Some(name);
        self.fields.version = Some(match version {
            Version::V1 => "1.0",
            Version::V03 => "0.3",
            Version::Early => "0.1",
        });
        self.fields.binding = Some(match binding {
            Binding::JsonRpc => "jsonrpc",
            Binding::Rest => "rest",
        });
    }

    /// The request's body: bytes as they came, parts of its message, and a digest of its text.
    pub fn request(&mut self, bytes: u64, parts: Option<usize>, digest: Option<Digester>) {
        self.fields.request = Text { bytes: Some(bytes), parts, digest: digest.map(Digester::finish) };
    }

    /// The request's message: its parts, and a digest of what they hold.
    pub fn message(&mut self, parts: usize, digest: Digester) {
        self.fields.request.parts = Some(parts);
        self.fields.request.digest = Some(digest.finish());
    }

    /// 32 hex digits that tie logs, audit and answer together. Anything else is dropped.
    pub fn trace(&mut self, trace: &str) {
        let legal = trace.len() == 32 && trace.bytes().all(|b| b.is_ascii_hexdigit());
        self.fields.trace = legal.then(|| trace.to_owned());
    }

    /// The Task, its conversation, and the caller's name for the message.
    pub fn ids(&mut self, task: &TaskId, context: &ContextId, message: Option<&MessageId>) {
        self.task(task);
        self.fields.context = Some(self.id(&context.0));
        self.fields.message = message.map(|message| self.id(&message.0));
    }

    /// The Task that was asked for, where it is all that is known.
    pub fn task(&mut self, task: &TaskId) {
        self.fields.task = Some(self.id(&task.0));
    }

    /// How long it waited for a slot.
    pub const fn waited(&mut self, wait: Duration) {
        self.fields.ms.waited = Some(whole_ms(wait));
    }

    /// The answer's HTTP status. The first call also notes how long the client waited for it.
    pub fn answered(&mut self, http: u16) {
        self.fields.http = Some(http);
        let since = whole_ms(self.begun.elapsed());
        self.fields.ms.answered.get_or_insert(since);
    }

    /// The job's answer: its bytes and a digest of its text.
    pub fn answer(&mut self, bytes: u64, digest: Option<Digester>) {
        self.fields.answer = Text { bytes: Some(bytes), parts: None, digest: digest.map(Digester::finish) };
    }

    /// Usage, counts and times of the job.
    pub fn metadata(&mut self, metadata: &Metadata) {
        self.trace(&metadata.trace);
        self.fields.usage = metadata.usage.map(|usage| Usage {
            calls: usage.calls,
            input: usage.input_tokens,
            cached: usage.cached_tokens,
            output: usage.output_tokens,
            reasoning: usage.reasoning_tokens,
        });
        self.fields.redactions = metadata.redactions.iter().map(|(kind, count)| (kind.clone(), *count)).collect();
        self.fields.sanitized = metadata.sanitized.iter().copied().collect();
        if let Some(timing) = metadata.timing {
            self.fields.ms.first_line = Some(timing.first_line_ms);
            self.fields.ms.job = Some(timing.wall_ms);
            self.fields.ms.job_awake = Some(timing.awake_ms);
        }
    }

    /// How it ended. The last word counts.
    pub const fn verdict(&mut self, verdict: Verdict) {
        let (word, reason) = verdict.words();
        self.fields.verdict = word;
        self.fields.reason = reason;
    }

    /// It was refused: verdict and reason at once.
    pub const fn refused(&mut self, refusal: &Refusal) {
        self.verdict(Verdict::Refused(refusal.row().word));
    }

    /// For the digest of a text, under the trail's key.
    #[must_use]
    pub fn digester(&self) -> Digester {
        self.audit.digester()
    }

    fn id(&self, id: &Arc<str>) -> Id {
        if is_ours(id) {
            return Id::Plain(Arc::clone(id));
        }
        let mut digester = self.audit.digester();
        digester.update(id.as_bytes());
        Id::Digest(digester.finish())
    }
}

impl Drop for Record {
    fn drop(&mut self) {
        self.fields.ms.total = whole_ms(self.begun.elapsed());
        self.audit.write(&self.fields);
    }
}

/// Whether an id has the form that we give: 32 hexadecimal digits in groups of 8, 4, 4, 4 and 12. Nothing can be said in
/// it.
fn is_ours(id: &str) -> bool {
    let hex = |b: u8| b.is_ascii_digit() || (b'a'..=b'f').contains(&b);
    let mut groups = id.split('-');
    let fits =
        [8, 4, 4, 4, 12].into_iter().all(|len| groups.next().is_some_and(|g| g.len() == len && g.bytes().all(hex)));
    fits && groups.next().is_none()
}

const fn whole_ms(time: Duration) -> u64 {
    time.as_secs().saturating_mul(1000).saturating_add(time.subsec_millis() as u64)
}
