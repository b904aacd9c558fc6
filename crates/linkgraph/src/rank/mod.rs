//! Ranks of pages computed from the whole link graph.
//!
//! [`PageRank`] is the stationary importance of a reader who follows links and now and then starts
//! afresh; in-degree, its cheapest stand-in, is [`LinkGraph::indegree`](crate::LinkGraph::indegree).
//! Both need who links *to* a page: [`InLinks`] holds that.

mod in_links;
mod pagerank;
mod whole_graph;

pub use in_links::InLinks;
pub use pagerank::{Dangling, PageRank, Progress, Ranked, Teleport};
pub use whole_graph::GraphRank;
