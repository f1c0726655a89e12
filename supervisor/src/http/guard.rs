//! Which names of ours a client may use, and what may never stand in a URL.
//!
//! Promises: a web page whose name was rebound to our address is refused by its `Host` or its `Origin`, whatever the
//! method; a token in a URL is refused before anything else looks at the request, and never repeated. Refuses to know
//! who is calling.

#[cfg(test)]
#[path = "guard_tests.rs"]
mod tests;

use crate::refusal::Refusal;
use hyper::header::{HOST, HeaderMap, HeaderName, ORIGIN};
use hyper::http::Uri;
use hyper::http::uri::Authority;
use std::net::IpAddr;

const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// A host as `Host` may carry it: a name or an IP address, without port, lower case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostName(String);

impl HostName {
    /// # Errors
    /// A lowercase fragment: not a name or an IP address.
    pub fn parse(text: &str) -> Result<Self, String> {
        let bare = text.strip_prefix('[').and_then(|t| t.strip_suffix(']')).unwrap_or(text);
        if let Ok(ip) = bare.parse::<IpAddr>() {
            return Ok(Self::from_ip(ip));
        }
        let legal = |b: u8| b.is_ascii_alphanumeric() || b == b'-' || b == b'.' || b == b'_';
        if text.is_empty() || text.len() > 253 || !text.bytes().all(legal) {
            return Err("must be a name or an IP address, without port".to_owned());
        }
        Ok(Self(text.to_ascii_lowercase()))
    }

    fn from_ip(ip: IpAddr) -> Self {
        match ip {
            IpAddr::V4(ip) => Self(ip.to_string()),
            IpAddr::V6(ip) => Self(format!("[{ip}]")),
        }
    }
}

/// The origin of a web page: `scheme://host[:port]`, lower case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OriginName(String);

impl OriginName {
    /// # Errors
    /// A lowercase fragment: not an origin.
    pub fn parse(text: &str) -> Result<Self, String> {
        let wrong = || "must be scheme://host or scheme://host:port, without a path".to_owned();
        let (scheme, rest) = text.split_once("://").ok_or_else(wrong)?;
        let authority: Authority = rest.parse().map_err(|_| wrong())?;
        if scheme.is_empty() || authority.as_str().contains('@') {
            return Err(wrong());
        }
        Ok(Self(text.to_ascii_lowercase()))
    }
}

/// A URL under which clients reach us: `http[s]://host[:port][/path]`, without a slash at its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PublicUrl {
    url: String,
    authority: String,
    host: HostName,
}

impl PublicUrl {
    /// # Errors
    /// A lowercase fragment: not such a URL.
    pub fn parse(text: &str) -> Result<Self, String> {
        let wrong = || "must be http://HOST[:PORT][/PATH] or https://…, without query".to_owned();
        let uri: Uri = text.parse().map_err(|_| wrong())?;
        let default_port = match uri.scheme_str() {
            Some("http") => 80,
            Some("https") => 443,
            _ => return Err(wrong()),
        };
        let authority = uri.authority().ok_or_else(wrong)?;
        if uri.query().is_some() || text.contains('#') || authority.as_str().contains('@') {
            return Err(wrong());
        }
        let host = HostName::parse(authority.host())?;
        let shown = match authority.port_u16() {
            Some(port) if port != default_port => format!("{}:{port}", host.0),
            _ => host.0.clone(),
        };
        Ok(Self { url: text.trim_end_matches('/').to_owned(), authority: shown, host })
    }

    /// As it was written, without a slash at its end.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.url
    }

    /// Whether a client that sent this `Host` (or `:authority`) used this URL.
    #[must_use]
    pub fn matches(&self, host: &str) -> bool {
        self.authority.eq_ignore_ascii_case(host)
    }
}

/// The check that every request passes before anything else. The port of a `Host` is not compared: behind a forwarded port
/// or a container's it is another one than ours, and a page that was rebound to our address is told by its name. Nothing
/// of ours is made from the `Host` of a request: a card shows it only where it equals a URL of the settings, port and all.
#[derive(Clone, Debug, Default)]
pub struct Guard {
    hosts: Vec<HostName>,
    origins: Vec<OriginName>,
}

impl Guard {
    /// `bound`: the addresses we listen on; loopback ones may also be called `localhost`.
    #[must_use]
    pub fn new(bound: &[IpAddr], urls: &[PublicUrl], hosts: &[HostName], origins: &[OriginName]) -> Self {
        let mut all: Vec<HostName> = Vec::new();
        let mut add = |host: HostName| {
            if !all.contains(&host) {
                all.push(host);
            }
        };
        for ip in bound {
            add(HostName::from_ip(*ip));
            if ip.is_loopback() {
                ["127.0.0.1", "localhost", "[::1]"].into_iter().for_each(|name| add(HostName(name.to_owned())));
            }
        }
        urls.iter().for_each(|url| add(url.host.clone()));
        hosts.iter().for_each(|host| add(host.clone()));
        Self { hosts: all, origins: origins.to_vec() }
    }

    /// # Errors
    /// [`Refusal::BadRequest`] for a token in the URL or a missing `Host`, [`Refusal::ForeignHost`] for a `Host` or
    /// `Origin` that is not ours.
    pub fn check(&self, uri: &Uri, headers: &HeaderMap) -> Result<(), Refusal> {
        no_token_in(uri)?;
        let mut named = headers.get_all(HOST).iter();
        let host = named.next().map(|value| value.to_str().unwrap_or_default());
        if named.next().is_some() {
            return Err(Refusal::BadRequest("more than one Host".to_owned()));
        }
        match (uri.authority(), host) {
            (None, None) => return Err(Refusal::BadRequest("Host is missing".to_owned())),
            (Some(authority), None) => self.known(authority.as_str())?,
            (None, Some(host)) => self.known(host)?,
            (Some(authority), Some(host)) => self.known(authority.as_str()).and_then(|()| self.known(host))?,
        }
        if let Some(origin) = headers.get(ORIGIN) {
            let origin = origin.to_str().unwrap_or_default();
            if !self.origins.iter().any(|known| known.0.eq_ignore_ascii_case(origin)) {
                return Err(Refusal::ForeignHost);
            }
        } else if headers.get(SEC_FETCH_SITE).is_some_and(|site| site == "cross-site") {
            return Err(Refusal::ForeignHost);
        }
        Ok(())
    }

    fn known(&self, host: &str) -> Result<(), Refusal> {
        let name = without_port(host);
        if self.hosts.iter().any(|known| known.0.eq_ignore_ascii_case(name)) {
            Ok(())
        } else {
            Err(Refusal::ForeignHost)
        }
    }
}

fn without_port(host: &str) -> &str {
    let digits =
        |port: &str| port.is_empty() || port.bytes().all(|b| b.is_ascii_digit()) && port.parse::<u16>().is_ok();
    match host.rsplit_once(':') {
        Some((name, port)) if digits(port) && (!name.contains(':') || name.ends_with(']')) => name,
        _ => host,
    }
}

/// A URL is written to logs, histories and proxies: whatever secret stands in it is lost.
fn no_token_in(uri: &Uri) -> Result<(), Refusal> {
    const NAMES: [&str; 6] = ["token", "access_token", "authorization", "bearer", "api_key", "apikey"];
    let holds = |text: &str| memchr::memmem::find(text.as_bytes(), b"mgt_").is_some();
    let named = |query: &str| {
        query.split('&').any(|pair| {
            let name = pair.split_once('=').map_or(pair, |(name, _)| name);
            NAMES.iter().any(|secret| name.eq_ignore_ascii_case(secret))
        })
    };
    let query = uri.query();
    if holds(uri.path()) || query.is_some_and(|query| holds(query) || named(query)) {
        let what = "a token must not stand in the URL; send it as `Authorization: Bearer …`, and rotate this one";
        return Err(Refusal::BadRequest(what.to_owned()));
    }
    Ok(())
}
