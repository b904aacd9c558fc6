//! Freshness over the year, and how it and the finding of new pages compare.

use crate::figure::{Axis, Figure, Mark, Series};
use turnstone_lab::backtest::keep::{Day, Outcome};

/// How many days each point of a curve stands for.
const WEEK: usize = 7;

/// All figures, freshness over time first.
pub(super) fn figures(outcomes: &[Outcome]) -> Vec<Figure> {
    vec![
        over_time(outcomes),
        compared(outcomes, "New pages found", |outcome| {
            outcome.together.found_share
        }),
    ]
}

fn over_time(outcomes: &[Outcome]) -> Figure {
    let line = |outcome: &Outcome| {
        let weeks = outcome.days.chunks(WEEK).enumerate();
        let points = weeks.map(|(week, days)| ((week + 1) as f64, freshness(days)));
        Series::line(outcome.policy.clone(), points.collect())
    };
    Figure {
        title: "Freshness over the year".to_owned(),
        caption:
            "Of the pages that are there, the share that is stored as it is; all sites as one \
                  crawl."
                .to_owned(),
        x: Axis::linear("week"),
        y: Axis {
            percent: true,
            ..Axis::linear("freshness")
        },
        series: outcomes.iter().map(line).collect(),
    }
}

fn freshness(days: &[Day]) -> f64 {
    let sum = |of: fn(&Day) -> u64| days.iter().map(of).sum::<u64>() as f64;
    sum(|day| day.fresh) / sum(|day| day.live).max(1.0)
}

fn compared(outcomes: &[Outcome], title: &str, of: fn(&Outcome) -> f64) -> Figure {
    let bar = |(at, outcome): (usize, &Outcome)| {
        let point = (at as f64 + 1.0, of(outcome));
        Series::line(outcome.policy.clone(), vec![point]).drawn_as(Mark::Bars)
    };
    Figure {
        title: title.to_owned(),
        caption: "All sites as one crawl.".to_owned(),
        x: Axis::side_by_side("policy", outcomes.len()),
        y: Axis::share("share"),
        series: outcomes.iter().enumerate().map(bar).collect(),
    }
}
