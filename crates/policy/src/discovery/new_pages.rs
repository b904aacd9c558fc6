//! New pages first: in a live round, every new page that turns up is fetched too.
//!
//! The papers count them apart, because they had to be fetched anyway. The policy inside chooses
//! which known pages to fetch again, and its budget is for these alone; what is discovered after
//! the first round was announced is ranked above all of them.
//!
//! Cost: 1 bit more to know than the policy inside.

use turnstone_frontier::{Chance, Event, Fault, Links, PageId, Policy, Rank, Ranking, Tick};

/// New pages rank from here on.
const NEW: Rank = 1 << 63;
/// How often a new page without a verdict is asked for.
const RETRY_MS: u64 = 60_000;

/// A discovery policy, with new pages fetched on the way.
#[derive(Debug)]
pub struct NewPagesFirst<P> {
    inner: P,
    /// Pages from this number on are new in this round.
    first_new: Option<PageId>,
    known: u32,
}

impl<P: Policy> NewPagesFirst<P> {
    /// Fetches what the policy chooses, and what is new.
    pub fn new(inner: P) -> Self {
        Self {
            inner,
            first_new: None,
            known: 0,
        }
    }

    fn is_new(&self, page: PageId) -> bool {
        self.first_new.is_some_and(|first| page >= first)
    }
}

impl<P: Policy> Policy for NewPagesFirst<P> {
    fn observe(&mut self, event: &Event<'_>, now: Tick, links: &dyn Links, ranking: &mut Ranking) {
        if let Event::Round { .. } = event {
            self.first_new = Some(PageId(self.known));
        }
        self.inner.observe(event, now, links, ranking);
        match *event {
            Event::Discovered { page, .. } => {
                self.known = page.0 + 1;
                if self.is_new(page) {
                    // Older first: the order in which they were found.
                    ranking.set(page, NEW - Rank::from(page.0));
                    ranking.queue(page);
                }
            }
            Event::Failed {
                page,
                fault: Fault::Unknown,
            } if self.is_new(page) => ranking.defer(page, now.plus(RETRY_MS)),
            Event::Fetched { page, .. }
            | Event::Moved { page, .. }
            | Event::Failed { page, .. }
                if self.is_new(page) =>
            {
                ranking.take(page);
            }
            _ => {}
        }
    }

    fn chance(&self, page: PageId, ranking: &Ranking) -> Chance {
        if self.is_new(page) {
            Chance::CERTAIN
        } else {
            self.inner.chance(page, ranking)
        }
    }

    turnstone_frontier::saved_in_place!([first_new, known, mut inner]);
}
