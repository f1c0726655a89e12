//! A job's bounds, judged by a clock that is handed in.
//!
//! Promises: two clocks are kept, one that stands still while the machine sleeps and one that does not, so that a nap
//! neither ends a job early nor lets it live for days; sleep is noticed and told. Silence does not count while a tool
//! runs (it may say nothing for minutes) nor while nobody reads the answer. Refuses to know what to do about a breach.

use crate::backend::records::Attempt;
use crate::config::Limits;
use nix::time::{ClockId, clock_gettime};
use std::time::Duration;

/// One moment on both clocks, since the machine started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    /// Stands still while the machine sleeps.
    pub awake: Duration,
    /// Goes on; setting the date does not move it.
    pub wall: Duration,
}

#[cfg(target_os = "linux")]
const CLOCKS: (ClockId, ClockId) = (ClockId::CLOCK_MONOTONIC, ClockId::CLOCK_BOOTTIME);
// On macOS CLOCK_MONOTONIC goes on during sleep and CLOCK_UPTIME_RAW (8) does not.
#[cfg(not(target_os = "linux"))]
const CLOCKS: (ClockId, ClockId) = (ClockId::from_raw(8), ClockId::CLOCK_MONOTONIC);

impl Stamp {
    /// This moment.
    #[must_use]
    pub fn now() -> Self {
        let read = |clock| clock_gettime(clock).map_or(Duration::ZERO, Duration::from);
        Self { awake: read(CLOCKS.0), wall: read(CLOCKS.1) }
    }
}

/// A bound that a job has broken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Breach {
    /// Nothing was said at all.
    FirstLine,
    /// Nothing was said for too long.
    Idle,
    /// It said that it was done, and did not end.
    Lingers,
    /// The whole job, awake.
    Wall,
    /// The whole job, sleep included.
    WallAsleep,
    /// The provider was asked again too often, or without hope. The last answer of it; 0: none.
    Retries {
        /// Of HTTP.
        http_status: u16,
    },
    /// The answer is too large.
    Output,
    /// Too much on stdout besides.
    Stdout,
    /// Too much on stderr.
    Stderr,
}

/// How long a run may go on after its terminal record.
const LINGER: Duration = Duration::from_secs(10);
/// How often sleep is looked for.
const LOOK: Duration = Duration::from_secs(5);
/// Shorter naps are not worth telling; the two clocks are also not read at the same moment.
const NAP: Duration = Duration::from_secs(2);

/// Watches one job.
#[derive(Debug)]
pub struct Watch {
    limits: Limits,
    begin: Stamp,
    first_line: Option<Duration>,
    /// Since when silence counts; `None`: it does not.
    quiet: Option<Duration>,
    terminal: Option<Duration>,
    tools: usize,
    held: bool,
    /// Attempts in a row, the time of the first, and what the provider said last.
    retries: Option<(u32, Duration, u16)>,
    slept: Duration,
    stdout: u64,
    stderr: u64,
}

impl Watch {
    /// From now on.
    #[must_use]
    pub fn new(limits: Limits, now: Stamp) -> Self {
        Self {
            limits,
            begin: now,
            first_line: None,
            quiet: Some(now.awake),
            terminal: None,
            tools: 0,
            held: false,
            retries: None,
            slept: Duration::ZERO,
            stdout: 0,
            stderr: 0,
        }
    }

    /// A line came.
    pub fn line(&mut self, now: Stamp) {
        self.first_line.get_or_insert(now.awake.saturating_sub(self.begin.awake));
        self.quiet = if self.tools > 0 || self.held { None } else { Some(now.awake) };
    }

    /// So many tools are running.
    pub fn tools(&mut self, running: usize, now: Stamp) {
        self.tools = running;
        self.line(now);
    }

    /// Whether nobody reads the answer at present.
    pub fn held(&mut self, held: bool, now: Stamp) {
        if self.held != held {
            self.held = held;
            self.quiet = if self.tools > 0 || held { None } else { Some(now.awake) };
        }
    }

    /// The terminal record came.
    pub fn terminal(&mut self, now: Stamp) {
        self.terminal.get_or_insert(now.awake);
    }

    /// The provider has answered with something of use.
    pub fn answered(&mut self) {
        self.retries = None;
    }

    /// The provider was asked, and this came of it.
    ///
    /// # Errors
    /// [`Breach::Retries`]: too often, or a refusal that no repetition changes.
    pub fn attempt(&mut self, attempt: &Attempt<'_>, now: Stamp) -> Result<(), Breach> {
        if attempt.kind == "stream_succeeded" {
            self.retries = None;
            return Ok(());
        }
        let http_status = u16::try_from(attempt.http_status).unwrap_or(0);
        let (count, since, _) = self.retries.unwrap_or((0, now.awake, 0));
        self.retries = Some((count.saturating_add(1), since, http_status));
        let hopeless = matches!(http_status, 401..=403);
        if hopeless || count >= self.limits.retries { Err(Breach::Retries { http_status }) } else { Ok(()) }
    }

    /// So many bytes came on stdout.
    ///
    /// # Errors
    /// [`Breach::Stdout`].
    pub fn stdout(&mut self, bytes: usize) -> Result<(), Breach> {
        self.stdout = self.stdout.saturating_add(bytes as u64);
        if self.stdout > self.limits.stdout { Err(Breach::Stdout) } else { Ok(()) }
    }

    /// So many bytes came on stderr.
    ///
    /// # Errors
    /// [`Breach::Stderr`].
    pub fn stderr(&mut self, bytes: usize) -> Result<(), Breach> {
        self.stderr = self.stderr.saturating_add(bytes as u64);
        if self.stderr > self.limits.stderr { Err(Breach::Stderr) } else { Ok(()) }
    }

    /// Whether a bound of time is broken by now.
    ///
    /// # Errors
    /// The [`Breach`].
    pub fn check(&self, now: Stamp) -> Result<(), Breach> {
        let due = self.deadlines().into_iter().flatten().find(|(at, _)| *at <= now.awake);
        if let Some((_, breach)) = due {
            return Err(breach);
        }
        let asleep = now.wall.saturating_sub(self.begin.wall) >= self.limits.wall_asleep;
        if asleep { Err(Breach::WallAsleep) } else { Ok(()) }
    }

    /// How long nothing can break unless something happens.
    #[must_use]
    pub fn pause(&self, now: Stamp) -> Duration {
        let left = |at: Duration| at.saturating_sub(now.awake);
        let first = self.deadlines().into_iter().flatten().map(|(at, _)| left(at)).min();
        let asleep = self.limits.wall_asleep.saturating_sub(now.wall.saturating_sub(self.begin.wall));
        first.unwrap_or(LOOK).min(asleep).min(LOOK)
    }

    /// How long the whole job may still take, awake.
    #[must_use]
    pub fn wall_left(&self, now: Stamp) -> Duration {
        (self.begin.awake + self.limits.wall).saturating_sub(now.awake)
    }

    /// Seconds that the machine slept since the last call.
    pub fn slept(&mut self, now: Stamp) -> Option<u32> {
        let wall = now.wall.saturating_sub(self.begin.wall);
        let slept = wall.saturating_sub(now.awake.saturating_sub(self.begin.awake));
        let new = slept.saturating_sub(self.slept);
        if new < NAP {
            return None;
        }
        self.slept = slept;
        Some(u32::try_from(new.as_secs()).unwrap_or(u32::MAX))
    }

    /// Milliseconds: until the first line, on the wall, awake.
    #[must_use]
    pub fn timing(&self, now: Stamp) -> musegate_protocol::message::Timing {
        let ms = |span: Duration| u64::try_from(span.as_millis()).unwrap_or(u64::MAX);
        musegate_protocol::message::Timing {
            first_line_ms: self.first_line.map_or(0, |span| ms(span).max(1)),
            wall_ms: ms(now.wall.saturating_sub(self.begin.wall)),
            awake_ms: ms(now.awake.saturating_sub(self.begin.awake)),
        }
    }

    /// When each bound breaks on the clock that sleeps, if nothing happens before.
    fn deadlines(&self) -> [Option<(Duration, Breach)>; 4] {
        let quiet = self.quiet.map(|since| match (self.terminal, self.first_line) {
            (Some(_), _) => (since + LINGER.min(self.limits.idle), Breach::Lingers),
            (None, Some(_)) => (since + self.limits.idle, Breach::Idle),
            (None, None) => (since + self.limits.first_line, Breach::FirstLine),
        });
        let lingers =
            self.terminal.filter(|_| !self.held).map(|at| (at + LINGER.min(self.limits.idle), Breach::Lingers));
        let retries = self.retries.filter(|_| self.terminal.is_none());
        let retries =
            retries.map(|(_, since, http_status)| (since + self.limits.retry_time, Breach::Retries { http_status }));
        [Some((self.begin.awake + self.limits.wall, Breach::Wall)), retries, quiet, lingers]
    }
}

#[cfg(test)]
mod tests;
