//! Days and dates: just enough to see that a folder is named after one.
//!
//! Days are counted from 1970-01-01, as drivers count them.

use jiff::ToSpan as _;
use jiff::civil;

/// A date.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Date {
    pub(crate) year: u32,
    pub(crate) month: u32,
    pub(crate) day: u32,
}

/// Years that a folder may be named after.
const YEARS: std::ops::RangeInclusive<u32> = 1990..=2100;
const FIRST: civil::Date = civil::date(1970, 1, 1);

impl Date {
    /// The date of a day; of the last there is, past the end of the calendar.
    pub(crate) fn of(day: i64) -> Self {
        let date = FIRST.saturating_add(day.clamp(-1_000_000, 3_000_000).days());
        Self {
            year: u32::try_from(date.year()).unwrap_or(0),
            month: date.month().unsigned_abs().into(),
            day: date.day().unsigned_abs().into(),
        }
    }

    /// The day of a date. Folders are named after days that do not exist, too: the 31st of February is
    /// three days after the 28th.
    pub(crate) fn days(self) -> i64 {
        let [year, month] =
            [self.year, self.month].map(|part| i16::try_from(part).unwrap_or(i16::MAX));
        let month = i8::try_from(month).unwrap_or(i8::MAX);
        let first = civil::Date::new(year, month, 1).unwrap_or(civil::Date::MAX);
        let days = first.duration_since(FIRST).as_hours() / 24;
        days + i64::from(self.day) - 1
    }

    /// What the first so many parts of the date are, as numbers in a name.
    pub(crate) fn parts(self, count: usize) -> Vec<u32> {
        [self.year, self.month, self.day][..count].to_vec()
    }
}

/// Whether numbers in a name are a year, a month or a day.
pub(crate) fn is_calendar(numbers: &[u32]) -> bool {
    match *numbers {
        [year] => YEARS.contains(&year),
        [year, month] => YEARS.contains(&year) && (1..=12).contains(&month),
        [year, month, day] => {
            YEARS.contains(&year) && (1..=12).contains(&month) && (1..=31).contains(&day)
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_and_dates_agree() {
        let date = |year, month, day| Date { year, month, day };
        assert_eq!(date(1970, 1, 1).days(), 0);
        assert_eq!(date(2000, 3, 1).days(), 11_017);
        assert_eq!(Date::of(19_782), date(2024, 2, 29));
        for day in -40_000..40_000 {
            let date = Date::of(day);
            assert_eq!(date.days(), day);
            assert!(Date::of(day + 1) > date, "{date:?}");
        }
    }
}
