//! What a policy is, and what it may see.

use std::io;

use crate::calendar::Tick;
use crate::event::Event;
use crate::id::PageId;
use crate::ranking::Ranking;

/// Decides what a page is worth. Pure: no clock, no I/O, no global state.
pub trait Policy: Send {
    /// Folds one event in and re-ranks the pages it touches: O(links · log pages), amortised.
    ///
    /// The same events always give the same ranks. `links` answers for pages already fetched.
    fn observe(&mut self, event: &Event<'_>, now: Tick, links: &dyn Links, ranking: &mut Ranking);

    /// What the policy can prove about the pages fetched so far, if it proves anything.
    fn coverage(&self) -> Option<Coverage> {
        None
    }

    /// Writes the whole state, random generator included. Ranks are saved by the scheduler.
    fn save(&self, out: &mut dyn io::Write) -> io::Result<()>;

    /// Becomes the saved policy: from here on both decide alike.
    fn restore(&mut self, saved: &mut dyn io::Read) -> io::Result<()>;
}

impl<P: Policy + ?Sized> Policy for Box<P> {
    fn observe(&mut self, event: &Event<'_>, now: Tick, links: &dyn Links, ranking: &mut Ranking) {
        (**self).observe(event, now, links, ranking);
    }

    fn coverage(&self) -> Option<Coverage> {
        (**self).coverage()
    }

    fn save(&self, out: &mut dyn io::Write) -> io::Result<()> {
        (**self).save(out)
    }

    fn restore(&mut self, saved: &mut dyn io::Read) -> io::Result<()> {
        (**self).restore(saved)
    }
}

/// A proven share of personalised PageRank, in units of [`Coverage::ONE`].
///
/// `guaranteed + uncovered == ONE` always: what is not proven to be in the store may be missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Coverage {
    /// At least this much is in the store. Rounded down.
    pub guaranteed: u64,
    /// At most this much is not.
    pub uncovered: u64,
    /// The goal the policy was given is met: nothing more needs to be fetched.
    pub met: bool,
}

impl Coverage {
    /// The whole of it.
    pub const ONE: u64 = 1 << 62;

    /// The guarantee as a fraction, rounded down.
    pub fn guaranteed_fraction(&self) -> f64 {
        // Rounding to 53 bits may round up; one step down keeps the claim true.
        let exact = self.guaranteed as f64 / Self::ONE as f64;
        if (exact * Self::ONE as f64) as u64 > self.guaranteed {
            exact.next_down()
        } else {
            exact
        }
    }
}

/// The links of pages already fetched, wherever they are kept.
pub trait Links {
    /// The distinct links of a fetched page. Reads into `buffer` only when it must decode.
    fn links_of<'a>(&'a self, page: PageId, buffer: &'a mut Vec<PageId>) -> &'a [PageId];
}

/// For policies that never look back.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoLinks;

impl Links for NoLinks {
    fn links_of<'a>(&'a self, _: PageId, _: &'a mut Vec<PageId>) -> &'a [PageId] {
        &[]
    }
}

/// PageRank over all stored links: a teleport vector in, a rank vector out.
///
/// The computation is parallel and lives with the link graph; a policy is handed this much of it.
pub trait WholeGraphRank: Send + Sync {
    /// How many pages there are: the length of both vectors.
    fn page_count(&self) -> usize;

    /// The rank of every page for this teleport vector. Must not depend on thread count.
    fn rank(&self, teleport: &[f64]) -> Vec<f64>;

    /// How many distinct pages link to each page.
    fn indegree(&self) -> Vec<u32>;
}
