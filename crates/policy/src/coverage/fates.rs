//! What became of each page, and which links therefore count.
//!
//! A page is *open* until it is settled: *stored*, *moved* (it stands for another page) or *dead*
//! (gone or refused, and never stored). A page that was stored once stays so: its copy is had,
//! whatever its server says later. A moved page is as dead as the page at the end of its chain, and
//! a circle of redirects has a dead end.
//!
//! Links to dead pages do not count, but an account learns that at its own moments: pages it has
//! not learnt of yet are *pending*, the others *uncounted*. Only for a page to which nobody can link
//! yet the two are one.
//!
//! Cost: O(1) an event, O(chain of redirects) for a move; three bits a page.

use std::collections::BTreeMap;
use std::io;

use turnstone_frontier::{PageId, Restore, Save, corrupt};

use super::bits::Bits;

/// What became of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    /// Not asked for, or without a verdict.
    Open,
    /// A copy is in the store.
    Stored,
    /// It stands for another page.
    Moved,
    /// Gone or refused.
    Dead,
}

/// The fates of all pages.
#[derive(Debug, Default)]
pub(super) struct Fates {
    /// Stored or moved.
    settled: Bits,
    dead: Bits,
    uncounted: Bits,
    /// Where moved pages have moved, one step each.
    moved: BTreeMap<PageId, PageId>,
    stored: u64,
    /// Whether any page is uncounted, and whether any may be pending.
    some_uncounted: bool,
    some_pending: bool,
    /// No page that was fetched or moved so far leads to this page or one behind it.
    unlinked: usize,
}

impl Fates {
    pub(super) fn of(&self, page: PageId) -> Fate {
        if self.dead.has(page) {
            Fate::Dead
        } else if !self.settled.has(page) {
            Fate::Open
        } else if self.moved.contains_key(&page) {
            Fate::Moved
        } else {
            Fate::Stored
        }
    }

    /// Whether links to the page count.
    #[inline]
    pub(super) fn counts(&self, page: PageId) -> bool {
        !self.some_uncounted || !self.uncounted.has(page)
    }

    /// Whether every link counts.
    #[inline]
    pub(super) fn all_count(&self) -> bool {
        !self.some_uncounted
    }

    /// Whether links to some dead page may still count.
    #[inline]
    pub(super) fn some_pending(&self) -> bool {
        self.some_pending
    }

    /// How many pages are stored.
    pub(super) fn stored_count(&self) -> u64 {
        self.stored
    }

    /// Every stored page, ascending.
    pub(super) fn stored(&self) -> impl Iterator<Item = PageId> + '_ {
        let settled = self.settled.iter();
        settled.filter(|page| !self.moved.contains_key(page))
    }

    /// Every moved page with where it leads, ascending.
    pub(super) fn moved(&self) -> impl Iterator<Item = (PageId, PageId)> + '_ {
        self.moved.iter().map(|(page, to)| (*page, *to))
    }

    /// Where a page leads in one step, if it has moved.
    pub(super) fn next(&self, page: PageId) -> Option<PageId> {
        self.moved.get(&page).copied()
    }

    /// The page at the end of a page's chain; itself if it has not moved.
    pub(super) fn end(&self, page: PageId) -> PageId {
        let mut end = page;
        while let Some(&next) = self.moved.get(&end) {
            end = next;
        }
        end
    }

    /// Whether a page's chain passes another page or ends there.
    pub(super) fn leads_through(&self, page: PageId, through: PageId) -> bool {
        let mut at = page;
        while at != through {
            match self.moved.get(&at) {
                Some(&next) => at = next,
                None => return false,
            }
        }
        true
    }

    /// The page is stored from now on; `known` pages are known. Returns whether links to it did not
    /// count and now must again.
    pub(super) fn store(&mut self, page: PageId, known: usize) -> bool {
        self.stored += u64::from(self.of(page) != Fate::Stored);
        self.moved.remove(&page);
        self.dead.put(page, false);
        self.settled.put(page, true);
        self.unlinked = known;
        !self.counts(page)
    }

    /// The page stands for another from now on, which must not lead back to it. Returns whether
    /// links to it did not count and now must again.
    pub(super) fn move_on(&mut self, page: PageId, to: PageId, known: usize) -> bool {
        self.stored -= u64::from(self.of(page) == Fate::Stored);
        self.dead.put(page, false);
        self.settled.put(page, true);
        self.moved.insert(page, to);
        self.unlinked = known;
        let ends_dead = self.dead.has(self.end(to));
        self.some_pending |= ends_dead && self.counts(page);
        !ends_dead && !self.counts(page)
    }

    /// The page, which is not stored, is dead from now on. If it holds nothing and nobody can link
    /// to it yet, links to it need never count: `at_once`.
    pub(super) fn die(&mut self, page: PageId, at_once: bool) {
        self.moved.remove(&page);
        self.settled.put(page, false);
        self.dead.put(page, true);
        if at_once && page.index() >= self.unlinked {
            self.uncounted.put(page, true);
            self.some_uncounted = true;
        }
        self.some_pending |= self.counts(page);
    }

    /// The pages whose links still count although they are dead or lead to a dead page.
    pub(super) fn pending(&self) -> Bits {
        let dead = self.dead.iter();
        let mut pending = Bits::default();
        let ends_dead = |page: &PageId| self.dead.has(self.end(*page));
        for page in dead.chain(self.moved.keys().copied().filter(ends_dead)) {
            pending.put(page, self.counts(page));
        }
        pending
    }

    /// Links to these pages do not count any more; no others are pending.
    pub(super) fn discount(&mut self, pending: &Bits) {
        pending.iter().for_each(|page| {
            self.uncounted.put(page, true);
        });
        self.some_uncounted = !self.uncounted.is_empty();
        self.some_pending = false;
    }

    /// All links count until they are discounted anew.
    pub(super) fn recount(&mut self) {
        self.uncounted = Bits::default();
        self.some_uncounted = false;
    }
}

impl Save for Fates {
    fn save(&self, out: &mut dyn io::Write) -> io::Result<()> {
        self.settled.save(out)?;
        self.dead.save(out)?;
        self.uncounted.save(out)?;
        self.moved.save(out)?;
        self.some_pending.save(out)?;
        (self.unlinked as u64).save(out)
    }
}

impl Restore for Fates {
    fn restore(from: &mut dyn io::Read) -> io::Result<Self> {
        let settled = Bits::restore(from)?;
        let dead = Restore::restore(from)?;
        let uncounted = Bits::restore(from)?;
        let moved: BTreeMap<PageId, PageId> = Restore::restore(from)?;
        let some_pending = Restore::restore(from)?;
        let unlinked = u64::restore(from)?;
        if moved.keys().any(|page| !settled.has(*page)) {
            return Err(corrupt("a moved page that is not settled"));
        }
        Ok(Self {
            stored: settled.count() - moved.len() as u64,
            some_uncounted: !uncounted.is_empty(),
            unlinked: usize::try_from(unlinked).map_err(|_| corrupt("too many pages"))?,
            settled,
            dead,
            uncounted,
            moved,
            some_pending,
        })
    }
}
