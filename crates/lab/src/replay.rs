//! A crawl of a recorded link graph: every page is announced at once, and answers by its fate.
//!
//! Cost: that of the scheduler and the policy; 4 bytes a page where there are hosts.

use std::io;

use turnstone_frontier::{Change, Fault, HostId, Links, PageId, Policy, Politeness, Scheduler};
use turnstone_linkgraph::LinkGraph;

use crate::driver::{Answer, Answers, Driver, Newcomer};

/// What a crawl starts from.
#[derive(Clone, Copy, Debug)]
pub struct Start<'a> {
    /// Who links to whom.
    pub graph: &'a LinkGraph,
    /// By page; empty means one host for all.
    pub hosts: &'a [HostId],
    /// The pages a user would name, by id.
    pub seeds: &'a [PageId],
    /// How gently hosts are asked.
    pub politeness: Politeness,
}

/// A crawl of a recorded link graph.
#[derive(Debug)]
pub struct Replay<'a, P> {
    web: Recorded<'a>,
    driver: Driver<P>,
}

/// The graph, and what is known of its pages.
#[derive(Debug)]
struct Recorded<'a> {
    start: Start<'a>,
    /// How many pages were announced.
    announced: usize,
    /// By page: whether it is there. Empty means that all are.
    alive: &'a [bool],
    /// By page: whether nobody knows. Empty means that all is known.
    unknown: &'a [bool],
}

impl Answers for Recorded<'_> {
    #[inline]
    fn newcomer(&mut self) -> Option<Newcomer> {
        if self.announced == self.start.graph.page_count() {
            return None;
        }
        let page = PageId::from_index(self.announced);
        self.announced += 1;
        Some(Newcomer {
            page,
            host: self
                .start
                .hosts
                .get(page.index())
                .copied()
                .unwrap_or_default(),
            seed: self.start.seeds.binary_search(&page).is_ok(),
        })
    }

    #[inline]
    fn answer(&self, page: PageId) -> Answer<'_> {
        if self.unknown.get(page.index()) == Some(&true) {
            return Answer::Failed(Fault::Refused);
        }
        if self.alive.is_empty() || self.alive[page.index()] {
            return Answer::Fetched(Change::New, self.start.graph.links(page));
        }
        Answer::Failed(Fault::Gone)
    }

    #[inline]
    fn lent(&self) -> &dyn Links {
        self.start.graph
    }
}

impl<'a, P: Policy> Replay<'a, P> {
    /// Announces every page of the web.
    pub fn start(start: Start<'a>, policy: P) -> Self {
        let mut replay = Self::of(start, Driver::new(policy, start.politeness));
        replay.web.announced = 0;
        replay.driver.announce(&mut replay.web);
        replay
    }

    /// Goes on from a scheduler that was saved when no request was open, with a policy made for it.
    pub fn resume(start: Start<'a>, policy: P, saved: &mut dyn io::Read) -> io::Result<Self> {
        let driver = Driver::restore(policy, saved, start.politeness)?;
        Ok(Self::of(start, driver))
    }

    fn of(start: Start<'a>, driver: Driver<P>) -> Self {
        let web = Recorded {
            start,
            announced: start.graph.page_count(),
            alive: &[],
            unknown: &[],
        };
        Self { web, driver }
    }

    /// The same, but some pages are gone: `alive` is by page.
    #[must_use]
    pub fn with_fates(mut self, alive: &'a [bool]) -> Self {
        let pages = self.web.start.graph.page_count();
        assert_eq!(alive.len(), pages, "one fate a page");
        self.web.alive = alive;
        self
    }

    /// The same, but with politeness off so many requests are under way at once: each answer is
    /// told that many requests later.
    #[must_use]
    pub fn with_open(mut self, open_max: usize) -> Self {
        self.driver = self.driver.with_open(open_max);
        self
    }

    /// The same, but of some pages the record does not know whether they are there: `unknown` is by
    /// page, or empty. Such a page is answered for as one that may not be asked, so that a policy
    /// learns nothing from it and does not ask again.
    #[must_use]
    pub fn with_unknown(mut self, unknown: &'a [bool]) -> Self {
        self.web.unknown = unknown;
        self
    }

    /// Goes on until one more page was answered for, there or gone. None when nothing is left to ask for.
    #[inline]
    pub fn step(&mut self) -> Option<PageId> {
        self.driver.step(&mut self.web)
    }

    /// The scheduler and its policy, to be looked at.
    pub fn scheduler(&self) -> &Scheduler<P> {
        self.driver.scheduler()
    }

    /// How many requests were made.
    pub fn requests(&self) -> u64 {
        self.driver.requests()
    }

    /// The virtual seconds that have passed, if requests take any.
    pub fn seconds(&self) -> Option<f64> {
        self.driver.seconds()
    }
}
