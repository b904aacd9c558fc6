//! `turnstone backtest coverage --confidence 95%`: certificates instead of proofs, many times over.

use std::path::PathBuf;

use crate::table::Table;
use turnstone_lab::backtest::coverage::certificate::{Options, Repeated};
use turnstone_lab::number::{percent, whole};
use turnstone_policy::Spec;

use super::ask;
use crate::exit::Exit;
use crate::output::Output;

/// Certifies with each policy that can be certified.
pub(super) fn run(
    options: &Options,
    web: &[PathBuf],
    specs: &[Spec],
    output: &Output,
) -> anyhow::Result<Exit> {
    let report = ask(options, web, specs)?;
    let setting = format!(
        "{}: {} pages, {} links. Trusted: {}. Damping {}, goal {} with {} confidence, {} times.",
        report.web,
        whole(report.pages as u64),
        whole(report.links),
        report.trusted,
        report.damping,
        percent(1.0 - report.epsilon),
        percent(report.confidence),
        whole(options.repetitions),
    );
    let all = &report.results;
    output.result(&report, || format!("{setting}\n\n{}", table(all).text()))?;
    let is_short = |each: &Repeated| each.reached() < each.repetitions.len();
    let short = all.iter().any(is_short);
    Ok(if short { Exit::Limit } else { Exit::Done })
}

fn table(all: &[Repeated]) -> Table {
    let titles = [
        "policy", "of", "#least", "#mean", "#median", "#95 %", "#most", "#reached", "#wrong",
    ];
    let mut table = Table::new(&titles);
    for each in all {
        let mut row = |of: &str, spread: [u64; 5], ends: [String; 2]| {
            let mut cells = vec![each.policy.clone(), of.to_owned()];
            cells.extend(spread.map(whole));
            cells.extend(ends);
            table.row(cells);
        };
        let count = |count: usize| whole(count as u64);
        let ends = [count(each.reached()), count(each.wrong())];
        row(
            "downloads to certificate",
            each.spread(|r| r.downloads),
            ends,
        );
        let none = || [String::new(), String::new()];
        row("of these to test", each.spread(|r| r.test_requests), none());
        row("surfers", each.spread(|r| r.surfers), none());
    }
    table
}
