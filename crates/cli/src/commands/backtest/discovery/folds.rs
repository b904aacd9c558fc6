//! `--folds`: what was chosen on some sites, and how it did on the others.

use turnstone_lab::backtest::discovery::{Choice, Row};
use turnstone_lab::number::{percent, whole};
use turnstone_lab::table::Table;

use super::rows_table;

/// What was chosen for each fold, then the rows of all sites held out.
pub(super) fn text(choices: &[Choice], held_out: &[Row]) -> String {
    let mut table = Table::new(&["chosen on the other sites", "#sites", "#least advantage"]);
    for choice in choices {
        table.row([
            choice.chosen.clone(),
            whole(choice.sites.len() as u64),
            percent(choice.least_advantage),
        ]);
    }
    format!(
        "Every site held out once:\n\n{}\n{}",
        table.text(),
        rows_table(held_out).text()
    )
}
