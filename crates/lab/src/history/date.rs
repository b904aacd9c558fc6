//! Days, as histories count time.

use std::fmt;
use std::str::FromStr;

use jiff::ToSpan as _;
use jiff::civil;

const FIRST: civil::Date = civil::date(1970, 1, 1);

/// A day of the Gregorian calendar, as days since 1970-01-01.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Date(pub i32);

impl Date {
    /// How many days after another.
    pub fn days_since(self, earlier: Self) -> i32 {
        self.0 - earlier.0
    }

    /// So many days later.
    #[must_use]
    pub fn plus_days(self, days: i32) -> Self {
        Self(self.0 + days)
    }
}

/// The text is not a date like 2019-03-10.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a date like 2019-03-10")]
pub struct NotADate;

impl FromStr for Date {
    type Err = NotADate;

    fn from_str(text: &str) -> Result<Self, NotADate> {
        let mut parts = text.splitn(3, '-').map(|part| {
            let digits = !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
            part.parse::<i32>().ok().filter(|_| digits)
        });
        let mut part = || parts.next().flatten().ok_or(NotADate);
        let (year, month, day) = (part()?, part()?, part()?);
        let [month, day] = [month, day].map(|part| i8::try_from(part).unwrap_or(0));
        let date = civil::Date::new(i16::try_from(year).unwrap_or(0), month, day);
        let date = date.ok().filter(|date| date.year() > 0).ok_or(NotADate)?;
        let days = date.duration_since(FIRST).as_hours() / 24;
        i32::try_from(days).map(Self).map_err(|_| NotADate)
    }
}

impl fmt::Display for Date {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&FIRST.saturating_add(self.0.days()).to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_come_back_as_written() {
        for text in [
            "1970-01-01",
            "2000-02-29",
            "1999-12-31",
            "2024-02-29",
            "2026-11-15",
        ] {
            assert_eq!(text.parse::<Date>().unwrap().to_string(), text);
        }
        assert_eq!("1970-01-02".parse(), Ok(Date(1)));
        let (from, to): (Date, Date) =
            ("2020-02-28".parse().unwrap(), "2020-03-01".parse().unwrap());
        assert_eq!(to.days_since(from), 2);
    }

    #[test]
    fn what_is_no_date_is_refused() {
        for text in [
            "",
            "2019-02-29",
            "2019-13-01",
            "2019-1",
            "abc",
            "2019-03-10T00",
            "-2019-03-10",
        ] {
            assert_eq!(text.parse::<Date>(), Err(NotADate), "{text}");
        }
    }
}
