//! Advice on liveness: in which order to look for what is still there.

use std::sync::Arc;

use turnstone_frontier::Politeness;
use turnstone_linkgraph::rank::{GraphRank, PageRank};
use turnstone_policy::Question as Asked;
use turnstone_policy::liveness::{Confidence, Sample, SampleBy};

use super::verdict::thin;
use super::{Advice, AdviseError, Better, Field, Options, Time, Tried};
use crate::backtest::Watch;
use crate::backtest::liveness::{Outcome, Question, run};
use crate::web::{From, OldWeb, OldWebError, Times};

/// The share of the alive pages that is to be found.
const SHARE: f64 = 0.9;

/// The share of the pages that is tested first: what `revive` takes by default.
const SAMPLE: f64 = 0.02;

const POLICIES: &[&str] = &[
    "pa-ratio",
    "random",
    "indegree",
    "active-site-first",
    "pagerank",
    "pa",
    "pa-site",
    "alive-bfs",
    "alive-indegree",
];

pub(super) fn advise(
    options: &Options,
    time: &Time,
    watch: Watch<'_>,
) -> Result<Advice, AdviseError> {
    let field = Field {
        question: Asked::Liveness,
        measure: "requests for each alive page, until 90 % of those alive are found",
        better: Better::Lower,
        policies: POLICIES,
    };
    let nothing = |why: &str| Advice {
        verdict: thin(why, Asked::Liveness),
        ..field.too_thin(String::new(), String::new())
    };
    watch("liveness: reading", 0.0);
    // Every page ever fetched, and what a later fetch told of it.
    let times = Times {
        from: From::All,
        to: None,
    };
    let web = match OldWeb::of_histories(&options.directory, times) {
        Ok(web) => web,
        Err(OldWebError::NothingKnown { .. }) => {
            let why = "no page was fetched twice: nothing can be said about what became of them";
            return Ok(nothing(why));
        }
        Err(error) => return Err(error.into()),
    };
    let (pages, unknown, alive) = (
        web.graph().page_count() as u64,
        web.unknown_count(),
        web.alive_count(),
    );
    if alive == 0 {
        return Ok(nothing("no page that was looked at again is still there"));
    }
    if alive + unknown == pages {
        return Ok(nothing(
            "every page that was looked at again is still there, so every order is as good",
        ));
    }
    let ranks = GraphRank::new(web.graph(), PageRank::default());
    let question = Question {
        web: &web,
        old: Arc::new(web.old_crawl(Arc::new(ranks))),
        sample: Sample {
            by: SampleBy::Random,
            size: ((SAMPLE * pages as f64).round() as usize).max(1),
        },
        confidence: Confidence::new(0.95).expect("between one half and one"),
        enough: None,
        politeness: Politeness::OFF,
        open: 1,
    };
    let seeds: Vec<u64> = options.seeds().collect();
    field.advise(time, watch, |spec, watch| {
        let outcome = run(&question, spec, &seeds, watch)?;
        Ok(tried(&outcome, pages))
    })
}

fn tried(outcome: &Outcome, pages: u64) -> Tried {
    let at = outcome.curve.iter();
    let mut at = at.filter(|point| (point.alpha - SHARE).abs() < 1e-9);
    let point = at.next().expect("the curve has this share");
    let runs = outcome.runs.len() as f64;
    let doubt = point.doubt;
    let sorted = |doubt: crate::backtest::liveness::DoubtPoint| {
        let (a, b) = (doubt.cost_if_alive, doubt.cost_if_gone);
        (a.min(b), a.max(b))
    };
    Tried {
        policy: outcome.policy.clone(),
        figure: point.cost,
        error: point.cost_sd / runs.sqrt(),
        halves: Vec::new(),
        between: doubt.map(sorted),
        by_chance: doubt.and_then(|doubt| doubt.cost_weighted),
        answers: (pages - outcome.unknown) as f64,
        unknown_share: outcome.unknown as f64 / pages.max(1) as f64,
        usable: true,
        seconds: 0.0,
    }
}
