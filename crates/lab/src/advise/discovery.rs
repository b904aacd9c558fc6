//! Advice on discovery: which known pages to fetch again for the new ones.
//!
//! In a live round a policy learns from the rounds there were. Those of the papers learn from full
//! recrawls, which the rounds of a crawl directory are not; they are tried where the record holds
//! recrawls, and told as what they are: not to be had from `turnstone discover` alone.

use turnstone_policy::discovery::{Discovery, Target};
use turnstone_policy::{Question as Asked, Spec};

use super::verdict::thin;
use super::{Advice, AdviseError, Better, Field, Options, Time, Tried};
use crate::backtest::Watch;
use crate::backtest::discovery::{Plan, Summary, run_site};
use crate::history::History;
use crate::web::{RecordedSite, Words};

/// The share of the stored pages that is fetched in a round: what `discover` takes by default.
const BUDGET: f64 = 0.01;

/// Those that learn from their rounds.
const LEARNERS: &[&str] = &[
    "bandit:hubs=0.5",
    "bandit",
    "bandit:rule=ucb",
    "bandit:rule=thompson",
    "bandit:epsilon=0.3",
];

/// Those that learn from recrawls.
const HISTORY_BASED: &[&str] = &["od-win", "cov", "cliq-win", "cov-win"];

pub(super) fn advise(
    options: &Options,
    time: &Time,
    watch: Watch<'_>,
) -> Result<Advice, AdviseError> {
    watch("discovery: reading", 0.0);
    let sites = RecordedSite::all(&options.directory)?;
    let mut holding = Holding::default();
    for site in &sites {
        holding.add(&site.read(Words::Skip)?);
    }
    let mut policies = LEARNERS.to_vec();
    if holding.recrawls > 0 {
        policies.extend(HISTORY_BASED);
    }
    let field = Field {
        question: Asked::Discovery,
        measure: "of the new pages of a round, the share that the policy finds",
        better: Better::Higher,
        policies: &policies,
    };
    let nothing = |why: &str| Advice {
        verdict: thin(why, Asked::Discovery),
        ..field.too_thin(String::new(), String::new())
    };
    if holding.snapshots <= sites.len() {
        return Ok(nothing(
            "crawled once only: nothing can be said about where new pages are found",
        ));
    }
    let budget = (BUDGET * holding.pages as f64 / sites.len() as f64).round();
    let budget = (budget as u64).max(1);
    field.advise(time, watch, |spec, watch| {
        watch(&spec.to_string(), 0.0);
        try_policy(spec, &sites, budget, options)
    })
}

#[derive(Default)]
struct Holding {
    pages: usize,
    snapshots: usize,
    recrawls: usize,
}

impl Holding {
    fn add(&mut self, history: &History) {
        self.pages += history.page_count();
        self.snapshots += history.snapshots.len();
        let is_full = |snapshot: &usize| {
            let looks = history.looks.as_ref();
            looks.is_none_or(|looks| looks.is_full(*snapshot))
        };
        let later = 1..history.snapshots.len();
        self.recrawls += later.filter(is_full).count();
    }
}

/// What a policy found, and what there was.
#[derive(Clone, Copy, Default)]
struct Yield {
    found: u64,
    at_best: u64,
    new: u64,
    fetched: u64,
    unknown: u64,
}

impl Yield {
    fn share(&self) -> f64 {
        self.found as f64 / self.new.max(1) as f64
    }
}

fn try_policy(
    spec: &Spec,
    sites: &[RecordedSite],
    budget: u64,
    options: &Options,
) -> Result<Tried, AdviseError> {
    let (mut shares, mut wholes, mut firsts) = (Vec::new(), Vec::new(), Vec::new());
    for seed in options.seeds() {
        let plan = Plan {
            policies: vec![spec.clone()],
            budgets: vec![budget],
            learners_at: vec![budget],
            periods: vec![1],
            question: Discovery {
                target: Target::Pages,
                decay: 1.0,
                seed,
            },
        };
        plan.check()?;
        let whole = run(sites, &plan, |history| history)?;
        let first = run(sites, &plan, first_half)?;
        shares.push(whole.share());
        wholes.push(whole);
        firsts.push(first);
    }
    let count = shares.len() as f64;
    let mean = shares.iter().sum::<f64>() / count;
    let squares: f64 = shares.iter().map(|share| (share - mean).powi(2)).sum();
    let sum = |of: fn(&Yield) -> u64, all: &[Yield]| all.iter().map(of).sum::<u64>() as f64;
    let (found, new) = (sum(|f| f.found, &wholes), sum(|f| f.new, &wholes));
    let (first_found, first_new) = (sum(|f| f.found, &firsts), sum(|f| f.new, &firsts));
    let halves = if first_new > 0.0 && new > first_new {
        let second = (found - first_found) / (new - first_new);
        vec![first_found / first_new, second]
    } else {
        Vec::new()
    };
    let unknown = sum(|f| f.unknown, &wholes);
    let asked = unknown + sum(|f| f.fetched, &wholes);
    Ok(Tried {
        policy: spec.to_string(),
        figure: mean,
        error: (squares / (count - 1.0).max(1.0)).sqrt() / count.sqrt(),
        halves,
        between: (unknown > 0.0).then(|| (mean, sum(|f| f.at_best, &wholes) / new.max(1.0))),
        by_chance: None,
        answers: (asked - unknown) / count,
        unknown_share: unknown / asked.max(1.0),
        usable: spec.name() == "bandit",
        seconds: 0.0,
    })
}

fn run(
    sites: &[RecordedSite],
    plan: &Plan,
    cut: impl Fn(History) -> History,
) -> Result<Yield, AdviseError> {
    let mut summary = Summary::new(plan);
    for site in sites {
        summary.add(&run_site(cut(site.read(Words::Skip)?), plan));
    }
    let policy = plan.policies[0].to_string();
    let rows = summary.rows(1);
    let row = rows.iter().find(|row| row.policy == policy);
    Ok(row.map_or_else(Yield::default, |row| Yield {
        found: row.found,
        at_best: match row.doubt {
            Some(doubt) => (doubt.coverage_high.unwrap_or(0.0) * row.new as f64).round() as u64,
            None => row.found,
        },
        new: row.new,
        fetched: row.fetched,
        unknown: row.unknown,
    }))
}

/// A history up to its middle.
fn first_half(mut history: History) -> History {
    history.truncate(history.snapshots.len().div_ceil(2));
    history
}
