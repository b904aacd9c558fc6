//! `--folds`: what was chosen on some sites, and how it did on the others.

use crate::table::Table;
use turnstone_lab::backtest::discovery::{Choice, Row};
use turnstone_lab::number::{percent, whole};

use super::rows_table;

/// What was chosen for each fold, then the rows of all sites held out.
pub(super) fn text(choices: &[Choice], held_out: &[Row]) -> String {
    let table = Table::of(choices)
        .column("chosen on the other sites", |it| it.chosen.clone())
        .column("#sites", |it| whole(it.sites.len() as u64))
        .column("#least advantage", |it| percent(it.least_advantage))
        .table();
    format!(
        "Every site held out once:\n\n{}\n{}",
        table.text(),
        rows_table(held_out).text()
    )
}
