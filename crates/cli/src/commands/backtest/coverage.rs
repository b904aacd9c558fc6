//! `turnstone backtest coverage WEB`

use std::path::PathBuf;

use crate::figure::{Axis, Figure, Series};
use crate::table::Table;
use clap::Args;
use turnstone_lab::backtest::coverage::certificate;
use turnstone_lab::backtest::coverage::{Options, Outcome, Point, StoppedBy};
use turnstone_lab::number::{at_least, duration, percent, whole};
use turnstone_policy::Spec;

use super::shown::{Pictures, Shown};
use super::unknown::{never_fetched, or_dash};
use super::{ask, certify, specs};
use crate::exit::Exit;
use crate::output::Output;
use crate::units;

/// How many downloads until at least 1-ε of the personalised PageRank is provably in the store?
///
/// Each policy crawls the recorded web through the real scheduler. The optimum takes pages by true
/// rank, best first, and is always reported too.
#[derive(Debug, Args)]
pub(crate) struct Coverage {
    /// A recorded web; of a history, the site as it was at its last snapshot
    web: PathBuf,
    /// Policies to compare, or `all` (see `turnstone policies coverage`)
    #[arg(
        long,
        default_value = "l-neighbor,windowed-rankmass,rankmass:push=exact,rankmass"
    )]
    policies: String,
    /// Where the surfer starts: `top:N` (the N pages of highest PageRank), `random:N[:SEED]`, a list of pages
    /// `PAGE[=WEIGHT],…` (ids or URLs), or a file with `page<TAB>weight` lines
    #[arg(long, default_value = "top:1")]
    trusted: String,
    /// The chance to follow a link rather than to return to a trusted page
    #[arg(long, default_value_t = 0.85, value_parser = units::real)]
    damping: f64,
    /// The share that may be missing
    #[arg(long, default_value_t = 0.02, value_parser = units::real)]
    epsilon: f64,
    /// Ask each host politely, this far apart, under a virtual clock, and tell how long it takes
    #[arg(long, value_parser = units::span_ms, value_name = "TIME")]
    delay: Option<u64>,
    /// Stop when a certificate of this confidence says that enough is stored, instead of a proof: 95% or 0.95;
    /// of policies that can be certified (rankmass)
    #[arg(long, value_parser = units::share, value_name = "SHARE")]
    confidence: Option<f64>,
    /// With --confidence: certify this many times with other surfers, and count how often the certificate was
    /// too high
    #[arg(long, default_value_t = 1, value_name = "N", requires = "confidence")]
    repetitions: u64,
    #[command(flatten)]
    pictures: Pictures,
}

impl Coverage {
    pub(crate) fn run(self, output: &Output) -> anyhow::Result<Exit> {
        let specs = specs::<Options>(&self.policies)?;
        let options = Options {
            trusted: self.trusted,
            damping: self.damping,
            epsilon: self.epsilon,
            delay_ms: self.delay,
        };
        if let Some(confidence) = self.confidence {
            let options = certificate::Options {
                coverage: options,
                confidence,
                repetitions: self.repetitions,
            };
            return certify::run(&options, &[self.web], &specs, output);
        }
        let report = ask(&options, &[self.web], &specs)?;
        let share = percent(1.0 - report.epsilon);
        let shown = Shown {
            title: "Coverage: provably enough, with the fewest downloads",
            question: format!(
                "Which pages do I download so that at least {share} of the personalised PageRank is \
                 provably in my store, with the fewest downloads?"
            ),
            setting: format!(
                "{}: {} pages, {} links. Trusted: {}. Damping {}, goal {share}.{}",
                report.web,
                whole(report.pages as u64),
                whole(report.links),
                report.trusted,
                report.damping,
                never_fetched(report.unknown_pages, report.pages),
            ),
            table: table(&report.results, &share),
            more: String::new(),
            figures: &|| figures(&report.results),
        };
        self.pictures.show(&report, shown, output)?;
        Ok(exit(&report.results, output))
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
            at_least(outcome.guaranteed)
        ));
        exit = Exit::Limit;
    }
    exit
}

fn table(outcomes: &[Outcome], share: &str) -> Table {
    let unknown = outcomes.iter().any(|it| it.unknown > 0);
    let polite = outcomes.iter().any(|it| it.crawl_seconds.is_some());
    Table::of(outcomes)
        .column("policy", |it| it.policy.clone())
        .column(&format!("#to {share} proven"), |it| {
            or_dash(it.downloads_to_guarantee, whole)
        })
        .column(&format!("#to {share} there"), |it| {
            or_dash(it.downloads_to_actual, whole)
        })
        .column("#proven", |it| at_least(it.guaranteed))
        .column("#pushes", |it| whole(it.pushes))
        .column("#computing", |it| duration(it.seconds))
        .columns(unknown, ["#unknown"], |it| [whole(it.unknown)])
        .columns(polite, ["#crawl takes"], |it| {
            [or_dash(it.crawl_seconds, duration)]
        })
        .table()
}

/// The slides' pictures: mass against downloads, downloads needed, time against window size.
fn figures(outcomes: &[Outcome]) -> Vec<Figure> {
    let curve = |outcome: &Outcome, of: fn(&Point) -> f64| {
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
    let mass = |title: &str, caption: &str, of: fn(&Point) -> f64| Figure {
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
