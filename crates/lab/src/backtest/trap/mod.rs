//! Traps: how much of a crawl an endless calendar eats.
//!
//! Each policy starts at the front page of a [`TrapSite`] and learns of other pages by links only.
//! Measured: the share of its fetches spent in the calendar, and the share of the site proper it
//! has fetched by then.

mod report;
mod site;

pub use report::{Options, Report};
pub use site::{Shape, TrapSite};

use serde::Serialize;
use turnstone_frontier::{PageId, Policy};
use turnstone_policy::coverage::{self, Goal, Trust};
use turnstone_policy::importance::{self, Bonus};
use turnstone_policy::mass::Fraction;
use turnstone_policy::{Question, Spec, SpecError};

use super::LogSpaced;
use crate::driver::Driver;

/// Where a crawl stood after some fetches.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Point {
    /// Pages fetched, again or for the first time.
    pub fetches: u64,
    /// The share of them that went into the calendar.
    pub trap_share: f64,
    /// The share of the site proper that was fetched.
    pub site_share: f64,
}

/// What came of one policy.
#[derive(Clone, Debug, Serialize)]
pub struct Outcome {
    /// The policy's spec.
    pub policy: String,
    /// The curve, log-spaced, and the end.
    pub points: Vec<Point>,
    /// Fetches of pages fetched before.
    pub refetches: u64,
}

/// Makes a policy for coverage or importance, whichever the spec names.
pub fn build(spec: &Spec, seed: u64) -> Result<Box<dyn Policy>, SpecError> {
    if spec.find(Question::Importance).is_ok() {
        let policy: Box<dyn Policy> = importance::build(spec, &Bonus::none(), seed)?;
        return Ok(policy);
    }
    let front = Trust::alike([PageId(0)]).expect("one page can be trusted");
    let goal = Goal {
        epsilon: Fraction::new(1e-6).expect("a millionth is between 0 and 1"),
        ..Goal::default()
    };
    Ok(Box::new(coverage::build(spec, &front, goal)?))
}

/// Crawls until so many pages were fetched or nothing is left.
pub fn run(spec: &Spec, shape: Shape, fetches: u64, seed: u64) -> Result<Outcome, SpecError> {
    let mut site = TrapSite::new(shape);
    let mut driver = Driver::in_rounds(build(spec, seed)?);
    driver.announce(&mut site);
    let mut tally = Tally::new(shape);
    while tally.fetches < fetches
        && let Some(page) = driver.step(&mut site)
    {
        tally.fetched(page, site.is_trap(page));
    }
    tally.end();
    Ok(Outcome {
        policy: spec.to_string(),
        points: tally.points,
        refetches: tally.fetches - tally.first,
    })
}

/// Counts as it goes.
struct Tally {
    site_pages: u64,
    seen: Vec<bool>,
    fetches: u64,
    first: u64,
    in_trap: u64,
    site_fetched: u64,
    due: LogSpaced,
    points: Vec<Point>,
}

impl Tally {
    fn new(shape: Shape) -> Self {
        Self {
            site_pages: shape.pages(),
            seen: Vec::new(),
            fetches: 0,
            first: 0,
            in_trap: 0,
            site_fetched: 0,
            due: LogSpaced::new(),
            points: Vec::new(),
        }
    }

    fn fetched(&mut self, page: PageId, is_trap: bool) {
        if self.seen.len() <= page.index() {
            self.seen.resize(page.index() + 1, false);
        }
        let is_first = !std::mem::replace(&mut self.seen[page.index()], true);
        self.fetches += 1;
        self.first += u64::from(is_first);
        self.in_trap += u64::from(is_trap);
        self.site_fetched += u64::from(is_first && !is_trap);
        if self.due.is_due(self.fetches) {
            self.points.push(self.point());
        }
    }

    fn end(&mut self) {
        let last = self.points.last().map(|point| point.fetches);
        if last != Some(self.fetches) {
            self.points.push(self.point());
        }
    }

    fn point(&self) -> Point {
        Point {
            fetches: self.fetches,
            trap_share: self.in_trap as f64 / self.fetches.max(1) as f64,
            site_share: self.site_fetched as f64 / self.site_pages as f64,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMALL: Shape = Shape {
        sections: 4,
        lists: 10,
        articles: 5,
    };

    #[test]
    fn the_site_proper_is_as_large_as_it_says() {
        let mut site = TrapSite::new(SMALL);
        let mut next = 0;
        // All that can be reached without entering the calendar.
        while next < site.known() {
            let page = PageId::from_index(next);
            if !site.is_trap(page) {
                site.fetch(page);
            }
            next += 1;
        }
        let pages = (0..site.known()).map(PageId::from_index);
        let proper = pages.filter(|page| !site.is_trap(*page)).count();
        assert_eq!(proper as u64, SMALL.pages());
        assert_eq!(site.known() - proper, 1, "one link leads into the calendar");
    }

    #[test]
    fn the_calendar_never_ends() {
        let spec: Spec = "breadth-first".parse().unwrap();
        let outcome = run(&spec, SMALL, 20_000, 1).unwrap();
        let last = outcome.points.last().unwrap();
        assert_eq!((last.fetches, last.site_share), (20_000, 1.0));
        assert!(last.trap_share > 0.98, "{last:?}");
    }

    #[test]
    fn every_kind_of_policy_can_be_tried() {
        for spec in ["opic", "rankmass", "l-neighbor", "opic:select=cycle"] {
            let outcome = run(&spec.parse().unwrap(), SMALL, 500, 1).unwrap();
            assert_eq!(outcome.points.last().unwrap().fetches, 500, "{spec}");
        }
        assert!(run(&"nonesuch".parse().unwrap(), SMALL, 1, 1).is_err());
    }
}
