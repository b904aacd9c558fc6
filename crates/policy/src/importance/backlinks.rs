//! Who links to whom, for the importance in which a link counts both ways.
//!
//! "A page is important if it is pointed by important pages or points to important pages": cash
//! also flows to the pages that link to the one that is read. Those are not on the page, so they
//! are remembered here as they are seen; whether a link is still there is looked up when it counts.
//!
//! Cost: 4 bytes per link and 24 per page; reading a page looks up the links of all that link to it.

use turnstone_frontier::{Links, PageId};

/// By page: the pages seen to link to it, ascending.
#[derive(Debug, Default)]
pub(crate) struct Backlinks {
    sources: Vec<Vec<PageId>>,
}

impl Backlinks {
    /// A page was read and has these links.
    pub(crate) fn record(&mut self, page: PageId, found: &[PageId]) {
        for link in found {
            if self.sources.len() <= link.index() {
                self.sources.resize(link.index() + 1, Vec::new());
            }
            let sources = &mut self.sources[link.index()];
            if let Err(at) = sources.binary_search(&page) {
                sources.insert(at, page);
            }
        }
    }

    /// Adds the pages that link to this one to its own links; each stands once.
    pub(crate) fn collect(&mut self, page: PageId, links: &dyn Links, into: &mut Vec<PageId>) {
        if let Some(sources) = self.sources.get_mut(page.index()) {
            let mut buffer = Vec::new();
            sources.retain(|source| links.links_of(*source, &mut buffer).contains(&page));
            into.extend_from_slice(sources);
        }
        into.sort_unstable();
        into.dedup();
    }
}

turnstone_frontier::saved!(Backlinks: sources);
