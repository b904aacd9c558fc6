//! What it costs to push pages with very many links again and again.
//!
//! An index lists 25,000 files, and no file links anywhere. Each file that is fetched sends its mass to the
//! trusted pages, so to the index, which is pushed again along all its links: 25,000 steps for every fetch,
//! and a crawl of n files takes n² steps. So pages of more than [`MANY`] links run into debt when they are pushed
//! again, and while there is debt no fetched page is pushed. Every event pays [`MANY`] links back. That bounds
//! the work of an event, on average, whatever the web looks like.
//!
//! Mass that waits is not claimed, so the proof holds; it comes later, on an index by a good part of the crawl. A limit on what a wide page must
//! hold before it is pushed was rejected: it changes the order for good where the debt only delays it.
//!
//! Where nothing is left to ask for, mass must move on until what is left is negligible, and nothing comes that
//! pays. There the best page goes first as long as there is [`Room`]; then all fetched pages are pushed in
//! turn, which takes a number of turns that does not depend on the web.
//!
//! Webs without such pages are crawled as if this file were not there.
//!
//! Cost: 8 bytes.

/// A page with more links than this is wide; so many links are paid for by each event.
pub(super) const MANY: u64 = 4096;

/// What was pushed along the links of wide pages and is not paid for.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Debt(u64);

impl Debt {
    /// An event pays.
    pub(super) fn pay(&mut self) {
        self.0 = self.0.saturating_sub(MANY);
    }

    /// A page with so many links was pushed.
    pub(super) fn charge(&mut self, links: u64) {
        if links > MANY {
            self.0 = self.0.saturating_add(links);
        }
    }

    /// Whether fetched pages may be pushed.
    pub(super) fn is_paid(self) -> bool {
        self.0 == 0
    }
}

/// How many links of wide pages may be pushed along, best page first, where nothing else is left to do.
#[derive(Clone, Copy, Debug)]
pub(super) struct Room(u64);

impl Room {
    /// Room in a crawl that stored so many pages.
    pub(super) fn of(stored: u64) -> Self {
        Self((1 << 20) + stored.saturating_mul(64))
    }

    /// A page with so many links was pushed.
    pub(super) fn charge(&mut self, links: u64) {
        if links > MANY {
            self.0 = self.0.saturating_sub(links);
        }
    }

    /// Whether nothing is left.
    pub(super) fn is_used_up(self) -> bool {
        self.0 == 0
    }
}

turnstone_frontier::saved!(Debt: 0);
