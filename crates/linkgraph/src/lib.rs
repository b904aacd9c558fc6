//! Link graphs in memory and on disk, and ranks over them.
//!
//! A recorded web is a [`LinkGraph`] (who links to whom, four bytes a link) and, where known, a
//! [`UrlTable`]. It comes from a BV graph ([`bv`]), an edge list ([`edges`]) or the generator
//! ([`generate`]), and goes back to disk in the same formats. [`rank`] computes PageRank and
//! in-degree over it, in parallel, with the same bytes for any number of threads.
//!
//! Not known here: policies, hosts' politeness, the network. Files are never trusted: what does
//! not fit is one [`ReadError`] that names file and line.

mod arcs;
pub mod bv;
pub mod edges;
mod error;
pub mod generate;
mod graph;
mod input;
mod output;
pub mod rank;
mod stored;
mod strings;
mod transpose;
mod urls;

pub use arcs::ArcBuilder;
pub use error::{LineFault, ReadError, WriteError};
pub use graph::{GraphBuilder, LinkGraph};
pub use stored::{PageSink, StoredGraph};
pub use urls::{Hosts, UrlTable};
