//! Pages that sitemaps and feeds led to.
//!
//! One bit of the marks that each page has anyway; counted when somebody asks, which is once a run.

use turnstone_frontier::PageId;

use super::{Index, LISTED, OUTSIDE, STORED};

impl Index {
    /// Whether a page was found by way of a sitemap or a feed when nothing else had led there.
    pub fn is_listed(&self, page: PageId) -> bool {
        self.slots[page.index()].has(LISTED)
    }

    /// How many such pages are known and in scope, and how many of them are stored: O(pages).
    pub fn listed_counts(&self) -> (u64, u64) {
        let listed = self.slots.iter();
        let listed = listed.filter(|slot| slot.has(LISTED) && !slot.has(OUTSIDE));
        listed.fold((0, 0), |(known, stored), slot| {
            (known + 1, stored + u64::from(slot.has(STORED)))
        })
    }
}
