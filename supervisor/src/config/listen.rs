//! Section `[listen]`: addresses, deadlines, bounds, and which names of ours a client may use.

use super::narrow;
use crate::http::guard::{HostName, OriginName, PublicUrl};
use musegate_settings::Settings;
use std::net::SocketAddr;
use std::time::Duration;

/// Where and how to listen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listen {
    /// Addresses to bind, unless the service manager hands over listening sockets.
    pub addresses: Vec<SocketAddr>,
    /// The second setting that an address beyond loopback needs.
    pub open_to_network: bool,
    /// URLs under which clients reach us, first preferred.
    pub public_urls: Vec<PublicUrl>,
    /// Further names that `Host` may carry.
    pub hosts: Vec<HostName>,
    /// Origins of web pages that may call.
    pub origins: Vec<OriginName>,
    /// Connections open at once.
    pub max_connections: usize,
    /// Until the first request, and from the first byte of a request head to its end.
    pub header_timeout: Duration,
    /// From the end of a request head to the end of its body.
    pub body_timeout: Duration,
    /// Between requests of one connection.
    pub idle_timeout: Duration,
    /// A peer that takes nothing of what we write for so long is gone.
    pub stall_timeout: Duration,
    /// Longest request body, bytes.
    pub max_body_bytes: usize,
    /// Longest request head, bytes.
    pub max_header_bytes: usize,
    /// Requests of one HTTP/2 connection at once.
    pub max_streams: u32,
    /// How long a stop waits for running requests.
    pub drain_timeout: Duration,
}

const SECOND: Duration = Duration::from_secs(1);
const HOUR: Duration = Duration::from_secs(3600);

impl Listen {
    pub(super) fn read(settings: &mut Settings) -> Self {
        let mut s = settings.section("listen");
        let address = |text: &str| text.parse::<SocketAddr>().map_err(|_| "must be IP:PORT".to_owned());
        let listen = Self {
            addresses: s.list(
                "addresses",
                &["127.0.0.1:8181"],
                "IP:PORT each",
                "where to listen, unless launchd or systemd hands over a listening socket",
                address,
            ),
            open_to_network: s.flag(
                "open_to_network",
                false,
                "needed, on purpose, beside an address beyond loopback: there is no TLS here, put a proxy before it",
            ),
            public_urls: s.list(
                "public_urls",
                &[],
                "http:// or https:// URLs",
                "URLs for the card, first preferred; when empty: those of the addresses",
                PublicUrl::parse,
            ),
            hosts: s.list(
                "hosts",
                &[],
                "names or IPs without port",
                "further names that Host may carry",
                HostName::parse,
            ),
            origins: s.list(
                "origins",
                &[],
                "scheme://host[:port]",
                "origins of web pages that may call; none by default",
                OriginName::parse,
            ),
            max_connections: narrow(s.number("max_connections", 1024, 1..=65_536, "connections open at once")),
            header_timeout: s.duration(
                "header_timeout",
                10 * SECOND,
                SECOND..=600 * SECOND,
                "for a request head to arrive",
            ),
            body_timeout: s.duration("body_timeout", 30 * SECOND, SECOND..=HOUR, "for a request body to arrive"),
            idle_timeout: s.duration("idle_timeout", 75 * SECOND, SECOND..=HOUR, "between requests of a connection"),
            stall_timeout: s.duration(
                "stall_timeout",
                300 * SECOND,
                SECOND..=24 * HOUR,
                "a client that reads nothing of an answer for so long is cut off",
            ),
            max_body_bytes: narrow(s.size("max_body", 1 << 20, 1024..=1 << 24, "longest request body")),
            max_header_bytes: narrow(s.size("max_header", 16 << 10, 8192..=1 << 18, "longest request head")),
            max_streams: narrow(s.number("max_streams", 128, 1..=10_000, "requests of one HTTP/2 connection at once")),
            drain_timeout: s.duration(
                "drain_timeout",
                10 * SECOND,
                Duration::ZERO..=HOUR,
                "for running requests at a stop",
            ),
        };
        let open = listen.addresses.iter().any(|address| !address.ip().to_canonical().is_loopback());
        if open && !listen.open_to_network {
            s.problem("addresses", "is beyond loopback; if that is meant, set open_to_network = true as well");
        }
        if open && listen.public_urls.is_empty() {
            s.problem("public_urls", "is needed beside an address beyond loopback, so that Host can be checked");
        }
        listen
    }
}
