//! The URL of a webhook, read strictly, and the rules for where it may lead.
//!
//! Promises: what is ambiguous is refused, so that no two readers of a URL disagree about its host: no user in it, no
//! odd spelling of an address, no backslash, nothing beyond visible ASCII; the addresses that a name resolves to are
//! judged all together, and one that is forbidden forbids them all. Refuses to resolve anything.

use super::MAX_URL;
use super::address::{self, LOOPBACK};
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::fmt;

/// Where notifications may go, as the operator says it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Policy {
    /// This machine itself, also without TLS.
    pub loopback: bool,
    /// TCP ports.
    pub ports: Vec<u16>,
}

/// Why a URL is refused. Shown to its caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Bad {
    /// Too long, or holds what no URL does.
    #[error("must be 1 to {MAX_URL} visible ASCII characters, without a backslash")]
    Characters,
    /// Neither `https://` nor, where loopback is allowed, `http://`.
    #[error("must begin with https://")]
    Scheme,
    /// A user or a password.
    #[error("must not name a user")]
    User,
    /// A fragment is never sent.
    #[error("must have no fragment")]
    Fragment,
    /// Not a name, and not an address in its usual spelling.
    #[error("must name a host by a DNS name, or by an address in its usual spelling")]
    Host,
    /// Not a number, or not one of the operator's.
    #[error("has a port that notifications may not go to")]
    Port,
    /// The host is, or resolves to, a forbidden address.
    #[error("leads to a forbidden address ({0})")]
    Address(&'static str),
}

/// A host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Host {
    /// A DNS name in lower case.
    Name(String),
    /// An address.
    Address(IpAddr),
}

/// A URL, read.
#[derive(Clone, PartialEq, Eq)]
pub struct Target {
    /// `https`.
    pub tls: bool,
    /// Whom to ask.
    pub host: Host,
    /// TCP port.
    pub port: u16,
    /// Path and query, beginning with `/`. May hold secrets.
    pub path: String,
}

/// Without path and query, which may hold secrets.
impl fmt::Debug for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Target({})", self.authority())
    }
}

impl Target {
    /// Reads a URL.
    ///
    /// # Errors
    /// [`Bad`], the first that applies.
    pub fn parse(url: &str) -> Result<Self, Bad> {
        let legal = |b: u8| b.is_ascii_graphic() && b != b'\\';
        if url.is_empty() || url.len() > MAX_URL || !url.bytes().all(legal) {
            return Err(Bad::Characters);
        }
        let (scheme, rest) = url.split_once("://").ok_or(Bad::Scheme)?;
        let tls = match scheme.to_ascii_lowercase().as_str() {
            "https" => true,
            "http" => false,
            _ => return Err(Bad::Scheme),
        };
        if rest.contains('#') {
            return Err(Bad::Fragment);
        }
        let (authority, path) = rest.split_at_checked(rest.find(['/', '?']).unwrap_or(rest.len())).ok_or(Bad::Host)?;
        if authority.contains('@') {
            return Err(Bad::User);
        }
        let (host, port) = host_and_port(authority)?;
        let port = port.map_or(Ok(if tls { 443 } else { 80 }), read_port)?;
        let path = if path.starts_with('/') { path.to_owned() } else { format!("/{path}") };
        Ok(Self { tls, host, port, path })
    }

    /// What can be said before anything is resolved.
    ///
    /// # Errors
    /// [`Bad`].
    pub fn judge(&self, policy: &Policy) -> Result<(), Bad> {
        if !self.tls && !policy.loopback {
            return Err(Bad::Scheme);
        }
        if !policy.ports.contains(&self.port) {
            return Err(Bad::Port);
        }
        match self.host {
            Host::Address(address) => self.judge_address(address, policy),
            Host::Name(_) => Ok(()),
        }
    }

    /// What its host resolved to: every one of these has to be allowed.
    ///
    /// # Errors
    /// [`Bad::Address`] with the first that is not.
    pub fn judge_all(&self, addresses: &[IpAddr], policy: &Policy) -> Result<(), Bad> {
        addresses.iter().try_for_each(|address| self.judge_address(*address, policy))
    }

    fn judge_address(&self, address: IpAddr, policy: &Policy) -> Result<(), Bad> {
        match address::forbidden(address) {
            Some(row) if row.what == LOOPBACK && policy.loopback => Ok(()),
            Some(row) => Err(Bad::Address(row.what)),
            None if self.tls => Ok(()),
            None => Err(Bad::Scheme),
        }
    }

    /// The value of `Host`.
    #[must_use]
    pub fn authority(&self) -> String {
        let host = match &self.host {
            Host::Name(name) => name.clone(),
            Host::Address(IpAddr::V4(address)) => address.to_string(),
            Host::Address(IpAddr::V6(address)) => format!("[{address}]"),
        };
        let usual = if self.tls { 443 } else { 80 };
        if self.port == usual { host } else { format!("{host}:{}", self.port) }
    }
}

fn host_and_port(authority: &str) -> Result<(Host, Option<&str>), Bad> {
    if let Some(rest) = authority.strip_prefix('[') {
        let (inside, after) = rest.split_once(']').ok_or(Bad::Host)?;
        let address = inside.parse::<Ipv6Addr>().map_err(|_| Bad::Host)?;
        let port = match after {
            "" => None,
            after => Some(after.strip_prefix(':').ok_or(Bad::Host)?),
        };
        return Ok((Host::Address(IpAddr::V6(address)), port));
    }
    let (host, port) = match authority.split_once(':') {
        Some((host, port)) => (host, Some(port)),
        None => (authority, None),
    };
    Ok((read_host(host)?, port))
}

fn read_port(text: &str) -> Result<u16, Bad> {
    let digits = (1..=5).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_digit());
    text.parse::<u16>().ok().filter(|port| digits && *port > 0).ok_or(Bad::Port)
}

/// A host whose last label is a number is an address, and then in its one usual spelling.
fn read_host(text: &str) -> Result<Host, Bad> {
    let name = text.to_ascii_lowercase();
    let last = name.rsplit('.').next().unwrap_or_default();
    let numeric = last.bytes().all(|b| b.is_ascii_digit()) || last.starts_with("0x");
    if numeric {
        return name.parse::<Ipv4Addr>().map(|address| Host::Address(IpAddr::V4(address))).map_err(|_| Bad::Host);
    }
    let label = |label: &str| {
        let legal = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b"-_".contains(&b);
        (1..=63).contains(&label.len()) && label.bytes().all(legal) && !label.starts_with('-') && !label.ends_with('-')
    };
    if name.len() > 253 || !name.split('.').all(label) {
        return Err(Bad::Host);
    }
    Ok(Host::Name(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    const OPEN: fn() -> Policy = || Policy { loopback: false, ports: vec![443, 8443] };

    fn judged(url: &str, policy: &Policy) -> Result<(), Bad> {
        Target::parse(url).and_then(|target| target.judge(policy))
    }

    #[test]
    fn a_plain_https_url_is_read() {
        let target = Target::parse("HTTPS://Hooks.Example:8443/a/b?c=d").unwrap();
        assert_eq!((target.tls, target.port, &*target.path), (true, 8443, "/a/b?c=d"));
        assert_eq!(target.host, Host::Name("hooks.example".into()));
        assert_eq!(target.authority(), "hooks.example:8443");
        assert_eq!(Target::parse("https://a.example").unwrap().path, "/");
        assert_eq!(Target::parse("https://a.example?x").unwrap().path, "/?x");
        assert_eq!(Target::parse("https://a.example:443/").unwrap().authority(), "a.example");
        assert_eq!(Target::parse("https://[2606::1]:8443/").unwrap().authority(), "[2606::1]:8443");
        assert_eq!(judged("https://hooks.example:8443/a", &OPEN()), Ok(()));
        assert_eq!(judged("https://8.8.8.8/", &OPEN()), Ok(()));
    }

    #[test]
    fn odd_spellings_of_addresses_are_refused() {
        for host in [
            "0x7f.1",
            "0x7f000001",
            "2130706433",
            "017700000001",
            "0177.0.0.1",
            "127.1",
            "127.0.1",
            "127.0.0.01",
            "127.0.0.0x1",
            "a.0x1",
            "1.2.3.4.5",
            "256.1.1.1",
            "127.0.0.1.",
            "x.1",
            "[::1%25lo]",
            "[::1",
            "[fe80::1%lo]",
            "[127.0.0.1]",
            "[]",
            "",
            ".",
            "a..b",
            ".a",
            "a.",
            "-a.b",
            "a-.b",
            "a%2eb",
            "a,b",
            "\u{ff41}.example",
        ] {
            let url = format!("https://{host}/");
            let refused = Target::parse(&url);
            assert!(matches!(refused, Err(Bad::Host | Bad::Characters)), "{host}: {refused:?}");
        }
    }

    #[test]
    fn what_two_readers_could_read_in_two_ways_is_refused() {
        for (url, why) in [
            ("https://a@127.0.0.1/", Bad::User),
            ("https://a.example:pw@b.example/", Bad::User),
            ("https://a.example\\@b.example/", Bad::Characters),
            ("https://a.example/ b", Bad::Characters),
            ("https://a.example/\r\nX: y", Bad::Characters),
            ("https://a.example/#b", Bad::Fragment),
            ("https://a.example#@b.example/", Bad::Fragment),
            ("ftp://a.example/", Bad::Scheme),
            ("file:///etc/passwd", Bad::Scheme),
            ("//a.example/", Bad::Scheme),
            ("a.example", Bad::Scheme),
            ("", Bad::Characters),
            ("https://a.example:/", Bad::Port),
            ("https://a.example:0/", Bad::Port),
            ("https://a.example:+443/", Bad::Port),
            ("https://a.example:65536/", Bad::Port),
            ("https://a.example:80:443/", Bad::Port),
        ] {
            assert_eq!(Target::parse(url), Err(why), "{url}");
        }
        assert_eq!(Target::parse(&format!("https://a.example/{}", "a".repeat(MAX_URL))), Err(Bad::Characters));
    }

    #[test]
    fn plain_http_and_other_ports_are_refused() {
        assert_eq!(judged("http://a.example/", &OPEN()), Err(Bad::Scheme));
        assert_eq!(judged("https://a.example:22/", &OPEN()), Err(Bad::Port));
        assert_eq!(judged("https://127.0.0.1/", &OPEN()), Err(Bad::Address(LOOPBACK)));
        assert_eq!(judged("https://[::1]/", &OPEN()), Err(Bad::Address(LOOPBACK)));
        assert_eq!(judged("https://[::ffff:8.8.8.8]/", &OPEN()), Err(Bad::Address("IPv4-mapped")));
    }

    #[test]
    fn allowed_loopback_opens_this_machine_and_nothing_else() {
        let policy = Policy { loopback: true, ports: vec![80, 443] };
        assert_eq!(judged("http://127.0.0.1/", &policy), Ok(()));
        assert_eq!(judged("https://[::1]/", &policy), Ok(()));
        assert_eq!(judged("http://8.8.8.8/", &policy), Err(Bad::Scheme));
        assert_eq!(judged("http://10.0.0.1/", &policy), Err(Bad::Address("private")));
        let named = Target::parse("http://a.example/").unwrap();
        assert_eq!(named.judge_all(&["127.0.0.1".parse().unwrap()], &policy), Ok(()));
        assert_eq!(named.judge_all(&["8.8.8.8".parse().unwrap()], &policy), Err(Bad::Scheme));
    }

    #[test]
    fn one_forbidden_address_of_a_name_forbids_them_all() {
        let target = Target::parse("https://a.example/").unwrap();
        let addresses = |all: &[&str]| all.iter().map(|one| one.parse().unwrap()).collect::<Vec<IpAddr>>();
        assert_eq!(target.judge_all(&addresses(&["8.8.8.8", "2606::1"]), &OPEN()), Ok(()));
        let mixed = addresses(&["8.8.8.8", "10.0.0.1"]);
        assert_eq!(target.judge_all(&mixed, &OPEN()), Err(Bad::Address("private")));
    }

    #[test]
    fn a_log_shows_neither_path_nor_query() {
        let shown = format!("{:?}", Target::parse("https://a.example/secret?key=1").unwrap());
        assert_eq!(shown, "Target(a.example)");
    }
}
