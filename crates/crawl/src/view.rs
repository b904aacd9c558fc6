//! Which pages of the store a policy is told of, and by which numbers.
//!
//! A crawl tells its policy of every page. A question about stored pages (what changed? what is
//! still alive?) is asked of those alone: they are numbered anew, in the order they were first
//! fetched, and whatever else links lead to does not exist for the policy.
//!
//! Cost: nothing for all pages; 8 bytes a page for some.

use turnstone_frontier::{Event, Fault, Links, PageId};
use turnstone_pagestore::{Entry, Outcome, Position, Settled, Store, StoreError};

/// The numbers that a policy knows pages by.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum View {
    /// Every page, by its number in the store.
    #[default]
    All,
    /// Stored pages only.
    Stored(Numbers),
}

/// Pages by two numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Numbers {
    /// By page of the store: its number for the policy, or [`NONE`].
    inner: Vec<u32>,
    /// By number for the policy: the page of the store.
    outer: Vec<PageId>,
}

const NONE: u32 = u32::MAX;

impl View {
    /// The stored pages of a crawl, numbered in the order they were first fetched.
    pub fn stored(store: &Store) -> Result<Self, StoreError> {
        let mut view = Self::Stored(Numbers::default());
        let mut scan = store.scan(Position::FIRST);
        while let Some((_, _, entry)) = scan.next()? {
            if let Entry::Outcome(outcome) = entry
                && let Settled::Fetched(_) = outcome.settled
            {
                view.join(outcome.page);
            }
        }
        Ok(view)
    }

    /// The number of a page for the policy, if it is told of it.
    pub fn inner(&self, page: PageId) -> Option<PageId> {
        match self {
            Self::All => Some(page),
            Self::Stored(numbers) => {
                let number = numbers.inner.get(page.index()).copied();
                number.filter(|number| *number != NONE).map(PageId)
            }
        }
    }

    /// The page that the policy knows by a number.
    pub fn outer(&self, number: PageId) -> PageId {
        match self {
            Self::All => number,
            Self::Stored(numbers) => numbers.outer[number.index()],
        }
    }

    /// Numbers a page that was not numbered yet; nothing to do where all are.
    pub fn join(&mut self, page: PageId) -> Option<PageId> {
        match self {
            Self::All => None,
            Self::Stored(numbers) => {
                if numbers.inner.len() <= page.index() {
                    numbers.inner.resize(page.index() + 1, NONE);
                }
                if numbers.inner[page.index()] != NONE {
                    return None;
                }
                let number = PageId::from_index(numbers.outer.len());
                numbers.inner[page.index()] = number.0;
                numbers.outer.push(page);
                Some(number)
            }
        }
    }

    /// The pages that have numbers of their own, in the order of these; none where all have.
    pub fn numbered(&self) -> &[PageId] {
        match self {
            Self::All => &[],
            Self::Stored(numbers) => &numbers.outer,
        }
    }

    /// Links as the policy is told of them.
    pub(crate) fn links(&self, links: &[PageId], into: &mut Vec<PageId>) {
        into.clear();
        into.extend(links.iter().filter_map(|link| self.inner(*link)));
    }
}

/// An outcome as a policy is told of it, with links read into a buffer; none for a page that it
/// is not told of.
pub(crate) fn outcome_event<'b>(
    view: &View,
    outcome: &Outcome<'_>,
    buffer: &'b mut Vec<PageId>,
) -> Option<Event<'b>> {
    if let View::All = view {
        return Some(outcome.event(buffer));
    }
    let mut links = Vec::new();
    if let Settled::Fetched(_) = outcome.settled {
        outcome.links.read(&mut links);
    }
    event(view, outcome.page, outcome.settled, &links, buffer)
}

/// What happened to a page, as a policy is told of it.
pub(crate) fn event<'b>(
    view: &View,
    page: PageId,
    settled: Settled,
    links: &[PageId],
    buffer: &'b mut Vec<PageId>,
) -> Option<Event<'b>> {
    let page = view.inner(page)?;
    Some(match settled {
        Settled::Fetched(change) => {
            view.links(links, buffer);
            let links = buffer.as_slice();
            Event::Fetched {
                page,
                change,
                links,
            }
        }
        Settled::Failed(fault) => Event::Failed { page, fault },
        Settled::Moved(to) => match view.inner(to) {
            Some(to) => Event::Moved { page, to },
            // Where it leads is none of the policy's pages: it is not there any more.
            None => Event::Failed {
                page,
                fault: Fault::Gone,
            },
        },
    })
}

/// Links by the numbers that a policy knows pages by.
pub(crate) struct Viewed<'a> {
    pub(crate) view: &'a View,
    pub(crate) links: &'a dyn Links,
}

impl Links for Viewed<'_> {
    fn links_of<'a>(&'a self, page: PageId, buffer: &'a mut Vec<PageId>) -> &'a [PageId] {
        if let View::All = self.view {
            return self.links.links_of(page, buffer);
        }
        let mut outer = Vec::new();
        let links = self.links.links_of(self.view.outer(page), &mut outer);
        self.view.links(links, buffer);
        buffer
    }
}
