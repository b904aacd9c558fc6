//! The figures of the OPIC paper, from whatever was run.
//!
//! Figures 2 and 3: error against pages crawled, on all pages and on the top tenth. Figures 4 and
//! 6: error against the change rate, by window size and by window type, where several rates were
//! tried. Figure 5: measures kept per page, where windows were compared.

use crate::figure::{Axis, Figure, Mark, Series};
use turnstone_lab::backtest::importance::{OFF_LINE, Outcome, Point, Run};
use turnstone_policy::Spec;

/// Everything there is to draw; the main figure first.
pub(super) fn all(runs: &[Run]) -> Vec<Figure> {
    let mut figures = Vec::new();
    if runs.len() > 1 {
        figures.extend(by_rate(
            runs,
            "Figure 4: influence of the window's size",
            |outcome| ["variable", "interpolation"].contains(&window(outcome).as_str()),
        ));
        figures.extend(by_rate(
            runs,
            "Figure 6: influence of the window's type",
            |outcome| window(outcome) != "none",
        ));
    }
    if let Some(run) = runs.first() {
        figures.push(by_visits(
            run,
            "Figure 2: convergence on all pages",
            |point| Some(point.error_all),
        ));
        figures.push(by_visits(
            run,
            "Figure 3: convergence on the most important tenth",
            |point| Some(point.error_top10),
        ));
        figures.push(Figure {
            y: Axis::log("error factor 1/G"),
            caption: "The paper's bound on the error.".to_owned(),
            ..by_visits(run, "Error factor", |point| point.error_factor)
        });
        figures.extend(measures(run));
    }
    figures
}

fn by_visits(run: &Run, title: &str, of: fn(&Point) -> Option<f64>) -> Figure {
    let series = run.outcomes.iter().filter_map(|outcome| {
        let points = outcome.points.iter();
        let points: Vec<(f64, f64)> = points
            .filter_map(|point| Some((point.crawls, of(point)?)))
            .collect();
        (!points.is_empty()).then(|| series(outcome, points))
    });
    Figure {
        title: title.to_owned(),
        caption: "Mean relative error of the estimates against the fixpoint. The dashed line is \
                  the off-line algorithm."
            .to_owned(),
        x: Axis::linear("pages crawled, in multiples of all pages"),
        y: Axis::log("mean error, per cent"),
        series: series.collect(),
    }
}

/// The error at the end of each run; nothing if fewer than two policies are wanted.
fn by_rate(runs: &[Run], title: &str, wanted: impl Fn(&Outcome) -> bool) -> Option<Figure> {
    let outcomes = runs.first()?.outcomes.iter().enumerate();
    let drawn: Vec<Series> = outcomes
        .filter(|(_, outcome)| wanted(outcome))
        .map(|(index, outcome)| {
            let points = runs.iter().filter_map(|run| {
                let last = run.outcomes.get(index)?.points.last()?;
                Some((run.change_rate, last.error_all))
            });
            series(outcome, points.collect())
        })
        .collect();
    (drawn.len() > 1).then(|| Figure {
        title: title.to_owned(),
        caption: "Mean relative error on all pages at the end, against the share of pages that \
                  change while as many are read as there are."
            .to_owned(),
        x: Axis {
            percent: true,
            ..Axis::linear("change rate")
        },
        y: Axis::linear("mean error, per cent"),
        series: drawn,
    })
}

/// Figure 5 as bars; nothing where no window keeps more than one measure.
fn measures(run: &Run) -> Option<Figure> {
    let outcomes = run.outcomes.iter().filter(|o| window(o) != "none");
    let kept: Vec<(String, f64)> = outcomes
        .map(|outcome| (outcome.policy.clone(), outcome.measures_per_page))
        .collect();
    let bar = |(at, (name, measures)): (usize, &(String, f64))| {
        Series::line(name.clone(), vec![(at as f64 + 1.0, *measures)]).drawn_as(Mark::Bars)
    };
    (kept.len() > 1).then(|| Figure {
        title: "Figure 5: measures kept per page".to_owned(),
        caption: "What each window has to remember, on average.".to_owned(),
        x: Axis::side_by_side("policy", kept.len()),
        y: Axis::linear("measures per page"),
        series: kept.iter().enumerate().map(bar).collect(),
    })
}

fn series(outcome: &Outcome, points: Vec<(f64, f64)>) -> Series {
    let series = Series::line(outcome.policy.clone(), points);
    if outcome.policy == OFF_LINE {
        series.muted()
    } else {
        series
    }
}

/// The window of a policy by name; `none` for the off-line algorithm.
fn window(outcome: &Outcome) -> String {
    let spec: Option<Spec> = outcome.policy.parse().ok();
    let window = spec.and_then(|spec| spec.get("window").map(str::to_owned));
    window.unwrap_or_else(|| "none".to_owned())
}
