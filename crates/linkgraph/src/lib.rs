//! Link graphs in memory and on disk, and ranks over them.
//!
//! A [`LinkGraph`] says who links to whom, four bytes a link.
//!
//! Not known here: policies, hosts' politeness, the network.

mod arcs;
mod graph;
mod transpose;

pub use arcs::ArcBuilder;
pub use graph::{GraphBuilder, LinkGraph};
