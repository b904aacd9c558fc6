//! `--folds`: what was chosen on some sites, and how it did on the others.

use turnstone_lab::discovery::Folds;
use turnstone_lab::number::{percent, whole};
use turnstone_lab::table::Table;

use super::rows_table;

/// What was chosen for each fold, then the rows of all sites held out.
pub(super) fn text(folds: &Folds) -> String {
    let mut choices = Table::new(&["chosen on the other sites", "#sites", "#least advantage"]);
    for choice in folds.choices() {
        choices.row([
            choice.chosen,
            whole(choice.sites.len() as u64),
            percent(choice.least_advantage),
        ]);
    }
    format!(
        "Every site held out once:\n\n{}\n{}",
        choices.text(),
        rows_table(folds.rows()).text()
    )
}
