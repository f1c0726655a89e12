//! Dates as people and files write them: RFC 3339 in UTC. Knows no clock; whoever calls brings the time.

use std::time::Duration;

const DAY_SECONDS: u64 = 86_400;

/// `2026-11-30T19:07:00.123Z`, spec §5.6.1. `since_epoch` beyond the year 9999 is shown as its last second.
#[must_use]
pub fn show(since_epoch: Duration) -> String {
    const LAST: u64 = 253_402_300_799;
    let seconds = since_epoch.as_secs().min(LAST);
    let (year, month, day) = civil(seconds / DAY_SECONDS);
    let (hour, minute, second) = (seconds % DAY_SECONDS / 3600, seconds % 3600 / 60, seconds % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{:03}Z", since_epoch.subsec_millis())
}

/// Reads `2026-11-30`, `2026-11-30T19:07:00Z` and `2026-11-30T19:07:00.123Z`; UTC only, from 1970 to 9999.
#[must_use]
pub fn read(text: &str) -> Option<Duration> {
    let (date, time) = match text.split_once(['T', 't']) {
        Some((date, time)) => (date, Some(time.strip_suffix(['Z', 'z'])?)),
        None => (text, None),
    };
    let mut fields = date.splitn(3, '-');
    let year = number(fields.next()?, 4)?;
    let month = number(fields.next()?, 2)?;
    let day = number(fields.next()?, 2)?;
    let days = days(year, month, day)?;
    let of_day = time.map_or(Some(Duration::ZERO), time_of_day)?;
    Some(Duration::from_secs(days * DAY_SECONDS) + of_day)
}

fn time_of_day(text: &str) -> Option<Duration> {
    let (whole, fraction) = text.split_once('.').map_or((text, "0"), |(whole, fraction)| (whole, fraction));
    let mut fields = whole.splitn(3, ':');
    let hour = number(fields.next()?, 2).filter(|n| *n < 24)?;
    let minute = number(fields.next()?, 2).filter(|n| *n < 60)?;
    let second = number(fields.next()?, 2).filter(|n| *n < 60)?;
    if fraction.is_empty() || fraction.len() > 9 {
        return None;
    }
    let nanos = number(fraction, fraction.len())? * 10u64.pow(9 - u32::try_from(fraction.len()).ok()?);
    Some(Duration::from_secs(hour * 3600 + minute * 60 + second) + Duration::from_nanos(nanos))
}

fn number(text: &str, digits: usize) -> Option<u64> {
    let legal = text.len() == digits && text.bytes().all(|b| b.is_ascii_digit());
    legal.then(|| text.parse().ok()).flatten()
}

/// Days since the epoch to a date of the Gregorian calendar, in eras of 400 years counted from March.
fn civil(days: u64) -> (u64, u64, u64) {
    let days = days + 719_468;
    let (era, of_era) = (days / 146_097, days % 146_097);
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let shifted = (5 * of_year + 2) / 153;
    let day = of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    (era * 400 + year + u64::from(month <= 2), month, day)
}

/// The inverse; none for a date that does not exist.
fn days(year: u64, month: u64, day: u64) -> Option<u64> {
    if !(1970..=9999).contains(&year) || !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    let (year_, month_) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let (era, of_era) = (year_ / 400, year_ % 400);
    let of_year = (153 * month_ + 2) / 5 + day - 1;
    let days = era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468;
    (civil(days) == (year, month, day)).then_some(days)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_moments_are_shown_as_the_calendar_has_them() {
        let cases = [
            (0, "1970-01-01T00:00:00.000Z"),
            (951_782_400, "2000-02-29T00:00:00.000Z"),
            (1_796_065_620, "2026-11-30T19:07:00.000Z"),
            (4_107_542_399, "2100-02-28T23:59:59.000Z"),
            (4_107_542_400, "2100-03-01T00:00:00.000Z"),
        ];
        for (seconds, text) in cases {
            assert_eq!(show(Duration::from_secs(seconds)), text);
            assert_eq!(read(text), Some(Duration::from_secs(seconds)));
        }
    }

    #[test]
    fn every_day_of_two_centuries_survives_the_round_trip() {
        for day in 0..73_049 {
            let moment = Duration::from_secs(day * DAY_SECONDS);
            assert_eq!(read(&show(moment)), Some(moment));
        }
    }

    #[test]
    fn what_is_no_date_is_not_read() {
        for text in [
            "",
            "2026",
            "2026-13-01",
            "2026-02-30",
            "2026-1-1",
            "2026-11-30T",
            "2026-11-30T19:07:00",
            "2026-11-30T24:00:00Z",
            "2026-11-30T19:07Z",
            "1969-12-31",
            "2026-11-30T19:07:00.Z",
            "2026-11-30T19:07:00+01:00",
            "+026-11-30",
        ] {
            assert_eq!(read(text), None, "{text}");
        }
        assert_eq!(read("2026-11-30T00:00:00.5Z").map(|d| d.subsec_millis()), Some(500));
    }
}
