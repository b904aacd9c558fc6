//! Which pages of the store a policy is told of, and by which numbers.
//!
//! A policy numbers its pages densely, in the order in which it is told of them. A crawl tells it of
//! every page in scope; a question about stored pages (what changed? what is still alive?) is asked of
//! those alone, in the order in which they were first fetched. Whatever else links lead to does not
//! exist for the policy: that is what "out of scope" means.
//!
//! As long as no page was left out both numbers are the same, and nothing is kept.
//! Cost: 8 bytes a page from the first one on that was left out.

use std::cell::RefCell;

use turnstone_frontier::{Links, PageId};
use turnstone_pagestore::{Each, Entry, Settled, Store, StoreError};

/// Pages by two numbers: the store's, and the policy's.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct View {
    /// Some page of the store was left out: links must be looked at one by one.
    partial: bool,
    /// So many pages have the same number in both.
    same: u32,
    /// By page of the store from there on: its number for the policy, or [`NONE`].
    inner: Vec<u32>,
    /// By number for the policy from there on: the page of the store.
    outer: Vec<PageId>,
}

const NONE: u32 = u32::MAX;

impl View {
    /// Of no page yet, and never of all.
    pub(crate) fn of_some() -> Self {
        Self {
            partial: true,
            ..Self::default()
        }
    }

    /// The policy is not told of some page.
    pub(crate) fn leave_out(&mut self) {
        self.partial = true;
    }

    /// The stored pages of a crawl that are in scope, numbered in the order they were first fetched.
    pub fn stored(store: &Store) -> Result<Self, StoreError> {
        let mut view = Self::of_some();
        store.fold(&mut Each(|entry: &Entry<'_>| {
            if let Entry::Outcome(outcome) = entry
                && let Settled::Fetched(_) = outcome.settled
                && !store.index().is_outside(outcome.page)
            {
                view.join(outcome.page);
            }
        }))?;
        Ok(view)
    }

    /// The pages of a crawl that are in scope, in the order they were found.
    pub fn inside(store: &Store) -> Self {
        let mut view = Self {
            partial: store.index().tally().outside_pages > 0,
            ..Self::default()
        };
        let pages = (0..store.index().page_count()).map(PageId::from_index);
        for page in pages.filter(|page| !store.index().is_outside(*page)) {
            view.join(page);
        }
        view
    }

    /// How many pages have a number.
    pub fn len(&self) -> usize {
        self.same as usize + self.outer.len()
    }

    /// No page has one.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The number of a page for the policy, if it is told of it.
    pub fn inner(&self, page: PageId) -> Option<PageId> {
        if page.0 < self.same {
            return Some(page);
        }
        let number = self.inner.get((page.0 - self.same) as usize).copied();
        number.filter(|number| *number != NONE).map(PageId)
    }

    /// The page that the policy knows by a number.
    pub fn outer(&self, number: PageId) -> PageId {
        if number.0 < self.same {
            return number;
        }
        self.outer[(number.0 - self.same) as usize]
    }

    /// Numbers a page that was not numbered yet.
    pub fn join(&mut self, page: PageId) -> Option<PageId> {
        if page.0 < self.same {
            return None;
        }
        if page.0 == self.same && self.inner.is_empty() {
            self.same += 1;
            return Some(page);
        }
        let at = (page.0 - self.same) as usize;
        if self.inner.len() <= at {
            self.inner.resize(at + 1, NONE);
        }
        if self.inner[at] != NONE {
            return None;
        }
        let number = PageId(self.same + self.outer.len() as u32);
        self.inner[at] = number.0;
        self.outer.push(page);
        Some(number)
    }

    /// All numbered pages of the store, in the order of their numbers.
    pub fn numbered(&self) -> Vec<PageId> {
        let same = (0..self.same).map(PageId);
        same.chain(self.outer.iter().copied()).collect()
    }

    /// Links as the policy is told of them.
    pub fn links(&self, links: impl Iterator<Item = PageId>, into: &mut Vec<PageId>) {
        into.clear();
        into.extend(links.filter_map(|link| self.inner(link)));
    }
}

turnstone_frontier::saved!(View: partial, same, inner, outer);

/// Links by the numbers that a policy knows pages by.
pub(crate) struct Viewed<'a> {
    pub(crate) view: &'a View,
    pub(crate) links: &'a dyn Links,
    /// Room for links by the store's numbers.
    pub(crate) room: &'a RefCell<Vec<PageId>>,
}

impl Links for Viewed<'_> {
    fn links_of<'a>(&'a self, page: PageId, buffer: &'a mut Vec<PageId>) -> &'a [PageId] {
        if !self.view.partial {
            return self.links.links_of(page, buffer);
        }
        let mut room = self.room.borrow_mut();
        let links = self.links.links_of(self.view.outer(page), &mut room);
        self.view.links(links.iter().copied(), buffer);
        buffer
    }

    fn old_links_of<'a>(&'a self, page: PageId, buffer: &'a mut Vec<PageId>) -> &'a [PageId] {
        if !self.view.partial {
            return self.links.old_links_of(page, buffer);
        }
        let mut room = self.room.borrow_mut();
        let links = self.links.old_links_of(self.view.outer(page), &mut room);
        self.view.links(links.iter().copied(), buffer);
        buffer
    }

    fn folder_of(&self, page: PageId) -> Option<u64> {
        self.links.folder_of(self.view.outer(page))
    }
}

#[cfg(test)]
mod tests {
    use turnstone_frontier::{Restore as _, Save as _};

    use super::*;

    #[test]
    fn numbers_are_dense_and_go_both_ways() {
        let mut view = View::default();
        let joined: Vec<Option<u32>> = [0, 1, 1, 3, 2, 7, 3]
            .into_iter()
            .map(|page| view.join(PageId(page)).map(|number| number.0))
            .collect();
        let expected = [Some(0), Some(1), None, Some(2), Some(3), Some(4), None];
        assert_eq!(joined, expected);
        for number in 0..5 {
            let number = PageId(number);
            assert_eq!(view.inner(view.outer(number)), Some(number));
        }
        assert_eq!(view.inner(PageId(5)), None);
        assert_eq!(view.numbered(), [0, 1, 3, 2, 7].map(PageId));
        let mut saved = Vec::new();
        view.save(&mut saved).unwrap();
        assert_eq!(View::restore(&mut saved.as_slice()).unwrap(), view);
    }
}
