//! The paper's figures 5 to 9 from whatever was run, and freshness, which it did not measure.
//!
//! A figure is drawn when the policies it compares are among those run: 5 and 7 need several
//! distances, 7 several budgets, 8 the PageRank trigger, 9 a history trigger.

use crate::figure::{Axis, Figure, Mark, Series};
use turnstone_lab::backtest::changes::{MeanCycle, Outcome, Tried};
use turnstone_policy::Spec;

/// All figures there is something for, the comparison of policies first.
pub(super) fn figures(results: &[Tried]) -> Vec<Figure> {
    let outcomes: Vec<&Outcome> = results.iter().map(|tried| &tried.outcome).collect();
    let Some(budget) = outcomes.first().map(|outcome| outcome.budget) else {
        return Vec::new();
    };
    let of_first = outcomes.iter().filter(|outcome| outcome.budget == budget);
    let first: Vec<&Outcome> = of_first.copied().collect();
    let mut figures = vec![compared(&first), over_cycles(&first)];
    figures.extend(by_distance(&first));
    figures.extend(by_budget(&outcomes));
    figures.extend(pagerank_trigger(&first));
    figures.extend(history_triggers(&first));
    figures
}

/// What a spec says, with the defaults that matter here.
struct Said {
    name: String,
    distance: Option<f64>,
    trigger: String,
}

fn said(outcome: &Outcome) -> Said {
    let spec: Spec = outcome
        .policy
        .parse()
        .expect("it was run, so it can be read");
    let default = match spec.name() {
        "link-neighbours" => Some("3"),
        "directory-neighbours" => Some("1"),
        "cluster-neighbours" => Some("0"),
        _ => None,
    };
    let distance = spec.get("d").or(default);
    Said {
        name: spec.name().to_owned(),
        distance: distance.and_then(|d| d.parse().ok()),
        trigger: spec.get("trigger").unwrap_or("changed").to_owned(),
    }
}

/// The best distance of each neighbourhood as the paper found it.
fn is_the_papers(said: &Said) -> bool {
    let best = match said.name.as_str() {
        "link-neighbours" => 3.0,
        "directory-neighbours" => 1.0,
        "cluster-neighbours" => 0.0,
        _ => return true,
    };
    said.distance == Some(best) && said.trigger == "changed"
}

/// Figure 6: policies side by side.
fn compared(outcomes: &[&Outcome]) -> Figure {
    let shown: Vec<&&Outcome> = outcomes
        .iter()
        .filter(|outcome| is_the_papers(&said(outcome)))
        .collect();
    let bar = |(at, outcome): (usize, &&&Outcome)| {
        let point = (at as f64 + 1.0, outcome.mean_change_ratio);
        Series::line(outcome.policy.clone(), vec![point]).drawn_as(Mark::Bars)
    };
    Figure {
        title: "Policies compared (the paper's figure 6)".to_owned(),
        caption: "Mean ChangeRatio of each policy, distances as the paper found them best."
            .to_owned(),
        x: Axis::side_by_side("policy", shown.len()),
        y: Axis::share("mean ChangeRatio"),
        series: shown.iter().enumerate().map(bar).collect(),
    }
}

fn curve(outcome: &Outcome, of: fn(&MeanCycle) -> f64) -> Vec<(f64, f64)> {
    let cycles = outcome.cycles.iter().enumerate();
    cycles
        .map(|(cycle, mean)| (cycle as f64 + 1.0, of(mean)))
        .collect()
}

/// Freshness, cycle by cycle.
fn over_cycles(outcomes: &[&Outcome]) -> Figure {
    let shown = outcomes
        .iter()
        .filter(|outcome| is_the_papers(&said(outcome)));
    let line = |outcome: &&Outcome| {
        Series::line(
            outcome.policy.clone(),
            curve(outcome, |cycle| cycle.measures.freshness),
        )
    };
    Figure {
        title: "Freshness of the store".to_owned(),
        caption:
            "The share of pages whose copy is current at the end of each cycle. Cycles of which \
                  less than half is known are left out."
                .to_owned(),
        x: Axis::linear("cycle"),
        y: Axis {
            percent: true,
            ..Axis::linear("freshness")
        },
        series: shown.map(line).collect(),
    }
}

/// Mean ChangeRatio by distance, for the outcomes of one neighbourhood.
fn distances<'a>(outcomes: impl Iterator<Item = &'a Outcome>, name: &str) -> Vec<(f64, f64)> {
    let point = |outcome: &Outcome| {
        let said = said(outcome);
        let fits = said.name == name && said.trigger == "changed";
        Some((said.distance.filter(|_| fits)?, outcome.mean_change_ratio))
    };
    let mut points: Vec<(f64, f64)> = outcomes.filter_map(point).collect();
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    points
}

/// Figure 5: the three neighbourhoods by distance.
fn by_distance(outcomes: &[&Outcome]) -> Option<Figure> {
    let names = [
        "directory-neighbours",
        "link-neighbours",
        "cluster-neighbours",
    ];
    let line = |name: &str| Series::line(name, distances(outcomes.iter().copied(), name));
    let series: Vec<Series> = names
        .into_iter()
        .map(line)
        .filter(|line| line.points.len() > 1)
        .collect();
    (!series.is_empty()).then(|| Figure {
        title: "How far to follow a changed sample (the paper's figure 5)".to_owned(),
        caption: "Mean ChangeRatio by distance d.".to_owned(),
        x: Axis::linear("distance d"),
        y: Axis::share("mean ChangeRatio"),
        series,
    })
}

/// Figure 7: directories by distance, under several budgets.
fn by_budget(outcomes: &[&Outcome]) -> Option<Figure> {
    let line = |of_budget: &[&Outcome]| {
        let points = distances(of_budget.iter().copied(), "directory-neighbours");
        Series::line(format!("{} fetches a cycle", of_budget[0].budget), points)
    };
    let series: Vec<Series> = outcomes
        .chunk_by(|a, b| a.budget == b.budget)
        .map(line)
        .filter(|line| line.points.len() > 1)
        .collect();
    (series.len() > 1).then(|| Figure {
        title: "Distance and budget (the paper's figure 7)".to_owned(),
        caption:
            "Mean ChangeRatio of directory-neighbours by distance d, for each budget. Run with \
                  another --cycle-weeks for the other panels."
                .to_owned(),
        x: Axis::linear("distance d"),
        y: Axis::share("mean ChangeRatio"),
        series,
    })
}

/// The outcomes of directory-neighbours with d = 1 and one of some triggers, and some others.
fn lines(
    outcomes: &[&Outcome],
    triggers: &[&str],
    others: &[&str],
    of: fn(&MeanCycle) -> f64,
) -> Vec<Series> {
    let fits = |outcome: &&&Outcome| {
        let said = said(outcome);
        let directory = said.name == "directory-neighbours" && said.distance == Some(1.0);
        directory && triggers.contains(&said.trigger.as_str())
            || others.contains(&said.name.as_str())
    };
    let shown = outcomes.iter().filter(fits);
    shown
        .map(|outcome| Series::line(outcome.policy.clone(), curve(outcome, of)))
        .collect()
}

/// Figure 8: weighted ChangeRatio of the PageRank trigger.
fn pagerank_trigger(outcomes: &[&Outcome]) -> Option<Figure> {
    let run = outcomes
        .iter()
        .any(|outcome| said(outcome).trigger == "pagerank");
    run.then(|| Figure {
        title: "Following important samples (the paper's figure 8)".to_owned(),
        caption: "ChangeRatio weighted by PageRank, a page of average rank counting 1.".to_owned(),
        x: Axis::linear("cycle"),
        y: Axis::linear("weighted ChangeRatio"),
        series: lines(outcomes, &["changed", "pagerank"], &[], |cycle| {
            cycle.measures.weighted_change_ratio
        }),
    })
}

/// Figure 9: history triggers over the cycles.
fn history_triggers(outcomes: &[&Outcome]) -> Option<Figure> {
    let run = outcomes
        .iter()
        .any(|outcome| said(outcome).trigger.ends_with("history"));
    run.then(|| Figure {
        title: "Following by history (the paper's figure 9)".to_owned(),
        caption: "ChangeRatio in each cycle.".to_owned(),
        x: Axis::linear("cycle"),
        y: Axis::share("ChangeRatio"),
        series: lines(
            outcomes,
            &["changed", "history", "weighted-history"],
            &["rns"],
            |cycle| cycle.measures.change_ratio,
        ),
    })
}
