//! Random small webs, and a driver that crawls them one page at a time.

use proptest::prelude::*;
use turnstone_frontier::{
    Change, Event, Fault, HostId, Links, Next, PageId, Policy, Politeness, Scheduler, Tick,
};
use turnstone_policy::coverage::Trust;

/// Links by page: distinct, ascending, self-links and pages without links included.
#[derive(Clone, Debug)]
pub(crate) struct Web(pub(crate) Vec<Vec<PageId>>);

impl Web {
    pub(crate) fn page_count(&self) -> usize {
        self.0.len()
    }
}

impl Links for Web {
    fn links_of<'a>(&'a self, page: PageId, _: &'a mut Vec<PageId>) -> &'a [PageId] {
        &self.0[page.index()]
    }
}

/// A web of up to 24 pages, a third of them without links.
pub(crate) fn web() -> impl Strategy<Value = Web> {
    (1usize..24).prop_flat_map(|pages| {
        let links = prop_oneof![
            1 => Just(Vec::new()),
            2 => prop::collection::btree_set(0..pages as u32, 1..6)
                .prop_map(|links| links.into_iter().map(PageId).collect()),
        ];
        prop::collection::vec(links, pages).prop_map(Web)
    })
}

/// A web and one to three of its pages, trusted with different weights.
pub(crate) fn web_with_trust() -> impl Strategy<Value = (Web, Trust)> {
    web().prop_flat_map(|web| {
        let pages = web.page_count() as u32;
        let trusted =
            prop::collection::btree_map(0..pages, 0.5f64..3.0, 1..4.min(pages as usize + 1));
        trusted.prop_map(move |trusted| {
            let trusted = trusted
                .into_iter()
                .map(|(page, weight)| (PageId(page), weight));
            (web.clone(), Trust::weighted(trusted.collect()).unwrap())
        })
    })
}

/// What the web answers when a page is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    Page,
    Gone,
    Unknown,
    MovedTo(PageId),
}

/// A crawl that can be stopped, saved and looked at after every answer.
pub(crate) struct Crawl<P> {
    pub(crate) scheduler: Scheduler<P>,
    pub(crate) order: Vec<PageId>,
    now: Tick,
}

impl<P: Policy> Crawl<P> {
    pub(crate) fn start(policy: P, web: &Web) -> Self {
        Self::start_on_hosts(policy, web, |_| HostId(0))
    }

    pub(crate) fn start_on_hosts(policy: P, web: &Web, host_of: impl Fn(PageId) -> HostId) -> Self {
        let mut scheduler = Scheduler::new(policy, Politeness::OFF);
        for index in 0..web.page_count() {
            let page = PageId::from_index(index);
            let event = Event::Discovered {
                page,
                host: host_of(page),
                seed: false,
            };
            scheduler.observe(&event, Tick(0), web);
        }
        Self {
            scheduler,
            order: Vec::new(),
            now: Tick(0),
        }
    }

    /// Asks for one page. False when the goal is met or nothing is left.
    pub(crate) fn step(&mut self, web: &Web, answer: impl Fn(PageId, usize) -> Answer) -> bool {
        self.step_reading(web, web, answer)
    }

    /// The same, the links of fetched pages being read elsewhere.
    pub(crate) fn step_reading(
        &mut self,
        web: &Web,
        known: &dyn Links,
        answer: impl Fn(PageId, usize) -> Answer,
    ) -> bool {
        if self
            .scheduler
            .coverage()
            .is_some_and(|coverage| coverage.met())
        {
            return false;
        }
        let page = match self.scheduler.next(self.now) {
            Next::Fetch(page) => page,
            Next::WaitUntil(tick) => {
                self.now = tick;
                return true;
            }
            Next::Empty => return false,
        };
        let tries = self.order.iter().filter(|other| **other == page).count();
        self.order.push(page);
        let event = match answer(page, tries) {
            Answer::Page => Event::Fetched {
                page,
                change: Change::New,
                links: &web.0[page.index()],
            },
            Answer::Gone => Event::Failed {
                page,
                fault: Fault::Gone,
            },
            Answer::Unknown => Event::Failed {
                page,
                fault: Fault::Unknown,
            },
            Answer::MovedTo(to) => Event::Moved { page, to },
        };
        self.scheduler.observe(&event, self.now, known);
        assert!(
            self.order.len() < 10_000,
            "a crawl of {} pages does not end",
            web.page_count()
        );
        true
    }

    pub(crate) fn run(&mut self, web: &Web) {
        while self.step(web, |_, _| Answer::Page) {}
    }
}

/// Personalised PageRank by plain power iteration, pages without links jumping to the trusted ones.
pub(crate) fn true_ranks(web: &Web, trust: &Trust, damping: f64) -> Vec<f64> {
    let jump: Vec<f64> = (0..web.page_count())
        .map(|index| turnstone_policy::mass::as_fraction(trust.of(PageId::from_index(index))))
        .collect();
    let mut ranks = jump.clone();
    for _ in 0..400 {
        let mut next: Vec<f64> = jump.iter().map(|share| (1.0 - damping) * share).collect();
        for (page, links) in web.0.iter().enumerate() {
            if links.is_empty() {
                for (target, share) in next.iter_mut().zip(&jump) {
                    *target += damping * ranks[page] * share;
                }
            }
            for link in links {
                next[link.index()] += damping * ranks[page] / links.len() as f64;
            }
        }
        ranks = next;
    }
    ranks
}
