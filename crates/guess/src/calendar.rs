//! Days and dates: just enough to see that a folder is named after one.
//!
//! Days are counted from 1970-01-01, as drivers count them. The conversions are those of the proleptic
//! Gregorian calendar, by eras of 400 years.

/// A date.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Date {
    pub(crate) year: u32,
    pub(crate) month: u32,
    pub(crate) day: u32,
}

/// Years that a folder may be named after.
const YEARS: std::ops::RangeInclusive<u32> = 1990..=2100;
const DAYS_PER_ERA: i64 = 146_097;
/// From 0000-03-01 to 1970-01-01.
const DAYS_BEFORE: i64 = 719_468;

impl Date {
    /// The date of a day.
    pub(crate) fn of(day: i64) -> Self {
        let shifted = day + DAYS_BEFORE;
        let era = shifted.div_euclid(DAYS_PER_ERA);
        let day_of_era = shifted.rem_euclid(DAYS_PER_ERA);
        let year_of_era =
            (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
        let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        // Years begin in March here, so that the day that some lack is the last.
        let month = (5 * day_of_year + 2) / 153;
        let is_next_year = month >= 10;
        Self {
            year: (era * 400 + year_of_era + i64::from(is_next_year)).max(0) as u32,
            month: (if is_next_year { month - 9 } else { month + 3 }) as u32,
            day: (day_of_year - (153 * month + 2) / 5 + 1) as u32,
        }
    }

    /// The day of a date.
    pub(crate) fn days(self) -> i64 {
        let early = self.month <= 2;
        let year = i64::from(self.year) - i64::from(early);
        let month = i64::from(self.month) + if early { 9 } else { -3 };
        let day_of_year = (153 * month + 2) / 5 + i64::from(self.day) - 1;
        let (era, year_of_era) = (year.div_euclid(400), year.rem_euclid(400));
        era * DAYS_PER_ERA + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year
            - DAYS_BEFORE
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
