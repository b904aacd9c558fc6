//! What a crawl says when it ends.

use std::path::Path;

use crate::table::Table;
use serde_json::{Value, json};
use turnstone_crawl::Summary;
use turnstone_frontier::Coverage;
use turnstone_lab::number::{at_least, at_most, duration, percent, plural, whole};
use turnstone_pagestore::Tally;

use super::verdict::{Stand, provable};
use crate::commands::directory::Directory;
use crate::commands::shards::folders;
use crate::output::Output;

/// Prints the summary.
pub(super) fn print(summary: &Summary, directory: &Path, output: &Output) -> anyhow::Result<()> {
    // What counts links to dead pages has no account between shards.
    let with_dead = match folders(directory)?.is_empty() {
        true => Directory::look(directory)?.with_dead_links()?,
        false => None,
    };
    let mut document = document(summary, directory);
    add_dead(&mut document, with_dead);
    output.result(&document, || text(summary, with_dead, directory))
}

/// The share that is proven when links to pages that do not exist count, for machines.
pub(crate) fn add_dead(document: &mut Value, with_dead: Option<Coverage>) {
    document["guaranteed_with_dead_links"] =
        json!(with_dead.map(|coverage| coverage.guaranteed_fraction()));
}

/// The same for people.
pub(crate) fn dead_line(with_dead: Coverage) -> String {
    format!(
        "at least {} if dead links count too, as in the paper on RankMass",
        at_least(with_dead.guaranteed_fraction())
    )
}

/// The summary for machines.
pub(crate) fn document(summary: &Summary, directory: &Path) -> Value {
    let mut document = json!({
        "directory": directory.display().to_string(),
        "stopped_by": summary.stop.name(),
        "seconds": summary.running.as_secs_f64(),
        "verdict": verdict(summary),
        "known": summary.known,
        "pages": summary.pages,
        "waiting": summary.waiting,
        "gone": summary.gone,
        "refused": summary.refused,
        "listed": listed_json(summary.listed),
        "provable": summary.coverage.map(provable),
        "hosts_without_answer": summary.waited.iter().map(|host| json!({
            "host": host.host, "tries": host.tries, "why": host.why,
        })).collect::<Vec<_>>(),
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
    /// At least this much with the confidence that was asked for, by a sample and not by proof.
    pub(crate) certified: Option<f64>,
    /// No more than this is stored now.
    pub(crate) upper_bound: f64,
    /// What was asked for.
    pub(crate) goal: f64,
}

impl Proven {
    pub(crate) fn of(coverage: Coverage) -> Self {
        Self {
            guaranteed: coverage.guaranteed_fraction(),
            certified: coverage.certified_fraction(),
            upper_bound: coverage.possible_fraction(),
            goal: coverage.goal as f64 / Coverage::ONE as f64,
        }
    }

    /// What is certified, told apart from what is proven.
    pub(crate) fn certificate(&self, confidence: Option<f64>) -> Option<String> {
        let (certified, confidence) = (self.certified?, confidence?);
        Some(format!(
            "at least {} with {} confidence: a sample tells so; only the figure before it is proven",
            at_least(certified),
            percent(confidence),
        ))
    }

    /// What is proven to be stored, what may be beside it, and what is not.
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
            at_least(self.guaranteed),
            percent(self.goal),
            at_most(self.upper_bound),
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
        "certified": proven.and_then(|proven| proven.certified),
        "upper_bound": proven.map(|proven| proven.upper_bound),
        "statuses": statuses,
        "classes": tally.classes,
        "soft": soft_json(tally),
    });
    if let (Value::Object(all), Value::Object(more)) = (document, more) {
        all.extend(more);
    }
}

/// The summary for people: the verdict first, the numbers behind it.
pub(crate) fn text(summary: &Summary, with_dead: Option<Coverage>, directory: &Path) -> String {
    let mut out = format!(
        "{}\n{}: {} stored, {} known, {}, {} in {}\n",
        verdict(summary),
        directory.display(),
        plural(summary.pages, "page"),
        whole(summary.known),
        plural(summary.tally.requests, "request"),
        bytes(summary.tally.body_bytes),
        duration(summary.running.as_secs_f64()),
    );
    if let Some(coverage) = summary.coverage {
        out += &format!(
            "coverage: at least {} and at most {} of the personalised PageRank of all pages that can be fetched is stored\n",
            at_least(coverage.guaranteed_fraction()),
            at_most(coverage.possible_fraction()),
        );
        if let Some(certified) = coverage.certified_fraction() {
            out += &format!(
                "certificate: at least {} with the confidence you asked for; a sample tells so, not a proof\n",
                at_least(certified),
            );
        }
    }
    if let Some(coverage) = with_dead {
        out += &format!("          {}\n", dead_line(coverage));
    }
    if let Some(listed) = listed(summary.listed) {
        out += &format!("sitemaps and feeds: {listed}\n");
    }
    for (name, line) in soft(&summary.tally) {
        out += &format!("{name}: {line}\n");
    }
    out + "\n" + &classes(&summary.tally).text()
}

/// How many pages came through sitemaps and feeds, for machines.
pub(crate) fn listed_json((known, stored): (u64, u64)) -> Value {
    json!({"known": known, "stored": stored})
}

/// The same for people; nothing where none did.
pub(crate) fn listed((known, stored): (u64, u64)) -> Option<String> {
    let left = match known - stored {
        0 => "all stored".to_owned(),
        _ => format!("{} of them stored", whole(stored)),
    };
    (known > 0).then(|| {
        format!(
            "{} that nothing else had led to; {left}",
            plural(known, "page")
        )
    })
}

/// Answers that were not the pages asked for, and what it cost to know, for machines.
fn soft_json(tally: &Tally) -> Value {
    let (gone, blocked) = soft_counts(tally);
    json!({"gone": gone, "blocked": blocked, "probes": tally.probes})
}

fn soft_counts(tally: &Tally) -> (u64, u64) {
    let gone = tally.classes.get("soft-404").copied().unwrap_or(0);
    let walls = tally.classes.iter();
    let walls = walls.filter(|(class, _)| class.starts_with("blocked-"));
    (gone, walls.map(|(_, count)| count).sum())
}

/// The same for people: a line for each of both, where there is anything to tell.
pub(crate) fn soft(tally: &Tally) -> Vec<(&'static str, String)> {
    let (gone, blocked) = soft_counts(tally);
    let mut lines = Vec::new();
    if tally.probes > 0 {
        lines.push((
            "soft 404",
            format!(
                "{} not there although the server said otherwise; {} for random names told so",
                plural(gone, "answer"),
                plural(tally.probes, "request"),
            ),
        ));
    }
    if blocked > 0 {
        lines.push((
            "walls",
            format!(
                "{} stood before the page instead of it; such pages are neither stored nor gone",
                plural(blocked, "answer")
            ),
        ));
    }
    lines
}

/// How the crawl ended, for somebody who knows nothing of PageRank.
pub(crate) fn verdict(summary: &Summary) -> String {
    Stand::of(summary).sentence()
}

/// What came of pages, by class.
pub(crate) fn classes(tally: &Tally) -> Table {
    let mut table = Table::new(&["outcome of pages", "#count"]);
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
