//! What came of many sites, added up as they come, and the rows of the table.
//!
//! A site is forgotten once it is added, but for its row of names and numbers and the gains of its
//! greedy covers: a few kilobytes.

use serde::Serialize;

use super::run::{Plan, SiteOutcome};
use super::tally::Tally;
use super::truth::{OVERLAP_BINS, is_judged};

/// The name of the clairvoyant cover among policies.
const GREEDY: &str = "greedy-cover";

/// Sums over sites.
#[derive(Clone, Debug)]
pub struct Summary {
    /// How many sites.
    pub sites: usize,
    /// Their pages, links over all versions, and snapshots.
    pub pages: u64,
    /// Links over all versions.
    pub links: u64,
    /// Snapshots of all sites.
    pub snapshots: u64,
    /// Of these after the first of each site, those that saw every page known before.
    pub recrawls: u64,
    /// New pages that no old page led to.
    pub orphans: u64,
    /// By case: its snapshot, its new pages, and what each page of its greedy cover adds.
    pub covers: Vec<(usize, u32, Vec<u32>)>,
    /// Mean shares of pairs by Jaccard coefficient, before division.
    overlaps: [f64; OVERLAP_BINS],
    overlap_cases: u64,
    limits: Vec<(u32, Tally)>,
    /// By period, by policy, by budget.
    tallies: Vec<Vec<Vec<Tally>>>,
    /// By period, by budget.
    greedy: Vec<Vec<Tally>>,
    bounds: Vec<Vec<(u64, u64)>>,
    plan: Plan,
}

/// A line of the table.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// The policy's spec.
    pub policy: String,
    /// The recrawl period; none where several are taken together.
    pub recrawl_every: Option<u32>,
    /// Pages per case at most.
    pub budget: u64,
    /// Sites and snapshots.
    pub cases: u64,
    /// Of these, where something was found.
    pub hits: u64,
    /// Old pages fetched.
    pub fetched: u64,
    /// New pages found.
    pub found: u64,
    /// New pages that could be found.
    pub new: u64,
    /// Requests that the record could not answer; not among those fetched.
    pub unknown: u64,
    /// What these make unsure.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub doubt: Option<Doubt>,
    /// Mean pages fetched.
    pub size: Option<f64>,
    /// The same counted from 0, as the paper does.
    pub depth: Option<f64>,
    /// Mean fetches per new page, over the cases where something was found.
    pub overhead_mean: Option<f64>,
    /// Fetches per new page, all cases together.
    pub overhead_pooled: Option<f64>,
    /// The share of all new pages that was found.
    pub coverage: Option<f64>,
    /// The mean over cases of the share that was found.
    pub coverage_mean: Option<f64>,
    /// New pages of all rounds, those that no old page leads to included.
    pub all_new: u64,
    /// Of these, those found.
    pub all_found: u64,
    /// The share of these.
    pub coverage_all: Option<f64>,
    /// Requests per new page found, in all rounds that brought one; a guess that hits is none.
    pub overhead_all: Option<f64>,
    /// The same with the requests of rounds in which nothing was new.
    pub overhead_idle: Option<f64>,
    /// Guessed addresses asked for.
    pub guesses: u64,
    /// Of these, those that were there.
    pub guess_hits: u64,
    /// Of the clairvoyant cover: what no cover of this size exceeds, pooled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bound: Option<f64>,
}

/// What unknown answers make unsure.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Doubt {
    /// The share of requests without an answer.
    pub unknown_share: Option<f64>,
    /// The coverage if all of them had found everything; if nothing, it is as measured.
    pub coverage_high: Option<f64>,
    /// The pooled overhead if all of them had found everything.
    pub overhead_low: Option<f64>,
    /// The pooled overhead if they had found nothing.
    pub overhead_high: Option<f64>,
}

/// What the history of a recrawl period could find.
#[derive(Clone, Debug, Serialize)]
pub struct Limit {
    /// The recrawl period.
    pub recrawl_every: u32,
    /// Sites and snapshots.
    pub cases: u64,
    /// Mean pages fetched.
    pub size: Option<f64>,
    /// The share of all new pages.
    pub coverage: Option<f64>,
    /// The mean over cases.
    pub coverage_mean: Option<f64>,
}

impl Summary {
    /// Nothing yet.
    pub fn new(plan: &Plan) -> Self {
        let by_budget = vec![Tally::default(); plan.budgets.len()];
        let by_policy = vec![by_budget.clone(); plan.policies.len()];
        Self {
            sites: 0,
            pages: 0,
            links: 0,
            snapshots: 0,
            recrawls: 0,
            orphans: 0,
            covers: Vec::new(),
            overlaps: [0.0; OVERLAP_BINS],
            overlap_cases: 0,
            limits: Vec::new(),
            tallies: vec![by_policy; plan.periods.len()],
            greedy: vec![by_budget; plan.periods.len()],
            bounds: vec![vec![(0, 0); plan.budgets.len()]; plan.periods.len()],
            plan: plan.clone(),
        }
    }

    /// Adds a site.
    pub fn add(&mut self, outcome: &SiteOutcome) {
        self.sites += 1;
        self.pages += outcome.pages as u64;
        self.links += outcome.links as u64;
        self.snapshots += outcome.snapshots as u64;
        self.recrawls += outcome.recrawls as u64;
        self.orphans += outcome.truth.orphans;
        for case in &outcome.truth.cases {
            let gains = case.cover.iter().map(|pick| pick.gain).collect();
            self.covers.push((case.snapshot, case.new, gains));
        }
        for (sum, share) in self.overlaps.iter_mut().zip(outcome.truth.overlaps) {
            *sum += share;
        }
        self.overlap_cases += outcome.truth.overlap_cases;
        if self.limits.is_empty() {
            let periods = outcome.truth.limits.keys();
            self.limits = periods.map(|period| (*period, Tally::default())).collect();
        }
        for ((_, sum), limit) in self.limits.iter_mut().zip(outcome.truth.limits.values()) {
            sum.add(limit);
        }
        for (at, period) in self.plan.periods.iter().enumerate() {
            let policies = self.tallies[at].iter_mut().zip(&outcome.tallies[at]);
            for (sums, tallies) in policies {
                add_all(sums, tallies);
            }
            let greedy = outcome.truth.greedy(*period, &self.plan.budgets);
            add_all(&mut self.greedy[at], &greedy);
            let bounds = outcome.truth.bounds(*period, &self.plan.budgets);
            for (sum, bound) in self.bounds[at].iter_mut().zip(bounds) {
                *sum = (sum.0 + bound.0, sum.1 + bound.1);
            }
        }
    }

    /// The rows of one recrawl period, the clairvoyant cover first; none for a period not run.
    pub fn rows(&self, period: u32) -> Vec<Row> {
        let Some(at) = self.plan.periods.iter().position(|known| *known == period) else {
            return Vec::new();
        };
        let mut rows = Vec::new();
        for (budget, (tally, bound)) in self
            .plan
            .budgets
            .iter()
            .zip(self.greedy[at].iter().zip(&self.bounds[at]))
        {
            let mut row = row(GREEDY.to_owned(), Some(period), *budget, tally);
            row.bound = (bound.1 > 0).then(|| bound.0 as f64 / bound.1 as f64);
            rows.push(row);
        }
        for (spec, tallies) in self.plan.policies.iter().zip(&self.tallies[at]) {
            rows.extend(policy_rows(
                &spec.to_string(),
                Some(period),
                &self.plan.budgets,
                tallies,
            ));
        }
        rows
    }

    /// The rows of several periods, their cases taken together.
    pub fn rows_together(&self, periods: &[u32]) -> Vec<Row> {
        let mut rows = Vec::new();
        for (index, spec) in self.plan.policies.iter().enumerate() {
            let mut sums = vec![Tally::default(); self.plan.budgets.len()];
            for (at, _) in self
                .plan
                .periods
                .iter()
                .enumerate()
                .filter(|(_, p)| periods.contains(p))
            {
                add_all(&mut sums, &self.tallies[at][index]);
            }
            rows.extend(policy_rows(
                &spec.to_string(),
                None,
                &self.plan.budgets,
                &sums,
            ));
        }
        rows
    }

    /// What each recrawl period's history could find.
    pub fn limits(&self) -> Vec<Limit> {
        let limits = self.limits.iter();
        limits
            .map(|(period, tally)| Limit {
                recrawl_every: *period,
                cases: tally.cases,
                size: tally.size(),
                coverage: tally.coverage(),
                coverage_mean: tally.coverage_mean(),
            })
            .collect()
    }

    /// New pages that could be found.
    pub fn new_pages(&self) -> u64 {
        self.covers.iter().map(|(_, new, _)| u64::from(*new)).sum()
    }

    /// The mean share of pairs of old pages by Jaccard coefficient: none in common, then tenths.
    pub fn overlap_shares(&self) -> Option<[f64; OVERLAP_BINS]> {
        let cases = self.overlap_cases as f64;
        (cases > 0.0).then(|| self.overlaps.map(|sum| sum / cases))
    }

    /// The gains of the greedy covers of all sites as one, at the cases of a period.
    pub fn merged_gains(&self, period: u32) -> Vec<u32> {
        let cases = self.covers.iter();
        let judged = cases.filter(|(snapshot, _, _)| is_judged(*snapshot, period));
        // Gains fall within each cover, so sorting them merges the covers.
        let mut gains: Vec<u32> = judged.flat_map(|(_, _, gains)| gains).copied().collect();
        gains.sort_unstable_by_key(|gain| std::cmp::Reverse(*gain));
        gains
    }
}

pub(super) fn add_all(sums: &mut [Tally], tallies: &[Tally]) {
    for (sum, tally) in sums.iter_mut().zip(tallies) {
        sum.add(tally);
    }
}

pub(super) fn policy_rows<'a>(
    policy: &'a str,
    period: Option<u32>,
    budgets: &'a [u64],
    tallies: &'a [Tally],
) -> impl Iterator<Item = Row> + 'a {
    let tallies = budgets
        .iter()
        .zip(tallies)
        .filter(|(_, tally)| tally.cases > 0 || tally.all_new > 0);
    tallies.map(move |(budget, tally)| row(policy.to_owned(), period, *budget, tally))
}

fn row(policy: String, recrawl_every: Option<u32>, budget: u64, tally: &Tally) -> Row {
    Row {
        policy,
        recrawl_every,
        budget,
        cases: tally.cases,
        hits: tally.hits,
        fetched: tally.fetched,
        found: tally.found,
        new: tally.new,
        unknown: tally.unknown,
        doubt: (tally.unknown > 0).then(|| Doubt {
            unknown_share: tally.unknown_share(),
            coverage_high: tally.coverage_high(),
            overhead_low: tally.overhead_bounds().map(|(low, _)| low),
            overhead_high: tally.overhead_bounds().map(|(_, high)| high),
        }),
        size: tally.size(),
        depth: tally.depth(),
        overhead_mean: tally.overhead_mean(),
        overhead_pooled: tally.overhead_pooled(),
        coverage: tally.coverage(),
        coverage_mean: tally.coverage_mean(),
        all_new: tally.all_new,
        all_found: tally.all_found,
        coverage_all: tally.coverage_all(),
        overhead_all: tally.overhead_all(),
        overhead_idle: tally.overhead_idle(),
        guesses: tally.guesses,
        guess_hits: tally.guess_hits,
        bound: None,
    }
}
