//! A replay in which pages become known by their links, as in a live crawl.
//!
//! [`replay`](crate::replay) announces a whole web at once and calls pages by their numbers in the
//! graph. Here a page is announced when a link to it is first seen, and numbered in that order: the
//! scheduler is told exactly what a live crawl of the same graph tells it, one request at a time with
//! politeness off. So the two must decide alike, and a test holds them to it.
//!
//! Cost: that of the scheduler and the policy; 8 bytes a page and 4 a link that was seen.

use turnstone_frontier::{
    Change, Event, HostId, Links, Next, PageId, Policy, Politeness, Scheduler, Tick,
};
use turnstone_linkgraph::LinkGraph;

/// One request at a time, at once.
const POLITENESS: Politeness = Politeness {
    delay_ms: 0,
    open_max: 1,
};

/// A crawl that finds its web link by link.
#[derive(Debug)]
pub struct Explore<'a, P> {
    graph: &'a LinkGraph,
    scheduler: Scheduler<P>,
    known: Known,
}

/// The pages met so far: crawl numbers and graph numbers.
#[derive(Debug)]
struct Known {
    /// By crawl number: the page in the graph.
    pages: Vec<PageId>,
    /// By page in the graph: its crawl number.
    numbers: Vec<Option<PageId>>,
    /// By crawl number: its links in crawl numbers, once it was fetched.
    links: Vec<Option<Vec<PageId>>>,
}

impl Links for Known {
    fn links_of<'a>(&'a self, page: PageId, _: &'a mut Vec<PageId>) -> &'a [PageId] {
        self.links[page.index()].as_deref().unwrap_or_default()
    }
}

impl<'a, P: Policy> Explore<'a, P> {
    /// Begins at seeds, which become the first pages in their order.
    pub fn start(graph: &'a LinkGraph, seeds: &[PageId], policy: P) -> Self {
        let mut explore = Self {
            graph,
            scheduler: Scheduler::new(policy, POLITENESS),
            known: Known {
                pages: Vec::new(),
                numbers: vec![None; graph.page_count()],
                links: Vec::new(),
            },
        };
        for seed in seeds {
            explore.meet(*seed, true);
        }
        explore
    }

    /// Fetches one more page. Returns its number in the graph; none when nothing is left.
    pub fn step(&mut self) -> Option<PageId> {
        let Next::Fetch(page) = self.scheduler.next(Tick(0)) else {
            return None;
        };
        let found = self.known.pages[page.index()];
        let change = match self.known.links[page.index()] {
            None => Change::New,
            Some(_) => Change::Unchanged,
        };
        let links: Vec<PageId> = (self.graph.links(found).iter())
            .map(|link| self.meet(*link, false))
            .collect();
        self.known.links[page.index()] = Some(links.clone());
        let event = Event::Fetched {
            page,
            change,
            links: &links,
        };
        self.scheduler.observe(&event, Tick(0), &self.known);
        Some(found)
    }

    /// The scheduler and its policy, to be looked at.
    pub fn scheduler(&self) -> &Scheduler<P> {
        &self.scheduler
    }

    /// How many pages were fetched at least once.
    pub fn stored_count(&self) -> usize {
        self.known.links.iter().flatten().count()
    }

    /// The crawl number of a page, announced now if it is new.
    fn meet(&mut self, found: PageId, seed: bool) -> PageId {
        if let Some(page) = self.known.numbers[found.index()] {
            return page;
        }
        let page = PageId::from_index(self.known.pages.len());
        self.known.pages.push(found);
        self.known.links.push(None);
        self.known.numbers[found.index()] = Some(page);
        let host = HostId(0);
        let event = Event::Discovered { page, host, seed };
        self.scheduler.observe(&event, Tick(0), &self.known);
        page
    }
}
