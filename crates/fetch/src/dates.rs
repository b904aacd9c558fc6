//! Dates as sitemaps, feeds and calendars write them, as seconds since 1970.
//!
//! Two families: W3C date-times (`2024-05-01`, `2024-05-01T12:30:00+02:00`) and the mail style of
//! RSS (`Wed, 01 May 2024 12:30:00 GMT`). What does not parse is no date: lists on the web are
//! full of those, and of half dates that a strict reader would refuse, so the parts are read here and
//! the calendar is `jiff`'s.

use jiff::civil::{Date, date};

/// Seconds since 1970 of a W3C date-time or a mail date.
pub(crate) fn parse_date(text: &str) -> Option<i64> {
    let text = text.trim();
    w3c(text).or_else(|| mail(text))
}

fn w3c(text: &str) -> Option<i64> {
    let (date, time) = match text.split_once(['T', 't', ' ']) {
        Some((date, time)) => (date, Some(time)),
        None => (text, None),
    };
    let mut parts = date.split('-');
    let year = digits(parts.next()?, 4..=4)?;
    let month = parts.next().map_or(Some(1), |m| digits(m, 1..=2))?;
    let day = parts.next().map_or(Some(1), |d| digits(d, 1..=2))?;
    if parts.next().is_some() {
        return None;
    }
    let midnight = midnight(year, month, day)?;
    let Some(time) = time else {
        return Some(midnight);
    };
    let zone_at = time.find(['Z', 'z', '+', '-']).unwrap_or(time.len());
    let (clock, zone) = time.split_at(zone_at);
    Some(midnight + seconds_of_day(clock)? - zone_seconds(zone)?)
}

fn mail(text: &str) -> Option<i64> {
    const MONTHS: [&str; 12] = [
        "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
    ];
    let text = text.split_once(',').map_or(text, |(_, rest)| rest);
    let mut words = text.split([' ', '-', '\t']).filter(|w| !w.is_empty());
    let day = digits(words.next()?, 1..=2)?;
    let name = words.next()?.to_ascii_lowercase();
    let month = MONTHS.iter().position(|m| name.starts_with(m))?;
    let year = words.next()?;
    let year = match (digits(year, 2..=4)?, year.len()) {
        (short @ 0..=49, 2) => short + 2000,
        (short, 2) => short + 1900,
        (year, _) => year,
    };
    let midnight = midnight(year, i64::try_from(month).ok()? + 1, day)?;
    let Some(clock) = words.next() else {
        return Some(midnight);
    };
    // The split ate the sign of a western zone; look for it in the text.
    let zone = text
        .rfind(['+', '-'])
        .filter(|at| *at > text.find(clock).unwrap_or(0));
    let offset = match zone {
        Some(at) => zone_seconds(text[at..].split_whitespace().next()?)?,
        None => 0,
    };
    Some(midnight + seconds_of_day(clock)? - offset)
}

/// `hh:mm`, `hh:mm:ss` or with a fraction.
fn seconds_of_day(clock: &str) -> Option<i64> {
    let whole = clock.split('.').next()?.trim();
    let mut parts = whole.split(':');
    let hour = digits(parts.next()?, 1..=2).filter(|h| *h <= 24)?;
    let minute = digits(parts.next()?, 2..=2).filter(|m| *m < 60)?;
    let second = parts
        .next()
        .map_or(Some(0), |s| digits(s, 2..=2))
        .filter(|s| *s <= 60)?;
    Some(hour * 3600 + minute * 60 + second)
}

/// `Z`, `+hh:mm`, `-hhmm` or nothing.
fn zone_seconds(zone: &str) -> Option<i64> {
    let (sign, rest) = match zone.as_bytes().first() {
        None | Some(b'Z' | b'z') => return Some(0),
        Some(b'+') => (1, &zone[1..]),
        Some(b'-') => (-1, &zone[1..]),
        Some(_) => return None,
    };
    let plain: String = rest.chars().filter(|c| *c != ':').collect();
    let hours = digits(plain.get(..2)?, 2..=2)?;
    let minutes = plain
        .get(2..)
        .filter(|m| !m.is_empty())
        .map_or(Some(0), |m| digits(m, 2..=2))?;
    Some(sign * (hours * 3600 + minutes * 60))
}

fn digits(text: &str, length: std::ops::RangeInclusive<usize>) -> Option<i64> {
    let ok = length.contains(&text.len()) && text.bytes().all(|b| b.is_ascii_digit());
    if ok { text.parse().ok() } else { None }
}

/// Seconds since 1970 of the beginning of a day.
fn midnight(year: i64, month: i64, day: i64) -> Option<i64> {
    let (year, month) = (i16::try_from(year).ok()?, i8::try_from(month).ok()?);
    let day = Date::new(year, month, i8::try_from(day).ok()?).ok()?;
    Some(day.duration_since(date(1970, 1, 1)).as_secs())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_as_lists_write_them() {
        for (text, seconds) in [
            ("1970-01-01", Some(0)),
            ("2024-02-29", Some(1_709_164_800)),
            ("2024", Some(1_704_067_200)),
            ("2005-01-01T00:00:00Z", Some(1_104_537_600)),
            ("2005-01-01T02:00:00.5+02:00", Some(1_104_537_600)),
            ("2004-12-31 19:00-0500", Some(1_104_537_600)),
            ("Sat, 01 Jan 2005 00:00:00 GMT", Some(1_104_537_600)),
            ("31 Dec 04 19:00:00 -0500", Some(1_104_537_600)),
            ("Saturday, 01-Jan-05 00:00:00 GMT", Some(1_104_537_600)),
            ("2005-13-01", None),
            ("2005-02-30", None),
            ("yesterday", None),
            ("", None),
            ("2005-01-01Tnoon", None),
        ] {
            assert_eq!(parse_date(text), seconds, "{text}");
        }
    }
}
