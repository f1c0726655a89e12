//! One value of a file of settings, read as what it should be. Errors are lowercase fragments that follow the key.

#[cfg(test)]
mod tests;

use std::ops::RangeInclusive;
use std::time::Duration;
use toml_edit::Value;

pub(crate) fn flag(value: &Value) -> Result<bool, String> {
    value.as_bool().ok_or_else(|| "must be true or false".to_owned())
}

pub(crate) fn text(value: &Value) -> Result<&str, String> {
    value.as_str().ok_or_else(|| "must be text in quotes".to_owned())
}

pub(crate) fn number(value: &Value, range: &RangeInclusive<u64>) -> Result<u64, String> {
    let number = value.as_integer().and_then(|n| u64::try_from(n).ok());
    number
        .filter(|n| range.contains(n))
        .ok_or_else(|| format!("must be a whole number from {} to {}", range.start(), range.end()))
}

pub(crate) fn word<T: Copy>(value: &Value, words: &[(&'static str, T)], allowed: &str) -> Result<T, String> {
    let said = text(value)?;
    let found = words.iter().find(|(word, _)| *word == said).map(|(_, value)| *value);
    found.ok_or_else(|| format!("must be one of {allowed}"))
}

/// Every item that is wrong is a problem of its own.
pub(crate) fn list<T>(value: &Value, check: impl Fn(&str) -> Result<T, String>) -> Result<Vec<T>, Vec<String>> {
    let Some(items) = value.as_array() else {
        return Err(vec!["must be a list, such as [\"one\", \"two\"]".to_owned()]);
    };
    let (mut right, mut wrong) = (Vec::new(), Vec::new());
    for (i, item) in items.iter().enumerate() {
        match text(item).and_then(&check) {
            Ok(item) => right.push(item),
            Err(what) => wrong.push(format!("item {}: {what}", i + 1)),
        }
    }
    if wrong.is_empty() { Ok(right) } else { Err(wrong) }
}

pub(crate) fn duration(value: &Value, range: &RangeInclusive<Duration>) -> Result<Duration, String> {
    let parsed = match (value.as_integer(), value.as_str()) {
        (Some(seconds), _) => u64::try_from(seconds).ok().map(Duration::from_secs),
        (None, Some(text)) => parse_duration(text),
        (None, None) => None,
    };
    let Some(duration) = parsed else {
        return Err("must be a time such as \"250ms\", \"30s\", \"5m\" or \"2h\"".into());
    };
    if range.contains(&duration) {
        return Ok(duration);
    }
    Err(format!("must be from {} to {}", show_duration(*range.start()), show_duration(*range.end())))
}

fn split_unit(text: &str) -> Option<(u64, &str)> {
    let text = text.trim();
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at_checked(digits)?;
    Some((number.parse().ok()?, unit.trim()))
}

fn parse_duration(text: &str) -> Option<Duration> {
    let (number, unit) = split_unit(text)?;
    let seconds = match unit {
        "ms" => return Some(Duration::from_millis(number)),
        "s" | "" => 1,
        "m" => 60,
        "h" => 3600,
        "d" => 86400,
        _ => return None,
    };
    number.checked_mul(seconds).map(Duration::from_secs)
}

pub(crate) fn show_duration(duration: Duration) -> String {
    let ms = duration.as_millis();
    for (unit, each) in [("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1000)] {
        if ms >= each && ms.is_multiple_of(each) {
            return format!("{}{unit}", ms / each);
        }
    }
    if ms == 0 { "0s".to_owned() } else { format!("{ms}ms") }
}

pub(crate) fn size(value: &Value, range: &RangeInclusive<u64>) -> Result<u64, String> {
    let parsed = match (value.as_integer(), value.as_str()) {
        (Some(bytes), _) => u64::try_from(bytes).ok(),
        (None, Some(text)) => parse_size(text),
        (None, None) => None,
    };
    let Some(bytes) = parsed else {
        return Err("must be a size such as \"16 KiB\", \"1 MiB\" or a number of bytes".into());
    };
    if range.contains(&bytes) {
        return Ok(bytes);
    }
    Err(format!("must be from {} to {}", show_size(*range.start()), show_size(*range.end())))
}

fn parse_size(text: &str) -> Option<u64> {
    let (number, unit) = split_unit(text)?;
    let each: u64 = match unit {
        "" | "B" => 1,
        "KiB" => 1 << 10,
        "MiB" => 1 << 20,
        "GiB" => 1 << 30,
        _ => return None,
    };
    number.checked_mul(each)
}

pub(crate) fn show_size(bytes: u64) -> String {
    for (unit, each) in [("GiB", 1u64 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)] {
        if bytes >= each && bytes.is_multiple_of(each) {
            return format!("{} {unit}", bytes / each);
        }
    }
    format!("{bytes} B")
}
