//! Section `[push]`: whether callers may set webhooks, and how hard a notification is tried.

use super::{narrow, path};
use musegate_protocol::push::target::Policy;
use musegate_settings::Settings;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Push notifications.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Push {
    /// Whether there are any.
    pub enabled: bool,
    /// The pusher's Unix socket.
    pub socket: PathBuf,
    /// The uid it must run under; none: our own.
    pub uid: Option<u32>,
    /// The master key of signatures; made at the first start with push on.
    pub secret_file: PathBuf,
    /// Where notifications may go. The pusher has the same settings and the last word.
    pub policy: Policy,
    /// Whether what happens inside of a job is told too.
    pub progress: bool,
    /// Webhooks of one Task.
    pub per_task: usize,
    /// Webhooks of one caller that still have something to tell.
    pub per_caller: usize,
    /// POSTs at once.
    pub at_once: usize,
    /// The same for one caller.
    pub at_once_per_caller: usize,
    /// Longest body, bytes.
    pub max_body_bytes: usize,
    /// Most attempts at one notification.
    pub attempts: u32,
    /// Longest time from the first attempt at one to the last.
    pub give_up: Duration,
    /// Pause after the first failed attempt; each further one is twice as long.
    pub first_pause: Duration,
    /// Longest pause.
    pub longest_pause: Duration,
}

const SECOND: Duration = Duration::from_secs(1);
const HOUR: Duration = Duration::from_secs(3600);
const DAY: Duration = Duration::from_secs(86_400);

impl Push {
    pub(super) fn read(settings: &mut Settings, folder: &Path) -> Self {
        let uid = |text: &str| text.parse::<u32>().map_err(|_| "must be a number in quotes".to_owned());
        let mut s = settings.section("push");
        Self {
            enabled: s.flag(
                "enabled",
                false,
                "callers with push in their grant may set webhooks; needs musegate-pusher",
            ),
            socket: path(&mut s, folder, "socket", "pusher.sock", "the pusher's Unix socket"),
            uid: s.text("uid", None, "a uid in quotes", "uid the pusher must have; our own when absent", uid),
            secret_file: path(
                &mut s,
                folder,
                "secret_file",
                "push.secret",
                "what signatures are derived from, for each caller another; made at the first start with push on",
            ),
            policy: Policy {
                loopback: s.flag(
                    "allow_loopback",
                    false,
                    "webhooks on this machine, also without TLS; pusher.toml has to say it too",
                ),
                ports: s.list("ports", &["443"], "TCP ports in quotes", "ports of webhooks; as in pusher.toml", port),
            },
            progress: s.flag(
                "progress",
                false,
                "what happens inside of a job is told too, not only states and artifacts",
            ),
            per_task: narrow(s.number("per_task", 4, 1..=64, "webhooks of one Task")),
            per_caller: narrow(s.number(
                "per_caller",
                64,
                1..=10_000,
                "webhooks of one caller that still have to tell",
            )),
            at_once: narrow(s.number("at_once", 16, 1..=256, "POSTs at once; pusher.toml has its own bound")),
            at_once_per_caller: narrow(s.number("at_once_per_caller", 4, 1..=256, "POSTs at once for one caller")),
            max_body_bytes: narrow(s.size(
                "max_body",
                256 << 10,
                1024..=1 << 20,
                "longest notification; a larger Task goes without its artifacts, a larger artifact not at all",
            )),
            attempts: narrow(s.number("attempts", 8, 1..=100, "most attempts at one notification")),
            give_up: s.duration("give_up", HOUR / 2, SECOND..=7 * DAY, "from the first attempt at one to the last"),
            first_pause: s.duration(
                "first_pause",
                SECOND,
                Duration::from_millis(10)..=HOUR,
                "after the first failed attempt; each further pause is twice as long, give or take a fifth",
            ),
            longest_pause: s.duration("longest_pause", 300 * SECOND, SECOND..=DAY, "longest pause between attempts"),
        }
    }
}

fn port(text: &str) -> Result<u16, String> {
    text.parse::<u16>().ok().filter(|port| *port > 0).ok_or_else(|| "must be a TCP port".to_owned())
}
