//! Gone pages by folder, to be asked for again when one of them comes back.
//!
//! A whole folder may vanish and return: a release taken down, a broken build. Re-tests at growing intervals then
//! meet its pages one by one, over months, and the pages that came with them are found as late. So when a gone page
//! that was once stored is back, the next few gone pages of its folder are expected back too, and of those it
//! links to. Each that is back calls a few more: a folder that returned is asked for within a round or two, and
//! one page that returned alone costs [`RECALLED_EACH`] requests and as many for its links.
//!
//! Cost: O(log pages) a gone page; 8 bytes for each that is gone. Nothing is saved: it follows from the pages.

use std::collections::{BTreeMap, BTreeSet};

use turnstone_frontier::PageId;

use super::page::{Have, Page};

/// How many gone pages of its folder a page that is back calls, and how many of those it links to.
pub(super) const RECALLED_EACH: usize = 8;

/// Gone pages that were stored once and are not expected back, by group.
#[derive(Debug, Default)]
pub(super) struct Gone {
    by_group: BTreeMap<u32, BTreeSet<PageId>>,
}

impl Gone {
    /// Of these pages those that are gone.
    pub(super) fn of(pages: &[Page]) -> Self {
        let mut gone = Self::default();
        for (index, page) in pages.iter().enumerate() {
            gone.note(PageId::from_index(index), page);
        }
        gone
    }

    /// Something became of a page.
    pub(super) fn note(&mut self, id: PageId, page: &Page) {
        if page.group == Page::NONE {
            return;
        }
        if is_lost(page) {
            self.by_group.entry(page.group).or_default().insert(id);
        } else if let Some(gone) = self.by_group.get_mut(&page.group) {
            gone.remove(&id);
        }
    }

    /// The first gone pages of a group.
    pub(super) fn first(&self, group: u32) -> Vec<PageId> {
        let gone = self.by_group.get(&group).into_iter().flatten();
        gone.copied().take(RECALLED_EACH).collect()
    }
}

/// Whether a page was stored once, is gone, and is not expected back.
pub(super) fn is_lost(page: &Page) -> bool {
    page.have == Have::Absence && page.was_stored && page.misses > 0
}
