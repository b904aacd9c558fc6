//! The ids that a policy knows pages by, beside those of the record.
//!
//! The record numbers pages as they appear. A policy that asks for guessed addresses meets pages that the record
//! never had, or has only later, and those have ids too: so the two numberings part at the first guess. Until
//! then they are the same, and nothing is kept.
//!
//! Cost: 8 bytes a page once something was guessed.

use std::borrow::Cow;

use turnstone_frontier::PageId;

const NONE: u32 = u32::MAX;

/// Two numberings of pages.
#[derive(Clone, Debug, Default)]
pub(super) struct Ids {
    /// How many pages the policy knows.
    known: u32,
    /// By page of the record: the policy's id. Empty while both are the same.
    by_record: Vec<u32>,
    /// By the policy's id: the page of the record, if it has one.
    by_policy: Vec<u32>,
}

impl Ids {
    /// The policy's id of a page of the record, and whether the policy does not know it yet.
    pub(super) fn issue(&mut self, page: PageId) -> (PageId, bool) {
        if self.by_policy.is_empty() {
            assert_eq!(page.0, self.known, "pages become known in order");
            self.known += 1;
            return (page, true);
        }
        if self.by_record.len() <= page.index() {
            self.by_record.resize(page.index() + 1, NONE);
        }
        let id = &mut self.by_record[page.index()];
        let is_new = *id == NONE;
        if is_new {
            *id = self.known;
            self.known += 1;
            self.by_policy.push(page.0);
        }
        (PageId(*id), is_new)
    }

    /// An id for an address that the record does not have yet, or never.
    pub(super) fn issue_guess(&mut self) -> PageId {
        if self.by_policy.is_empty() {
            self.by_record = (0..self.known).collect();
            self.by_policy = (0..self.known).collect();
        }
        self.by_policy.push(NONE);
        self.known += 1;
        PageId(self.known - 1)
    }

    /// The page of the record that a guess turned out to be.
    pub(super) fn settle(&mut self, guess: PageId, page: PageId) {
        if self.by_record.len() <= page.index() {
            self.by_record.resize(page.index() + 1, NONE);
        }
        self.by_record[page.index()] = guess.0;
        self.by_policy[guess.index()] = page.0;
    }

    /// The policy's id of a page that it knows.
    pub(super) fn of(&self, page: PageId) -> PageId {
        if self.by_policy.is_empty() {
            return page;
        }
        let id = self.by_record[page.index()];
        assert_ne!(id, NONE, "the policy knows the page");
        PageId(id)
    }

    /// The page of the record that the policy asks for.
    pub(super) fn page(&self, id: PageId) -> Option<PageId> {
        if self.by_policy.is_empty() {
            return Some(id);
        }
        let page = self.by_policy[id.index()];
        (page != NONE).then_some(PageId(page))
    }

    /// Links as the policy knows them.
    pub(super) fn links<'a>(&self, links: &'a [PageId]) -> Cow<'a, [PageId]> {
        if self.by_policy.is_empty() {
            return Cow::Borrowed(links);
        }
        links.iter().map(|link| self.of(*link)).collect()
    }
}
