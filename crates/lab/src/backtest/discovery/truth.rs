//! What could be found at all: `greedy-cover`, its upper bound, and the history limits.
//!
//! The history limit of a recrawl period w is what every page that ever led to a new page in a
//! past recrawl leads to together, recrawls at snapshots 0, w, 2w, … No policy that learns from
//! those recrawls alone finds more (the paper's section 5.5). Snapshots that are recrawls
//! themselves are no cases, unless every one is. A snapshot of a crawl directory that did not look at
//! every known page is no recrawl.
//!
//! Cost: one walk through the site; a greedy cover for each snapshot that brought something.

use std::collections::BTreeMap;

use turnstone_policy::discovery::{Arrivals, Pick, Until, greedy_cover, upper_bound};

use super::steps::Steps;
use super::tally::Tally;
use super::web::DiscoveryWeb;

/// Recrawl periods for which the limit is always worked out.
pub const LIMIT_PERIODS: std::ops::RangeInclusive<u32> = 1..=6;

/// Bins of the histogram of Jaccard coefficients: 0, then tenths above it.
pub const OVERLAP_BINS: usize = 11;

/// What a snapshot held, seen with hindsight.
#[derive(Clone, Debug)]
pub struct Case {
    /// The snapshot.
    pub snapshot: usize,
    /// New pages that some old page leads to.
    pub new: u32,
    /// The greedy cover of all of them.
    pub cover: Vec<Pick>,
    /// By budget: what no cover of that size exceeds.
    pub bounds: Vec<u32>,
}

/// What a site held, seen with hindsight.
#[derive(Clone, Debug, Default)]
pub struct Truth {
    /// Snapshots that brought something.
    pub cases: Vec<Case>,
    /// New pages that no old page leads to, all snapshots after the first together.
    pub orphans: u64,
    /// By recrawl period: what its history could find.
    pub limits: BTreeMap<u32, Tally>,
    /// Shares of pairs of pages by Jaccard coefficient, summed over the cases with a pair.
    pub overlaps: [f64; OVERLAP_BINS],
    /// How many cases had a pair.
    pub overlap_cases: u64,
}

/// Whether a snapshot is a recrawl, and so no case, for a period.
pub fn is_recrawl(snapshot: usize, period: u32) -> bool {
    snapshot.is_multiple_of(period as usize)
}

/// Whether policies are judged at a snapshot.
pub fn is_judged(snapshot: usize, period: u32) -> bool {
    period == 1 || !is_recrawl(snapshot, period)
}

impl Truth {
    /// Walks through a site. Limits are worked out for `periods` and [`LIMIT_PERIODS`].
    pub fn of(web: &DiscoveryWeb, budgets: &[u64], periods: &[u32]) -> Self {
        let mut truth = Self::default();
        let periods = periods.iter().copied().chain(LIMIT_PERIODS);
        // By period: the pages that led to something in a recrawl.
        let nothing = || vec![false; web.history().page_count()];
        let mut led: BTreeMap<u32, Vec<bool>> = periods.map(|period| (period, nothing())).collect();
        truth.limits = led
            .keys()
            .map(|period| (*period, Tally::default()))
            .collect();
        let mut steps = Steps::new(web);
        while let Some(step) = steps.step() {
            if step.snapshot > 0 {
                truth.orphans += u64::from(step.arrivals.orphans());
            }
            if !step.is_case() {
                continue;
            }
            for (limit, (period, led)) in truth.limits.values_mut().zip(&mut led) {
                if is_judged(step.snapshot, *period) {
                    limit.add_limit(&step.arrivals, led);
                }
                if is_recrawl(step.snapshot, *period) && web.is_full(step.snapshot) {
                    for (page, _) in step.arrivals.sources() {
                        led[page.index()] = true;
                    }
                }
            }
            truth.add_overlaps(&step.arrivals);
            let cover = greedy_cover(&step.arrivals, Until::All);
            let bound = |budget: &u64| {
                let budget = usize::try_from(*budget).unwrap_or(usize::MAX);
                upper_bound(&step.arrivals, &cover, budget)
            };
            truth.cases.push(Case {
                snapshot: step.snapshot,
                new: step.arrivals.found(),
                bounds: budgets.iter().map(bound).collect(),
                cover,
            });
        }
        truth
    }

    /// How the greedy cover does on the cases of a period, by budget.
    pub fn greedy(&self, period: u32, budgets: &[u64]) -> Vec<Tally> {
        let mut tallies = vec![Tally::default(); budgets.len()];
        for case in self.judged(period) {
            for (budget, tally) in budgets.iter().zip(&mut tallies) {
                let size = usize::try_from(*budget).unwrap_or(usize::MAX);
                let picks = &case.cover[..case.cover.len().min(size)];
                let found = picks.iter().map(|pick| u64::from(pick.gain)).sum();
                tally.add_case(picks.len() as u64, found, u64::from(case.new));
            }
        }
        tallies
    }

    /// By budget: what all covers of that size are bound by, and how much there was.
    pub fn bounds(&self, period: u32, budgets: &[u64]) -> Vec<(u64, u64)> {
        let mut sums = vec![(0, 0); budgets.len()];
        for case in self.judged(period) {
            for (sum, bound) in sums.iter_mut().zip(&case.bounds) {
                sum.0 += u64::from(*bound);
                sum.1 += u64::from(case.new);
            }
        }
        sums
    }

    fn judged(&self, period: u32) -> impl Iterator<Item = &Case> {
        let cases = self.cases.iter();
        cases.filter(move |case| is_judged(case.snapshot, period))
    }

    fn add_overlaps(&mut self, arrivals: &Arrivals) {
        if let Some(shares) = super::overlap::overlap_shares(arrivals) {
            self.overlap_cases += 1;
            for (sum, share) in self.overlaps.iter_mut().zip(shares) {
                *sum += share;
            }
        }
    }
}

impl Tally {
    /// A case of the history limit: every page that ever led to something is fetched.
    fn add_limit(&mut self, arrivals: &Arrivals, led: &[bool]) {
        let mut cover = arrivals.cover();
        for &(page, set) in arrivals.sources() {
            if led[page.index()] {
                cover.add(set);
            }
        }
        let fetched = led.iter().filter(|led| **led).count() as u64;
        let (found, new) = (u64::from(cover.count()), u64::from(arrivals.found()));
        self.add_case(fetched, found, new);
    }
}
