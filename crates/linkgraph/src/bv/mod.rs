//! BV graphs: the compressed format of the WebGraph framework (Boldi, Vigna 2004).
//!
//! A graph `NAME` is `NAME.graph` (the links of each page as a bit stream), `NAME.properties` (how
//! it was written) and, for random access by other tools, `NAME.offsets`. A list `NAME.urls` may
//! stand beside. Pages are decoded one after the other, so reading needs no offsets; writing makes
//! them.
//!
//! Compression, properties and instantaneous codes are those of the `webgraph` crate. The loop that
//! decodes a page is ours (see [`read`](read())): theirs believes the file, and a damaged one makes it panic,
//! loop or ask for all memory.

mod decode;
mod properties;
mod read;
mod write;

pub use read::{is_graph, read};
pub use write::{BvWriter, write};

use std::path::{Path, PathBuf};

use crate::input::without_suffix;

/// `NAME` of `NAME` or `NAME.graph`.
fn graph_name(path: &Path) -> PathBuf {
    without_suffix(path, ".graph").unwrap_or_else(|| path.to_owned())
}
