//! What `backtest discovery` is asked with, and the document it answers with.

use std::time::Instant;

use serde::Serialize;
use turnstone_policy::discovery::{Discovery, Target};
use turnstone_policy::{Question as Asked, Spec, SpecError, discovery};

use super::{Choice, Folds, Limit, Plan, Row, Summary, run_site};
use crate::run::{Backtest, RunError, Trial, all};
use crate::web::Words;

/// Recrawl periods that the papers' figures are drawn for.
pub const FIGURE_PERIODS: [u32; 2] = [1, 4];

/// Budgets between those asked for, so that a curve has points.
const CURVE: [u64; 16] = [
    1, 2, 3, 5, 7, 10, 20, 30, 50, 100, 200, 300, 500, 1000, 3000, 10_000,
];

/// What is looked for, with how much, and what policies learn from.
#[derive(Clone, Debug)]
pub struct Options {
    /// Pages to fetch per site and snapshot; each is tried.
    pub budgets: Vec<u64>,
    /// Full recrawls lie so many snapshots apart; each is tried.
    pub recrawl_every: Vec<u32>,
    /// What a recrawl weighs against one a snapshot later, above 0 and at most 1.
    pub decay: f64,
    /// What counts as found.
    pub target: Target,
    /// Tell of every site on its own too.
    pub by_site: bool,
    /// Choose among all policies but the first on some sites and report the choice on the others.
    pub folds: Option<usize>,
    /// Also run what the papers' figures are drawn from.
    pub figures: bool,
    /// Where random choices start.
    pub seed: u64,
}

/// What was found.
#[derive(Clone, Debug, Serialize)]
#[expect(missing_docs, reason = "backtest-discovery.json of docs/schema tells")]
pub struct Report {
    pub question: &'static str,
    pub web: String,
    pub pages: u64,
    pub links: u64,
    pub seed: u64,
    pub find: &'static str,
    pub decay: f64,
    pub sites_count: usize,
    pub snapshots: u64,
    pub recrawls: u64,
    pub cases: usize,
    pub new: u64,
    pub orphans: u64,
    pub seconds: f64,
    pub limits: Vec<Limit>,
    pub results: Vec<Row>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sites: Option<Vec<SiteReport>>,
    /// What was chosen for each fold.
    #[serde(rename = "folds", skip_serializing_if = "Option::is_none")]
    pub choices: Option<Vec<Choice>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub held_out: Option<Vec<Row>>,
    /// All sites, for figures; and the same looking for hosts, if figures were wanted of pages.
    #[serde(skip)]
    pub summary: Summary,
    #[serde(skip)]
    pub hosts: Option<Summary>,
}

/// One site.
#[derive(Clone, Debug, Serialize)]
#[expect(missing_docs, reason = "backtest-discovery.json of docs/schema tells")]
pub struct SiteReport {
    pub site: String,
    pub pages: u64,
    pub snapshots: u64,
    pub cases: usize,
    pub new: u64,
    pub orphans: u64,
    pub limits: Vec<Limit>,
    pub results: Vec<Row>,
}

/// As `backtest discovery` asks when nothing is said.
impl Default for Options {
    fn default() -> Self {
        Self {
            budgets: vec![1, 10, 100, 1000, 10_000],
            recrawl_every: vec![1],
            decay: 1.0,
            target: Target::Pages,
            by_site: false,
            folds: None,
            figures: false,
            seed: 1,
        }
    }
}

impl Backtest for Options {
    type Report = Report;

    fn check(&self, spec: &Spec) -> Result<(), SpecError> {
        discovery::build(spec, self.asked()).map(drop)
    }

    fn preset(word: &str) -> Option<String> {
        let more = [
            "od-1:last=nonempty",
            "cliq-1:last=nonempty",
            "cliq-win:last=nonempty",
            "cov:last=nonempty",
            "bandit:rule=ucb",
            "bandit:rule=thompson",
        ];
        (word == "all").then(|| all(Asked::Discovery, &more))
    }

    fn ask(&self, Trial { web, specs, watch }: Trial<'_>) -> Result<Report, RunError> {
        let started = Instant::now();
        let plan = self.plan(specs)?;
        let for_hosts = self.hosts_plan(&plan);
        let recorded = web.sites()?;
        let mut summary = Summary::new(&plan);
        let mut hosts = for_hosts.as_ref().map(Summary::new);
        let mut sites = Vec::new();
        let mut folds = self.folds.map(|count| Folds::new(&plan, count));
        for (index, site) in recorded.iter().enumerate() {
            watch("sites", index as f64 / recorded.len() as f64);
            let history = site.read(Words::Skip)?;
            if let (Some(hosts), Some(plan)) = (&mut hosts, &for_hosts) {
                hosts.add(&run_site(history.clone(), plan));
            }
            let outcome = run_site(history, &plan);
            summary.add(&outcome);
            if let Some(folds) = &mut folds {
                folds.add(&outcome);
            }
            if self.by_site {
                let mut alone = Summary::new(&plan);
                alone.add(&outcome);
                sites.push(self.of_site(outcome.site, &alone));
            }
        }
        Ok(Report {
            question: "discovery",
            web: web.name(),
            pages: summary.pages,
            links: summary.links,
            seed: self.seed,
            find: match self.target {
                Target::Pages => "pages",
                Target::Hosts => "hosts",
            },
            decay: self.decay,
            sites_count: summary.sites,
            snapshots: summary.snapshots,
            recrawls: summary.recrawls,
            cases: summary.covers.len(),
            new: summary.new_pages(),
            orphans: summary.orphans,
            seconds: started.elapsed().as_secs_f64(),
            limits: summary.limits(),
            results: self.rows(&summary),
            sites: self.by_site.then_some(sites),
            choices: folds.as_ref().map(Folds::choices),
            held_out: folds.as_ref().map(Folds::rows),
            summary,
            hosts,
        })
    }
}

impl Options {
    fn asked(&self) -> Discovery {
        Discovery {
            target: self.target,
            decay: self.decay,
            seed: self.seed,
        }
    }

    fn plan(&self, specs: &[Spec]) -> Result<Plan, RunError> {
        if !(self.decay > 0.0 && self.decay <= 1.0) {
            return Err(RunError::wrong("decay", "must be above 0 and at most 1"));
        }
        if self.folds.is_some() && specs.len() < 2 {
            let wanted = "with --folds, name a policy to compare with and at least one to choose";
            return Err(RunError::wrong("policies", wanted));
        }
        let mut plan = Plan {
            policies: specs.to_vec(),
            budgets: self.budgets.clone(),
            learners_at: self.budgets.clone(),
            periods: self.recrawl_every.clone(),
            question: self.asked(),
        };
        if self.figures {
            plan.budgets.extend(CURVE);
            plan.periods.extend(FIGURE_PERIODS);
        }
        plan.budgets.sort_unstable();
        plan.budgets.dedup();
        plan.periods.sort_unstable();
        plan.periods.dedup();
        Ok(plan)
    }

    /// The same without policies, looking for hosts beside pages.
    fn hosts_plan(&self, plan: &Plan) -> Option<Plan> {
        (self.figures && self.target == Target::Pages).then(|| Plan {
            policies: Vec::new(),
            question: Discovery {
                target: Target::Hosts,
                ..plan.question
            },
            ..plan.clone()
        })
    }

    /// The rows that were asked for.
    fn rows(&self, summary: &Summary) -> Vec<Row> {
        let periods = self.recrawl_every.iter();
        let mut rows: Vec<Row> = periods.flat_map(|period| summary.rows(*period)).collect();
        if self.recrawl_every.len() > 1 {
            rows.extend(summary.rows_together(&self.recrawl_every));
        }
        rows.retain(|row| self.budgets.contains(&row.budget));
        rows
    }

    fn of_site(&self, site: String, alone: &Summary) -> SiteReport {
        SiteReport {
            site,
            pages: alone.pages,
            snapshots: alone.snapshots,
            cases: alone.covers.len(),
            new: alone.new_pages(),
            orphans: alone.orphans,
            limits: alone.limits(),
            results: self.rows(alone),
        }
    }
}
