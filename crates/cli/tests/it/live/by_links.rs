//! A replay in which pages become known by their links, as in a live crawl.
//!
//! The lab's own replay announces a whole graph at once and calls pages by their numbers in it. Here a
//! page is announced when a link to it is first seen, and numbered in that order: the scheduler is told
//! exactly what a live crawl of the same graph tells it, one request at a time. So the two must decide alike.

use std::collections::VecDeque;

use turnstone_frontier::{Change, HostId, Links, PageId, Policy, Scheduler};
use turnstone_lab::driver::{Answer, Answers, Driver, Newcomer};
use turnstone_linkgraph::LinkGraph;

/// A crawl that finds its web link by link.
#[derive(Debug)]
pub(crate) struct Explore<'a, P> {
    driver: Driver<P>,
    known: Known<'a>,
}

/// The pages met so far: crawl numbers and graph numbers.
#[derive(Debug)]
struct Known<'a> {
    graph: &'a LinkGraph,
    /// By crawl number: the page in the graph.
    pages: Vec<PageId>,
    /// By page in the graph: its crawl number.
    numbers: Vec<Option<PageId>>,
    /// By crawl number: its links in crawl numbers, once it was fetched.
    links: Vec<Option<Vec<PageId>>>,
    /// What the page asked for last is to us.
    change: Change,
    /// Not announced yet.
    newcomers: VecDeque<Newcomer>,
}

impl Known<'_> {
    /// The crawl number of a page, which may be new.
    fn meet(&mut self, found: PageId, seed: bool) -> PageId {
        if let Some(page) = self.numbers[found.index()] {
            return page;
        }
        let page = PageId::from_index(self.pages.len());
        self.pages.push(found);
        self.links.push(None);
        self.numbers[found.index()] = Some(page);
        let host = HostId(0);
        self.newcomers.push_back(Newcomer { page, host, seed });
        page
    }
}

impl Answers for Known<'_> {
    fn asked(&mut self, page: PageId) {
        self.change = match self.links[page.index()] {
            None => Change::New,
            Some(_) => Change::Unchanged,
        };
        let graph = self.graph;
        let links = graph.links(self.pages[page.index()]).iter();
        self.links[page.index()] = Some(links.map(|link| self.meet(*link, false)).collect());
    }

    fn newcomer(&mut self) -> Option<Newcomer> {
        self.newcomers.pop_front()
    }

    fn answer(&self, page: PageId) -> Answer<'_> {
        let links = self.links[page.index()].as_deref();
        Answer::Fetched(self.change, links.unwrap_or_default())
    }

    fn lent(&self) -> &dyn Links {
        self
    }
}

impl Links for Known<'_> {
    fn links_of<'a>(&'a self, page: PageId, _: &'a mut Vec<PageId>) -> &'a [PageId] {
        self.links[page.index()].as_deref().unwrap_or_default()
    }
}

impl<'a, P: Policy> Explore<'a, P> {
    /// Begins at seeds, which become the first pages in their order.
    pub(crate) fn start(graph: &'a LinkGraph, seeds: &[PageId], policy: P) -> Self {
        let mut known = Known {
            graph,
            pages: Vec::new(),
            numbers: vec![None; graph.page_count()],
            links: Vec::new(),
            change: Change::New,
            newcomers: VecDeque::new(),
        };
        for seed in seeds {
            known.meet(*seed, true);
        }
        let mut driver = Driver::in_rounds(policy);
        driver.announce(&mut known);
        Self { driver, known }
    }

    /// Fetches one more page. Returns its number in the graph; none when nothing is left.
    pub(crate) fn step(&mut self) -> Option<PageId> {
        let page = self.driver.step(&mut self.known)?;
        Some(self.known.pages[page.index()])
    }

    /// The scheduler and its policy, to be looked at.
    pub(crate) fn scheduler(&self) -> &Scheduler<P> {
        self.driver.scheduler()
    }

    /// How many pages were fetched at least once.
    pub(crate) fn stored_count(&self) -> usize {
        self.known.links.iter().flatten().count()
    }
}
