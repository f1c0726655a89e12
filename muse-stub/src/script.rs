//! A script: lines of words, found in a text.
//!
//! Promises: a word that is not in the table, or lacks its value, is an error that names it; nothing is guessed.

use crate::clock::LONGEST_LIFE;
use crate::words;
use std::time::Duration;

const MARK: &str = "@stub ";
/// Placeholders of values that are numbers.
const NUMBERS: [&str; 7] = ["N", "K", "S", "MS", "MIB", "CODE", "1"];

/// One line: how, and what to do.
#[derive(Debug, Clone)]
pub(crate) struct Line {
    pub(crate) how: How,
    pub(crate) steps: Vec<Step>,
}

/// A word that does something.
#[derive(Debug, Clone)]
pub(crate) struct Step {
    pub(crate) name: String,
    pub(crate) value: String,
}

/// The settings of a line.
#[derive(Debug, Clone)]
pub(crate) struct How {
    pub(crate) bytes: usize,
    pub(crate) count: u64,
    pub(crate) gap: u64,
    pub(crate) ts: bool,
    pub(crate) pieces: usize,
    pub(crate) http: u64,
    pub(crate) text: Option<String>,
    pub(crate) place: String,
    pub(crate) life: Option<Duration>,
    pub(crate) tag: String,
}

impl Default for How {
    fn default() -> Self {
        Self {
            bytes: 32,
            count: 8,
            gap: 0,
            ts: false,
            pieces: 3,
            http: 429,
            text: None,
            place: "answer".into(),
            life: None,
            tag: "untagged".into(),
        }
    }
}

impl Step {
    /// The value as a number; 0 where it is none.
    pub(crate) fn number(&self) -> u64 {
        self.value.parse().unwrap_or_default()
    }
}

/// All lines of a text that have a script on them. Empty: none has.
pub(crate) fn read(text: &str) -> Result<Vec<Line>, String> {
    text.lines().filter_map(|line| line.split_once(MARK)).map(|(_, rest)| read_line(rest)).collect()
}

fn read_line(mut rest: &str) -> Result<Line, String> {
    let mut line = Line { how: How::default(), steps: Vec::new() };
    loop {
        rest = rest.trim_start();
        if rest.is_empty() {
            return Ok(line);
        }
        let end = rest.find(|c: char| c == '=' || c == ':' || c.is_whitespace()).unwrap_or(rest.len());
        let (name, after) = rest.split_at_checked(end).unwrap_or((rest, ""));
        let &(_, placeholder, _) = words::find(name).ok_or_else(|| format!("no such word: {name}"))?;
        let (value, after) = if let Some(verbatim) = after.strip_prefix(':') {
            (Some(verbatim.trim().to_owned()), "")
        } else if let Some(value) = after.strip_prefix('=') {
            let (value, after) = read_value(value).map_err(|reason| format!("{name}: {reason}"))?;
            (Some(value), after)
        } else {
            (None, after)
        };
        if value.is_some() == placeholder.is_empty() {
            return Err(format!("{name}: {}", if placeholder.is_empty() { "takes no value" } else { "needs a value" }));
        }
        let value = value.unwrap_or_default();
        if NUMBERS.contains(&placeholder) && value.parse::<u64>().is_err() {
            return Err(format!("{name}: {value} is no number"));
        }
        if words::is_setting(name) {
            set(&mut line.how, name, value);
        } else {
            line.steps.push(Step { name: name.to_owned(), value });
        }
        rest = after;
    }
}

/// A bare value ends at a blank; one in quotes is a JSON string.
fn read_value(text: &str) -> Result<(String, &str), &'static str> {
    let Some(quoted) = text.strip_prefix('"') else {
        let end = text.find(char::is_whitespace).unwrap_or(text.len());
        let (value, after) = text.split_at_checked(end).unwrap_or((text, ""));
        return Ok((value.to_owned(), after));
    };
    let mut escaped = false;
    let end = quoted.find(|c| {
        let ends = c == '"' && !escaped;
        escaped = c == '\\' && !escaped;
        ends
    });
    let whole = end.and_then(|end| text.get(..end + 2)).ok_or("the string has no end")?;
    let value = serde_json::from_str(whole).map_err(|_| "not a JSON string")?;
    Ok((value, text.get(whole.len()..).unwrap_or_default()))
}

fn set(how: &mut How, name: &str, value: String) {
    let number = value.parse::<u64>().unwrap_or_default();
    let size = usize::try_from(number).unwrap_or_default();
    match name {
        "bytes" => how.bytes = size,
        "count" => how.count = number,
        "gap" => how.gap = number,
        "ts" => how.ts = value != "0",
        "pieces" => how.pieces = size.max(1),
        "http" => how.http = number,
        "text" => how.text = Some(value),
        "place" => how.place = value,
        "life" => how.life = Some(Duration::from_secs(number).min(LONGEST_LIFE)),
        _ => how.tag = value,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn steps(text: &str) -> Vec<(String, String)> {
        let lines = read(text).unwrap();
        lines.into_iter().flat_map(|line| line.steps).map(|step| (step.name, step.value)).collect()
    }

    #[test]
    fn words_have_values_of_four_forms() {
        let read = steps(
            "please\n  @stub answer=hi tool=search hang\nthen @stub answer=\"a \\\"b\\\" \\u00e9\\n\" stop\n@stub answer: rest of \"the\" line ",
        );
        let expected = [
            ("answer", "hi"),
            ("tool", "search"),
            ("hang", ""),
            ("answer", "a \"b\" é\n"),
            ("stop", ""),
            ("answer", "rest of \"the\" line"),
        ];
        assert_eq!(read, expected.map(|(name, value)| (name.to_owned(), value.to_owned())));
    }

    #[test]
    fn settings_hold_for_their_line_wherever_they_stand() {
        let lines = read("@stub bytes=5 stream=2 gap=7\n@stub stream=1").unwrap();
        let found: Vec<_> = lines.iter().map(|line| (line.how.bytes, line.how.gap)).collect();
        assert_eq!(found, [(5, 7), (32, 0)]);
        assert_eq!(read("@stub life=999 hang").unwrap().first().unwrap().how.life, Some(LONGEST_LIFE));
    }

    #[test]
    fn what_is_not_a_word_is_named() {
        for (text, expected) in [
            ("@stub nonsense", "no such word: nonsense"),
            ("@stub answer", "answer: needs a value"),
            ("@stub hang=1", "hang: takes no value"),
            ("@stub sleep=long", "sleep: long is no number"),
            ("@stub answer=\"open", "answer: the string has no end"),
            ("@stub answer=\"\\q\"", "answer: not a JSON string"),
        ] {
            assert_eq!(read(text).unwrap_err(), expected);
        }
        assert!(read("no script here, @stubborn").unwrap().is_empty());
    }
}
