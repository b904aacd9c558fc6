//! `turnstone backtest coverage WEB`

use std::path::PathBuf;

use clap::Args;
use serde_json::json;
use turnstone_frontier::Politeness;
use turnstone_lab::backtest::coverage::{self, Outcome, Question, StoppedBy, Truth};
use turnstone_lab::figure::{Axis, Figure, Series};
use turnstone_lab::number::{duration, percent, whole};
use turnstone_lab::table::Table;
use turnstone_lab::web;
use turnstone_policy::coverage::Goal;
use turnstone_policy::mass::Fraction;
use turnstone_policy::{Question as Asked, Spec, catalog};

use super::pictures::{Pictures, Shown};
use super::unknown::{count, never_fetched};
use crate::caller;
use crate::commands::trusted;
use crate::exit::{Exit, Usage};
use crate::output::Output;
use crate::progress::Progress;
use crate::units;

/// How many downloads until at least 1-ε of the personalised PageRank is provably in the store?
///
/// Each policy crawls the recorded web through the real scheduler. The optimum takes pages by true
/// rank, best first, and is always reported too.
#[derive(Debug, Args)]
pub(crate) struct Coverage {
    /// A recorded web; of a history, the site as it was at its last snapshot
    pub(super) web: PathBuf,
    /// Policies to compare, or `all` (see `turnstone policies coverage`)
    #[arg(
        long,
        default_value = "l-neighbor,windowed-rankmass,rankmass:push=exact,rankmass"
    )]
    policies: String,
    /// Where the surfer starts: `top:N` (the N pages of highest PageRank), `random:N[:SEED]`, a list of pages
    /// `PAGE[=WEIGHT],…` (ids or URLs), or a file with `page<TAB>weight` lines
    #[arg(long, default_value = "top:1")]
    pub(super) trusted: String,
    /// The chance to follow a link rather than to return to a trusted page
    #[arg(long, default_value_t = 0.85, value_parser = units::real)]
    pub(super) damping: f64,
    /// The share that may be missing
    #[arg(long, default_value_t = 0.02, value_parser = units::real)]
    pub(super) epsilon: f64,
    /// Ask each host politely, this far apart, under a virtual clock, and tell how long it takes
    #[arg(long, value_parser = units::span_ms, value_name = "TIME")]
    pub(super) delay: Option<u64>,
    /// Stop when a certificate of this confidence says that enough is stored, instead of a proof: 95% or 0.95;
    /// of policies that can be certified (rankmass)
    #[arg(long, value_parser = units::share, value_name = "SHARE")]
    confidence: Option<f64>,
    /// With --confidence: certify this many times with other surfers, and count how often the certificate was
    /// too high
    #[arg(long, default_value_t = 1, value_name = "N", requires = "confidence")]
    pub(super) repetitions: u64,
    #[command(flatten)]
    pictures: Pictures,
}

impl Coverage {
    pub(crate) fn run(self, output: &Output) -> anyhow::Result<Exit> {
        let goal = self.goal()?;
        let specs = self.specs()?;
        if let Some(confidence) = self.confidence {
            return self.certify(&specs, confidence, output);
        }
        let progress = Progress::share();
        progress.at("reading", 0.0);
        let web = web::open_graph(&self.web)?;
        let unknown = web::unknown_pages(&self.web)?;
        progress.at("PageRank", 0.0);
        let trust = trusted::parse(&self.trusted, &web)?;
        let hosts = if self.delay.is_some() {
            web.host_ids()
        } else {
            Vec::new()
        };
        let politeness = self.delay.map_or(Politeness::OFF, |delay_ms| Politeness {
            delay_ms,
            open_max: 1,
        });
        let question = Question {
            graph: &web.graph,
            hosts: &hosts,
            unknown: &unknown,
            trust: &trust,
            goal,
            politeness,
        };
        let truth = Truth::of(&question, &specs);
        let mut outcomes = vec![coverage::optimal(&question, &truth)];
        for spec in &specs {
            let mut watch = |what: &str, share: f64| progress.at(what, share);
            outcomes.push(coverage::run(&question, &truth, spec, &mut watch)?);
        }
        drop(progress);

        let json = json!({
            "question": "coverage",
            "web": self.web.display().to_string(),
            "pages": web.graph.page_count(),
            "links": web.graph.link_count(),
            "unknown_pages": count(&unknown),
            "seed": null,
            "damping": self.damping,
            "epsilon": self.epsilon,
            "trusted": self.trusted,
            "results": outcomes,
        });
        let table = table(&outcomes, self.epsilon);
        let setting = format!(
            "{}: {} pages, {} links. Trusted: {}. Damping {}, goal {}.{}",
            self.web.display(),
            whole(web.graph.page_count() as u64),
            whole(web.graph.link_count()),
            self.trusted,
            self.damping,
            percent(1.0 - self.epsilon),
            never_fetched(&unknown),
        );
        output.result(&json, || format!("{setting}\n\n{}", table.text()))?;
        if self.pictures.wanted() {
            let figures = figures(&outcomes);
            self.pictures.write(Shown {
                title: "Coverage: provably enough, with the fewest downloads".to_owned(),
                question: format!(
                    "Which pages do I download so that at least {} of the personalised PageRank is \
                     provably in my store, with the fewest downloads?",
                    percent(1.0 - self.epsilon)
                ),
                setting,
                figures,
                table,
            }, output)?;
        }
        Ok(exit(&outcomes, output))
    }

    pub(super) fn goal(&self) -> Result<Goal, Usage> {
        let within = "must be above 0 and below 1";
        let damping = Fraction::new(self.damping).ok_or_else(|| Usage::of("--damping", within))?;
        let epsilon = Fraction::new(self.epsilon).ok_or_else(|| Usage::of("--epsilon", within))?;
        Ok(Goal {
            damping,
            epsilon,
            confidence: None,
        })
    }

    fn specs(&self) -> anyhow::Result<Vec<Spec>> {
        let list = match self.policies.as_str() {
            "all" => {
                let fitting = catalog::policies().filter(|info| info.answers(Asked::Coverage));
                let mut names: Vec<&str> = fitting.map(|info| info.name).collect();
                names.push("rankmass:push=exact");
                names.join(",")
            }
            list => list.to_owned(),
        };
        let specs = caller::specs(&list)?;
        for spec in &specs {
            turnstone_policy::coverage::check(spec)?;
        }
        if specs.is_empty() {
            return Err(Usage::of("--policies", "name at least one policy").into());
        }
        Ok(specs)
    }
}

/// Ends with code 3 when a guarantee that was asked for was not reached, and says so.
fn exit(outcomes: &[Outcome], output: &Output) -> Exit {
    let mut exit = Exit::Done;
    for outcome in outcomes
        .iter()
        .filter(|outcome| outcome.stopped_by != StoppedBy::Goal)
    {
        let why = match outcome.stopped_by {
            StoppedBy::OutOfReach => "too much of the web cannot be reached",
            _ => "no page is left to ask for",
        };
        output.note(&format!(
            "{}: the goal is out of reach: {why}; the best guarantee is {}",
            outcome.policy,
            percent(outcome.guaranteed)
        ));
        exit = Exit::Limit;
    }
    exit
}

fn table(outcomes: &[Outcome], epsilon: f64) -> Table {
    let share = percent(1.0 - epsilon);
    let polite = outcomes
        .iter()
        .any(|outcome| outcome.crawl_seconds.is_some());
    let (guaranteed, actual) = (format!("#to {share} proven"), format!("#to {share} there"));
    let mut titles = vec![
        "policy",
        guaranteed.as_str(),
        actual.as_str(),
        "#proven",
        "#pushes",
        "#computing",
    ];
    let unknown = outcomes.iter().any(|outcome| outcome.unknown > 0);
    if unknown {
        titles.push("#unknown");
    }
    if polite {
        titles.push("#crawl takes");
    }
    let mut table = Table::new(&titles);
    let count = |count: Option<u64>| count.map_or_else(|| "-".to_owned(), whole);
    for outcome in outcomes {
        let mut row = vec![
            outcome.policy.clone(),
            count(outcome.downloads_to_guarantee),
            count(outcome.downloads_to_actual),
            percent(outcome.guaranteed),
            whole(outcome.pushes),
            duration(outcome.seconds),
        ];
        if unknown {
            row.push(whole(outcome.unknown));
        }
        if polite {
            row.push(
                outcome
                    .crawl_seconds
                    .map_or_else(|| "-".to_owned(), duration),
            );
        }
        table.row(row);
    }
    table
}

/// The slides' pictures: mass against downloads, downloads needed, time against window size.
fn figures(outcomes: &[Outcome]) -> Vec<Figure> {
    let curve = |outcome: &Outcome, of: fn(&coverage::Point) -> f64| {
        let points = outcome
            .points
            .iter()
            .map(|point| (point.downloads as f64, of(point)));
        points.filter(|(_, share)| *share > 0.0).collect::<Vec<_>>()
    };
    let muted = |outcome: &Outcome, series: Series| {
        if outcome.policy == "optimal" {
            series.muted()
        } else {
            series
        }
    };
    let mass = |title: &str, caption: &str, of: fn(&coverage::Point) -> f64| Figure {
        title: title.to_owned(),
        caption: caption.to_owned(),
        x: Axis::log("pages downloaded"),
        y: Axis {
            percent: true,
            ..Axis::log("share of personalised PageRank")
        },
        series: outcomes
            .iter()
            .map(|outcome| {
                muted(
                    outcome,
                    Series::line(outcome.policy.clone(), curve(outcome, of)),
                )
            })
            .collect(),
    };
    let needed = Figure {
        title: "Downloads needed for a guarantee".to_owned(),
        caption: "How many pages must be downloaded before a share is proven to be in the store."
            .to_owned(),
        x: Axis::share("share guaranteed"),
        y: Axis::log("pages downloaded"),
        series: outcomes
            .iter()
            .map(|outcome| {
                let points = curve(outcome, |point| point.guaranteed)
                    .into_iter()
                    .map(|(x, y)| (y, x));
                muted(
                    outcome,
                    Series::line(outcome.policy.clone(), points.collect()),
                )
            })
            .collect(),
    };
    let mut figures = vec![
        mass(
            "Mass guaranteed",
            "What each policy has proven to be in the store. The dashed line is the optimum, which knows the truth.",
            |point| point.guaranteed,
        ),
        mass(
            "Mass collected",
            "What is in the store, proven or not.",
            |point| point.actual,
        ),
        needed,
    ];
    figures.extend(window_figure(outcomes));
    figures
}

/// Running time against window size, where at least two windows were tried.
fn window_figure(outcomes: &[Outcome]) -> Option<Figure> {
    let window = |outcome: &Outcome| -> Option<(f64, f64)> {
        let spec: Spec = outcome.policy.parse().ok()?;
        let windowed = spec.name() == "windowed-rankmass";
        windowed.then(|| {
            (
                spec.get("window").unwrap_or("0.1").parse().unwrap_or(0.1),
                outcome.seconds,
            )
        })
    };
    let mut points: Vec<(f64, f64)> = outcomes.iter().filter_map(window).collect();
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    if points.len() < 2 {
        return None;
    }
    let (first, last) = (points[0].0, points[points.len() - 1].0);
    let mut series = vec![Series::line("windowed-rankmass", points)];
    for outcome in outcomes
        .iter()
        .filter(|o| o.policy.starts_with("rankmass") || o.policy == "l-neighbor")
    {
        let level = vec![(first, outcome.seconds), (last, outcome.seconds)];
        series.push(Series::line(outcome.policy.clone(), level).muted());
    }
    Some(Figure {
        title: "Running time against window size".to_owned(),
        caption: "Seconds of computing until the guarantee is reached.".to_owned(),
        x: Axis::log("window"),
        y: Axis::linear("seconds"),
        series,
    })
}
