//! Days, as histories count time.

use std::fmt;
use std::str::FromStr;

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
        let date = Self(days_from_civil(year, month, day));
        // Refuses 2019-02-31: it would come back as another day.
        let fits = (1..=9999).contains(&year) && civil_from_days(date.0) == (year, month, day);
        if fits { Ok(date) } else { Err(NotADate) }
    }
}

impl fmt::Display for Date {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (year, month, day) = civil_from_days(self.0);
        f.pad(&format!("{year:04}-{month:02}-{day:02}"))
    }
}

/// Days since 1970-01-01, counting years from March so that leap days come last.
fn days_from_civil(year: i32, month: i32, day: i32) -> i32 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let day_of_year = (153 * ((month + 9).rem_euclid(12)) + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * 146_097 + day_of_era - 719_468
}

fn civil_from_days(days: i32) -> (i32, i32, i32) {
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let day_of_era = days.rem_euclid(146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 {
        month_from_march + 3
    } else {
        month_from_march - 9
    };
    let year = year_of_era + era * 400 + i32::from(month <= 2);
    (year, month, day)
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
