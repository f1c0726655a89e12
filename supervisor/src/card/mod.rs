//! The agent card: who we are, where, how to authenticate, and what we can do. Spec: A2A 1.0.1 §4.4, §8.
//!
//! Promises: every body is ready before it is asked for; capabilities are those of the configuration and of what is
//! built, never wishes; a URL in it is one of ours, whatever `Host` says; it states what an answer is. Refuses to know
//! how a request got here.

mod body;
pub mod jws;
mod signer;
#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "a test makes its own key file")]
mod tests;

pub use body::{Abilities, Enforced, Form};
pub use signer::Signer;

use crate::admission::Caller;
use crate::config::{Agent, CardAccess, CardForm, Config, Skill};
use crate::http::body::Body;
use crate::http::guard::PublicUrl;
use crate::refusal::Refusal;
use body::Content;
use bytes::Bytes;
use hyper::header::{
    AUTHORIZATION, CACHE_CONTROL, CONTENT_TYPE, ETAG, HeaderMap, HeaderName, HeaderValue, IF_MODIFIED_SINCE,
    IF_NONE_MATCH, LAST_MODIFIED, VARY,
};
use hyper::{Response, StatusCode};
use sha2::{Digest, Sha256};
use std::net::SocketAddr;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The header by which a client names its edition, spec §3.6.1.
pub const A2A_VERSION: HeaderName = HeaderName::from_static("a2a-version");

/// Who asks for a card.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reader {
    /// Without a token of ours.
    Stranger,
    /// With one.
    Known,
}

/// All cards, ready to send.
#[derive(Debug)]
pub struct Cards {
    agent: Agent,
    skills: Vec<Skill>,
    urls: Vec<PublicUrl>,
    abilities: Abilities,
    signer: Option<Signer>,
    ready: Vec<Ready>,
    enforced: RwLock<Option<Arc<Enforced>>>,
}

/// One card of one form for one URL.
#[derive(Debug)]
struct Ready {
    form: Form,
    full: bool,
    body: Bytes,
    headers: HeaderMap,
}

impl Cards {
    /// `bound`: the addresses we listen on, which name us when the settings do not. `signer`: signs every card.
    #[must_use]
    pub fn new(config: &Config, bound: &[SocketAddr], abilities: Abilities, signer: Option<Signer>) -> Self {
        let urls =
            if config.listen.public_urls.is_empty() { own_urls(bound) } else { config.listen.public_urls.clone() };
        let mut cards = Self {
            agent: config.agent.clone(),
            skills: config.skills.clone(),
            urls,
            abilities,
            signer,
            ready: Vec::new(),
            enforced: RwLock::new(None),
        };
        let modified = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        for url in &cards.urls {
            for form in Form::ALL {
                for full in [false, true] {
                    let content = Content { full, ..cards.content(url) };
                    let body = cards.body(&content, form);
                    let public = !full || cards.agent.card == CardAccess::Public;
                    let headers = headers(&body, public, cards.agent.card_max_age, modified);
                    cards.ready.push(Ready { form, full, body, headers });
                }
            }
        }
        cards
    }

    /// The answer to a GET of a well-known path. `legacy`: the path of 0.2, `agent.json`. `query`: of the request; it
    /// may name the edition as the header does, spec §3.6.1. `host`: what the client sent.
    ///
    /// # Errors
    /// [`Refusal::Unauthenticated`] where strangers see nothing.
    pub fn well_known(
        &self,
        legacy: bool,
        headers: &HeaderMap,
        query: Option<&str>,
        host: &str,
        reader: Reader,
    ) -> Result<Response<Body>, Refusal> {
        if self.agent.card == CardAccess::Authenticated && reader == Reader::Stranger {
            return Err(Refusal::Unauthenticated);
        }
        let full = reader == Reader::Known || self.agent.card == CardAccess::Public;
        let form = if legacy { Form::Legacy } else { self.form(headers, query) };
        let per_url = Form::ALL.len() * 2;
        let of_url = self.ready.chunks(per_url).nth(self.url(host)).unwrap_or(&self.ready);
        let card = of_url.iter().find(|card| card.form == form && card.full == full).ok_or(Refusal::NoRoute)?;
        let fresh = is_fresh(headers, &card.headers);
        let mut response = Response::new(if fresh { Body::empty() } else { Body::Full(card.body.clone()) });
        *response.headers_mut() = card.headers.clone();
        if fresh {
            *response.status_mut() = StatusCode::NOT_MODIFIED;
            response.headers_mut().remove(CONTENT_TYPE);
        }
        Ok(response)
    }

    /// The extended card for a caller: its skills, and what is enforced. Spec §3.1.11.
    #[must_use]
    pub fn extended(&self, form: Form, host: &str, caller: &Caller) -> Bytes {
        let enforced = self.enforced.read().unwrap_or_else(PoisonError::into_inner).clone();
        let skills = self.skills.iter().filter(|skill| caller.grant.may_use(&skill.id)).cloned().collect::<Vec<_>>();
        let Some(url) = self.urls.get(self.url(host)) else { return Bytes::new() };
        let content = Content {
            skills: &skills,
            push: self.abilities.push && caller.grant.push,
            enforced: enforced.as_deref(),
            ..self.content(url)
        };
        self.body(&content, form)
    }

    fn body(&self, content: &Content<'_>, form: Form) -> Bytes {
        let mut card = body::write(content, form);
        if let Some(signer) = &self.signer {
            signer.sign(&mut card);
        }
        Bytes::from(card.to_string())
    }

    /// What the worker said that it enforces; none while it is away.
    pub fn set_enforced(&self, enforced: Option<Enforced>) {
        *self.enforced.write().unwrap_or_else(PoisonError::into_inner) = enforced.map(Arc::new);
    }

    /// URLs under which clients reach us, first preferred.
    #[must_use]
    pub fn urls(&self) -> &[PublicUrl] {
        &self.urls
    }

    fn content<'a>(&'a self, url: &'a PublicUrl) -> Content<'a> {
        Content {
            agent: &self.agent,
            skills: &self.skills,
            url: url.as_str(),
            full: true,
            streaming: self.abilities.streaming,
            push: self.abilities.push,
            extensions: self.abilities.extensions,
            enforced: None,
        }
    }

    /// The URL that the client used, or the preferred one.
    fn url(&self, host: &str) -> usize {
        self.urls.iter().position(|url| url.matches(host)).unwrap_or_default()
    }

    fn form(&self, headers: &HeaderMap, query: Option<&str>) -> Form {
        let in_query = || {
            let mut pairs = query?.split('&').filter_map(|pair| pair.split_once('='));
            pairs.find(|(name, _)| name.eq_ignore_ascii_case(A2A_VERSION.as_str())).map(|(_, value)| value.as_bytes())
        };
        let in_header = headers.get(A2A_VERSION).map(HeaderValue::as_bytes);
        match in_header.filter(|version| !version.is_empty()).or_else(in_query) {
            Some(version) if version.starts_with(b"1.") || version == b"1" => Form::Strict,
            Some(version) if version.starts_with(b"0.") => Form::Legacy,
            _ if self.agent.card_form == CardForm::Strict => Form::Strict,
            _ => Form::Hybrid,
        }
    }
}

/// On one machine both `127.0.0.1` and `localhost` are used, and some clients want the card's URLs on its own origin.
fn own_urls(bound: &[SocketAddr]) -> Vec<PublicUrl> {
    let mut urls = Vec::new();
    for address in bound {
        urls.extend(PublicUrl::parse(&format!("http://{address}")));
    }
    for address in bound.iter().filter(|address| address.ip().is_loopback()) {
        urls.extend(PublicUrl::parse(&format!("http://localhost:{}", address.port())));
    }
    urls
}

fn headers(body: &[u8], public: bool, max_age: Duration, modified: Duration) -> HeaderMap {
    let mut headers = HeaderMap::new();
    let scope = if public { "public" } else { "private" };
    let hash = Sha256::digest(body);
    let tag: String = hash.iter().take(12).map(|byte| format!("{byte:02x}")).collect();
    let texts = [
        (CACHE_CONTROL, format!("{scope}, max-age={}", max_age.as_secs())),
        (ETAG, format!("\"{tag}\"")),
        (LAST_MODIFIED, http_date(modified)),
    ];
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(VARY, HeaderValue::from_static("A2A-Version, Authorization"));
    headers.insert("x-content-type-options", HeaderValue::from_static("nosniff"));
    for (name, text) in texts {
        headers.extend(HeaderValue::try_from(text).ok().map(|value| (name, value)));
    }
    headers
}

/// RFC 9110 §13: `If-None-Match` counts, `If-Modified-Since` only without it.
fn is_fresh(request: &HeaderMap, card: &HeaderMap) -> bool {
    if let Some(wanted) = request.get(IF_NONE_MATCH) {
        let tag = card.get(ETAG).map(HeaderValue::as_bytes).unwrap_or_default();
        let mut tags = wanted.as_bytes().split(|b| *b == b',').map(<[u8]>::trim_ascii);
        return tags.any(|wanted| wanted == b"*" || wanted.strip_prefix(b"W/").unwrap_or(wanted) == tag);
    }
    // Only the date that we gave ourselves is compared: a client sends back what it got. All cards of a process have one
    // date, so to somebody who has just come by a token it would not tell the card of before from the one of now.
    request.get(IF_MODIFIED_SINCE).is_some_and(|since| card.get(LAST_MODIFIED) == Some(since))
        && !request.contains_key(AUTHORIZATION)
}

/// `Mon, 30 Nov 2026 19:07:00 GMT`, RFC 9110 §5.6.7.
fn http_date(since_epoch: Duration) -> String {
    const DAYS: [&str; 7] = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"]; // the epoch was a Thursday
    const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let shown = crate::stamp::show(since_epoch);
    let field = |range: std::ops::Range<usize>| shown.get(range).unwrap_or_default();
    let month = field(5..7).parse::<usize>().unwrap_or(1);
    let day = usize::try_from(since_epoch.as_secs() / 86_400 % 7).unwrap_or_default();
    let name = |names: &[&'static str], at: usize| names.get(at).copied().unwrap_or_default();
    format!(
        "{}, {} {} {} {} GMT",
        name(&DAYS, day),
        field(8..10),
        name(&MONTHS, month.saturating_sub(1)),
        field(0..4),
        field(11..19)
    )
}
