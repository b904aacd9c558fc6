//! COV: fetch the pages that would have covered the most recent recrawl's new pages.
//!
//! The greedy cover of the most recent full recrawl, in its order, until the next recrawl (the
//! paper's section 5.3). It asks for few pages and finds much with them, but knows only those that
//! mattered last time.
//!
//! Cost: one greedy cover per recrawl.

use turnstone_frontier::PageId;

use super::arrivals::Arrivals;
use super::greedy::{Until, greedy_cover};
use super::history_based::Statistic;
use super::out_degree::Last;

/// What COV remembers.
#[derive(Clone, Debug)]
pub(crate) struct PastCover {
    last: Last,
    order: Vec<PageId>,
}

impl PastCover {
    pub(crate) fn new(last: Last) -> Self {
        Self {
            last,
            order: Vec::new(),
        }
    }
}

impl Statistic for PastCover {
    fn learn(&mut self, _: u32, arrivals: &Arrivals) {
        if self.last == Last::Literal || arrivals.found() > 0 {
            let picks = greedy_cover(arrivals, Until::All);
            self.order = picks.into_iter().map(|pick| pick.page).collect();
        }
    }

    fn best(&mut self, _: usize) -> &[PageId] {
        &self.order
    }

    turnstone_frontier::saved_in_place!([order]);
}
