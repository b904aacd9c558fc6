//! Alive in-degree: the page that the most alive pages linked to comes next (section 2.5).
//!
//! The high half of a rank counts alive pages with a link to the page, the low half is its place
//! by PageRank, so ties need no second look and a link costs one `raise`.
//!
//! Cost: O(log pages) for each link of an alive page; nothing beside the ranking.

use turnstone_frontier::{PageId, Rank};

use super::OldCrawl;
use super::live_rank::{Order, Rest};

/// One alive page with a link to it.
const ONE: Rank = 1 << 32;

/// Most linked from alive pages first.
#[derive(Clone, Copy, Debug)]
pub(super) struct AliveIndegree;

impl Order for AliveIndegree {
    fn begin(&mut self, old: &OldCrawl, _: &[PageId], rest: &mut Rest<'_>) {
        rest.rank_in_order(old.by_pagerank());
    }

    fn alive(&mut self, links: &[PageId], rest: &mut Rest<'_>) {
        for &link in links {
            if rest.has(link) {
                rest.ranking.raise(link, ONE);
            }
        }
    }

    fn follows_links(&self) -> bool {
        true
    }
}
