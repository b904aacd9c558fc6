//! What the store lends to policies: links of the last copies, and folders.
//!
//! Both are read from the journal when they are asked for, so they cost no memory. While a journal is
//! folded again, a policy must not see what came later: [`LinksBefore`] answers as the store would
//! have at a place of the journal.

use turnstone_frontier::{Links, PageId};

use crate::journal::Position;
use crate::outcome::{LastCopy, read_before, read_copy};
use crate::store::Store;

impl Store {
    /// The links as they were known when the journal ended at a position: for folding it again.
    pub fn links_before(&self, end: Position) -> LinksBefore<'_> {
        LinksBefore { store: self, end }
    }

    /// Reads the links of the last copy of a page before `end`, or of the one that many copies earlier.
    fn copy_into(&self, end: Position, earlier: u32, page: PageId, links: &mut Vec<PageId>) {
        links.clear();
        let mut left = earlier;
        let mut bytes = self.buffer.borrow_mut();
        let mut at = self.index().outcome_at(page).unwrap_or_default();
        while at != Position(0) {
            let read = self.journal.entry_bytes(at, &mut bytes);
            let entry = read.unwrap_or_else(|error| panic!("links of page {page}: {error}"));
            let next = if at >= end {
                read_before(entry).map(LastCopy::Before)
            } else {
                read_copy(entry, links)
            };
            at = match next.unwrap_or_else(|error| panic!("links of page {page}: {error}")) {
                LastCopy::Here if left == 0 => return,
                LastCopy::Here => {
                    left -= 1;
                    links.clear();
                    read_before(entry).expect("it was read a moment ago")
                }
                LastCopy::Before(before) => before,
            };
        }
    }

    /// A disk that cannot be read any more ends the process, as for links.
    fn folder(&self, page: PageId) -> u64 {
        let url = self.url(page);
        let url = url.unwrap_or_else(|error| panic!("URL of page {page}: {error}"));
        folder_number(&url)
    }
}

/// A number for the folder of a URL: its address up to the last slash of the path, hashed (FNV-1a,
/// 64 bits: the same in every process and release). A clash would join two folders.
pub fn folder_number(url: &str) -> u64 {
    let path = url.split(['?', '#']).next().unwrap_or(url);
    let folder = path.rfind('/').map_or(path, |at| &path[..=at]);
    folder.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

impl Links for Store {
    /// Reads from the journal. A disk that cannot be read any more ends the process: the crawl
    /// is on it, whole, and resumes when the disk is back.
    fn links_of<'a>(&'a self, page: PageId, links: &'a mut Vec<PageId>) -> &'a [PageId] {
        self.copy_into(Position(u64::MAX), 0, page, links);
        links
    }

    fn old_links_of<'a>(&'a self, page: PageId, links: &'a mut Vec<PageId>) -> &'a [PageId] {
        self.copy_into(Position(u64::MAX), 1, page, links);
        links
    }

    fn folder_of(&self, page: PageId) -> Option<u64> {
        Some(self.folder(page))
    }
}

/// The links of pages as they were at some place of the journal.
#[derive(Clone, Copy, Debug)]
pub struct LinksBefore<'s> {
    store: &'s Store,
    end: Position,
}

impl Links for LinksBefore<'_> {
    fn links_of<'a>(&'a self, page: PageId, links: &'a mut Vec<PageId>) -> &'a [PageId] {
        self.store.copy_into(self.end, 0, page, links);
        links
    }

    fn old_links_of<'a>(&'a self, page: PageId, links: &'a mut Vec<PageId>) -> &'a [PageId] {
        self.store.copy_into(self.end, 1, page, links);
        links
    }

    fn folder_of(&self, page: PageId) -> Option<u64> {
        Some(self.store.folder(page))
    }
}
