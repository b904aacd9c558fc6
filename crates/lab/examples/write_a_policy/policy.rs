//! The page that most fetched pages link to comes next (Cho, Garcia-Molina, Page 1998).
//!
//! Cost: O(links) a fetch and the queue; one byte a page.

use std::io;

use turnstone_frontier::{Event, Fault, Links, PageId, Policy, Ranking, Restore, Save, Tick};

/// Counts, for every page, the fetched pages that link to it.
#[derive(Debug, Default)]
pub(crate) struct MostLinked {
    /// By page: whether it needs no further request.
    done: Vec<bool>,
}

impl MostLinked {
    /// One more reason to ask for a page.
    fn vote(&self, page: PageId, votes: u64, ranking: &mut Ranking) {
        if !self.done[page.index()] {
            ranking.raise(page, votes);
        }
    }

    fn finish(&mut self, page: PageId, ranking: &mut Ranking) -> u64 {
        self.done[page.index()] = true;
        ranking.take(page)
    }
}

impl Policy for MostLinked {
    fn observe(&mut self, event: &Event<'_>, now: Tick, _: &dyn Links, ranking: &mut Ranking) {
        match *event {
            Event::Discovered { page, seed, .. } => {
                self.done.push(false);
                self.vote(page, u64::from(seed), ranking);
            }
            Event::Fetched { page, links, .. } => {
                self.finish(page, ranking);
                for &link in links {
                    self.vote(link, 1, ranking);
                }
            }
            Event::Moved { page, to } => {
                let votes = self.finish(page, ranking);
                self.vote(to, votes, ranking);
            }
            Event::Failed { page, fault } => match fault {
                Fault::Gone | Fault::Refused => {
                    self.finish(page, ranking);
                }
                Fault::Unknown => ranking.defer(page, now.plus(60_000)),
                Fault::Lost => ranking.queue(page),
            },
            _ => {}
        }
    }

    fn save(&self, out: &mut dyn io::Write) -> io::Result<()> {
        self.done.save(out)
    }

    fn restore(&mut self, saved: &mut dyn io::Read) -> io::Result<()> {
        self.done = Restore::restore(saved)?;
        Ok(())
    }
}
