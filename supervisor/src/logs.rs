//! Logs on standard error, as text or JSON.
//!
//! Promises: so many lines a minute and no more, what is over is counted and told; only our own events are written, so
//! that no library can put a request's content there.

use crate::config::{Log, LogFormat};
use std::io::{self, Write};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::{Layer, filter};

const WINDOW: Duration = Duration::from_secs(60);

/// Begins logging for the whole process. A second call does nothing.
pub fn start(log: &Log) {
    let out = Bounded::new(log, io::stderr);
    let level = log.level;
    let ours = filter::filter_fn(move |event| *event.level() <= level && event.target().starts_with("musegate"));
    let layer = tracing_subscriber::fmt::layer().with_ansi(false).with_writer(out);
    let _ = match log.format {
        LogFormat::Text => {
            tracing::subscriber::set_global_default(tracing_subscriber::registry().with(layer.with_filter(ours)))
        }
        LogFormat::Json => tracing::subscriber::set_global_default(
            tracing_subscriber::registry().with(layer.json().flatten_event(true).with_filter(ours)),
        ),
    };
}

/// Where lines go, so many per window.
struct Bounded<W> {
    per_window: u32,
    format: LogFormat,
    window: Arc<Mutex<Window>>,
    out: W,
}

struct Window {
    begun: Instant,
    written: u32,
    dropped: u64,
}

impl<W> Bounded<W> {
    fn new(log: &Log, out: W) -> Self {
        let window = Window { begun: Instant::now(), written: 0, dropped: 0 };
        Self { per_window: log.per_minute, format: log.format, window: Arc::new(Mutex::new(window)), out }
    }

    /// Whether one more line may be written, and how many were dropped in a window that has just ended.
    fn admit(&self, now: Instant) -> (bool, u64) {
        let mut window = self.window.lock().unwrap_or_else(PoisonError::into_inner);
        let mut dropped = 0;
        if now.duration_since(window.begun) >= WINDOW {
            dropped = window.dropped;
            *window = Window { begun: now, written: 0, dropped: 0 };
        }
        let admitted = window.written < self.per_window;
        if admitted {
            window.written += 1;
        } else {
            window.dropped += 1;
        }
        (admitted, dropped)
    }
}

impl<'a, W: Fn() -> O + 'a, O: Write> MakeWriter<'a> for Bounded<W> {
    type Writer = Line<O>;

    fn make_writer(&'a self) -> Line<O> {
        let (admitted, dropped) = self.admit(Instant::now());
        let mut out = admitted.then(&self.out);
        if let Some(out) = out.as_mut().filter(|_| dropped > 0) {
            let _ = match self.format {
                LogFormat::Text => writeln!(out, "{dropped} lines of log were dropped in the last minute"),
                LogFormat::Json => writeln!(
                    out,
                    "{{\"level\":\"WARN\",\"message\":\"lines of log were dropped\",\"count\":{dropped}}}"
                ),
            };
        }
        Line(out)
    }
}

/// One line, or none.
struct Line<O>(Option<O>);

impl<O: Write> Write for Line<O> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.as_mut().map_or(Ok(bytes.len()), |out| out.write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.as_mut().map_or(Ok(()), Write::flush)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Clone, Default)]
    struct Kept(Arc<Mutex<Vec<u8>>>);

    impl Write for Kept {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn lines_over_the_bound_are_dropped_counted_and_told_in_the_next_minute() {
        let kept = Kept::default();
        let log = Log { format: LogFormat::Text, level: tracing::Level::INFO, per_minute: 3 };
        let out = kept.clone();
        let bounded = Bounded::new(&log, move || out.clone());
        for n in 0..10 {
            writeln!(bounded.make_writer(), "line {n}").unwrap();
        }
        let text = String::from_utf8(kept.0.lock().unwrap().clone()).unwrap();
        assert_eq!(text, "line 0\nline 1\nline 2\n");
        bounded.window.lock().unwrap().begun = Instant::now().checked_sub(WINDOW).unwrap();
        writeln!(bounded.make_writer(), "later").unwrap();
        let text = String::from_utf8(kept.0.lock().unwrap().clone()).unwrap();
        assert!(text.ends_with("line 2\n7 lines of log were dropped in the last minute\nlater\n"), "{text}");
    }

    #[test]
    fn only_our_own_events_are_written_and_json_is_json() {
        let kept = Kept::default();
        let out = kept.clone();
        let log = Log { format: LogFormat::Json, level: tracing::Level::INFO, per_minute: 100 };
        let ours = filter::filter_fn(|event| event.target().starts_with("musegate"));
        let layer = tracing_subscriber::fmt::layer().with_writer(Bounded::new(&log, move || out.clone())).json();
        let subscriber = tracing_subscriber::registry().with(layer.flatten_event(true).with_filter(ours));
        tracing::subscriber::with_default(subscriber, || {
            tracing::info!(target: "h2::codec", secret = "authorization: Bearer x", "frame");
            tracing::info!(count = 1, "hello");
        });
        let text = String::from_utf8(kept.0.lock().unwrap().clone()).unwrap();
        let line: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(line["message"], "hello");
        assert!(!text.contains("Bearer"));
    }
}
