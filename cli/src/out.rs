//! What the command prints: answers on stdout, everything about them on stderr, colour only on a terminal. Texts of
//! others are made harmless for a terminal first. A reader that has gone away is no error.

use musegate_supervisor::sanitize::for_terminal;
use std::io::{IsTerminal, Write};

/// A line of a result.
pub(crate) fn line(text: &str) {
    let _ = writeln!(std::io::stdout(), "{}", for_terminal(text));
}

/// A text of somebody else, as it is but for what would play with the terminal; ends with a line end.
pub(crate) fn text(text: &str) {
    let clean = for_terminal(text);
    let end = if clean.is_empty() || clean.ends_with('\n') { "" } else { "\n" };
    let _ = write!(std::io::stdout(), "{clean}{end}");
}

/// Something about the result.
pub(crate) fn note(text: &str) {
    let _ = writeln!(std::io::stderr(), "{}", style("2", &for_terminal(text)));
}

/// What went wrong, and what to do next.
pub(crate) fn complain(what: &str, hint: Option<&str>) {
    let _ = writeln!(std::io::stderr(), "{} {}", style("1;31", "musegate:"), for_terminal(what));
    if let Some(hint) = hint {
        let _ = writeln!(std::io::stderr(), "  {}", for_terminal(hint));
    }
}

/// A heading.
pub(crate) fn heading(text: &str) {
    let _ = writeln!(
        std::io::stdout(),
        "{}",
        if std::io::stdout().is_terminal() { style("1", text) } else { text.to_owned() }
    );
}

fn style(code: &str, text: &str) -> String {
    let colour = std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none();
    if colour { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
}
