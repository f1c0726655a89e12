//! One event, one line.
//!
//! Promises: what a value held cannot end the line, move a cursor or turn the direction of writing; a line is at most
//! [`MAX`] bytes; it is written with one call. Refuses to know events.

use crate::Format;
use crate::sites::Sites;
use std::fmt::Write as _;
use std::io::{self, Write};
use std::sync::Arc;
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::time::{FormatTime, SystemTime};

/// Longest line, bytes.
pub(crate) const MAX: usize = 8 * 1024;

/// Where lines go.
pub(crate) struct Lines<W> {
    format: Format,
    sites: Arc<Sites>,
    out: W,
}

impl<W> Lines<W> {
    pub(crate) fn new(format: Format, sites: Arc<Sites>, out: W) -> Self {
        Self { format, sites, out }
    }
}

impl<'a, W: Fn() -> O + 'a, O: Write> MakeWriter<'a> for Lines<W> {
    type Writer = Line<O>;

    fn make_writer(&'a self) -> Line<O> {
        let mut before = String::new();
        for (place, count) in self.sites.unsaid() {
            note(&mut before, self.format, &place, count);
        }
        Line { format: self.format, before, out: (self.out)() }
    }
}

/// Says how many lines of a place were not written.
fn note(out: &mut String, format: Format, place: &str, count: u64) {
    let mut time = String::new();
    let _ = SystemTime.format_time(&mut Writer::new(&mut time));
    let place = clean(place);
    let _ = match format {
        Format::Text => writeln!(out, "{time}  WARN musegate: {count} more suppressed at {place}"),
        Format::Json => writeln!(
            out,
            "{{\"timestamp\":\"{time}\",\"level\":\"WARN\",\"message\":\"{count} more suppressed\",\"count\":{count},\"place\":\"{place}\"}}"
        ),
    };
}

/// One line.
pub(crate) struct Line<O> {
    format: Format,
    before: String,
    out: O,
}

impl<O: Write> Write for Line<O> {
    /// Gets the whole event at once.
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let text = String::from_utf8_lossy(bytes);
        let mut line = std::mem::take(&mut self.before);
        match (text.len() > MAX, self.format) {
            (false, _) => line.push_str(&clean(text.trim_end_matches('\n'))),
            (true, Format::Text) => {
                let end = text.floor_char_boundary(MAX);
                line.push_str(&clean(text.get(..end).unwrap_or_default()));
                line.push('…');
            }
            (true, Format::Json) => {
                let bytes = text.len();
                let _ =
                    write!(line, "{{\"level\":\"WARN\",\"message\":\"a line of log was too long\",\"bytes\":{bytes}}}");
            }
        }
        line.push('\n');
        self.out.write_all(line.as_bytes())?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// Controls and what turns the direction of writing, as JSON escapes them.
fn clean(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        let turns = matches!(c, '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
        if c.is_control() || turns {
            let _ = write!(out, "\\u{:04x}", u32::from(c));
        } else {
            out.push(c);
        }
    }
    out
}
