//! Moments as web archives write them: milliseconds since 1970, in UTC.
//!
//! A WARC record says `2024-05-01T12:30:00.123Z`, an index line `20240501123000`. Both are read
//! back, also with less or more precision than we write. Day counting after Howard Hinnant,
//! "chrono-compatible low-level date algorithms".
//!
//! Invariant: every moment of the years 1970 to 9999 reads back as it was written.

/// The last moment that has a four-digit year.
pub const MOMENT_MS_MAX: u64 = 253_402_300_799_999;

/// A moment as a WARC record writes it; later moments than [`MOMENT_MS_MAX`] are written as that.
pub fn warc_date(ms: u64) -> String {
    let c = civil(ms);
    format!(
        "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z",
        c.year, c.month, c.day, c.hour, c.minute, c.second, c.ms
    )
}

/// A moment as an index line writes it, to the second.
pub fn index_time(ms: u64) -> String {
    let c = civil(ms);
    format!(
        "{:04}{:02}{:02}{:02}{:02}{:02}",
        c.year, c.month, c.day, c.hour, c.minute, c.second
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

struct Civil {
    year: u64,
    month: u64,
    day: u64,
    hour: u64,
    minute: u64,
    second: u64,
    ms: u64,
}

fn civil(ms: u64) -> Civil {
    let ms = ms.min(MOMENT_MS_MAX);
    let (days, in_day) = (ms / 86_400_000, ms % 86_400_000);
    // Years here begin in March, so that the leap day comes last.
    let z = days + 719_468;
    let (era, day_of_era) = (z / 146_097, z % 146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let march_month = (5 * day_of_year + 2) / 153;
    let month = if march_month < 10 {
        march_month + 3
    } else {
        march_month - 9
    };
    Civil {
        year: era * 400 + year_of_era + u64::from(month <= 2),
        month,
        day: day_of_year - (153 * march_month + 2) / 5 + 1,
        hour: in_day / 3_600_000,
        minute: in_day / 60_000 % 60,
        second: in_day / 1000 % 60,
        ms: in_day % 1000,
    }
}

fn midnight_ms(year: u64, month: u64, day: u64) -> Option<u64> {
    let leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let last = match month {
        2 if leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => return None,
    };
    if year < 1970 || !(1..=last).contains(&day) {
        return None;
    }
    let march_year = year - u64::from(month <= 2);
    let march_month = (month + 9) % 12;
    let (era, year_of_era) = (march_year / 400, march_year % 400);
    let day_of_year = (153 * march_month + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    Some((era * 146_097 + day_of_era - 719_468) * 86_400_000)
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
