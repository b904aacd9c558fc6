//! Breadth-first: pages in the order in which they were first seen.
//!
//! The order every crawler falls back on, and the one the others are measured against. Seeds come
//! first; a page is queued when the first link to it is seen, and asked for once. A round with a budget is a
//! recrawl: every page that was queued or fetched before is queued again, gone ones too, in the order of their ids.
//!
//! Cost: O(links) per fetch plus the queue; one bit a page.

use turnstone_frontier::{Event, Fault, Links, PageId, Policy, Ranking, Tick};

use crate::catalog::{PolicyInfo, Question};

/// The catalogue entry.
pub const INFO: PolicyInfo = PolicyInfo {
    name: "breadth-first",
    questions: &[Question::Coverage],
    summary: "pages in the order in which they were first seen",
    paper: "folklore",
    cost: "O(log pages) per fetch, one bit per page",
    parameters: &[],
};

/// After how long a page without a verdict is asked for again.
const RETRY_MS: u64 = 60_000;

/// First seen, first asked for.
#[derive(Debug, Default)]
pub struct BreadthFirst {
    /// By page: whether it was ever queued.
    queued: Vec<bool>,
    /// How many were.
    count: u64,
}

impl BreadthFirst {
    /// A page that came by another way than links is one of all pages from now on.
    fn know(&mut self, page: PageId) {
        self.count += u64::from(!std::mem::replace(&mut self.queued[page.index()], true));
    }

    fn queue(&mut self, page: PageId, ranking: &mut Ranking) {
        if !std::mem::replace(&mut self.queued[page.index()], true) {
            ranking.set(page, u64::MAX - self.count);
            self.count += 1;
        }
    }
}

impl Policy for BreadthFirst {
    fn observe(&mut self, event: &Event<'_>, now: Tick, _: &dyn Links, ranking: &mut Ranking) {
        match *event {
            Event::Discovered { page, seed, .. } => {
                self.queued.push(false);
                if seed {
                    self.queue(page, ranking);
                }
            }
            Event::Fetched { page, links, .. } => {
                ranking.take(page);
                self.know(page);
                for &link in links {
                    self.queue(link, ranking);
                }
            }
            Event::Failed { page, fault } => match fault {
                Fault::Gone | Fault::Refused => {
                    ranking.take(page);
                }
                Fault::Unknown => ranking.defer(page, now.plus(RETRY_MS)),
                Fault::Lost => ranking.queue(page),
            },
            Event::Moved { page, to } => {
                ranking.take(page);
                self.queue(to, ranking);
            }
            Event::Round { budget, .. } if budget > 0 => {
                self.count = 0;
                for page in (0..self.queued.len()).map(PageId::from_index) {
                    if self.queued[page.index()] {
                        ranking.queue(page);
                        ranking.set(page, u64::MAX - self.count);
                        self.count += 1;
                    }
                }
            }
            Event::Held { .. }
            | Event::Unseen { .. }
            | Event::Hinted { .. }
            | Event::Crossed(_)
            | Event::Guessed { .. }
            | Event::Round { .. } => {}
        }
    }

    turnstone_frontier::saved_in_place!([queued, count],
        |it| it.count != it.queued.iter().filter(|queued| **queued).count() as u64
            => "a queue that was counted wrongly");
}
