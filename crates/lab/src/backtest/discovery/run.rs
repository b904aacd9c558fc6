//! All policies over one site, and sites one after the other.
//!
//! For each recrawl period the site is walked once, with every policy at its side; a policy that
//! learns from its rounds is run for each budget apart, the others once with the largest. Results
//! of sites add up, so memory never holds more than one site.

use turnstone_policy::discovery::{Discovery, DiscoveryPolicy, build};
use turnstone_policy::{Spec, SpecError};

use super::replay::{Replay, Round, Then, found_by};
use super::steps::{Step, Steps};
use super::tally::{Sums, Tally, judge};
use super::truth::{Truth, is_judged};
use super::web::DiscoveryWeb;
use crate::history::History;

/// What is tried.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The policies.
    pub policies: Vec<Spec>,
    /// Pages per site and case, ascending.
    pub budgets: Vec<u64>,
    /// Which of these a policy that learns from its rounds is run for; it needs a run for each.
    pub learners_at: Vec<u64>,
    /// How many snapshots lie between full recrawls, one run for each.
    pub periods: Vec<u32>,
    /// What every policy is asked.
    pub question: Discovery,
}

impl Plan {
    /// Whether every policy can be made.
    pub fn check(&self) -> Result<(), SpecError> {
        let mut policies = self.policies.iter();
        policies.try_for_each(|spec| build(spec, self.question).map(drop))
    }

    fn policy(&self, spec: &Spec) -> Box<dyn DiscoveryPolicy> {
        build(spec, self.question).expect("the plan was checked")
    }
}

/// What came of a site.
#[derive(Clone, Debug)]
pub struct SiteOutcome {
    /// Its name.
    pub site: String,
    /// Pages ever seen.
    pub pages: usize,
    /// Links over all versions.
    pub links: usize,
    /// Snapshots.
    pub snapshots: usize,
    /// Of these after the first, those that saw every page known before.
    pub recrawls: usize,
    /// What could be found.
    pub truth: Truth,
    /// By period, by policy, by budget; without cases where a policy was not run.
    pub tallies: Vec<Vec<Vec<Tally>>>,
}

/// Runs a plan over a site. The plan must have been checked.
pub fn run_site(history: History, plan: &Plan) -> SiteOutcome {
    let web = DiscoveryWeb::new(history, plan.question.target);
    let periods = plan.periods.iter();
    SiteOutcome {
        site: web.history().site.clone(),
        pages: web.history().page_count(),
        links: web.history().links.item_count(),
        snapshots: web.history().snapshots.len(),
        recrawls: (1..web.history().snapshots.len())
            .filter(|snapshot| web.is_full(*snapshot))
            .count(),
        truth: Truth::of(&web, &plan.budgets, &plan.periods),
        tallies: periods
            .map(|period| run_period(&web, plan, *period))
            .collect(),
    }
}

/// A policy with the budgets it is judged at.
struct Runner {
    replay: Replay,
    /// Which policy of the plan this is.
    policy: usize,
    /// The budgets: positions in the plan's.
    budgets: std::ops::Range<usize>,
    recrawl_every: u32,
}

fn runners(web: &DiscoveryWeb, plan: &Plan, period: u32) -> Vec<Runner> {
    let mut runners = Vec::new();
    for (index, spec) in plan.policies.iter().enumerate() {
        let sample = plan.policy(spec);
        let recrawl_every = sample.recrawl_every().unwrap_or(period);
        let all = 0..plan.budgets.len();
        let ranges: Vec<_> = if sample.learns_from_rounds() {
            let wanted = |at: &usize| plan.learners_at.contains(&plan.budgets[*at]);
            all.filter(wanted).map(|at| at..at + 1).collect()
        } else {
            vec![all]
        };
        runners.extend(ranges.into_iter().map(|budgets| Runner {
            replay: Replay::new(plan.policy(spec), web),
            policy: index,
            budgets,
            recrawl_every,
        }));
    }
    runners
}

/// By policy, by budget.
fn run_period(web: &DiscoveryWeb, plan: &Plan, period: u32) -> Vec<Vec<Tally>> {
    let mut tallies = vec![vec![Tally::default(); plan.budgets.len()]; plan.policies.len()];
    let mut runners = runners(web, plan, period);
    let mut steps = Steps::new(web);
    while let Some(step) = steps.step() {
        let judged = step.snapshot > 0 && is_judged(step.snapshot, period);
        let findable = if judged {
            found_by(&steps, &step, &step.telling_old())
        } else {
            Vec::new()
        };
        let is_known = |page| steps.is_known(page);
        for runner in &mut runners {
            let mut round = Round::default();
            if judged {
                let budget = plan.budgets[runner.budgets.end - 1];
                round = runner.replay.round(&steps, &step, budget);
                let budgets = &plan.budgets[runner.budgets.clone()];
                let tallies = &mut tallies[runner.policy][runner.budgets.clone()];
                if runner.replay.policy().guesses() {
                    judge_guesses(web, (&step, &findable), &round, &mut tallies[0]);
                } else {
                    judge(&step.arrivals, (&round.asked, &is_known), budgets, tallies);
                }
            }
            let then = if web.is_full(step.snapshot) {
                Then::at(step.snapshot, runner.recrawl_every)
            } else {
                Then::GoOn
            };
            runner.replay.end(&steps, &step, &round, then);
        }
    }
    tallies
}

/// Judges a round of a policy that guesses, at the budget it had.
fn judge_guesses(
    web: &DiscoveryWeb,
    (step, findable): (&Step, &[bool]),
    round: &Round,
    tally: &mut Tally,
) {
    let mut found = Sums::default();
    for (at, page) in step.new_pages().enumerate() {
        if round.found[at] {
            let weight = u64::from(web.weight(page));
            found.all += weight;
            found.findable += if findable[at] { weight } else { 0 };
        }
    }
    tally.add_round(&step.arrivals, found, round.spent());
    tally.guesses += round.guesses;
    tally.guess_hits += round.hits;
}
