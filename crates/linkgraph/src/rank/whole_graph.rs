//! The ranks a policy may ask for, over a graph that stands still.
//!
//! Policies see only `teleport vector in, rank vector out`; here that is PageRank with leaking
//! dangling pages, over in-links built once.

use turnstone_frontier::WholeGraphRank;

use super::{InLinks, PageRank, Teleport};
use crate::graph::LinkGraph;

/// PageRank and in-degree of one graph, for policies.
#[derive(Debug)]
pub struct GraphRank {
    in_links: InLinks,
    pagerank: PageRank,
}

impl GraphRank {
    /// Prepares the ranks of a graph: O(pages + links).
    pub fn new(graph: &LinkGraph, pagerank: PageRank) -> Self {
        Self {
            in_links: InLinks::of(graph),
            pagerank,
        }
    }
}

impl WholeGraphRank for GraphRank {
    fn page_count(&self) -> usize {
        self.in_links.page_count()
    }

    fn rank(&self, teleport: &[f64]) -> Vec<f64> {
        let teleport = Teleport::Weights(teleport);
        self.pagerank
            .rank(&self.in_links, teleport, &mut |_| {})
            .scores
    }

    fn indegree(&self) -> Vec<u32> {
        self.in_links.indegree()
    }
}
