//! Random small stores with a history, and a driver that goes through it cycle by cycle.

use std::sync::Arc;

use proptest::prelude::*;
use turnstone_frontier::{
    Change, Event, Fault, HostId, Links, Next, PageId, Policy, Politeness, Scheduler, Tick,
};
use turnstone_policy::changes::{ClusterMap, DirectoryTree, LinkMap, Store};

/// A day, in ticks.
pub(crate) const DAY: u64 = 86_400_000;
/// How long a cycle is.
pub(crate) const CYCLE: u64 = 14 * DAY;

/// Pages, how they lie, and what they are in every cycle.
#[derive(Clone, Debug)]
pub(crate) struct Past {
    pub(crate) links: Vec<Vec<PageId>>,
    /// By directory: the one above, itself for a top.
    pub(crate) parent: Vec<u32>,
    pub(crate) directory_of: Vec<u32>,
    pub(crate) cluster_of: Vec<u32>,
    pub(crate) nearest: Vec<Vec<u32>>,
    pub(crate) importance: Vec<f64>,
    /// By cycle from 0 and page: its content, 0 for absent.
    pub(crate) contents: Vec<Vec<u8>>,
    /// By cycle from 1.
    pub(crate) budgets: Vec<u64>,
    /// How long each answer takes, those of the crawl before the first cycle too.
    pub(crate) pace_ms: u64,
}

impl Past {
    pub(crate) fn page_count(&self) -> usize {
        self.links.len()
    }

    /// When the answer number so many of a cycle comes; cycle 0 is the crawl.
    pub(crate) fn moment(&self, cycle: usize, answer: usize) -> u64 {
        CYCLE * cycle as u64 + self.pace_ms * answer as u64
    }

    /// The top directory of a page: its site.
    pub(crate) fn site(&self, page: usize) -> u32 {
        let mut directory = self.directory_of[page];
        while self.parent[directory as usize] != directory {
            directory = self.parent[directory as usize];
        }
        directory
    }
}

impl Links for Past {
    fn links_of<'a>(&'a self, page: PageId, _: &'a mut Vec<PageId>) -> &'a [PageId] {
        &self.links[page.index()]
    }
}

impl Store for Past {
    fn sites(&self) -> Arc<[u32]> {
        (0..self.page_count()).map(|page| self.site(page)).collect()
    }

    fn links(&self) -> Arc<LinkMap> {
        Arc::new(LinkMap::new(self.links.iter().map(Vec::as_slice)))
    }

    fn directories(&self) -> Arc<DirectoryTree> {
        Arc::new(DirectoryTree::new(
            self.directory_of.clone(),
            self.parent.clone(),
        ))
    }

    fn clusters(&self, _: usize) -> Arc<ClusterMap> {
        Arc::new(ClusterMap::new(
            self.cluster_of.clone(),
            self.nearest.clone(),
        ))
    }

    fn importance(&self) -> Arc<[f64]> {
        self.importance.clone().into()
    }
}

/// Up to 20 pages in up to 6 directories over up to 6 cycles.
pub(crate) fn past() -> impl Strategy<Value = Past> {
    (1usize..20, 1usize..7, 1usize..4, 1usize..7).prop_flat_map(
        |(pages, dirs, clusters, cycles)| {
            let links = prop::collection::btree_set(0..pages as u32, 0..4);
            let links = links.prop_map(|links| links.into_iter().map(PageId).collect());
            let parent = prop::collection::vec(any::<prop::sample::Index>(), dirs);
            let parent = parent.prop_map(|above| {
                let above = above.iter().enumerate();
                above
                    .map(|(dir, above)| above.index(dir + 1) as u32)
                    .collect::<Vec<u32>>()
            });
            let others = |own: usize| {
                let others: Vec<u32> = (0..clusters as u32).filter(|c| *c != own as u32).collect();
                Just(others).prop_shuffle()
            };
            let nearest: Vec<_> = (0..clusters).map(others).collect();
            // Contents mostly stay: a cycle changes a third of the pages.
            let step = prop::collection::vec(
                prop_oneof![4 => Just(None), 2 => (0u8..4).prop_map(Some)],
                pages,
            );
            let steps = prop::collection::vec(step, cycles);
            let budgets = prop::collection::vec(0..pages as u64 + 3, cycles);
            // At once, as in the lab; a crawl of seconds; one of days.
            let pace_ms = prop::sample::select(vec![0, 700, DAY * 3 / 8]);
            (
                prop::collection::vec(links, pages),
                parent,
                prop::collection::vec(0..dirs as u32, pages),
                prop::collection::vec(0..clusters as u32, pages),
                nearest,
                prop::collection::vec(1u32..1000, pages),
                steps,
                (budgets, pace_ms),
            )
                .prop_map(
                    move |(
                        links,
                        parent,
                        directory_of,
                        cluster_of,
                        nearest,
                        rank,
                        steps,
                        (budgets, pace_ms),
                    )| {
                        let mut contents = vec![vec![1u8; pages]];
                        for step in steps {
                            let mut next = contents.last().unwrap().clone();
                            for (content, new) in next.iter_mut().zip(step) {
                                *content = new.unwrap_or(*content);
                            }
                            contents.push(next);
                        }
                        Past {
                            links,
                            parent,
                            directory_of,
                            cluster_of,
                            nearest,
                            importance: rank
                                .into_iter()
                                .map(|rank| f64::from(rank) / 1000.0)
                                .collect(),
                            contents,
                            budgets,
                            pace_ms,
                        }
                    },
                )
        },
    )
}

/// A store that is being refreshed, and can be stopped after every answer.
pub(crate) struct Refreshing<'a> {
    past: &'a Past,
    pub(crate) scheduler: Scheduler<Box<dyn Policy>>,
    copies: Vec<u8>,
    cycle: usize,
    /// By cycle from 0: the pages fetched, in order.
    pub(crate) fetched: Vec<Vec<usize>>,
    /// Every so many answers, one does not come.
    pub(crate) fault_every: usize,
    answers: usize,
}

impl<'a> Refreshing<'a> {
    pub(crate) fn start(policy: Box<dyn Policy>, past: &'a Past) -> Self {
        let mut scheduler = Scheduler::new(policy, Politeness::OFF);
        for page in 0..past.page_count() {
            let event = Event::Discovered {
                page: PageId::from_index(page),
                host: HostId(past.site(page)),
                seed: false,
            };
            scheduler.observe(&event, Tick(past.moment(0, page)), past);
        }
        Self {
            past,
            scheduler,
            copies: past.contents[0].clone(),
            cycle: 0,
            fetched: Vec::new(),
            fault_every: usize::MAX,
            answers: 0,
        }
    }

    fn now(&self) -> Tick {
        let answers = self.fetched.last().map_or(0, Vec::len);
        Tick(self.past.moment(self.cycle, answers))
    }

    /// One fetch, or the start of the next cycle. False at the end.
    pub(crate) fn step(&mut self) -> bool {
        let now = self.now();
        let Next::Fetch(page) = self.scheduler.next(now) else {
            return self.begin();
        };
        self.fetched[self.cycle - 1].push(page.index());
        self.answer(page, now);
        true
    }

    fn begin(&mut self) -> bool {
        let Some(&budget) = self.past.budgets.get(self.cycle) else {
            return false;
        };
        let round = self.cycle as u32;
        self.cycle += 1;
        self.fetched.push(Vec::new());
        let now = self.now();
        self.scheduler
            .observe(&Event::Round { round, budget }, now, self.past);
        true
    }

    fn answer(&mut self, page: PageId, now: Tick) {
        self.answers += 1;
        let content = self.past.contents[self.cycle][page.index()];
        let event = if self.answers.is_multiple_of(self.fault_every) {
            let faults = [Fault::Unknown, Fault::Refused, Fault::Lost];
            let fault = faults[self.answers % 3];
            if fault == Fault::Lost {
                // It will be handed out again: as if it never had been.
                let handed_out = self.fetched.last_mut().unwrap();
                let at = handed_out.iter().rposition(|other| *other == page.index());
                handed_out.remove(at.unwrap());
            }
            Event::Failed { page, fault }
        } else if content == 0 {
            self.copies[page.index()] = 0;
            let fault = Fault::Gone;
            Event::Failed { page, fault }
        } else {
            let copy = std::mem::replace(&mut self.copies[page.index()], content);
            let change = if copy == content {
                Change::Unchanged
            } else {
                Change::Changed
            };
            let links = &self.past.links[page.index()];
            Event::Fetched {
                page,
                change,
                links,
            }
        };
        self.scheduler.observe(&event, now, self.past);
    }

    /// Many requests under way at once: fetches up to `width` before the first is answered.
    pub(crate) fn run_wide(&mut self, width: usize) {
        loop {
            let now = self.now();
            let mut open = Vec::new();
            while open.len() < width {
                let Next::Fetch(page) = self.scheduler.next(now) else {
                    break;
                };
                self.fetched[self.cycle - 1].push(page.index());
                open.push(page);
            }
            if open.is_empty() && !self.begin() {
                return;
            }
            for page in open.into_iter().rev() {
                self.answer(page, now);
            }
        }
    }

    pub(crate) fn run(mut self) -> Vec<Vec<usize>> {
        while self.step() {}
        self.fetched
    }
}
