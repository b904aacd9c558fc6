//! The costs as a table.

use turnstone_lab::backtest::liveness::{Outcome, Point, Run};
use turnstone_lab::number::{percent, whole};
use turnstone_lab::table::Table;

/// The shares worth a column.
const SHARES: [f64; 7] = [0.1, 0.2, 0.5, 0.75, 0.9, 0.95, 1.0];

/// Cost by policy and share, and what the samples told.
pub(super) fn costs(outcomes: &[Outcome], stops: bool) -> Table {
    let mut titles = vec!["policy".to_owned()];
    titles.extend(SHARES.map(|share| format!("#α = {share}")));
    titles.push("#alive, estimated".to_owned());
    if stops {
        titles.extend(["#stops after".to_owned(), "#truly found".to_owned()]);
    }
    if outcomes
        .iter()
        .any(|outcome| crawl_seconds(outcome).is_some())
    {
        titles.push("#crawl takes".to_owned());
    }
    let doubt = outcomes.iter().any(|outcome| outcome.unknown > 0);
    if doubt {
        titles.extend(DOUBT.map(str::to_owned));
    }
    let titles: Vec<&str> = titles.iter().map(String::as_str).collect();
    let mut table = Table::new(&titles);
    for outcome in outcomes {
        let mut row = vec![outcome.policy.clone()];
        row.extend(SHARES.map(|share| cost(outcome, share)));
        row.push(estimate(outcome));
        if stops {
            row.extend(stop(outcome));
        }
        let doubt_columns = if doubt { DOUBT.len() } else { 0 };
        if row.len() + doubt_columns < titles.len() {
            let seconds = crawl_seconds(outcome);
            row.push(seconds.map_or_else(dash, turnstone_lab::number::duration));
        }
        if doubt {
            row.extend(doubts(outcome));
        }
        table.row(row);
    }
    table
}

/// Of the share that [`HALF`] is: what is not known.
const DOUBT: [&str; 4] = ["#unknown at 0.5", "#if gone", "#if alive", "#by chance"];

/// The share at which doubt is shown.
const HALF: f64 = 0.5;

/// Requests without an answer when half of the known alive pages are found, and what the cost
/// would be if those were gone, or alive; and by logged chances.
fn doubts(outcome: &Outcome) -> [String; 4] {
    let at = |point: &&Point| (point.alpha - HALF).abs() < 1e-9;
    let doubt = outcome.curve.iter().find(at).and_then(|point| point.doubt);
    let Some(doubt) = doubt else {
        return [dash(), dash(), dash(), dash()];
    };
    let cost = |cost: f64| format!("{cost:.2}");
    [
        whole(doubt.unknown.round() as u64),
        cost(doubt.cost_if_gone),
        cost(doubt.cost_if_alive),
        doubt.cost_weighted.map_or_else(dash, cost),
    ]
}

fn dash() -> String {
    "-".to_owned()
}

/// The cost of a share; with several runs, give or take the standard deviation.
fn cost(outcome: &Outcome, share: f64) -> String {
    let at = |point: &&Point| (point.alpha - share).abs() < 1e-9;
    let Some(point) = outcome.curve.iter().find(at) else {
        return dash();
    };
    match outcome.runs.len() {
        1 => format!("{:.2}", point.cost),
        _ => format!("{:.2} ±{:.2}", point.cost, point.cost_sd),
    }
}

/// The first run's estimate with its interval.
fn estimate(outcome: &Outcome) -> String {
    let sample = outcome.runs.first().and_then(|run| run.sample);
    let told = sample.and_then(|sample| Some((sample.alive_estimate?, sample.alive_interval?)));
    told.map_or_else(dash, |(alive, (low, high))| {
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
        return [dash(), dash()];
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
