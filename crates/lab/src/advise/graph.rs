//! Advice on coverage and importance: in which order to crawl, by the link graph crawled so far.
//!
//! Pages that are known and were never fetched count as pages without links; requests for them are
//! counted as unknown.

use turnstone_frontier::Politeness;
use turnstone_linkgraph::LinkGraph;
use turnstone_pagestore::Joined;
use turnstone_policy::Question as Asked;
use turnstone_policy::coverage::{Goal, Trust};
use turnstone_policy::importance::Bonus;
use turnstone_policy::mass::Fraction;

use super::verdict::thin;
use super::{Advice, AdviseError, Better, Field, Options, Time, Tried};
use crate::backtest::{Watch, coverage, importance};
use crate::crawled;

/// The share of the personalised PageRank that is to be in the store.
const GOAL: f64 = 0.9;

/// How many pages are read, in multiples of the web's size.
const CRAWLS: f64 = 3.0;

const COVERAGE: &[&str] = &[
    "rankmass",
    "breadth-first",
    "l-neighbor",
    "windowed-rankmass",
];

const IMPORTANCE: &[&str] = &[
    "opic",
    "opic:select=cycle",
    "opic:select=random",
    "opic:window=interpolation",
];

/// The crawl as a link graph, and by page whether its links are unknown.
fn open(options: &Options) -> Result<(Joined, LinkGraph, Vec<bool>), AdviseError> {
    let web = Joined::look(&options.directory)?;
    let graph = crawled::graph(&web)?.graph;
    let unknown = crawled::never_asked(&web);
    Ok((web, graph, unknown))
}

fn nothing(field: &Field<'_>, why: &str) -> Advice {
    Advice {
        verdict: thin(why, field.question),
        ..field.too_thin(String::new(), String::new())
    }
}

pub(super) fn coverage(
    options: &Options,
    time: &Time,
    watch: Watch<'_>,
) -> Result<Advice, AdviseError> {
    let field = Field {
        question: Asked::Coverage,
        measure: "downloads until 90 % of the personalised PageRank is there",
        better: Better::Lower,
        policies: COVERAGE,
    };
    watch("coverage: reading", 0.0);
    let (web, graph, unknown) = open(options)?;
    let store = &web.stores()[0];
    let Ok(trust) = Trust::alike(store.index().seeds().iter().copied()) else {
        return Ok(nothing(&field, "the crawl has no seed"));
    };
    let fraction = |number| Fraction::new(number).expect("between 0 and 1");
    let question = coverage::Question {
        graph: &graph,
        hosts: &[],
        unknown: &unknown,
        trust: &trust,
        goal: Goal {
            damping: fraction(0.85),
            epsilon: fraction(1.0 - GOAL),
            confidence: None,
        },
        politeness: Politeness::OFF,
    };
    let truth = coverage::Truth::of(&question, &[]);
    field.advise(time, watch, |spec, watch| {
        let outcome = coverage::run(&question, &truth, spec, watch)?;
        let downloads = outcome.downloads.max(1) as f64;
        Ok(Tried {
            policy: outcome.policy,
            figure: outcome
                .downloads_to_actual
                .map_or(f64::INFINITY, |downloads| downloads as f64),
            answers: (outcome.downloads - outcome.unknown) as f64,
            unknown_share: outcome.unknown as f64 / downloads,
            usable: true,
            ..Tried::default()
        })
    })
}

pub(super) fn importance(
    options: &Options,
    time: &Time,
    watch: Watch<'_>,
) -> Result<Advice, AdviseError> {
    let field = Field {
        question: Asked::Importance,
        measure: "mean relative error, in per cent, of the tenth of all pages that matters most",
        better: Better::Lower,
        policies: IMPORTANCE,
    };
    watch("importance: reading", 0.0);
    let (web, graph, unknown) = open(options)?;
    let store = &web.stores()[0];
    if store.index().copied_count() == 0 {
        return Ok(nothing(&field, "no page was fetched yet"));
    }
    field.advise(time, watch, |spec, watch| {
        let mut last = Vec::new();
        let (mut visits, mut unknown_visits) = (0, 0);
        for seed in options.seeds() {
            let question = importance::Question {
                groups: importance::Groups::default(),
                unknown: &unknown,
                crawls: CRAWLS,
                bonus: Bonus::none(),
                politeness: Politeness::OFF,
                seed,
            };
            let specs = std::slice::from_ref(spec);
            let outcomes = importance::run(&mut &graph, &question, specs, watch)?;
            let outcome = outcomes.last().expect("one policy was run");
            let error = outcome.points.last().map(|point| point.error_top10);
            last.push(error.unwrap_or(f64::INFINITY));
            visits += outcome.visits;
            unknown_visits += outcome.unknown;
        }
        let count = last.len() as f64;
        let mean = last.iter().sum::<f64>() / count;
        let squares: f64 = last.iter().map(|error| (error - mean).powi(2)).sum();
        Ok(Tried {
            policy: spec.to_string(),
            figure: mean,
            error: (squares / (count - 1.0).max(1.0)).sqrt() / count.sqrt(),
            answers: (visits - unknown_visits) as f64 / count,
            unknown_share: unknown_visits as f64 / visits.max(1) as f64,
            usable: true,
            ..Tried::default()
        })
    })
}
