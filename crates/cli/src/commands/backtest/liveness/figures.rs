//! The paper's figures: cost curves (2 to 6), and how alive pages differ from gone ones (1).

use crate::figure::{Axis, Figure, Series};
use turnstone_frontier::PageId;
use turnstone_lab::backtest::liveness::{Outcome, Report, paper};
use turnstone_lab::web::OldWeb;
use turnstone_linkgraph::rank::{InLinks, PageRank, Teleport};

/// How many points a distribution is drawn with.
const POINTS: usize = 200;

/// Every figure of the report, the main one first.
pub(super) fn all(report: &Report) -> Vec<Figure> {
    let outcomes = &report.results;
    let main = outcomes.iter().take(report.asked);
    let mut figures = vec![costs(
        "What finding alive pages costs",
        "Requests for each alive page, against the share of the alive pages that is wanted. The \
         dashed line is the ideal order, which asks for alive pages only.",
        main,
    )];
    if outcomes.len() > report.asked {
        for of_paper in paper::figures(report.sample_size, report.pages) {
            let named = |policy: &String| outcomes.iter().find(|outcome| outcome.policy == *policy);
            let shown = of_paper.policies.iter().filter_map(named);
            let shown = shown.chain(outcomes.first());
            figures.push(costs(of_paper.title, of_paper.caption, shown));
        }
    }
    figures.extend(distributions(&report.old_web));
    figures
}

/// Cost curves of some policies.
fn costs<'a>(title: &str, caption: &str, outcomes: impl Iterator<Item = &'a Outcome>) -> Figure {
    let series = outcomes.map(|outcome| {
        let points = outcome.curve.iter().map(|point| (point.alpha, point.cost));
        let series = Series::line(outcome.policy.clone(), points.collect());
        if outcome.policy == "ideal" {
            series.muted()
        } else {
            series
        }
    });
    Figure {
        title: title.to_owned(),
        caption: caption.to_owned(),
        x: Axis::share("share of the alive pages found"),
        y: Axis::linear("requests for each alive page"),
        series: series.collect(),
    }
}

/// Figure 1: in-degree and PageRank of alive, gone and all pages, cumulated.
fn distributions(web: &OldWeb) -> Vec<Figure> {
    let graph = web.graph();
    let indegree: Vec<f64> = graph.indegree().into_iter().map(f64::from).collect();
    let ranked = PageRank::default().rank(&InLinks::of(graph), Teleport::Uniform, &mut |_| {});
    let figure = |title: &str, label: &str, values: &[f64]| {
        let of = |wanted: Option<bool>| {
            let pages = graph
                .pages()
                .filter(|page| wanted.is_none_or(|alive| web.alive[page.index()] == alive));
            cumulated(pages.map(|page: PageId| values[page.index()]).collect())
        };
        Figure {
            title: title.to_owned(),
            caption:
                "The share of pages with at most so much. A curve further to the right has more."
                    .to_owned(),
            x: Axis::log(label),
            y: Axis::share("share of pages"),
            series: vec![
                Series::line("alive", of(Some(true))),
                Series::line("gone", of(Some(false))),
                Series::line("all", of(None)).muted(),
            ],
        }
    };
    vec![
        figure(
            "In-degree of alive and gone pages (figure 1a)",
            "in-degree",
            &indegree,
        ),
        figure(
            "PageRank of alive and gone pages (figure 1b)",
            "PageRank",
            &ranked.scores,
        ),
    ]
}

/// Some points of a cumulative distribution, equally far apart by share.
fn cumulated(mut values: Vec<f64>) -> Vec<(f64, f64)> {
    values.sort_by(f64::total_cmp);
    let count = values.len();
    let last_of = |place: usize| values.partition_point(|value| *value <= values[place]);
    let places = (0..=POINTS).map(|point| point * count.saturating_sub(1) / POINTS);
    let mut points: Vec<(f64, f64)> = if count == 0 {
        Vec::new()
    } else {
        places
            .map(|place| (values[place], last_of(place) as f64 / count as f64))
            .collect()
    };
    points.dedup();
    points
}
