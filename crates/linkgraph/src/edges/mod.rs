//! Edge lists: one link a line, `source<TAB>target`, plain or as `.zst` or `.gz`.
//!
//! The first link decides whether pages are named by ids (two whole numbers) or by URLs. Beside
//! `NAME.tsv` a list `NAME.urls` may give the URLs of the pages: line i, counted from 0, is page i.
//! Without it ids need no list, and URLs get their ids in URL order (by bytes).
//!
//! Fields are separated by tabs, in a line without any by spaces; blank lines and lines that begin
//! with `#` are skipped. One comment has a meaning: `# pages N` says how many pages there are when
//! the last ones have no links.

mod read;
mod write;

pub use read::read;
pub use write::{EdgeWriter, write};

use std::path::{Path, PathBuf};

use crate::input::without_suffix;

/// `NAME` of `NAME.tsv`, `NAME.tsv.zst` or `NAME.tsv.gz`.
fn web_name(path: &Path) -> Option<PathBuf> {
    [".tsv", ".tsv.zst", ".tsv.gz"]
        .into_iter()
        .find_map(|suffix| without_suffix(path, suffix))
}
