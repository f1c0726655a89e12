//! Logs on standard error, as text or JSON, the same for both processes.
//!
//! Promises: so many lines a minute and no more, of one place in the program a quarter of that, and what is over is
//! counted and told; a line is one line of bounded length without control characters, whatever a value held; only our
//! own events are written, so that no library can put a request's content there. Refuses to know what is logged.

mod line;
mod sites;

use line::Lines;
use sites::{Gate, Sites};
use std::io::{self, Write};
use std::sync::Arc;
use tracing::{Level, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::SubscriberExt;

/// Form of a line of log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// For people.
    Text,
    /// One JSON object a line.
    Json,
}

/// What an operator may say about logs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// Form of a line.
    pub format: Format,
    /// What is logged.
    pub level: Level,
    /// Most lines per minute; what is over is counted.
    pub per_minute: u32,
}

/// Begins logging for the whole process, on standard error. A second call does nothing.
pub fn start(bounds: &Bounds) {
    let _ = tracing::subscriber::set_global_default(subscriber(bounds, io::stderr));
}

/// What writes events to `out`.
pub fn subscriber<O: Write + 'static>(
    bounds: &Bounds,
    out: impl Fn() -> O + Send + Sync + 'static,
) -> impl Subscriber + Send + Sync {
    let sites = Arc::new(Sites::new(bounds.per_minute));
    let lines = Lines::new(bounds.format, Arc::clone(&sites), out);
    let gate = Gate::new(bounds.level, sites);
    let layer = tracing_subscriber::fmt::layer().with_ansi(false).with_writer(lines);
    let layer = match bounds.format {
        Format::Text => layer.boxed(),
        Format::Json => layer.json().flatten_event(true).with_span_list(false).boxed(),
    };
    tracing_subscriber::registry().with(layer).with(gate)
}

#[cfg(test)]
mod tests;
