//! All policies over one site, and sites one after the other.
//!
//! For each recrawl period the site is walked once, with every policy at its side; a policy that
//! learns from its rounds is run for each budget apart, the others once with the largest. Results
//! of sites add up, so memory never holds more than one site.

use turnstone_policy::discovery::{Discovery, DiscoveryPolicy, build};
use turnstone_policy::{Spec, SpecError};

use super::replay::{Replay, Then};
use super::steps::Steps;
use super::tally::{Tally, judge};
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

fn runners(plan: &Plan, period: u32) -> Vec<Runner> {
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
            replay: Replay::new(plan.policy(spec)),
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
    let mut runners = runners(plan, period);
    let mut steps = Steps::new(web);
    while let Some(step) = steps.step() {
        let judged = step.is_case() && is_judged(step.snapshot, period);
        for runner in &mut runners {
            // A round that finds nothing teaches only those who learn from rounds.
            let learns = runner.replay.policy().learns_from_rounds();
            let round = step.snapshot > 0 && is_judged(step.snapshot, period);
            let mut asked = Vec::new();
            if judged || (learns && round) {
                let budget = plan.budgets[runner.budgets.end - 1];
                asked = runner.replay.ask(step.snapshot, budget);
            }
            if judged {
                let budgets = &plan.budgets[runner.budgets.clone()];
                let tallies = &mut tallies[runner.policy][runner.budgets.clone()];
                let is_known = |page| steps.is_known(page);
                judge(&step.arrivals, (&asked, &is_known), budgets, tallies);
            }
            let then = if web.is_full(step.snapshot) {
                Then::at(step.snapshot, runner.recrawl_every)
            } else {
                Then::GoOn
            };
            runner.replay.end(&steps, &step, &asked, then);
        }
    }
    tallies
}
