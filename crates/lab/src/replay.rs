//! The lab's driver: a recorded web answers, under a virtual clock.
//!
//! It calls the same `next` and `observe` as the live crawl. With politeness off every request is
//! answered at once, one after the other, as the papers count them. With a delay, requests to
//! different hosts run side by side, each answered after a fixed time, and the clock jumps to
//! whatever comes first.
//!
//! Cost: that of the scheduler and the policy; 4 bytes a page where there are hosts.

use std::collections::BTreeSet;

use turnstone_frontier::{
    Change, Event, HostId, Next, PageId, Policy, Politeness, Scheduler, Tick,
};
use turnstone_linkgraph::LinkGraph;

/// How long a recorded host takes to answer when politeness is on.
const ANSWER_MS: u64 = 200;

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
    scheduler: Scheduler<P>,
    now: Tick,
    /// Requests under way, by the time of their answer.
    answers: BTreeSet<(Tick, PageId)>,
    polite: bool,
    requests: u64,
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
        let polite = politeness != Politeness::OFF;
        for page in graph.pages() {
            // Without politeness there is one unit of it, and the scheduler keeps one queue.
            let host = if polite {
                hosts.get(page.index()).copied()
            } else {
                None
            };
            let host = host.unwrap_or_default();
            let seed = seeds.binary_search(&page).is_ok();
            scheduler.observe(&Event::Discovered { page, host, seed }, Tick(0), graph);
        }
        Self {
            graph,
            scheduler,
            now: Tick(0),
            answers: BTreeSet::new(),
            polite,
            requests: 0,
        }
    }

    /// Goes on until one more page was downloaded. None when nothing is left to ask for.
    pub fn step(&mut self) -> Option<PageId> {
        loop {
            match self.scheduler.next(self.now) {
                Next::Fetch(page) => {
                    self.requests += 1;
                    if !self.polite {
                        return Some(self.answer(page));
                    }
                    self.answers.insert((self.now.plus(ANSWER_MS), page));
                }
                Next::WaitUntil(tick) => match self.answers.first() {
                    Some(&(answer, _)) if answer <= tick => return self.next_answer(),
                    _ => self.now = tick,
                },
                Next::Empty => return self.next_answer(),
            }
        }
    }

    /// The scheduler and its policy, to be looked at.
    pub fn scheduler(&self) -> &Scheduler<P> {
        &self.scheduler
    }

    /// How many requests were made.
    pub fn requests(&self) -> u64 {
        self.requests
    }

    /// The virtual time that has passed.
    pub fn now(&self) -> Tick {
        self.now
    }

    fn next_answer(&mut self) -> Option<PageId> {
        let (tick, page) = self.answers.pop_first()?;
        self.now = self.now.max(tick);
        Some(self.answer(page))
    }

    fn answer(&mut self, page: PageId) -> PageId {
        let links = self.graph.links(page);
        let event = Event::Fetched {
            page,
            change: Change::New,
            links,
        };
        self.scheduler.observe(&event, self.now, self.graph);
        page
    }
}
