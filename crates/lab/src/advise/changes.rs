//! Advice on changes: which stored pages to fetch again.

use turnstone_policy::Question as Asked;

use super::verdict::thin;
use super::{Advice, AdviseError, Better, Field, Options, Time, Tried};
use crate::backtest::Watch;
use crate::backtest::changes::{
    Calendar, Compare, MeanCycle, Outcome, Pace, Question, Since, SiteStore, try_policy,
};
use crate::web::RecordedSite;

/// The share of the store that is fetched in a cycle: what `refresh` takes by default.
const BUDGET: f64 = 0.05;

/// The most rounds that are looked at.
const CYCLES_MAX: u32 = 1000;

/// Clusters need words, which a crawl directory does not keep.
const POLICIES: &[&str] = &[
    "cohorts:ahead=16",
    "round-robin",
    "rns",
    "uniform",
    "interval",
    "crawl-value",
    "azar",
    "gsb",
    "link-neighbours",
    "directory-neighbours",
];

pub(super) fn advise(
    options: &Options,
    time: &Time,
    watch: Watch<'_>,
) -> Result<Advice, AdviseError> {
    let field = Field {
        question: Asked::Changes,
        measure: "of the pages fetched again, the share that had changed",
        better: Better::Higher,
        policies: POLICIES,
    };
    watch("changes: reading", 0.0);
    let calendar = Calendar {
        cycles: CYCLES_MAX,
        pace: Pace::Snapshots,
        compare: Compare::Text,
        grow: false,
    };
    let sites = RecordedSite::all(&options.directory)?;
    let store = SiteStore::read(&sites, calendar, &mut |_| {})?;
    if store.cycles() == 0 || store.known_share().0 == 0 {
        let why = "fetched once only: nothing can be said about changes";
        return Ok(Advice {
            verdict: thin(why, Asked::Changes),
            ..field.too_thin(String::new(), String::new())
        });
    }
    let budget = ((BUDGET * store.first_pages() as f64).round() as u64).max(1);
    let question = Question {
        store: &store,
        budget,
        since: Since::Copy,
        seeds: options.seeds,
    };
    field.advise(time, watch, |spec, watch| {
        let outcome = try_policy(&question, spec, watch)?;
        Ok(tried(&outcome, options.seeds.1))
    })
}

fn tried(outcome: &Outcome, seeds: u64) -> Tried {
    let answers: f64 = outcome.cycles.iter().map(|cycle| cycle.answered).sum();
    let doubt = outcome.doubt;
    Tried {
        policy: outcome.policy.clone(),
        figure: outcome.mean_change_ratio,
        error: outcome.spread.change_ratio / (seeds.max(1) as f64).sqrt(),
        halves: halves(&outcome.cycles),
        between: doubt.map(|doubt| (doubt.change_ratio_low, doubt.change_ratio_high)),
        by_chance: doubt.and_then(|doubt| doubt.change_ratio_weighted),
        answers,
        unknown_share: doubt.map_or(0.0, |doubt| doubt.unknown_share),
        usable: true,
        seconds: 0.0,
    }
}

/// The share of changed pages in the first and in the second half of the cycles, if both have
/// answers.
fn halves(cycles: &[MeanCycle]) -> Vec<f64> {
    let (first, second) = cycles.split_at(cycles.len() / 2);
    let ratio = |cycles: &[MeanCycle]| {
        let answered: f64 = cycles.iter().map(|cycle| cycle.answered).sum();
        let changed: f64 = cycles.iter().map(|cycle| cycle.changed).sum();
        (answered > 0.0).then(|| changed / answered)
    };
    match (ratio(first), ratio(second)) {
        (Some(first), Some(second)) => vec![first, second],
        _ => Vec::new(),
    }
}
