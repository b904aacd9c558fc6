//! Parameters chosen on some sites and reported on the others.
//!
//! Sites fall into folds by a hash of their names. For each fold one of the candidates is chosen
//! on the sites of all other folds, and judged on the sites of the fold; what the folds bring is
//! added up, so that every site is reported by a policy that was chosen without it.
//!
//! The choice: at each budget, with a recrawl at every snapshot and with all other periods taken
//! together (as in the paper's table 2), a candidate has four *advantages* over the baseline: how
//! much more it covers, pooled and in the mean, and how much less overhead it has, pooled and in
//! the mean, each as a share of the baseline's. The candidate whose least advantage is largest is
//! chosen; among equals the one with the larger mean advantage, then the one named first.

use serde::Serialize;

use super::run::{Plan, SiteOutcome};
use super::summary::{Row, add_all, policy_rows};
use super::tally::Tally;

/// By period, by policy, by budget.
type Tallies = Vec<Vec<Vec<Tally>>>;

/// What the policy chosen for each fold is called in rows.
const CHOSEN: &str = "chosen on other sites";

/// Sums over the sites of each fold. The first policy of the plan is the baseline, the others are
/// candidates.
#[derive(Clone, Debug)]
pub struct Folds {
    plan: Plan,
    folds: Vec<Fold>,
}

#[derive(Clone, Debug)]
struct Fold {
    sites: Vec<String>,
    tallies: Tallies,
}

/// What was chosen for a fold.
#[derive(Clone, Debug, Serialize)]
pub struct Choice {
    /// The sites it is reported on.
    pub sites: Vec<String>,
    /// The policy's spec.
    pub chosen: String,
    /// Its least advantage over the baseline on all other sites.
    pub least_advantage: f64,
    /// Baseline and chosen policy on the sites of the fold.
    pub results: Vec<Row>,
}

impl Folds {
    /// No site yet. There must be a candidate.
    pub fn new(plan: &Plan, count: usize) -> Self {
        assert!(plan.policies.len() > 1, "a baseline and a candidate");
        let fold = Fold {
            sites: Vec::new(),
            tallies: nothing(plan),
        };
        Self {
            plan: plan.clone(),
            folds: vec![fold; count],
        }
    }

    /// Adds a site to its fold.
    pub fn add(&mut self, outcome: &SiteOutcome) {
        let hash = hash(&outcome.site, self.plan.question.seed);
        let fold = (hash % self.folds.len() as u64) as usize;
        let fold = &mut self.folds[fold];
        fold.sites.push(outcome.site.clone());
        add_tallies(&mut fold.tallies, &outcome.tallies);
    }

    /// What was chosen for each fold that has sites, on the sites of the others.
    pub fn choices(&self) -> Vec<Choice> {
        let mut choices = Vec::new();
        for (index, fold) in self.folds.iter().enumerate() {
            if !fold.sites.is_empty() {
                let (chosen, least_advantage) = self.choose(index);
                choices.push(Choice {
                    sites: fold.sites.clone(),
                    chosen: self.plan.policies[chosen].to_string(),
                    least_advantage,
                    results: self.rows_of(&self.with_chosen(index, chosen)),
                });
            }
        }
        choices
    }

    /// The baseline and what was chosen, every site held out once: a period at a time, then all
    /// periods but 1 together if there are several.
    pub fn rows(&self) -> Vec<Row> {
        let mut sums = nothing(&self.plan);
        for index in 0..self.folds.len() {
            add_tallies(&mut sums, &self.with_chosen(index, self.choose(index).0));
        }
        self.rows_of(&sums)
    }

    /// The tallies of a fold: baseline, then the chosen policy.
    fn with_chosen(&self, fold: usize, chosen: usize) -> Tallies {
        let periods = self.folds[fold].tallies.iter();
        let pair = |policies: &Vec<Vec<Tally>>| vec![policies[0].clone(), policies[chosen].clone()];
        periods.map(pair).collect()
    }

    fn rows_of(&self, tallies: &Tallies) -> Vec<Row> {
        let names = [self.plan.policies[0].to_string(), CHOSEN.to_owned()];
        let mut rows = Vec::new();
        let mut extend = |period, policies: &[Vec<Tally>]| {
            for (name, tallies) in names.iter().zip(policies) {
                rows.extend(policy_rows(name, period, &self.plan.budgets, tallies));
            }
        };
        for (period, policies) in self.plan.periods.iter().zip(tallies) {
            extend(Some(*period), policies);
        }
        let windows = self.plan.periods.iter().filter(|period| **period != 1);
        if windows.count() > 1 {
            extend(None, &self.settings(tallies).1);
        }
        rows
    }

    /// By policy, by budget: with recrawls at every snapshot, and with all other periods together.
    fn settings(&self, tallies: &Tallies) -> (Vec<Vec<Tally>>, Vec<Vec<Tally>>) {
        let policies = tallies.first().map_or(0, Vec::len);
        let none = vec![vec![Tally::default(); self.plan.budgets.len()]; policies];
        let (mut every, mut windows) = (none.clone(), none);
        for (period, tallies) in self.plan.periods.iter().zip(tallies) {
            let sums = if *period == 1 {
                &mut every
            } else {
                &mut windows
            };
            for (sums, tallies) in sums.iter_mut().zip(tallies) {
                add_all(sums, tallies);
            }
        }
        (every, windows)
    }

    /// The candidate for a fold and its least advantage.
    fn choose(&self, held_out: usize) -> (usize, f64) {
        let mut sums = nothing(&self.plan);
        for (_, fold) in self
            .folds
            .iter()
            .enumerate()
            .filter(|(at, _)| *at != held_out)
        {
            add_tallies(&mut sums, &fold.tallies);
        }
        let (every, windows) = self.settings(&sums);
        let score = |candidate: usize| {
            let settings = [&every, &windows].into_iter();
            let pairs = settings.flat_map(|policies| policies[candidate].iter().zip(&policies[0]));
            let all: Vec<f64> = pairs
                .flat_map(|(ours, base)| advantages(ours, base))
                .collect();
            let least = all.iter().copied().fold(f64::INFINITY, f64::min);
            let mean = all.iter().sum::<f64>() / all.len().max(1) as f64;
            (rounded(least), rounded(mean))
        };
        let better = |a: &(usize, (f64, f64)), b: &(usize, (f64, f64))| {
            let by_score = a.1.0.total_cmp(&b.1.0).then(a.1.1.total_cmp(&b.1.1));
            by_score.then(b.0.cmp(&a.0))
        };
        let candidates = (1..self.plan.policies.len()).map(|at| (at, score(at)));
        let best = candidates.max_by(|a, b| better(a, b));
        let (at, (least, _)) = best.expect("there is a candidate");
        (at, least)
    }
}

/// How much better one policy is than another at one budget, as shares: coverage pooled and mean,
/// overhead pooled and mean. What neither has says nothing.
fn advantages(ours: &Tally, base: &Tally) -> impl Iterator<Item = f64> {
    let more = |ours: Option<f64>, base: Option<f64>| match (ours, base) {
        (Some(ours), Some(base)) if base > 0.0 => Some(ours / base - 1.0),
        _ => None,
    };
    let less = |ours, base| more(ours, base).map(|more| -more);
    [
        more(ours.coverage(), base.coverage()),
        more(ours.coverage_mean(), base.coverage_mean()),
        less(ours.overhead_pooled(), base.overhead_pooled()),
        less(ours.overhead_mean(), base.overhead_mean()),
    ]
    .into_iter()
    .flatten()
}

/// To nine digits, and without a sign of nothing: the last bits of a sum hang on the order of the
/// sites, and a choice must not.
fn rounded(advantage: f64) -> f64 {
    (advantage * 1e9).round() / 1e9 + 0.0
}

fn nothing(plan: &Plan) -> Tallies {
    let by_budget = vec![Tally::default(); plan.budgets.len()];
    vec![vec![by_budget; plan.policies.len()]; plan.periods.len()]
}

/// Adds tallies of as many policies as there are; sums of more keep the rest as they are.
fn add_tallies(sums: &mut Tallies, tallies: &Tallies) {
    for (sums, tallies) in sums.iter_mut().zip(tallies) {
        for (sums, tallies) in sums.iter_mut().zip(tallies) {
            add_all(sums, tallies);
        }
    }
}

/// FNV-1a over the seed and the name, its bits then mixed (by MurmurHash3's last step): where a
/// site falls does not depend on which others there are.
fn hash(name: &str, seed: u64) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for byte in seed.to_le_bytes().iter().chain(name.as_bytes()) {
        hash = (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    }
    hash = (hash ^ (hash >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    hash = (hash ^ (hash >> 33)).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    hash ^ (hash >> 33)
}
