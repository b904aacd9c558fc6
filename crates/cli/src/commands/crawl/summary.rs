//! What a crawl says when it ends.

use std::path::Path;

use serde_json::{Value, json};
use turnstone_crawl::Summary;
use turnstone_frontier::Coverage;
use turnstone_lab::number::{duration, percent, whole};
use turnstone_lab::table::Table;
use turnstone_pagestore::Tally;

use crate::output::Output;

/// Prints the summary.
pub(super) fn print(summary: &Summary, directory: &Path, output: &Output) -> anyhow::Result<()> {
    output.result(&document(summary, directory), || text(summary, directory))
}

/// The summary for machines.
pub(crate) fn document(summary: &Summary, directory: &Path) -> Value {
    let mut document = json!({
        "directory": directory.display().to_string(),
        "stopped_by": summary.stop.name(),
        "seconds": summary.running.as_secs_f64(),
        "known": summary.known,
        "pages": summary.pages,
    });
    add_counts(
        &mut document,
        &summary.tally,
        summary.coverage.map(Proven::of),
    );
    document
}

/// What is proven of the store, and what can still be, as shares.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Proven {
    /// At least this much of the personalised PageRank is stored.
    pub(crate) guaranteed: f64,
    /// No more than this can be guaranteed any more.
    pub(crate) upper_bound: f64,
    /// What was asked for.
    pub(crate) goal: f64,
}

impl Proven {
    pub(crate) fn of(coverage: Coverage) -> Self {
        Self {
            guaranteed: coverage.guaranteed_fraction(),
            upper_bound: upper_bound(coverage),
            goal: coverage.goal as f64 / Coverage::ONE as f64,
        }
    }

    /// What is proven, what may still be, and what cannot be any more.
    pub(crate) fn bar(&self) -> String {
        /// Characters of the bar.
        const BAR: usize = 40;
        let cells = |share: f64| ((share * BAR as f64) as usize).min(BAR);
        let full = cells(self.guaranteed);
        let open = cells(self.upper_bound).max(full);
        format!(
            "[{}{}{}] at least {} (goal {}, at most {})",
            "█".repeat(full),
            "·".repeat(open - full),
            " ".repeat(BAR - open),
            percent(self.guaranteed),
            percent(self.goal),
            percent(self.upper_bound),
        )
    }
}

/// What `crawl` and `status` both tell.
pub(crate) fn add_counts(document: &mut Value, tally: &Tally, proven: Option<Proven>) {
    let statuses = json!({
        "2xx": tally.statuses[2],
        "3xx": tally.statuses[3],
        "4xx": tally.statuses[4],
        "5xx": tally.statuses[5],
        "other": tally.statuses[0] + tally.statuses[1],
    });
    let more = json!({
        "requests": tally.requests,
        "robots_requests": tally.robots_requests,
        "bytes": tally.body_bytes,
        "guaranteed": proven.map(|proven| proven.guaranteed),
        "upper_bound": proven.map(|proven| proven.upper_bound),
        "statuses": statuses,
        "classes": tally.classes,
    });
    if let (Value::Object(all), Value::Object(more)) = (document, more) {
        all.extend(more);
    }
}

/// The most that can still be guaranteed.
pub(crate) fn upper_bound(coverage: Coverage) -> f64 {
    (Coverage::ONE - coverage.stuck.min(Coverage::ONE)) as f64 / Coverage::ONE as f64
}

/// The summary for people.
pub(crate) fn text(summary: &Summary, directory: &Path) -> String {
    let mut out = format!(
        "{}: {} pages stored, {} known, {} requests, {} in {}; stopped by {}\n",
        directory.display(),
        whole(summary.pages),
        whole(summary.known),
        whole(summary.tally.requests),
        bytes(summary.tally.body_bytes),
        duration(summary.running.as_secs_f64()),
        summary.stop.name(),
    );
    if let Some(coverage) = summary.coverage {
        out += &format!(
            "coverage: at least {} of the personalised PageRank is stored; at most {} can be\n",
            percent(coverage.guaranteed_fraction()),
            percent(upper_bound(coverage)),
        );
    }
    out + "\n" + &classes(&summary.tally).text()
}

/// What came of pages, by class.
pub(crate) fn classes(tally: &Tally) -> Table {
    let mut table = Table::new(&["what came of pages", "#count"]);
    for (class, count) in &tally.classes {
        table.row([class.clone(), whole(*count)]);
    }
    table
}

/// A share of PageRank or cash as per cent: small ones matter.
pub(crate) fn share(share: f64) -> String {
    if share != 0.0 && share.abs() < 1e-4 {
        format!("{:.0e} %", share * 100.0)
    } else {
        percent(share)
    }
}

/// A size people can read.
pub(crate) fn bytes(count: u64) -> String {
    const UNITS: [&str; 5] = ["B", "kB", "MB", "GB", "TB"];
    let mut size = count as f64;
    let mut unit = 0;
    while size >= 1000.0 && unit + 1 < UNITS.len() {
        size /= 1000.0;
        unit += 1;
    }
    if unit == 0 {
        format!("{count} B")
    } else {
        format!("{size:.1} {}", UNITS[unit])
    }
}
