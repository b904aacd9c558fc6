//! The paper's figures 2 to 9, drawn from what was measured.

use crate::figure::{Axis, Figure, Mark, Series};
use turnstone_lab::backtest::discovery::{FIGURE_PERIODS, OVERLAP_BINS, Report, Summary};

/// The histogram's last bar holds all covers of at least this size.
const COVER_SIZES_MAX: usize = 30;

/// The share that a cover of figures 3c and 4 reaches.
const MOST: f64 = 0.9;

/// The main figure first: coverage against size for the period asked for.
pub(super) fn all(report: &Report, period: u32) -> Vec<Figure> {
    let summary = &report.summary;
    let mut figures = vec![coverage_by_size(summary, period, "Coverage and its price")];
    figures.push(trajectories(summary));
    figures.extend(truncated(summary));
    figures.push(most_covers(summary));
    figures.push(histogram(summary));
    figures.extend(overlaps(summary));
    figures.push(global(summary, "Figure 6. All sites at once: new pages"));
    if let Some(hosts) = &report.hosts {
        figures.push(global(hosts, "Figure 7. All sites at once: new hosts"));
    }
    for (number, period) in [8, 9].into_iter().zip(FIGURE_PERIODS) {
        let title = format!("Figure {number}. Coverage against cover size");
        figures.push(coverage_by_size(summary, period, &title));
    }
    figures
}

fn coverage_by_size(summary: &Summary, period: u32, title: &str) -> Figure {
    let mut series: Vec<Series> = Vec::new();
    for row in summary.rows(period) {
        let (Some(size), Some(coverage)) = (row.size, row.coverage) else {
            continue;
        };
        if series.last().is_none_or(|series| series.name != row.policy) {
            let line = Series::line(row.policy.clone(), Vec::new());
            let bound = row.bound.is_some();
            series.push(if bound { line.muted() } else { line });
        }
        if let Some(series) = series.last_mut() {
            series.points.push((size, coverage));
        }
    }
    let sizes = series
        .iter()
        .flat_map(|series| series.points.iter().map(|point| point.0));
    let (least, largest) = sizes
        .filter(|size| *size > 0.0)
        .fold((f64::INFINITY, 1.0f64), |(l, h), x| (l.min(x), h.max(x)));
    let limits = summary.limits();
    let limit = limits.iter().find(|limit| limit.recrawl_every == period);
    if let Some(coverage) = limit.and_then(|limit| limit.coverage) {
        let level = vec![(least.min(largest), coverage), (largest, coverage)];
        series.push(Series::line("history limit", level).muted());
    }
    Figure {
        title: format!("{title}, recrawl every {period}"),
        caption: "Share of all new pages found against the mean number of old pages fetched per \
                  site and snapshot."
            .to_owned(),
        x: Axis::log("old pages fetched, mean"),
        y: Axis {
            percent: true,
            ..Axis::linear("new pages found")
        },
        series,
    }
}

/// Covered pages after each page of each greedy cover.
fn trajectories(summary: &Summary) -> Figure {
    let mut points = Vec::new();
    for (_, _, gains) in &summary.covers {
        let mut covered = 0.0;
        for (index, gain) in gains.iter().enumerate() {
            covered += f64::from(*gain);
            points.push((index as f64 + 1.0, covered));
        }
    }
    Figure {
        title: "Figure 2. Cover size and new pages covered".to_owned(),
        caption: "A point for each site, snapshot and partial cover, with perfect foresight."
            .to_owned(),
        x: Axis::log("cover size"),
        y: Axis::log("new pages covered"),
        series: vec![Series::line("greedy-cover", points).drawn_as(Mark::Points)],
    }
}

/// Figures 3a (in two) and 3b: what covers of at most k pages hold, and what they cost.
fn truncated(summary: &Summary) -> Vec<Figure> {
    let longest = summary.covers.iter().map(|(_, _, gains)| gains.len()).max();
    let longest = longest.unwrap_or(0);
    // By size of the cover: what all covers gain with that page, and how many have it.
    let mut gained = vec![0u64; longest];
    let mut fetched = vec![0u64; longest];
    for (_, _, gains) in &summary.covers {
        for (index, gain) in gains.iter().enumerate() {
            gained[index] += u64::from(*gain);
            fetched[index] += 1;
        }
    }
    let (cases, new) = (summary.covers.len() as f64, summary.new_pages() as f64);
    let (mut found, mut spent) = (0.0, 0.0);
    let (mut mean, mut overhead, mut share) = (Vec::new(), Vec::new(), Vec::new());
    for index in 0..longest {
        found += gained[index] as f64;
        spent += fetched[index] as f64;
        let size = index as f64 + 1.0;
        mean.push((size, found / cases));
        overhead.push((size, spent / found));
        share.push((size, found / new));
    }
    let figure = |title: &str, caption: &str, y: Axis, points| Figure {
        title: title.to_owned(),
        caption: caption.to_owned(),
        x: Axis::log("largest cover allowed"),
        y,
        series: vec![Series::line("greedy-cover", points)],
    };
    let percent = |label: &str| Axis {
        percent: true,
        ..Axis::linear(label)
    };
    vec![
        figure(
            "Figure 3a. New pages covered",
            "Mean over sites and snapshots.",
            Axis::linear("new pages covered, mean"),
            mean,
        ),
        figure(
            "Figure 3a. Overhead",
            "Old pages fetched per new page found, all cases together.",
            percent("overhead"),
            overhead,
        ),
        figure(
            "Figure 3b. Share of new pages covered",
            "All cases together.",
            percent("share of new pages"),
            share,
        ),
    ]
}

/// Size of the smallest part of a cover that holds most, and what it holds.
fn most_of(new: u32, gains: &[u32]) -> (usize, u32) {
    let wanted = MOST * f64::from(new) - 1e-9;
    let mut covered = 0;
    for (index, gain) in gains.iter().enumerate() {
        covered += gain;
        if f64::from(covered) >= wanted {
            return (index + 1, covered);
        }
    }
    (gains.len(), covered)
}

fn most_covers(summary: &Summary) -> Figure {
    let covers = summary.covers.iter();
    let points = covers.map(|(_, new, gains)| {
        let (size, covered) = most_of(*new, gains);
        (size as f64, f64::from(covered))
    });
    Figure {
        title: "Figure 3c. Covers of 90 %".to_owned(),
        caption: "A point for each site and snapshot.".to_owned(),
        x: Axis::log("cover size"),
        y: Axis::log("new pages covered"),
        series: vec![Series::line("greedy-cover", points.collect()).drawn_as(Mark::Points)],
    }
}

fn histogram(summary: &Summary) -> Figure {
    let mut counts = [0u32; COVER_SIZES_MAX];
    for (_, new, gains) in &summary.covers {
        let (size, _) = most_of(*new, gains);
        counts[size.clamp(1, COVER_SIZES_MAX) - 1] += 1;
    }
    let bars = counts.iter().enumerate();
    let bars = bars.map(|(index, count)| (index as f64 + 1.0, f64::from(*count)));
    Figure {
        title: "Figure 4. Sizes of covers of 90 %".to_owned(),
        caption: format!(
            "Sites and snapshots; the last bar holds all of {COVER_SIZES_MAX} or more."
        ),
        x: Axis::side_by_side("cover size", COVER_SIZES_MAX),
        y: Axis::linear("sites and snapshots"),
        series: vec![Series::line("greedy-cover", bars.collect()).drawn_as(Mark::Bars)],
    }
}

fn overlaps(summary: &Summary) -> Option<Figure> {
    let shares = summary.overlap_shares()?;
    let step = 1.0 / (OVERLAP_BINS as f64 - 1.0);
    let bars = shares.iter().enumerate();
    let bars = bars.map(|(bin, share)| (bin as f64 * step, *share));
    Some(Figure {
        title: "Figure 5. Overlap of what old pages lead to".to_owned(),
        caption:
            "Pairs of old pages by Jaccard coefficient, mean over sites and snapshots: nothing \
                  in common, then up to each tenth."
                .to_owned(),
        x: Axis::linear("Jaccard coefficient").within(-step / 2.0, 1.0 + step / 2.0),
        y: Axis::share("pairs"),
        series: vec![Series::line("pairs", bars.collect()).drawn_as(Mark::Bars)],
    })
}

/// The greedy cover over all sites: what share is found after so many fetches.
fn global(summary: &Summary, title: &str) -> Figure {
    let gains = summary.merged_gains(1);
    let new: f64 = gains.iter().map(|gain| f64::from(*gain)).sum();
    let mut found = 0.0;
    let points = gains.iter().enumerate().map(|(index, gain)| {
        found += f64::from(*gain);
        (index as f64 + 1.0, found / new)
    });
    Figure {
        title: title.to_owned(),
        caption: "Greedy cover of all sites and snapshots together, with perfect foresight."
            .to_owned(),
        x: Axis::log("old pages fetched"),
        y: Axis::share("share found"),
        series: vec![Series::line("greedy-cover", points.collect())],
    }
}
