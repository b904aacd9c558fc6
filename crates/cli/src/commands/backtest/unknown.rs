//! How what a record does not know, or has no figure for, is said, alike for every question.

use turnstone_lab::number::{percent, whole};

/// A sentence on the pages of a crawl directory that were never fetched; none if there is none.
pub(super) fn never_fetched(unknown: usize, pages: usize) -> String {
    match unknown {
        0 => String::new(),
        _ => format!(
            " Of {} pages the crawl knows the address only ({}): they count as pages without links.",
            whole(unknown as u64),
            percent(unknown as f64 / pages as f64),
        ),
    }
}

/// A number with the bounds it lies between, for a table.
pub(super) fn between(low: f64, high: f64) -> String {
    format!("{} to {}", percent(low), percent(high))
}

/// A figure, or a dash where there is none.
pub(super) fn or_dash<T>(figure: Option<T>, shown: impl Fn(T) -> String) -> String {
    figure.map_or_else(|| "-".to_owned(), shown)
}
