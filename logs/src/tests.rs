//! The log as an operator reads it.

use super::*;
use std::sync::Mutex;

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

/// The lines that are written.
fn written(bounds: Bounds, say: impl FnOnce()) -> Vec<String> {
    let kept = Kept::default();
    let out = kept.clone();
    tracing::subscriber::with_default(subscriber(&bounds, move || out.clone()), say);
    let text = String::from_utf8(kept.0.lock().unwrap().clone()).unwrap();
    assert!(text.is_empty() || text.ends_with('\n'));
    text.lines().map(str::to_owned).collect()
}

fn bounds(format: Format, per_minute: u32) -> Bounds {
    Bounds { format, level: Level::INFO, per_minute }
}

fn noise(n: u32) {
    tracing::info!(n, "noise");
}

#[test]
fn one_place_that_is_flooded_takes_a_quarter_and_the_rest_is_counted() {
    for format in [Format::Text, Format::Json] {
        let lines = written(bounds(format, 400), || {
            (0..10_000).for_each(noise);
            tracing::warn!("another place");
        });
        assert_eq!(lines.iter().filter(|line| line.contains("noise")).count(), 100);
        assert!(lines.last().unwrap().contains("another place"), "one place leaves room for the others");
    }
}

#[test]
fn what_was_suppressed_is_told_with_the_next_line_of_its_place() {
    for format in [Format::Text, Format::Json] {
        let lines = written(bounds(format, 4000), || {
            (0..1500).for_each(noise);
            std::thread::sleep(std::time::Duration::from_millis(150)); // one token comes back in 60 ms
            noise(7);
        });
        let told = lines.iter().position(|line| line.contains(" more suppressed")).expect("told");
        assert!(lines[told].contains("src/tests.rs:"), "{}", lines[told]);
        assert!(lines[told + 1].contains("noise"));
        let shown = lines.iter().filter(|line| line.contains("noise")).count();
        assert!((1001..1020).contains(&shown), "{shown}");
        if format == Format::Json {
            let note: serde_json::Value = serde_json::from_str(&lines[told]).unwrap();
            assert_eq!(note["count"].as_u64().unwrap() + shown as u64, 1501);
        }
    }
}

#[test]
fn all_places_together_are_bounded_too() {
    let lines = written(bounds(Format::Text, 8), || {
        for _ in 0..100 {
            tracing::info!("one");
            tracing::info!("two");
            tracing::info!("three");
            tracing::info!("four");
            tracing::info!("five");
            tracing::info!("six");
        }
    });
    assert_eq!(lines.len(), 8, "{lines:?}");
}

#[test]
fn a_value_cannot_end_a_line_or_move_a_cursor() {
    let evil = "a\n2026-01-01 forged\r\u{1b}[2J\u{9b}31m\u{202e}b";
    for format in [Format::Text, Format::Json] {
        let lines = written(bounds(format, 100), || {
            tracing::info!(value = evil, shown = %evil, "hello {evil}");
            tracing::error_span!("request", evil, raw = %evil).in_scope(|| tracing::info!("inside"));
        });
        assert_eq!(lines.len(), 2, "{lines:?}");
        let hostile = |c: char| c.is_control() || c == '\u{202e}';
        assert!(!lines.iter().any(|line| line.contains(hostile)), "{lines:?}");
        if format == Format::Json {
            let line: serde_json::Value = serde_json::from_str(&lines[0]).unwrap();
            assert_eq!(line["value"], evil);
            let line: serde_json::Value = serde_json::from_str(&lines[1]).unwrap();
            assert_eq!(line["span"]["evil"], evil);
        }
    }
}

#[test]
fn a_line_is_bounded_and_json_stays_json() {
    let long = "x".repeat(100_000);
    for format in [Format::Text, Format::Json] {
        let lines = written(bounds(format, 100), || tracing::info!(long, "hello"));
        assert!(lines.len() == 1 && lines[0].len() <= line::MAX + 8, "{}", lines[0].len());
        if format == Format::Json {
            let line: serde_json::Value = serde_json::from_str(&lines[0]).unwrap();
            assert!(line["bytes"].as_u64().unwrap() > 100_000);
        }
    }
}

#[test]
fn only_our_own_events_down_to_the_level_are_written_within_their_span() {
    let lines = written(bounds(Format::Json, 100), || {
        tracing::info!(target: "h2::codec", secret = "authorization: Bearer x", "frame");
        tracing::debug!("fine");
        tracing::error_span!("request", trace = "00ff").in_scope(|| tracing::info!(count = 1, "hello"));
    });
    assert_eq!(lines.len(), 1, "{lines:?}");
    let line: serde_json::Value = serde_json::from_str(&lines[0]).unwrap();
    assert_eq!((&line["message"], &line["span"]["trace"]), (&"hello".into(), &"00ff".into()));
}
