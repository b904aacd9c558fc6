//! Webs that change while they are crawled, as the lab knows them.
//!
//! A run is cut into slices; between two slices the web may change. Three kinds: a graph that
//! stays as it is, a graph that is stirred at a rate (§4.2 of the paper), and a recorded site whose
//! snapshots pass by.

use turnstone_frontier::PageId;
use turnstone_linkgraph::LinkGraph;

use crate::history::{History, Walk};

/// How much of a run is over.
#[derive(Clone, Copy, Debug)]
pub struct Moment {
    /// The slice that is about to begin, from 0.
    pub slice: u32,
    /// How many there are in all.
    pub of: u32,
}

/// A web at one moment of a run.
pub trait LivingWeb {
    /// How many pages a crawl of the whole web is taken to have.
    fn size(&self) -> usize;

    /// How many pages are known by now: numbers below this have been announced.
    fn known(&self) -> usize;

    /// Whether a known page is there now.
    fn is_present(&self, page: PageId) -> bool;

    /// The links of a page as it is now, distinct, also to pages that are not there.
    fn links(&self, page: PageId) -> &[PageId];

    /// How many links there are now, to pages that are there or not.
    fn link_count(&self) -> u64 {
        let pages = (0..self.known()).map(PageId::from_index);
        let present = pages.filter(|page| self.is_present(*page));
        present.map(|page| self.links(page).len() as u64).sum()
    }

    /// Whether the web ever changes.
    fn changes(&self) -> bool;

    /// Time goes on. Returns known pages that are there again.
    fn advance(&mut self, moment: Moment) -> Vec<PageId>;
}

/// A graph that stays as it is.
impl LivingWeb for &LinkGraph {
    fn size(&self) -> usize {
        self.page_count()
    }

    fn known(&self) -> usize {
        self.page_count()
    }

    fn is_present(&self, _: PageId) -> bool {
        true
    }

    fn links(&self, page: PageId) -> &[PageId] {
        LinkGraph::links(self, page)
    }

    fn link_count(&self) -> u64 {
        LinkGraph::link_count(self)
    }

    fn changes(&self) -> bool {
        false
    }

    fn advance(&mut self, _: Moment) -> Vec<PageId> {
        Vec::new()
    }
}

/// A recorded site: its snapshots pass by evenly. New pages are announced when they appear, as by a
/// site map; pages that vanish are found out by asking.
#[derive(Debug)]
pub struct LivingSite<'a> {
    history: &'a History,
    walk: Walk<'a>,
    /// Snapshots passed.
    passed: usize,
    known: usize,
    /// Links as they are now, distinct, by page.
    links: Vec<Vec<PageId>>,
}

impl<'a> LivingSite<'a> {
    /// The site at its first snapshot.
    pub fn new(history: &'a History) -> Self {
        let mut site = Self {
            history,
            walk: history.walk(),
            passed: 0,
            known: 0,
            links: vec![Vec::new(); history.page_count()],
        };
        site.pass();
        site
    }

    fn pass(&mut self) -> Vec<PageId> {
        let Some(step) = self.walk.step() else {
            return Vec::new();
        };
        self.passed += 1;
        let changed = step.changed.iter().map(|(page, _)| *page);
        for page in step
            .new
            .iter()
            .copied()
            .chain(step.returned.clone())
            .chain(changed)
        {
            let links = &mut self.links[page.index()];
            links.clear();
            links.extend_from_slice(self.walk.links(page));
            links.sort_unstable();
            links.dedup();
        }
        // Pages are numbered in the order in which they first appear.
        let last = step.new.iter().map(|page| page.index() + 1).max();
        self.known = self.known.max(last.unwrap_or(0));
        step.returned
    }
}

impl LivingWeb for LivingSite<'_> {
    fn size(&self) -> usize {
        let last = self.history.snapshots.len().saturating_sub(1);
        self.history.at(last).present_count().max(1)
    }

    fn known(&self) -> usize {
        self.known
    }

    fn is_present(&self, page: PageId) -> bool {
        self.walk.version(page).is_some()
    }

    fn links(&self, page: PageId) -> &[PageId] {
        let links = &self.links[page.index()];
        // A link to a page that comes into being later leads nowhere yet.
        &links[..links.partition_point(|link| link.index() < self.known)]
    }

    fn changes(&self) -> bool {
        self.history.snapshots.len() > 1
    }

    fn advance(&mut self, moment: Moment) -> Vec<PageId> {
        // The last snapshot is reached in time for half a crawl at least to see it.
        let snapshots = self.history.snapshots.len() as u64;
        let slices = u64::from(moment.of.saturating_sub(10).max(1));
        let due = 1 + u64::from(moment.slice) * (snapshots - 1) / slices;
        let mut returned = Vec::new();
        while (self.passed as u64) < due.min(snapshots) {
            returned.extend(self.pass());
        }
        returned.retain(|page| self.is_present(*page));
        returned
    }
}
