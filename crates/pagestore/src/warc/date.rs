//! Moments as web archives write them: milliseconds since 1970, in UTC.
//!
//! A WARC record says `2024-05-01T12:30:00.123Z`, an index line `20240501123000`. Both are read
//! back, also with less or more precision than we write; that is why the parts are read here. The
//! calendar is `jiff`'s.
//!
//! Invariant: every moment of the years 1970 to 9999 reads back as it was written.

use jiff::SignedDuration;
use jiff::civil::{Date, DateTime, date};

/// The last moment that has a four-digit year.
pub const MOMENT_MS_MAX: u64 = 253_402_300_799_999;

/// A moment as a WARC record writes it; later moments than [`MOMENT_MS_MAX`] are written as that.
pub fn warc_date(ms: u64) -> String {
    let c = civil(ms);
    format!(
        "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z",
        c.year(),
        c.month(),
        c.day(),
        c.hour(),
        c.minute(),
        c.second(),
        c.millisecond()
    )
}

/// A moment as an index line writes it, to the second.
pub fn index_time(ms: u64) -> String {
    let c = civil(ms);
    format!(
        "{:04}{:02}{:02}{:02}{:02}{:02}",
        c.year(),
        c.month(),
        c.day(),
        c.hour(),
        c.minute(),
        c.second()
    )
}

/// Reads a WARC-Date of any precision from the year to nanoseconds.
pub fn parse_warc_date(text: &str) -> Option<u64> {
    let text = text.trim();
    let (date, time) = match text.split_once('T') {
        Some((date, time)) => (date, Some(time.strip_suffix('Z')?)),
        None => (text, None),
    };
    let mut parts = date.split('-');
    let year = digits(parts.next()?, 4)?;
    let month = parts.next().map_or(Some(1), |part| digits(part, 2))?;
    let day = parts.next().map_or(Some(1), |part| digits(part, 2))?;
    if parts.next().is_some() {
        return None;
    }
    let midnight = midnight_ms(year, month, day)?;
    let Some(time) = time else {
        return Some(midnight);
    };
    let (clock, fraction) = time.split_once('.').unwrap_or((time, "0"));
    if fraction.is_empty() || fraction.len() > 9 {
        return None;
    }
    let ms = digits(&format!("{fraction:0<3}")[..3], 3)?;
    digits(fraction, fraction.len())?;
    let mut parts = clock.split(':');
    let hour = digits(parts.next()?, 2)?;
    let minute = digits(parts.next()?, 2)?;
    let second = parts.next().map_or(Some(0), |part| digits(part, 2))?;
    if parts.next().is_some() {
        return None;
    }
    Some(midnight + clock_ms(hour, minute, second)? + ms)
}

/// Reads an index time of 4 to 17 digits; what is missing is the earliest possible.
pub fn parse_index_time(text: &str) -> Option<u64> {
    if !text.is_ascii() || !(4..=17).contains(&text.len()) {
        return None;
    }
    let filled = format!("{text}{}", &"00000101000000000"[text.len()..]);
    let part = |from: usize, to: usize| digits(&filled[from..to], to - from);
    let midnight = midnight_ms(part(0, 4)?, part(4, 6)?, part(6, 8)?)?;
    Some(midnight + clock_ms(part(8, 10)?, part(10, 12)?, part(12, 14)?)? + part(14, 17)?)
}

fn civil(ms: u64) -> DateTime {
    let ms = i64::try_from(ms.min(MOMENT_MS_MAX)).unwrap_or(i64::MAX);
    let since = SignedDuration::from_millis(ms);
    date(1970, 1, 1).at(0, 0, 0, 0).saturating_add(since)
}

fn midnight_ms(year: u64, month: u64, day: u64) -> Option<u64> {
    let (year, month) = (i16::try_from(year).ok()?, i8::try_from(month).ok()?);
    let day = Date::new(year, month, i8::try_from(day).ok()?).ok()?;
    u64::try_from(day.duration_since(date(1970, 1, 1)).as_millis()).ok()
}

fn clock_ms(hour: u64, minute: u64, second: u64) -> Option<u64> {
    // A leap second counts as the second after it.
    (hour < 24 && minute < 60 && second <= 60)
        .then_some(((hour * 60 + minute) * 60 + second) * 1000)
}

fn digits(text: &str, count: usize) -> Option<u64> {
    (text.len() == count && text.bytes().all(|b| b.is_ascii_digit()))
        .then(|| text.parse().ok())
        .flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_moments() {
        for (ms, warc, index) in [
            (0, "1970-01-01T00:00:00.000Z", "19700101000000"),
            (
                951_782_400_007,
                "2000-02-29T00:00:00.007Z",
                "20000229000000",
            ),
            (
                1_714_566_600_123,
                "2024-05-01T12:30:00.123Z",
                "20240501123000",
            ),
            (MOMENT_MS_MAX, "9999-12-31T23:59:59.999Z", "99991231235959"),
        ] {
            assert_eq!(warc_date(ms), warc);
            assert_eq!(index_time(ms), index);
            assert_eq!(parse_warc_date(warc), Some(ms));
            assert_eq!(parse_index_time(index), Some(ms / 1000 * 1000));
        }
        assert_eq!(warc_date(u64::MAX), warc_date(MOMENT_MS_MAX));
    }

    #[test]
    fn every_day_reads_back() {
        for day in 0..800_000_u64 {
            let ms = day * 86_400_000 + day % 86_400_000;
            assert_eq!(parse_warc_date(&warc_date(ms)), Some(ms));
        }
    }

    #[test]
    fn other_precisions_are_read_and_nonsense_is_not() {
        let check = |text: &str, expect: Option<&str>| {
            assert_eq!(
                parse_warc_date(text).map(warc_date).as_deref(),
                expect,
                "{text}"
            );
        };
        check("2016", Some("2016-01-01T00:00:00.000Z"));
        check("2016-09", Some("2016-09-01T00:00:00.000Z"));
        check("2016-09-19T17:20Z", Some("2016-09-19T17:20:00.000Z"));
        check("2016-09-19T17:20:24Z", Some("2016-09-19T17:20:24.000Z"));
        check("2016-09-19T17:20:24.5Z", Some("2016-09-19T17:20:24.500Z"));
        check(
            "2016-09-19T17:20:24.123456789Z",
            Some("2016-09-19T17:20:24.123Z"),
        );
        for bad in [
            "",
            "16",
            "2016-13-01",
            "2016-02-30",
            "1969-12-31",
            "2016-09-19T17:20:24",
            "2016-09-19T24:00:00Z",
            "2016-09-19T17:20:24.Z",
            "2016-09-19T17:20:24.x1Z",
            "2016-09-19T17:20:24.1234567890Z",
            "+016-01-01",
            "2016-09-19-01",
        ] {
            check(bad, None);
        }
        assert_eq!(parse_index_time("2016"), parse_warc_date("2016"));
        assert_eq!(
            parse_index_time("20160919172024123"),
            parse_warc_date("2016-09-19T17:20:24.123Z")
        );
        for bad in [
            "",
            "201",
            "2016x",
            "20161301000000",
            "2016é",
            "201609191720241230",
        ] {
            assert_eq!(parse_index_time(bad), None, "{bad}");
        }
    }
}
