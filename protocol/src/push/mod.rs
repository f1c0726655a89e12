//! What the supervisor and the pusher say to each other: one POST at a time, and what became of it.
//!
//! Promises: no header's name can be said, only the values of a known few, so that no notification can pose as something
//! else; every field has its bound; secrets show only their length in a log. Where a POST may go is judged by
//! [`target`] and [`address`], at both ends by the same code. Refuses to know Tasks, callers and signing keys.

pub mod address;
pub mod target;

use crate::bounded::{Blob, Label, Text};
use bincode::{Decode, Encode};

/// The version of this module's messages.
pub const VERSION: u16 = 1;
/// Longest URL of a webhook, bytes.
pub const MAX_URL: usize = 2048;
/// Longest body of a notification, bytes.
pub const MAX_BODY: usize = 1024 * 1024;
/// Longest value of `Authorization` and of the client's token, bytes.
pub const MAX_SECRET: usize = 4096;
/// Longest frame to the pusher: a body, and 16 KiB for all the rest.
pub const MAX_TO_PUSHER: usize = MAX_BODY + 16 * 1024;
/// Longest frame from it.
pub const MAX_FROM_PUSHER: usize = 64;

/// Supervisor to pusher.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub enum ToPusher {
    /// Make this POST, once.
    Post(Post),
}

/// Pusher to supervisor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub enum FromPusher {
    /// The first message of a connection.
    Hello {
        /// [`VERSION`]; another one ends the connection.
        version: u16,
        /// POSTs that it makes at once, at least 1. One that is over is [`Outcome::Busy`].
        at_once: u16,
    },
    /// What became of a POST.
    Done {
        /// Its number.
        id: u64,
        /// What became of it.
        outcome: Outcome,
    },
}

/// One POST. `Debug` shows lengths only.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Post {
    /// A number of the supervisor's, unique within its connection.
    pub id: u64,
    /// Where to.
    pub url: Text<MAX_URL>,
    /// `Content-Type`.
    pub media_type: MediaType,
    /// `webhook-id`: the same for each attempt at one event.
    pub event: Label,
    /// `webhook-timestamp`, seconds since the Unix epoch.
    pub timestamp: u64,
    /// `webhook-signature`.
    pub signature: Text<128>,
    /// `X-A2A-Notification-Token`: what the client gave, visible ASCII and spaces.
    pub token: Option<Text<MAX_SECRET>>,
    /// `Authorization`, of the same characters.
    pub authorization: Option<Text<MAX_SECRET>>,
    /// The body.
    pub body: Blob<MAX_BODY>,
}

/// `Content-Type` of a notification.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub enum MediaType {
    /// `application/json`, before A2A 1.0.
    Json,
    /// `application/a2a+json`.
    A2aJson,
}

impl MediaType {
    /// As it stands in the header.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Json => "application/json",
            Self::A2aJson => "application/a2a+json",
        }
    }
}

/// What became of one attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Encode, Decode)]
pub enum Outcome {
    /// The receiver answered with this status.
    Answered {
        /// 200 to 599.
        status: u16,
    },
    /// The pusher may not go there: the URL, or an address that its host resolves to. It was not contacted.
    Forbidden,
    /// The host has no address.
    Unresolved,
    /// No TCP connection.
    Unreachable,
    /// No TLS: a certificate that nobody vouches for, or no common version.
    NoTls,
    /// The connection broke, or what came back is no HTTP.
    Broken,
    /// It took too long.
    Timeout,
    /// The pusher makes as many POSTs as it can.
    Busy,
}

/// What follows from an [`Outcome`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Then {
    /// It was taken.
    Done,
    /// Another attempt may succeed.
    Again,
    /// No further attempt at this event.
    Drop,
    /// The receiver wants nothing more at all: 410.
    Leave,
}

impl Outcome {
    /// What follows.
    #[must_use]
    pub const fn then(self) -> Then {
        match self {
            Self::Answered { status: 200..=299 } => Then::Done,
            Self::Answered { status: 410 } => Then::Leave,
            Self::Answered { status: 408 | 425 | 429 | 500..=599 }
            | Self::Unresolved
            | Self::Unreachable
            | Self::NoTls
            | Self::Broken
            | Self::Timeout
            | Self::Busy => Then::Again,
            Self::Answered { .. } | Self::Forbidden => Then::Drop,
        }
    }

    /// For logs, audit and metrics.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Answered { status: 200..=299 } => "taken",
            Self::Answered { status: 300..=399 } => "redirected",
            Self::Answered { status: 400..=499 } => "refused",
            Self::Answered { .. } => "receiver_failed",
            Self::Forbidden => "forbidden",
            Self::Unresolved => "unresolved",
            Self::Unreachable => "unreachable",
            Self::NoTls => "no_tls",
            Self::Broken => "broken",
            Self::Timeout => "timeout",
            Self::Busy => "busy",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::{PusherCodec, PusherEnd};
    use bytes::BytesMut;
    use tokio_util::codec::{Decoder, Encoder};

    fn post(body: usize) -> ToPusher {
        ToPusher::Post(Post {
            id: 7,
            url: Text::new("https://a.example/hook").unwrap(),
            media_type: MediaType::A2aJson,
            event: Label::new("abc-1").unwrap(),
            timestamp: 1,
            signature: Text::new("v1,x").unwrap(),
            token: Some(Text::new("t".repeat(MAX_SECRET)).unwrap()),
            authorization: Some(Text::new("a".repeat(MAX_SECRET)).unwrap()),
            body: Blob::new(vec![b'x'; body]).unwrap(),
        })
    }

    #[test]
    fn the_largest_notification_crosses_and_comes_back_equal() {
        let mut bytes = BytesMut::new();
        let said = post(MAX_BODY);
        PusherEnd::default().encode(&said, &mut bytes).unwrap();
        assert_eq!(PusherCodec::default().decode(&mut bytes).unwrap(), Some(said));
        let done = FromPusher::Done { id: u64::MAX, outcome: Outcome::Answered { status: 204 } };
        PusherCodec::default().encode(&done, &mut bytes).unwrap();
        assert_eq!(PusherEnd::default().decode(&mut bytes).unwrap(), Some(done));
        assert!(bytes.is_empty());
    }

    #[test]
    fn a_frame_over_the_bound_is_refused_by_its_head() {
        let mut bytes = BytesMut::from(&[0xff; 8][..]);
        assert!(PusherCodec::default().decode(&mut bytes).is_err());
        let mut bytes = BytesMut::from(&[0, 0, 0, 65, 0, 0, 0, 0][..]);
        assert!(PusherEnd::default().decode(&mut bytes).is_err());
    }

    #[test]
    fn a_log_shows_no_secret_and_no_url() {
        let shown = format!("{:?}", post(3));
        assert!(!shown.contains("a.example") && !shown.contains("ttt") && !shown.contains("aaa"), "{shown}");
    }

    #[test]
    fn each_status_leads_to_one_thing() {
        let then = |status| Outcome::Answered { status }.then();
        for (status, what) in [
            (200, Then::Done),
            (204, Then::Done),
            (299, Then::Done),
            (301, Then::Drop),
            (307, Then::Drop),
            (400, Then::Drop),
            (401, Then::Drop),
            (408, Then::Again),
            (410, Then::Leave),
            (425, Then::Again),
            (429, Then::Again),
            (500, Then::Again),
            (599, Then::Again),
        ] {
            assert_eq!(then(status), what, "{status}");
        }
        assert_eq!(Outcome::Forbidden.then(), Then::Drop);
        assert_eq!(Outcome::Timeout.then(), Then::Again);
    }
}
