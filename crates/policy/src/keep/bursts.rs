//! Bursts: weeks in which the pages of a site, or of one of its directories, changed more than
//! usual.
//!
//! What rebuilds one page of a site mostly rebuilds many: changes come in bursts that a rate
//! cannot tell, but a few fetches can. For every site and week stands a factor: how many times its
//! usual changes fell into that week; and for every group of pages how many times its site's. A
//! page's age is then counted in *usual days*, weeks of a burst counting for more, so that one
//! changed page makes all copies of before the burst look older.
//!
//! A factor is the mean of a Gamma posterior around 1 (around the site's, for a group). A visit
//! that found a change spreads it over the weeks since the copy as likely as the factors so far
//! make them, and one that found none counts against all of them: one step of expectation
//! maximisation a visit.
//!
//! Cost: O(weeks since the copy) a visit, O(1) for a page's age after O(weeks) a group and round.
//! Limit: [`WEEKS_MAX`] weeks are remembered; before them every week was usual.

use turnstone_frontier::Tick;

use super::steady::exp_gap;

/// Milliseconds of a week.
const WEEK_MS: u64 = 7 * 86_400_000;
/// Milliseconds of a day.
pub(super) const DAY_MS: f64 = 86_400_000.0;
/// How many weeks are remembered.
const WEEKS_MAX: usize = 64;

/// How much the usual weighs against what was seen of a week, in changes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Doubt {
    /// For a site.
    pub(super) site: f64,
    /// For a group of pages of it.
    pub(super) group: f64,
}

/// What was seen of one week: changes, and how many were expected.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Week {
    changes: f32,
    expected: f32,
}

/// The weeks of a site or a group.
#[derive(Clone, Debug, Default, PartialEq)]
struct Weeks {
    /// The number of the first week remembered.
    first: u32,
    weeks: Vec<Week>,
}

turnstone_frontier::saved!(Week: changes, expected);
turnstone_frontier::saved!(Weeks: first, weeks;
    |course| course.weeks.len() > WEEKS_MAX => "more weeks than are remembered");

impl Weeks {
    fn factor(&self, week: u32, doubt: f64) -> f64 {
        let at = week.checked_sub(self.first).map(|at| at as usize);
        match at.and_then(|at| self.weeks.get(at)) {
            None => 1.0,
            Some(seen) => (doubt + f64::from(seen.changes)) / (doubt + f64::from(seen.expected)),
        }
    }

    fn add(&mut self, week: u32, changes: f64, expected: f64) {
        if self.weeks.is_empty() {
            self.first = week;
        }
        let Some(at) = week.checked_sub(self.first) else {
            // Before what is remembered: of no account any more. Copies that old are rare.
            return;
        };
        let at = at as usize;
        if at >= self.weeks.len() {
            self.weeks.resize(at + 1, Week::default());
        }
        let seen = &mut self.weeks[at];
        seen.changes += changes as f32;
        seen.expected += expected as f32;
        if self.weeks.len() > WEEKS_MAX {
            let old = self.weeks.len() - WEEKS_MAX;
            self.weeks.drain(..old);
            self.first += old as u32;
        }
    }

    /// Makes room for weeks as far back as are remembered.
    fn reach_back(&mut self, week: u32, now: u32) {
        let week = week.max((now + 1).saturating_sub(WEEKS_MAX as u32));
        if self.weeks.is_empty() {
            self.first = week;
        } else if week < self.first {
            let missing = (self.first - week) as usize;
            self.weeks
                .splice(0..0, std::iter::repeat_n(Week::default(), missing));
            self.first = week;
        }
    }
}

/// A visit to a page that had a copy.
#[derive(Clone, Copy, Debug)]
pub(super) struct Span {
    /// When the copy was made.
    pub(super) from: Tick,
    /// When the page was visited.
    pub(super) to: Tick,
    /// Whether the copy was out of date.
    pub(super) changed: bool,
}

/// The bursts of all sites and groups.
#[derive(Debug)]
pub(super) struct Bursts {
    doubt: Doubt,
    sites: Vec<Weeks>,
    groups: Vec<Weeks>,
}

/// A page's place: its site, and its group if it has one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Home {
    pub(super) site: u32,
    pub(super) group: Option<u32>,
}

impl Bursts {
    pub(super) fn new(doubt: Doubt) -> Self {
        Self {
            doubt,
            sites: Vec::new(),
            groups: Vec::new(),
        }
    }

    /// Usual days from a copy to a visit, by what is known now: O(weeks).
    pub(super) fn usual_days(&self, home: Home, from: Tick, to: Tick) -> f64 {
        let mut days = 0.0;
        each_week(from, to, |week, length| {
            days += length * self.factor(home, week);
        });
        days
    }

    fn factor(&self, home: Home, week: u32) -> f64 {
        let site = self
            .sites
            .get(home.site as usize)
            .map_or(1.0, |course| course.factor(week, self.doubt.site));
        let group = home
            .group
            .and_then(|group| self.groups.get(group as usize))
            .map_or(1.0, |course| course.factor(week, self.doubt.group));
        site * group
    }

    /// Takes in a visit to a page that usually changes so often a day.
    pub(super) fn learn(&mut self, home: Home, rate: f64, span: Span) {
        grow(&mut self.sites, home.site);
        if let Some(group) = home.group {
            grow(&mut self.groups, group);
        }
        let last = week_of(span.to);
        let hazard = rate * self.usual_days(home, span.from, span.to);
        // Changes expected, given that there was one at least.
        let scale = if span.changed && hazard > 0.0 {
            1.0 / exp_gap(hazard)
        } else {
            0.0
        };
        let doubt = self.doubt;
        let site = &mut self.sites[home.site as usize];
        site.reach_back(week_of(span.from), last);
        let mut group = home.group.map(|group| &mut self.groups[group as usize]);
        if let Some(group) = &mut group {
            group.reach_back(week_of(span.from), last);
        }
        each_week(span.from, span.to, |week, length| {
            let by_site = rate * length * site.factor(week, doubt.site);
            let by_group = group
                .as_ref()
                .map_or(1.0, |group| group.factor(week, doubt.group));
            let changes = by_site * by_group * scale;
            if let Some(group) = &mut group {
                group.add(week, changes, by_site);
            }
            site.add(week, changes, rate * length * by_group);
        });
    }

    /// Ages as of a moment.
    pub(super) fn ages(&self, now: Tick) -> Ages<'_> {
        Ages {
            bursts: self,
            now,
            first: (week_of(now) + 1).saturating_sub(WEEKS_MAX as u32),
            by_site: vec![Vec::new(); self.sites.len()],
            by_group: vec![Vec::new(); self.groups.len()],
        }
    }
}

/// Ages in usual days as of a moment. Asked for many pages: the weeks of a group are added up once.
pub(super) struct Ages<'a> {
    bursts: &'a Bursts,
    now: Tick,
    /// The first week that may have been unusual.
    first: u32,
    /// Usual days from the first week to the start of each; empty until asked for.
    by_site: Vec<Vec<f64>>,
    by_group: Vec<Vec<f64>>,
}

impl Ages<'_> {
    /// Usual days since a copy was made: O(1), but the first time for a group O(weeks).
    pub(super) fn age(&mut self, home: Home, from: Tick) -> f64 {
        let (bursts, first, last) = (self.bursts, self.first, week_of(self.now));
        let of_group = home
            .group
            .and_then(|group| self.by_group.get_mut(group as usize));
        let sums = match of_group {
            Some(sums) => Some(sums),
            None => self.by_site.get_mut(home.site as usize),
        };
        let Some(sums) = sums else {
            return self.now.0.saturating_sub(from.0) as f64 / DAY_MS;
        };
        if sums.is_empty() {
            let mut sum = 0.0;
            sums.push(sum);
            for week in first..=last {
                sum += 7.0 * bursts.factor(home, week);
                sums.push(sum);
            }
        }
        let before = (u64::from(first) * WEEK_MS).saturating_sub(from.0) as f64 / DAY_MS;
        before + at(sums, first, self.now) - at(sums, first, from)
    }
}

/// Usual days at a moment, between those at the starts of its week and the next.
fn at(sums: &[f64], first: u32, moment: Tick) -> f64 {
    let Some(week) = week_of(moment).checked_sub(first) else {
        return 0.0;
    };
    let start = sums[week as usize];
    let into = (moment.0 % WEEK_MS) as f64 / WEEK_MS as f64;
    start + into * (sums[week as usize + 1] - start)
}

fn week_of(moment: Tick) -> u32 {
    u32::try_from(moment.0 / WEEK_MS).unwrap_or(u32::MAX - 1)
}

/// The weeks from one moment to another, with the days of each that lie between.
fn each_week(from: Tick, to: Tick, mut visit: impl FnMut(u32, f64)) {
    let mut start = from.0;
    while start < to.0 {
        let week = start / WEEK_MS;
        let end = ((week + 1) * WEEK_MS).min(to.0);
        visit(week_of(Tick(start)), (end - start) as f64 / DAY_MS);
        start = end;
    }
}

fn grow(courses: &mut Vec<Weeks>, to: u32) {
    if courses.len() <= to as usize {
        courses.resize(to as usize + 1, Weeks::default());
    }
}

impl Bursts {
    turnstone_frontier::saved_in_place!(pub(super) [sites, groups]);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bursts() -> Bursts {
        Bursts::new(Doubt {
            site: 2.0,
            group: 3.0,
        })
    }

    fn into_week(week: u64) -> Tick {
        Tick(week * WEEK_MS + WEEK_MS / 3)
    }

    fn visit(from: u64, to: u64, changed: bool) -> Span {
        Span {
            from: into_week(from),
            to: into_week(to),
            changed,
        }
    }

    /// Also for copies from before what is remembered.
    #[test]
    fn ages_at_once_are_those_week_by_week() {
        let mut bursts = bursts();
        let home = Home {
            site: 0,
            group: Some(1),
        };
        for week in (0..160).step_by(4) {
            bursts.learn(home, 0.05, visit(week, week + 9, week % 8 == 0));
        }
        let now = into_week(165);
        for from in [0, 20, 101, 102, 103, 150, 164, 165] {
            let one_by_one = bursts.usual_days(home, into_week(from), now);
            let at_once = bursts.ages(now).age(home, into_week(from));
            assert!(
                (one_by_one - at_once).abs() < 1e-6,
                "{from}: {one_by_one}, {at_once}"
            );
        }
        for course in bursts.sites.iter().chain(&bursts.groups) {
            assert!(course.weeks.len() <= WEEKS_MAX);
        }
    }

    #[test]
    fn a_visit_tells_of_weeks_before_the_first_one() {
        let mut bursts = bursts();
        let home = Home {
            site: 0,
            group: None,
        };
        bursts.learn(home, 0.05, visit(30, 31, false));
        bursts.learn(home, 0.01, visit(10, 32, true));
        let days = bursts.usual_days(home, into_week(12), into_week(14));
        assert!(days > 14.0, "{days}");
    }
}
