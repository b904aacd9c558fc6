//! What comes of pages that were never stored, and of pages that are gone.
//!
//! A known page is there with the share its site's pages were so far. A page that was not there
//! comes back at a rate that is measured over all pages missed as often in a row as this one, apart
//! for pages that were once stored (removed, may return) and pages that never were (a link ahead of
//! its page, or a wrong one). Before anything is known, each miss halves the rate: so the intervals
//! between tests grow, unless pages of the kind are seen to come back.
//!
//! Cost: O(1) a fetch and a question; 16 bytes a site.

use super::rates::Waits;

/// A page that was missed once is believed to come back so often a day.
const FIRST_GUESS: f64 = 0.02;
/// How much the first belief weighs, in returns.
const DOUBT: f64 = 0.5;
/// Misses in a row that are told apart.
const MISSES: usize = 8;
/// The share of known pages believed to be there before anything is known.
const THERE: f64 = 0.9;
/// How many pages that belief weighs as much as.
const THERE_DOUBT: f64 = 4.0;

/// What came of them.
#[derive(Debug)]
pub(super) struct Returns {
    /// By whether it was ever stored and misses in a row: returns and days.
    classes: Vec<Waits>,
    /// By site: pages asked for the first time, and those that were there.
    sites: Vec<(f64, f64)>,
    all: (f64, f64),
}

impl Default for Returns {
    fn default() -> Self {
        Self {
            classes: vec![Waits::default(); 2 * MISSES],
            sites: Vec::new(),
            all: (0.0, 0.0),
        }
    }
}

impl Returns {
    fn class(was_stored: bool, misses: u8) -> usize {
        let misses = usize::from(misses.max(1)) - 1;
        usize::from(was_stored) * MISSES + misses.min(MISSES - 1)
    }

    /// How often a day a page comes back that was missed so often in a row.
    pub(super) fn rate(&self, was_stored: bool, misses: u8) -> f64 {
        let halvings = misses.max(1).min(MISSES as u8) - 1;
        let prior = FIRST_GUESS / f64::from(1u32 << halvings);
        self.classes[Self::class(was_stored, misses)].posterior(prior, DOUBT)
    }

    /// A gone page was tested.
    pub(super) fn learn(&mut self, was_stored: bool, misses: u8, days: f64, is_back: bool) {
        let believed = self.rate(was_stored, misses);
        let seen = Waits::of_visit(days, is_back, believed);
        let class = &mut self.classes[Self::class(was_stored, misses)];
        class.changes += seen.changes;
        class.days += seen.days;
    }

    /// The chance that a page never asked for is there.
    pub(super) fn there(&self, site: u32) -> f64 {
        let all = (self.all.1 + THERE_DOUBT * THERE) / (self.all.0 + THERE_DOUBT);
        let (asked, there) = self.sites.get(site as usize).copied().unwrap_or_default();
        (there + THERE_DOUBT * all) / (asked + THERE_DOUBT)
    }

    /// A page was asked for the first time.
    pub(super) fn first(&mut self, site: u32, is_there: bool) {
        if self.sites.len() <= site as usize {
            self.sites.resize(site as usize + 1, (0.0, 0.0));
        }
        let there = f64::from(u8::from(is_there));
        for (asked, were_there) in [&mut self.sites[site as usize], &mut self.all] {
            *asked += 1.0;
            *were_there += there;
        }
    }

    turnstone_frontier::saved_in_place!(pub(super) [classes, sites, all],
        |it| it.classes.len() != 2 * MISSES => "another number of misses");
}
