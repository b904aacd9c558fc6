//! The link graph in memory: each page's distinct targets, ascending, one after the other.
//!
//! Compressed sparse rows: one array of targets, and for each page where its targets begin. The
//! links of a page are one slice, so walking them costs no lookup but the first.
//!
//! Cost: 4 bytes a link and 8 a page. Invariant: within a page targets ascend strictly (parallel
//! links count once) and every target is a page of the graph; both are asserted on building.

use std::fmt;

use turnstone_frontier::{Links, PageId};

/// Who links to whom: a set of distinct links between the pages `0..page_count`.
#[derive(Clone, PartialEq, Eq)]
pub struct LinkGraph {
    /// Where the links of page `i` begin in `targets`; one entry more than pages.
    starts: Vec<u64>,
    targets: Vec<PageId>,
}

impl LinkGraph {
    /// The graph of the given links; for tests and small webs. See [`crate::ArcBuilder`] for streams.
    pub fn from_links(page_count: usize, links: &[(u32, u32)]) -> Self {
        let mut arcs = crate::ArcBuilder::new();
        for &(source, target) in links {
            arcs.add(PageId(source), PageId(target));
        }
        arcs.finish(page_count)
    }

    /// Takes rows as they are. For this crate's own builders, which keep the invariant.
    pub(crate) fn from_rows(starts: Vec<u64>, targets: Vec<PageId>) -> Self {
        assert!(starts.first() == Some(&0) && starts.last() == Some(&(targets.len() as u64)));
        Self { starts, targets }
    }

    /// The distinct pages `page` links to, ascending.
    #[inline]
    pub fn links(&self, page: PageId) -> &[PageId] {
        let i = page.index();
        &self.targets[self.starts[i] as usize..self.starts[i + 1] as usize]
    }

    /// How many pages `page` links to.
    #[inline]
    pub fn outdegree(&self, page: PageId) -> u32 {
        let i = page.index();
        // Distinct targets are at most 2³²−1, as ids are.
        (self.starts[i + 1] - self.starts[i]) as u32
    }

    /// Number of pages.
    #[inline]
    pub fn page_count(&self) -> usize {
        self.starts.len() - 1
    }

    /// Number of links.
    #[inline]
    pub fn link_count(&self) -> u64 {
        self.targets.len() as u64
    }

    /// Every page, ascending.
    pub fn pages(&self) -> impl DoubleEndedIterator<Item = PageId> + ExactSizeIterator + use<> {
        // Builders refuse more than 2³²−1 pages, so the cast keeps the number.
        (0..self.page_count()).map(|i| PageId(i as u32))
    }

    /// Every link as (source, target), ascending.
    pub fn arcs(&self) -> impl Iterator<Item = (PageId, PageId)> + '_ {
        self.pages()
            .flat_map(|page| self.links(page).iter().map(move |&target| (page, target)))
    }

    /// For each page how many pages link to it (itself included, if it does). O(pages + links).
    pub fn indegree(&self) -> Vec<u32> {
        let mut indegree = vec![0u32; self.page_count()];
        for target in &self.targets {
            indegree[target.index()] += 1;
        }
        indegree
    }

    /// The graph with every link turned round: `links(page)` are then the pages linking to it.
    pub fn transpose(&self) -> Self {
        crate::transpose::transpose(self)
    }

    /// Bytes this graph keeps in memory.
    pub fn memory_bytes(&self) -> u64 {
        8 * self.starts.len() as u64 + 4 * self.targets.len() as u64
    }

    pub(crate) fn starts(&self) -> &[u64] {
        &self.starts
    }

    pub(crate) fn targets(&self) -> &[PageId] {
        &self.targets
    }
}

impl Links for LinkGraph {
    fn links_of<'a>(&'a self, page: PageId, _: &'a mut Vec<PageId>) -> &'a [PageId] {
        self.links(page)
    }
}

impl fmt::Debug for LinkGraph {
    /// Small graphs in full, one page a line; big ones by their size.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} pages, {} links",
            self.page_count(),
            self.link_count()
        )?;
        if self.page_count() <= 50 && self.link_count() <= 500 {
            for page in self.pages() {
                write!(f, "\n{page}: {:?}", self.links(page))?;
            }
        }
        Ok(())
    }
}

/// Builds a [`LinkGraph`] page by page, in ascending order of pages.
#[derive(Debug)]
pub struct GraphBuilder {
    starts: Vec<u64>,
    targets: Vec<PageId>,
}

impl GraphBuilder {
    /// Starts a graph with no page yet; the capacities are hints.
    pub fn with_capacity(pages: usize, links: usize) -> Self {
        let mut starts = Vec::with_capacity(pages.saturating_add(1));
        starts.push(0);
        Self {
            starts,
            targets: Vec::with_capacity(links),
        }
    }

    /// Adds the next page with its targets. Panics unless they ascend strictly.
    pub fn push(&mut self, links: &[PageId]) {
        assert!(
            links.windows(2).all(|pair| pair[0] < pair[1]),
            "the links of a page must ascend strictly"
        );
        self.targets.extend_from_slice(links);
        self.starts.push(self.targets.len() as u64);
    }

    /// Pages so far.
    pub fn page_count(&self) -> usize {
        self.starts.len() - 1
    }

    /// Links so far.
    pub fn link_count(&self) -> u64 {
        self.targets.len() as u64
    }

    /// The graph. Panics when a target is not one of its pages.
    pub fn finish(self) -> LinkGraph {
        let pages = self.page_count();
        assert!(
            u32::try_from(pages).is_ok(),
            "page ids are 32-bit: {pages} pages are too many"
        );
        assert!(
            self.targets.iter().all(|target| target.index() < pages),
            "every link must lead to a page of the graph"
        );
        let Self {
            starts,
            mut targets,
        } = self;
        targets.shrink_to_fit();
        LinkGraph { starts, targets }
    }
}
