//! The lab's driver: a recorded web answers, under a virtual clock.
//!
//! It calls the same `next` and `observe` as the live crawl; when requests are answered is for
//! [`Requests`] to say.
//!
//! Cost: that of the scheduler and the policy; 4 bytes a page where there are hosts.

use turnstone_frontier::{
    Change, Event, Fault, HostId, PageId, Policy, Politeness, Scheduler, Tick,
};
use turnstone_linkgraph::LinkGraph;

use crate::requests::Requests;

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
    graph: &'a LinkGraph,
    /// By page: whether it is there. Empty means that all are.
    alive: &'a [bool],
    /// By page: whether nobody knows. Empty means that all is known.
    unknown: &'a [bool],
    scheduler: Scheduler<P>,
    requests: Requests,
}

impl<'a, P: Policy> Replay<'a, P> {
    /// Announces every page of the web.
    pub fn start(start: Start<'a>, policy: P) -> Self {
        let Start {
            graph,
            hosts,
            seeds,
            politeness,
        } = start;
        let mut scheduler = Scheduler::new(policy, politeness);
        for page in graph.pages() {
            let host = hosts.get(page.index()).copied().unwrap_or_default();
            let seed = seeds.binary_search(&page).is_ok();
            scheduler.observe(&Event::Discovered { page, host, seed }, Tick(0), graph);
        }
        Self {
            graph,
            alive: &[],
            unknown: &[],
            scheduler,
            requests: Requests::new(politeness),
        }
    }

    /// Goes on from a scheduler that was saved when no request was open, with a policy made for it.
    pub fn resume(
        start: Start<'a>,
        policy: P,
        saved: &mut dyn std::io::Read,
    ) -> std::io::Result<Self> {
        Ok(Self {
            graph: start.graph,
            alive: &[],
            unknown: &[],
            scheduler: Scheduler::restore(policy, saved)?,
            requests: Requests::new(start.politeness),
        })
    }

    /// The same, but some pages are gone: `alive` is by page.
    #[must_use]
    pub fn with_fates(mut self, alive: &'a [bool]) -> Self {
        assert_eq!(alive.len(), self.graph.page_count(), "one fate a page");
        self.alive = alive;
        self
    }

    /// The same, but with politeness off so many requests are under way at once: each answer is
    /// told that many requests later.
    #[must_use]
    pub fn with_open(mut self, open_max: usize) -> Self {
        self.requests = self.requests.with_open(open_max);
        self
    }

    /// The same, but of some pages the record does not know whether they are there: `unknown` is by
    /// page, or empty. Such a page is answered for as one that may not be asked, so that a policy
    /// learns nothing from it and does not ask again.
    #[must_use]
    pub fn with_unknown(mut self, unknown: &'a [bool]) -> Self {
        self.unknown = unknown;
        self
    }

    /// Goes on until one more page was answered for, there or gone. None when nothing is left to ask for.
    pub fn step(&mut self) -> Option<PageId> {
        let page = self.requests.next(&mut self.scheduler)?;
        Some(self.answer(page))
    }

    /// The scheduler and its policy, to be looked at.
    pub fn scheduler(&self) -> &Scheduler<P> {
        &self.scheduler
    }

    /// How many requests were made.
    pub fn requests(&self) -> u64 {
        self.requests.made()
    }

    /// The virtual time that has passed.
    pub fn now(&self) -> Tick {
        self.requests.now()
    }

    fn answer(&mut self, page: PageId) -> PageId {
        let is_there = self.alive.is_empty() || self.alive[page.index()];
        let event = if self.unknown.get(page.index()) == Some(&true) {
            let fault = Fault::Refused;
            Event::Failed { page, fault }
        } else if is_there {
            let links = self.graph.links(page);
            let change = Change::New;
            Event::Fetched {
                page,
                change,
                links,
            }
        } else {
            let fault = Fault::Gone;
            Event::Failed { page, fault }
        };
        self.scheduler
            .observe(&event, self.requests.now(), self.graph);
        page
    }
}
