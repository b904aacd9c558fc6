//! The contests of a league: how each question is asked when nothing is said, and what counts.
//!
//! One number for each question, that which its results page leads with. More would be fairer and nobody
//! would read it: `backtest` has the rest.

use std::path::{Path, PathBuf};

use turnstone_policy::{Question, Spec};

use crate::backtest::{Watch, changes, coverage, discovery, importance, keep, liveness};
use crate::run::{RunError, run};
use crate::web::{RecordedWeb, WebKind};

/// The share of the alive pages that is to be found.
const ALIVE: f64 = 0.9;
/// Requests for each site and snapshot.
const REQUESTS: u64 = 10;

/// Asks a web once, with a seed.
type Play = fn(&RecordedWeb, &[Spec], u64, Watch<'_>) -> Result<Vec<Played>, RunError>;

/// A question as the league asks it.
pub(super) struct Contest {
    pub(super) question: Question,
    /// As `backtest` names it.
    pub(super) name: &'static str,
    /// What counts, in words.
    pub(super) measure: &'static str,
    pub(super) less_is_better: bool,
    pub(super) is_share: bool,
    /// Whether anything is drawn with a seed.
    pub(super) draws: bool,
    /// Asks once; an answer for each policy, in their order.
    pub(super) play: Play,
}

/// What a policy reached with one seed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Played {
    pub(super) value: Option<f64>,
    /// What nobody can beat.
    pub(super) bound: Option<f64>,
    pub(super) seconds: Option<f64>,
    pub(super) decisions: f64,
}

pub(super) const ALL: &[Contest] = &[
    Contest {
        question: Question::Coverage,
        name: "coverage",
        measure: "downloads until 98 % of the personalised PageRank is proven to be stored, per page of the web",
        less_is_better: true,
        is_share: true,
        draws: false,
        play: play_coverage,
    },
    Contest {
        question: Question::Importance,
        name: "importance",
        measure: "mean relative error on the most important tenth of the pages after ten crawls",
        less_is_better: true,
        is_share: true,
        draws: true,
        play: play_importance,
    },
    Contest {
        question: Question::Liveness,
        name: "liveness",
        measure: "requests for each alive page until nine tenths of the alive pages are found",
        less_is_better: true,
        is_share: false,
        draws: true,
        play: play_liveness,
    },
    Contest {
        question: Question::Discovery,
        name: "discovery",
        measure: "share of all new pages that is found with ten requests a site and snapshot",
        less_is_better: false,
        is_share: true,
        draws: true,
        play: play_discovery,
    },
    Contest {
        question: Question::Changes,
        name: "changes",
        measure: "share of the fetched pages that had changed, with 2 % of the store a cycle",
        less_is_better: false,
        is_share: true,
        draws: true,
        play: play_changes,
    },
    Contest {
        question: Question::Keep,
        name: "keep",
        measure: "share of the pages that are there which is stored as it is, over a year, with a tenth of a weekly recrawl",
        less_is_better: false,
        is_share: true,
        draws: true,
        play: play_keep,
    },
];

impl Contest {
    /// Whether a web of this kind can be asked at all.
    pub(super) fn fits(&self, kind: &WebKind, place: &Path) -> bool {
        match self.question {
            // One site at a time, or one graph.
            Question::Coverage | Question::Importance => !matches!(kind, WebKind::Histories(_)),
            Question::Liveness => super::has_past(kind) || alive_beside(place).is_some(),
            _ => super::has_past(kind),
        }
    }
}

/// The list of alive pages that lies beside a graph: `NAME.alive`, plain or compressed.
fn alive_beside(place: &Path) -> Option<PathBuf> {
    let folder = place.parent()?;
    let name = super::name_of(place);
    let ending = |ending: &str| folder.join(format!("{name}.alive{ending}"));
    let mut files = ["", ".zst", ".gz"].map(ending).into_iter();
    files.find(|file| file.is_file())
}

/// What a policy reached, out of a report's list of results: those that the lab adds by itself are left out.
fn of_policies<R>(
    specs: &[Spec],
    results: &[R],
    name: fn(&R) -> &str,
    played: impl Fn(&R) -> Played,
) -> Vec<Played> {
    let of = |spec: &Spec| {
        let found = results
            .iter()
            .find(|result| name(result) == spec.to_string());
        played(found.expect("every policy that is asked gets an answer"))
    };
    specs.iter().map(of).collect()
}

fn play_coverage(
    web: &RecordedWeb,
    specs: &[Spec],
    _: u64,
    watch: Watch<'_>,
) -> Result<Vec<Played>, RunError> {
    let report = run(&coverage::Options::default(), web, specs, watch)?;
    let pages = report.pages.max(1) as f64;
    let of_pages = |downloads: Option<u64>| downloads.map(|downloads| downloads as f64 / pages);
    // The optimum comes first.
    let best = report.results.first();
    let bound = best.and_then(|it| of_pages(it.downloads_to_guarantee));
    Ok(of_policies(
        specs,
        &report.results,
        |result| &result.policy,
        |result| Played {
            value: of_pages(result.downloads_to_guarantee),
            bound,
            seconds: Some(result.seconds),
            decisions: result.downloads as f64,
        },
    ))
}

fn play_importance(
    web: &RecordedWeb,
    specs: &[Spec],
    seed: u64,
    watch: Watch<'_>,
) -> Result<Vec<Played>, RunError> {
    let options = importance::Options {
        seed,
        ..importance::Options::default()
    };
    let report = run(&options, web, specs, watch)?;
    let results = report.runs.into_iter().flat_map(|run| run.outcomes);
    let results: Vec<_> = results.collect();
    // Points tell per cent.
    let error = |of: &importance::Outcome| Some(of.points.last()?.error_top10 / 100.0);
    Ok(of_policies(
        specs,
        &results,
        |result| &result.policy,
        |result| Played {
            value: error(result),
            bound: None,
            seconds: Some(result.seconds),
            decisions: result.visits as f64,
        },
    ))
}

fn play_liveness(
    web: &RecordedWeb,
    specs: &[Spec],
    seed: u64,
    watch: Watch<'_>,
) -> Result<Vec<Played>, RunError> {
    let options = liveness::Options {
        alive: web.places().first().and_then(|place| alive_beside(place)),
        seed,
        ..liveness::Options::default()
    };
    let report = run(&options, web, specs, watch)?;
    let at = |result: &liveness::Outcome| {
        let point = result.curve.iter().find(|it| it.alpha >= ALIVE - 1e-9);
        point.map(|point| point.cost)
    };
    Ok(of_policies(
        specs,
        &report.results,
        |result| &result.policy,
        |result| Played {
            value: at(result),
            bound: Some(1.0),
            seconds: Some(result.seconds),
            decisions: result.curve.last().map_or(0.0, |last| last.requests),
        },
    ))
}

fn play_discovery(
    web: &RecordedWeb,
    specs: &[Spec],
    seed: u64,
    watch: Watch<'_>,
) -> Result<Vec<Played>, RunError> {
    let options = discovery::Options {
        budgets: vec![REQUESTS],
        seed,
        ..discovery::Options::default()
    };
    let report = run(&options, web, specs, watch)?;
    if report.new == 0 {
        return Err(RunError::wrong("web", "no page is new in it"));
    }
    Ok(of_policies(
        specs,
        &report.results,
        |result| &result.policy,
        |result| Played {
            value: result.coverage_all,
            bound: None,
            // Policies run side by side: what one of them costs is not told.
            seconds: None,
            decisions: (result.fetched + result.guesses) as f64,
        },
    ))
}

fn play_changes(
    web: &RecordedWeb,
    specs: &[Spec],
    seed: u64,
    watch: Watch<'_>,
) -> Result<Vec<Played>, RunError> {
    let options = changes::Options {
        seed,
        seeds: 1,
        ..changes::Options::default()
    };
    let report = run(&options, web, specs, watch)?;
    Ok(of_policies(
        specs,
        &report.results,
        |result| &result.outcome.policy,
        |result| Played {
            value: Some(result.outcome.mean_change_ratio),
            bound: result.bound.map(|bound| bound.change_ratio),
            seconds: Some(result.outcome.seconds),
            decisions: result.outcome.cycles.iter().map(|it| it.downloads).sum(),
        },
    ))
}

fn play_keep(
    web: &RecordedWeb,
    specs: &[Spec],
    seed: u64,
    watch: Watch<'_>,
) -> Result<Vec<Played>, RunError> {
    let options = keep::Options {
        seed,
        ..keep::Options::default()
    };
    let report = run(&options, web, specs, watch)?;
    Ok(of_policies(
        specs,
        &report.results,
        |result| &result.policy,
        |result| Played {
            value: Some(result.together.freshness),
            bound: None,
            seconds: Some(result.seconds),
            decisions: result.together.requests as f64,
        },
    ))
}
