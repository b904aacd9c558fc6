//! How what a record does not know is said, alike for every question.

use turnstone_lab::number::{percent, whole};

/// How many pages are unknown.
pub(super) fn count(unknown: &[bool]) -> usize {
    unknown.iter().filter(|unknown| **unknown).count()
}

/// A sentence on the pages of a crawl directory that were never fetched; none if there is none.
pub(super) fn never_fetched(unknown: &[bool]) -> String {
    match count(unknown) {
        0 => String::new(),
        pages => format!(
            " Of {} pages the crawl knows the address only ({}): they count as pages without links.",
            whole(pages as u64),
            percent(pages as f64 / unknown.len() as f64),
        ),
    }
}

/// A number with the bounds it lies between, for a table.
pub(super) fn between(low: f64, high: f64) -> String {
    format!("{} to {}", percent(low), percent(high))
}
