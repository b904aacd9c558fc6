//! Random small webs that change while they are crawled: pages appear, vanish, hesitate and move,
//! links come and go, and pages lie on several hosts.

use std::collections::VecDeque;

use proptest::prelude::*;
use turnstone_frontier::{
    Change, Event, Fault, HostId, Links, Next, PageId, Policy, Politeness, Scheduler, Tick,
};

use crate::web::Answer;

/// Time between two requests: a page without a verdict comes back after nine of them.
const STEP_MS: u64 = 7_000;

/// Two versions of every page's links, and what each page answers.
#[derive(Clone, Debug)]
pub(crate) struct ChangingWeb {
    /// By version and page: distinct links, self-links and pages without links included.
    versions: [Vec<Vec<PageId>>; 2],
    /// By page: how it behaves.
    kinds: Vec<u8>,
    /// How many pages are known at the start.
    at_start: usize,
    hosts: usize,
}

/// Links as a page has them: with duplicates, in any order, some to the page itself.
fn raw_links(pages: usize) -> impl Strategy<Value = Vec<PageId>> {
    let links = prop::collection::vec(0..pages as u32, 0..6);
    // What counts is each link once.
    links.prop_map(|mut links| {
        links.sort_unstable();
        links.dedup();
        links.into_iter().map(PageId).collect()
    })
}

pub(crate) fn changing_web() -> impl Strategy<Value = ChangingWeb> {
    (1usize..14, 0usize..8).prop_flat_map(|(at_start, later)| {
        let pages = at_start + later;
        let version = || prop::collection::vec(raw_links(pages), pages);
        let kinds = prop::collection::vec(0u8..12, pages);
        (version(), version(), kinds, 1usize..4).prop_map(move |(before, after, kinds, hosts)| {
            ChangingWeb {
                versions: [before, after],
                kinds,
                at_start,
                hosts,
            }
        })
    })
}

impl ChangingWeb {
    pub(crate) fn host(&self, page: PageId) -> HostId {
        HostId::from_index(page.index() % self.hosts)
    }

    /// How many pages are known after so many requests: a new one every five.
    pub(crate) fn known(&self, step: usize) -> usize {
        (self.at_start + step / 5).min(self.kinds.len())
    }

    /// The links of a page after so many requests, to pages that are known by then.
    pub(crate) fn links(&self, page: PageId, step: usize) -> Vec<PageId> {
        let version = &self.versions[usize::from(step > 20 && page.index().is_multiple_of(2))];
        let links = version[page.index()].iter().copied();
        links
            .filter(|link| link.index() < self.known(step))
            .collect()
    }

    pub(crate) fn answer(&self, page: PageId, step: usize) -> Answer {
        let known = self.known(step);
        match self.kinds[page.index()] {
            0 if step > 15 => Answer::Gone,
            // Gone for a while.
            1 if (10..20).contains(&step) => Answer::Gone,
            2 if step % 2 == 1 => Answer::Unknown,
            3 if step % 3 == 1 => {
                Answer::MovedTo(PageId::from_index((page.index() * 7 + 1) % known))
            }
            _ => Answer::Page,
        }
    }
}

/// The links of every page as last fetched, and as fetched before.
#[derive(Default)]
pub(crate) struct Seen {
    now: Vec<Vec<PageId>>,
    before: Vec<Vec<PageId>>,
}

impl Links for Seen {
    fn links_of<'a>(&'a self, page: PageId, _: &'a mut Vec<PageId>) -> &'a [PageId] {
        self.now.get(page.index()).map_or(&[], Vec::as_slice)
    }

    fn old_links_of<'a>(&'a self, page: PageId, _: &'a mut Vec<PageId>) -> &'a [PageId] {
        self.before.get(page.index()).map_or(&[], Vec::as_slice)
    }
}

impl Seen {
    fn see(&mut self, page: PageId, links: Vec<PageId>) {
        if self.now.len() <= page.index() {
            self.now.resize(page.index() + 1, Vec::new());
            self.before.resize(page.index() + 1, Vec::new());
        }
        self.before[page.index()] = std::mem::replace(&mut self.now[page.index()], links);
    }
}

/// What happened in a step.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Step {
    pub(crate) number: usize,
    pub(crate) now: Tick,
    pub(crate) page: PageId,
    pub(crate) answer: Answer,
    /// The page was gone and is seen again without being asked for.
    pub(crate) returned: bool,
}

/// A crawl of a changing web.
pub(crate) struct ChangingCrawl<'a, P> {
    pub(crate) scheduler: Scheduler<P>,
    pub(crate) seen: Seen,
    web: &'a ChangingWeb,
    step: usize,
    known: usize,
    /// Pages found gone, first the one that is so longest.
    gone: VecDeque<PageId>,
}

impl<'a, P: Policy> ChangingCrawl<'a, P> {
    pub(crate) fn start(policy: P, web: &'a ChangingWeb) -> Self {
        let mut crawl = Self {
            scheduler: Scheduler::new(policy, Politeness::OFF),
            seen: Seen::default(),
            web,
            step: 0,
            known: 0,
            gone: VecDeque::new(),
        };
        crawl.discover();
        crawl
    }

    fn now(&self) -> Tick {
        Tick(self.step as u64 * STEP_MS)
    }

    fn discover(&mut self) {
        while self.known < self.web.known(self.step) {
            let page = PageId::from_index(self.known);
            let event = Event::Discovered {
                page,
                host: self.web.host(page),
                seed: false,
            };
            self.scheduler.observe(&event, self.now(), &self.seen);
            self.known += 1;
        }
    }

    /// Asks for a page; now and then a page that was gone is seen instead. None when there is none
    /// to ask for now; time goes on then.
    pub(crate) fn step(&mut self) -> Option<Step> {
        self.discover();
        let (number, now) = (self.step, self.now());
        self.step += 1;
        let back = (number % 9 == 8).then(|| self.gone.pop_front()).flatten();
        let (page, answer) = match back {
            Some(page) => (page, Answer::Page),
            None => match self.scheduler.next(now) {
                Next::Fetch(page) => (page, self.web.answer(page, number)),
                Next::WaitUntil(_) | Next::Empty => return None,
            },
        };
        let links = self.web.links(page, number);
        if answer == Answer::Page {
            self.seen.see(page, links.clone());
        }
        let event = match answer {
            Answer::Page => Event::Fetched {
                page,
                change: Change::New,
                links: &links,
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
        self.scheduler.observe(&event, now, &self.seen);
        if answer == Answer::Gone {
            self.gone.push_back(page);
        }
        Some(Step {
            number,
            now,
            page,
            answer,
            returned: back.is_some(),
        })
    }
}
