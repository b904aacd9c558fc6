//! The costs as a table.

use crate::table::Table;
use turnstone_lab::backtest::liveness::{Outcome, Point, Run};
use turnstone_lab::number::{duration, percent, whole};

use crate::commands::backtest::unknown::or_dash;

/// The shares worth a column.
const SHARES: [f64; 7] = [0.1, 0.2, 0.5, 0.75, 0.9, 0.95, 1.0];

/// Cost by policy and share, and what the samples told.
pub(super) fn costs(outcomes: &[Outcome], stops: bool) -> Table {
    let polite = outcomes.iter().any(|it| crawl_seconds(it).is_some());
    let doubt = outcomes.iter().any(|it| it.unknown > 0);
    let mut table = Table::of(outcomes).column("policy", |it| it.policy.clone());
    for share in SHARES {
        table = table.column(&format!("#α = {share}"), |it| cost(it, share));
    }
    table
        .column("#alive, estimated", estimate)
        .columns(stops, ["#stops after", "#truly found"], stop)
        .columns(polite, ["#crawl takes"], |it| {
            [or_dash(crawl_seconds(it), duration)]
        })
        .columns(doubt, DOUBT, doubts)
        .table()
}

/// Of the share that [`HALF`] is: what is not known.
const DOUBT: [&str; 4] = ["#unknown at 0.5", "#if gone", "#if alive", "#by chance"];

/// The share at which doubt is shown.
const HALF: f64 = 0.5;

/// Requests without an answer when half of the known alive pages are found, and what the cost
/// would be if those were gone, or alive; and by logged chances.
fn doubts(outcome: &Outcome) -> [String; 4] {
    let cost = |cost: f64| format!("{cost:.2}");
    match at(outcome, HALF).and_then(|point| point.doubt) {
        None => ["-"; 4].map(str::to_owned),
        Some(doubt) => [
            whole(doubt.unknown.round() as u64),
            cost(doubt.cost_if_gone),
            cost(doubt.cost_if_alive),
            or_dash(doubt.cost_weighted, cost),
        ],
    }
}

fn at(outcome: &Outcome, share: f64) -> Option<&Point> {
    let mut curve = outcome.curve.iter();
    curve.find(|point| (point.alpha - share).abs() < 1e-9)
}

/// The cost of a share; with several runs, give or take the standard deviation.
fn cost(outcome: &Outcome, share: f64) -> String {
    or_dash(at(outcome, share), |point| match outcome.runs.len() {
        1 => format!("{:.2}", point.cost),
        _ => format!("{:.2} ±{:.2}", point.cost, point.cost_sd),
    })
}

/// The first run's estimate with its interval.
fn estimate(outcome: &Outcome) -> String {
    let sample = outcome.runs.first().and_then(|run| run.sample);
    let told = sample.and_then(|sample| Some((sample.alive_estimate?, sample.alive_interval?)));
    or_dash(told, |(alive, (low, high))| {
        format!(
            "{} ({} to {})",
            whole(alive.round() as u64),
            whole(low),
            whole(high)
        )
    })
}

/// Requests until it would have stopped, on average, and the true share; of several runs also how
/// often the share was what it had to be.
fn stop(outcome: &Outcome) -> [String; 2] {
    let stops: Vec<_> = outcome
        .runs
        .iter()
        .filter_map(|run: &Run| run.stop)
        .collect();
    if stops.is_empty() {
        return ["-"; 2].map(str::to_owned);
    }
    let count = stops.len() as f64;
    let requests = stops.iter().map(|stop| stop.requests).sum::<u64>() as f64 / count;
    let share = stops.iter().map(|stop| stop.share).sum::<f64>() / count;
    let least = stops
        .iter()
        .map(|stop| stop.share)
        .fold(f64::INFINITY, f64::min);
    let found = match stops.len() {
        1 => percent(share),
        _ => format!("{} (least {})", percent(share), percent(least)),
    };
    [whole(requests.round() as u64), found]
}

fn crawl_seconds(outcome: &Outcome) -> Option<f64> {
    outcome.runs.first().and_then(|run| run.crawl_seconds)
}
