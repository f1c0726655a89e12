//! Each kind of value as it may be written, and as it may not.

use super::*;
use crate::Settings;
use std::path::Path;

fn duration(text: &str) -> Result<Duration, String> {
    let mut settings = Settings::parse(Path::new("f"), &format!("d = {text}\n"));
    let range = Duration::ZERO..=Duration::from_secs(86_400 * 365);
    let value = settings.top().duration("d", Duration::MAX, range, "");
    settings.finish().map(|()| value).map_err(|problems| problems.0[0].what.clone())
}

#[test]
fn times_are_read_in_all_their_units() {
    let cases = [
        ("\"250ms\"", 250),
        ("\"1s\"", 1000),
        ("\" 1 s \"", 1000),
        ("\"5m\"", 300_000),
        ("\"2h\"", 7_200_000),
        ("\"7d\"", 604_800_000),
        ("90", 90_000),
        ("\"90\"", 90_000),
        ("0", 0),
        ("\"0ms\"", 0),
    ];
    for (text, ms) in cases {
        assert_eq!(duration(text), Ok(Duration::from_millis(ms)), "{text}");
    }
    let bad = [
        "\"\"", "\"s\"", "\"-1s\"", "\"1.5s\"", "\"1 S\"", "\"1w\"", "-1", "1.5", "true", "[1]", "\"1s1s\"", "\"１s\"",
    ];
    for text in bad.into_iter().chain(["\"18446744073709551616s\"", "\"18446744073709551615h\""]) {
        assert!(duration(text).unwrap_err().starts_with("must be a time"), "{text}");
    }
    assert_eq!(duration("\"366d\"").unwrap_err(), "must be from 0s to 365d");
}

fn size(text: &str) -> Result<u64, String> {
    let mut settings = Settings::parse(Path::new("f"), &format!("s = {text}\n"));
    let value = settings.top().size("s", 7, 0..=1 << 40, "");
    settings.finish().map(|()| value).map_err(|problems| problems.0[0].what.clone())
}

#[test]
fn sizes_are_read_in_all_their_units() {
    let cases = [
        ("\"1 B\"", 1),
        ("\"16KiB\"", 16_384),
        ("\"1 MiB\"", 1 << 20),
        ("\"2 GiB\"", 2 << 30),
        ("12", 12),
        ("\"12\"", 12),
    ];
    for (text, bytes) in cases {
        assert_eq!(size(text), Ok(bytes), "{text}");
    }
    for text in ["\"1 KB\"", "\"1 kib\"", "\"KiB\"", "-1", "1.0", "\"-1\"", "\"17179869184 GiB\"", "\"1 MiB x\""] {
        assert!(size(text).unwrap_err().starts_with("must be a size"), "{text}");
    }
    assert_eq!(size("\"1025 GiB\"").unwrap_err(), "must be from 0 B to 1024 GiB");
}

#[test]
fn what_is_shown_is_what_can_be_read() {
    for ms in [0, 1, 999, 1000, 1001, 59_000, 60_000, 90_000, 3_600_000, 86_400_000, 90_061_001] {
        let time = Duration::from_millis(ms);
        assert_eq!(duration(&format!("\"{}\"", show_duration(time))), Ok(time));
    }
    for bytes in [0, 1, 1023, 1024, 1025, 1 << 20, (1 << 20) + 1, 3 << 30, 1 << 40] {
        assert_eq!(size(&format!("\"{}\"", show_size(bytes))), Ok(bytes));
    }
}

#[test]
fn numbers_keep_to_their_range() {
    let number = |text: &str| {
        let mut settings = Settings::parse(Path::new("f"), &format!("n = {text}\n"));
        let value = settings.top().number("n", 5, 2..=9, "");
        (value, settings.finish().is_ok())
    };
    for (text, expected) in [("2", (2, true)), ("9", (9, true)), ("0x9", (9, true))] {
        assert_eq!(number(text), expected, "{text}");
    }
    for text in ["1", "10", "-3", "3.0", "\"3\"", "9223372036854775807", "99999999999999999999", "1979-05-27"] {
        assert_eq!(number(text), (5, false), "{text}");
    }
}
