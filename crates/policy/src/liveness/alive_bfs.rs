//! Alive breadth-first: from alive pages to the pages they linked to, first found first asked
//! (section 2.5).
//!
//! The queue starts with the sample. When it runs empty, the page of highest PageRank that never
//! was in it comes next: all pages are ranked by PageRank below the queue from the start, so
//! nothing has to notice that it is empty. A page's place in the queue is its rank and nothing else.
//!
//! Cost: O(log pages) for each link of an alive page; nothing beside the ranking.

use turnstone_frontier::{PageId, Rank};

use super::OldCrawl;
use super::live_rank::{Order, Rest};
use super::survey::SAMPLE;

/// Pages in the queue rank from here up to the sample.
const QUEUE: Rank = SAMPLE >> 1;

/// First found, first asked.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct AliveBfs {
    /// How many pages ever joined the queue after the sample.
    joined: u64,
}

impl Order for AliveBfs {
    fn begin(&mut self, old: &OldCrawl, _: &[PageId], rest: &mut Rest<'_>) {
        rest.rank_in_order(old.by_pagerank());
    }

    fn alive(&mut self, links: &[PageId], rest: &mut Rest<'_>) {
        for &link in links {
            if rest.has(link) && rest.ranking.rank(link) < QUEUE {
                self.joined += 1;
                rest.ranking.set(link, SAMPLE - self.joined);
            }
        }
    }

    fn follows_links(&self) -> bool {
        true
    }

    fn remembered(&self) -> u64 {
        self.joined
    }

    fn remember(&mut self, joined: u64) {
        self.joined = joined;
    }
}
