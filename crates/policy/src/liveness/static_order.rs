//! Static orders: known before the first request (section 2.3 of the paper).
//!
//! The random order costs n/n_a whatever share is wanted: what every other order must beat.

use turnstone_frontier::PageId;

use super::OldCrawl;
use super::live_rank::{Order, Rest};

/// A static order.
#[derive(Clone, Copy, Debug)]
pub(super) enum StaticOrder {
    Random,
    Indegree,
    PageRank,
}

impl Order for StaticOrder {
    fn begin(&mut self, old: &OldCrawl, random: &[PageId], rest: &mut Rest<'_>) {
        rest.rank_in_order(match self {
            Self::Random => random,
            Self::Indegree => old.by_indegree(),
            Self::PageRank => old.by_pagerank(),
        });
    }
}
