//! Timestamps as they stand on the wire: ISO 8601 in UTC with milliseconds and `Z` (spec §5.6.1), and RFC 3339 read.
//! Knows no clock and no time zone data: days are counted in the proleptic Gregorian calendar.

use crate::a2a::Timestamp;
use std::time::Duration;

/// `2026-11-30T19:24:05.123Z`
pub(super) fn shown(at: Timestamp) -> String {
    let seconds = at.0.as_secs();
    let (days, second) = (seconds / 86_400, seconds % 86_400);
    let (year, month, day) = date(days);
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{:03}Z", at.0.subsec_millis())
}

/// What RFC 3339 allows, from 1970 to 9999; nothing for the rest.
pub(super) fn read(text: &str) -> Option<Timestamp> {
    let (date, time) = text.split_once(['T', 't', ' '])?;
    let (clock, offset_minutes) = split_offset(time)?;
    let (clock, fraction) = clock.split_once('.').unwrap_or((clock, "0"));
    let [year, month, day] = numbers(date, '-', [4, 2, 2])?;
    let [hour, minute, second] = numbers(clock, ':', [2, 2, 2])?;
    let legal = (1970..=9999).contains(&year)
        && (1..=12).contains(&month)
        && (1..=days_in(year, month)).contains(&day)
        && hour < 24
        && minute < 60
        // A leap second is read as the first of the next minute.
        && second <= 60;
    if !legal || fraction.is_empty() || fraction.len() > 18 || !fraction.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let local = i64::try_from(days_before(year, month, day) * 86_400 + hour * 3600 + minute * 60 + second).ok()?;
    let seconds = u64::try_from(local - offset_minutes * 60).ok()?;
    let nanos = fraction.bytes().chain(std::iter::repeat(b'0')).take(9).fold(0, |n, b| n * 10 + u32::from(b - b'0'));
    Some(Timestamp(Duration::new(seconds, nanos)))
}

/// The clock, and how many minutes it is ahead of UTC.
fn split_offset(time: &str) -> Option<(&str, i64)> {
    if let Some(clock) = time.strip_suffix(['Z', 'z']) {
        return Some((clock, 0));
    }
    let at = time.rfind(['+', '-'])?;
    let (clock, offset) = time.split_at_checked(at)?;
    let (sign, offset) = offset.split_at_checked(1)?;
    let [hours, minutes] = numbers(offset, ':', [2, 2])?;
    let ahead = i64::try_from(hours * 60 + minutes).ok().filter(|_| hours < 24 && minutes < 60)?;
    Some((clock, if sign == "-" { -ahead } else { ahead }))
}

/// Exactly so many numbers of exactly so many digits.
fn numbers<const N: usize>(text: &str, separator: char, digits: [usize; N]) -> Option<[u64; N]> {
    let mut fields = text.split(separator);
    let mut found = [0; N];
    for (slot, digits) in found.iter_mut().zip(digits) {
        let field = fields.next().filter(|f| f.len() == digits && f.bytes().all(|b| b.is_ascii_digit()))?;
        *slot = field.parse().ok()?;
    }
    fields.next().is_none().then_some(found)
}

const fn is_leap(year: u64) -> bool {
    year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400))
}

const fn days_in(year: u64, month: u64) -> u64 {
    match month {
        2 if is_leap(year) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Days from 1970-01-01 to the given day.
fn days_before(year: u64, month: u64, day: u64) -> u64 {
    let leaps = |year: u64| year / 4 - year / 100 + year / 400;
    let years = (year - 1970) * 365 + leaps(year - 1) - leaps(1969);
    years + (1..month).map(|month| days_in(year, month)).sum::<u64>() + day - 1
}

/// Year, month and day, so many days after 1970-01-01.
fn date(days: u64) -> (u64, u64, u64) {
    // 400 years have 146,097 days; the guess is never too late and at most a few years too early.
    let mut year = 1970 + days * 400 / 146_097;
    while days_before(year, 1, 1) > days {
        year -= 1;
    }
    while days_before(year + 1, 1, 1) <= days {
        year += 1;
    }
    let mut left = days - days_before(year, 1, 1);
    let mut month = 1;
    while left >= days_in(year, month) {
        left -= days_in(year, month);
        month += 1;
    }
    (year, month, left + 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn at(seconds: u64, millis: u32) -> Timestamp {
        Timestamp(Duration::new(seconds, millis * 1_000_000))
    }

    #[test]
    fn known_days_are_shown_and_read() {
        for (seconds, millis, text) in [
            (0, 0, "1970-01-01T00:00:00.000Z"),
            (951_782_400, 7, "2000-02-29T00:00:00.007Z"),
            (1_796_066_645, 123, "2026-11-30T19:24:05.123Z"),
            (4_107_542_399, 999, "2100-02-28T23:59:59.999Z"),
            (4_107_542_400, 0, "2100-03-01T00:00:00.000Z"),
            (253_402_300_799, 999, "9999-12-31T23:59:59.999Z"),
        ] {
            assert_eq!(shown(at(seconds, millis)), text);
            assert_eq!(read(text), Some(at(seconds, millis)));
        }
    }

    #[test]
    fn offsets_and_fractions_are_understood() {
        assert_eq!(read("1970-01-01T02:00:00+02:00"), Some(at(0, 0)));
        assert_eq!(read("1969-12-31T23:30:00-00:30"), None, "years before 1970 are not read");
        assert_eq!(read("1970-01-01T00:00:01.5-00:30"), Some(at(1801, 500)));
        assert_eq!(read("1970-01-01t00:00:01.123456789z").map(|t| t.0.subsec_nanos()), Some(123_456_789));
    }

    #[test]
    fn what_is_no_time_is_nothing() {
        for text in [
            "",
            "T",
            "Z",
            "1970-01-01",
            "1970-01-01T00:00:00",
            "1970-1-1T00:00:00Z",
            "1970-13-01T00:00:00Z",
            "1970-02-29T00:00:00Z",
            "1970-01-01T24:00:00Z",
            "1970-01-01T00:60:00Z",
            "1970-01-01T00:00:00.Z",
            "1970-01-01T00:00:00+25:00",
            "1970-01-01T00:00:00+2:00",
            "1970-01-01T00:00:00Z ",
            "99999-01-01T00:00:00Z",
            "1970-01-01T00:00:00+",
            "１９７０-01-01T00:00:00Z",
            "1970-01-01T00:30:00+01:00",
        ] {
            assert_eq!(read(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn what_is_shown_is_read_back(seconds in 0_u64..253_402_300_800, millis in 0_u32..1000) {
            prop_assert_eq!(read(&shown(at(seconds, millis))), Some(at(seconds, millis)));
        }

        #[test]
        fn no_text_is_too_strange_to_be_read(text in "[0-9TZ:+. -]{0,40}") {
            let _ = read(&text);
        }
    }
}
