//! Numbers as people write them: `98%` or `0.98`, `10MB`, `2d`, `100/hour`, `1_000` or `10k`.
//!
//! Every option and every goal reads its numbers here, so that what one takes all take, and what none takes
//! is refused in one form: what was given, that it is not what was asked for, and two that would be.
//! Underscores may stand between digits anywhere, and a space before the unit.

/// A number, or a share of what there is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Amount {
    /// So many, above 0.
    Count(u64),
    /// This share, above 0 and at most 1.
    Share(f64),
}

/// Requests in a time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Rate {
    number: f64,
    unit_ms: f64,
}

impl Rate {
    /// How many in so many milliseconds.
    pub(crate) fn per(self, ms: f64) -> f64 {
        self.number * ms / self.unit_ms
    }
}

const SECOND_MS: f64 = 1e3;
/// A day.
pub(crate) const DAY_MS: f64 = 86_400e3;

/// A share above 0 and below 1.
pub(crate) fn share(text: &str) -> Result<f64, String> {
    let share = part_of(text).filter(|share| *share > 0.0 && *share < 1.0);
    share.ok_or_else(|| refused(text, "a share", "98% or 0.98"))
}

/// A share from 0 to 1, both included.
pub(crate) fn part(text: &str) -> Result<f64, String> {
    let part = part_of(text).filter(|part| (0.0..=1.0).contains(part));
    part.ok_or_else(|| refused(text, "a share up to 100%", "10% or 0.1"))
}

/// A number that is often a share, and that whoever asked for it checks.
pub(crate) fn real(text: &str) -> Result<f64, String> {
    part_of(text).ok_or_else(|| refused(text, "a number or a share", "0.85 or 85%"))
}

/// A whole number above 0.
pub(crate) fn count(text: &str) -> Result<u64, String> {
    let units = [
        ("", 1),
        ("k", 1_000),
        ("M", 1_000_000),
        ("G", 1_000_000_000),
    ];
    scaled(text, &units).ok_or_else(|| refused(text, "a whole number above 0", "1000 or 10k"))
}

/// Bytes, above 0.
pub(crate) fn bytes(text: &str) -> Result<u64, String> {
    let units = [
        ("", 1),
        ("B", 1),
        ("kB", 1_000),
        ("KB", 1_000),
        ("MB", 1_000_000),
        ("GB", 1_000_000_000),
        ("TB", 1_000_000_000_000),
        ("KiB", 1 << 10),
        ("MiB", 1 << 20),
        ("GiB", 1 << 30),
        ("TiB", 1 << 40),
    ];
    scaled(text, &units).ok_or_else(|| refused(text, "a number of bytes", "10MB or 64KiB"))
}

/// Bytes that are kept as they were said.
pub(crate) fn bytes_as_said(text: &str) -> Result<String, String> {
    bytes(text).map(|_| text.to_owned())
}

/// A number above 0, or a share: with a per cent sign, or below 1 with a point.
pub(crate) fn amount(text: &str) -> Result<Amount, String> {
    let read = if text.contains(['%', '.']) && part_of(text).is_some_and(|share| share <= 1.0) {
        let share = part_of(text).filter(|share| *share > 0.0);
        share.map(Amount::Share)
    } else {
        count(text).ok().map(Amount::Count)
    };
    read.ok_or_else(|| refused(text, "a number above 0 or a share up to 100%", "1000 or 5%"))
}

/// Milliseconds of a span of time; a number alone is seconds.
pub(crate) fn span_ms(text: &str) -> Result<u64, String> {
    let (number, unit) = split(text);
    let unit_ms = if unit.is_empty() {
        Some(SECOND_MS)
    } else {
        time_ms(unit)
    };
    let ms = number.zip(unit_ms).map(|(number, unit)| number * unit);
    let ms = ms.filter(|ms| *ms <= 1e15).map(|ms| ms.round() as u64);
    ms.ok_or_else(|| refused(text, "a span of time", "500ms, 1s, 2m, 1h or 2d"))
}

/// A number in a time, above 0; a number alone is in the unit that is usual there.
pub(crate) fn rate(text: &str, usual: &str) -> Result<Rate, String> {
    let (number, unit) = match text.split_once('/') {
        Some((number, unit)) => (number, unit.trim()),
        None => (text, usual),
    };
    let (number, nothing) = split(number);
    let number = number.filter(|number| nothing.is_empty() && *number > 0.0 && *number <= 1e12);
    let rate = number.zip(time_ms(unit));
    rate.map(|(number, unit_ms)| Rate { number, unit_ms })
        .ok_or_else(|| refused(text, "a rate", "0.5/s, 100/hour or 5000/day"))
}

/// The one text of all refusals.
fn refused(text: &str, what: &str, like: &str) -> String {
    format!("'{text}' is not {what}; give one like {like}")
}

/// A plain number, or per cent; with an exponent too, for programs write small numbers so.
fn part_of(text: &str) -> Option<f64> {
    let text = text.trim();
    let (number, whole) = match text.strip_suffix('%') {
        Some(number) => (number.trim_end(), 100.0),
        None => (text, 1.0),
    };
    let number: f64 = number.replace('_', "").parse().ok()?;
    number.is_finite().then_some(number / whole)
}

/// A number in units; a part of a unit is possible, a part of one is not.
fn scaled(text: &str, units: &[(&str, u64)]) -> Option<u64> {
    let (number, unit) = split(text);
    let (_, factor) = units.iter().find(|(name, _)| *name == unit)?;
    let scaled = number? * *factor as f64;
    let fits = (1.0..=9e15).contains(&scaled) && scaled.fract() == 0.0;
    fits.then_some(scaled as u64)
}

/// Milliseconds of a unit of time.
fn time_ms(unit: &str) -> Option<f64> {
    Some(match unit {
        "ms" => 1.0,
        "s" | "sec" | "second" => SECOND_MS,
        "m" | "min" | "minute" => 60e3,
        "h" | "hour" => 3600e3,
        "d" | "day" => DAY_MS,
        "w" | "week" => 7.0 * DAY_MS,
        _ => return None,
    })
}

/// The number that a text begins with, and its unit. No sign, no exponent, nothing that is not finite.
fn split(text: &str) -> (Option<f64>, &str) {
    let text = text.trim();
    let is_digit = |c: char| c.is_ascii_digit() || c == '.' || c == '_';
    let end = text.find(|c| !is_digit(c)).unwrap_or(text.len());
    let digits = text[..end].replace('_', "");
    (digits.parse().ok(), text[end..].trim_start())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check<T: PartialEq + std::fmt::Debug>(
        read: impl Fn(&str) -> Result<T, String>,
        right: &[(&str, T)],
        wrong: &[&str],
    ) {
        for (text, expected) in right {
            assert_eq!(read(text).as_ref(), Ok(expected), "{text}");
        }
        for text in wrong {
            let refusal = read(text).expect_err(text);
            let begins = format!("'{text}' is not ");
            assert!(
                refusal.starts_with(&begins) && refusal.contains("; give one like "),
                "{refusal}"
            );
        }
    }

    #[test]
    fn each_kind_is_read_in_every_form_and_nonsense_is_refused() {
        let nothing = ["", "%", "x", "-1", "NaN", "inf", "1e3", "1.2.3"];
        check(
            share,
            &[("98%", 0.98), ("0.5", 0.5), ("2 %", 0.02)],
            &nothing,
        );
        check(share, &[], &["0", "1", "100%", "98"]);
        check(
            part,
            &[("0", 0.0), ("100%", 1.0), ("0.1", 0.1)],
            &["101%", "1.5"],
        );
        check(
            real,
            &[("3", 3.0), ("85%", 0.85), ("1e-06", 1e-6), ("-1", -1.0)],
            &["", "%", "x", "NaN", "inf", "1.2.3"],
        );
        check(
            count,
            &[
                ("1", 1),
                ("1_000", 1000),
                ("10k", 10_000),
                ("1.5M", 1_500_000),
            ],
            &nothing,
        );
        check(count, &[], &["0", "1.5", "1kB", "10%"]);
        check(
            bytes,
            &[
                ("10MB", 10_000_000),
                ("64 KiB", 65_536),
                ("5", 5),
                ("1.5kB", 1500),
            ],
            &nothing,
        );
        check(bytes, &[], &["0", "10mb", "0.5", "99999TB"]);
        let spans = [
            ("500ms", 500),
            ("1s", 1000),
            ("2", 2000),
            ("0.5s", 500),
            ("2m", 120_000),
        ];
        check(span_ms, &spans, &nothing);
        check(
            span_ms,
            &[("1h", 3_600_000), ("2d", 172_800_000), ("1w", 604_800_000)],
            &["s", "1x"],
        );
        check(span_ms, &[("0s", 0)], &["99999999999999999999d"]);
    }

    #[test]
    fn a_number_or_a_share_is_told_apart_by_how_it_is_written() {
        let right = [
            ("5", Amount::Count(5)),
            ("1", Amount::Count(1)),
            ("5%", Amount::Share(0.05)),
            ("0.05", Amount::Share(0.05)),
            ("100%", Amount::Share(1.0)),
            ("2k", Amount::Count(2000)),
        ];
        check(amount, &right, &["", "0", "0%", "101%", "1.5", "x"]);
    }

    #[test]
    fn rates_are_read_in_any_time() {
        let a_day = |text: &str| rate(text, "day").map(|rate| rate.per(DAY_MS));
        let right = [
            ("5000/day", 5000.0),
            ("5000/d", 5000.0),
            ("48_000", 48_000.0),
            ("100/hour", 2400.0),
            ("0.5/s", 43_200.0),
            ("7/week", 1.0),
        ];
        check(
            a_day,
            &right,
            &["fast", "0/day", "5/", "5/fortnight", "/day", "5kB/s"],
        );
    }
}
