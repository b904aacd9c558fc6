//! Lists of pages with a number each: `page<TAB>number`, a line a page; the number is 1 where there is none.
//!
//! Empty lines and lines that begin with `#` are left out.

use std::fs;
use std::path::Path;

use turnstone_frontier::PageId;

use super::GraphWeb;
use crate::run::RunError;

/// Reads a list. `number` reads a number, and `wanted` says of another what it is not and what to give.
pub fn read<T>(
    file: &Path,
    web: &GraphWeb,
    number: impl Fn(&str) -> Option<T>,
    wanted: &str,
) -> Result<Vec<(PageId, T)>, RunError> {
    let fault = |place: String, why: String| RunError::File { place, why };
    let name = file.display();
    let text = fs::read_to_string(file);
    let text = text.map_err(|error| fault(name.to_string(), error.to_string()))?;
    let mut pages = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let wrong = |why: String| fault(format!("{name}, line {}", index + 1), why);
        let (page, given) = line.split_once('\t').unwrap_or((line, "1"));
        let found = web.find(page.trim());
        let found = found.ok_or_else(|| wrong(format!("there is no page '{page}'")))?;
        let read = number(given.trim());
        pages.push((
            found,
            read.ok_or_else(|| wrong(format!("'{given}' {wanted}")))?,
        ));
    }
    Ok(pages)
}
