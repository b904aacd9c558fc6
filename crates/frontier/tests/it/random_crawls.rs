//! Whole crawls of random webs by a simple policy: what must hold whatever is ranked.

use std::collections::{BTreeMap, BTreeSet};
use std::io;

use proptest::prelude::*;
use turnstone_frontier::{
    Change, Event, Fault, HostId, Links, Next, NoLinks, PageId, Policy, Politeness, Random,
    Ranking, Restore as _, Save as _, Scheduler, Tick,
};

/// A small web: for each page its host and its links.
#[derive(Clone, Debug)]
pub(crate) struct Web {
    pub(crate) hosts: Vec<HostId>,
    pub(crate) links: Vec<Vec<PageId>>,
}

pub(crate) fn web() -> impl Strategy<Value = Web> {
    (2usize..30, 1u32..5).prop_flat_map(|(pages, hosts)| {
        let links = prop::collection::btree_set(0..pages as u32, 0..5);
        let page = (0..hosts, links);
        prop::collection::vec(page, pages).prop_map(|pages| Web {
            hosts: pages.iter().map(|(host, _)| HostId(*host)).collect(),
            links: pages
                .iter()
                .map(|(_, l)| l.iter().copied().map(PageId).collect())
                .collect(),
        })
    })
}

/// Ranks each page at random when it is first seen, again after a failure, and raises what it
/// links to: random enough to try everything, with a generator that must survive a checkpoint.
#[derive(Debug)]
pub(crate) struct Whim {
    random: Random,
}

impl Whim {
    pub(crate) fn new(seed: u64) -> Self {
        Self {
            random: Random::new(seed),
        }
    }
}

impl Policy for Whim {
    fn observe(&mut self, event: &Event<'_>, now: Tick, _: &dyn Links, ranking: &mut Ranking) {
        match *event {
            Event::Discovered { page, .. } => ranking.set(page, self.random.below(8)),
            Event::Fetched { page, links, .. } => {
                for &link in links {
                    // Pages already fetched are parked and stay so.
                    ranking.raise(link, 1);
                }
                ranking.park(page);
            }
            Event::Failed {
                page,
                fault: Fault::Gone,
            } => {
                ranking.take(page);
            }
            Event::Failed { page, .. } => ranking.defer(page, now.plus(self.random.below(50))),
            Event::Moved { .. }
            | Event::Held { .. }
            | Event::Unseen { .. }
            | Event::Hinted { .. }
            | Event::Crossed(_)
            | Event::Guessed { .. }
            | Event::Round { .. } => {}
        }
    }

    fn save(&self, out: &mut dyn io::Write) -> io::Result<()> {
        self.random.save(out)
    }

    fn restore(&mut self, saved: &mut dyn io::Read) -> io::Result<()> {
        self.random = Random::restore(saved)?;
        Ok(())
    }
}

/// A driver with a virtual clock and a server that answers late, fails and holds.
pub(crate) struct Driver {
    pub(crate) scheduler: Scheduler<Whim>,
    pub(crate) now: Tick,
    answers: BTreeMap<(Tick, PageId), ()>,
    weather: Random,
    pub(crate) log: Vec<(Tick, PageId)>,
    fetched: BTreeSet<PageId>,
}

impl Driver {
    pub(crate) fn start(web: &Web, seed: u64, politeness: Politeness) -> Self {
        let mut scheduler = Scheduler::new(Whim::new(seed), politeness);
        for (index, &host) in web.hosts.iter().enumerate() {
            let page = PageId::from_index(index);
            let event = Event::Discovered {
                page,
                host,
                seed: index == 0,
            };
            scheduler.observe(&event, Tick(0), &NoLinks);
        }
        Self {
            scheduler,
            now: Tick(0),
            answers: BTreeMap::new(),
            weather: Random::new(seed ^ 0xbad),
            log: Vec::new(),
            fetched: BTreeSet::new(),
        }
    }

    /// One decision or one answer. False when the crawl is over.
    pub(crate) fn step(&mut self, web: &Web) -> bool {
        match self.scheduler.next(self.now) {
            Next::Fetch(page) => {
                assert!(
                    !self.answers.keys().any(|(_, other)| *other == page),
                    "page {page} handed out twice"
                );
                assert!(
                    !self.fetched.contains(&page),
                    "page {page} fetched again unasked"
                );
                self.log.push((self.now, page));
                let takes = self.weather.below(40);
                self.answers.insert((self.now.plus(takes), page), ());
                true
            }
            Next::WaitUntil(tick) => {
                assert!(tick > self.now, "a wait must end in the future");
                match self.answers.first_key_value() {
                    Some((&(answer, _), ())) if answer <= tick => self.answer(web),
                    _ => self.now = tick,
                }
                true
            }
            Next::Empty if self.answers.is_empty() => false,
            Next::Empty => {
                self.answer(web);
                true
            }
        }
    }

    fn answer(&mut self, web: &Web) {
        let ((tick, page), ()) = self.answers.pop_first().expect("an answer is under way");
        self.now = self.now.max(tick);
        let host = web.hosts[page.index()];
        let event = match self.weather.below(10) {
            0 => Event::Failed {
                page,
                fault: Fault::Gone,
            },
            1 => Event::Failed {
                page,
                fault: Fault::Unknown,
            },
            2 => {
                let until = self.now.plus(self.weather.below(100));
                self.scheduler
                    .observe(&Event::Held { host, until }, self.now, &NoLinks);
                Event::Failed {
                    page,
                    fault: Fault::Unknown,
                }
            }
            _ => {
                self.fetched.insert(page);
                Event::Fetched {
                    page,
                    change: Change::New,
                    links: &web.links[page.index()],
                }
            }
        };
        self.scheduler.observe(&event, self.now, &NoLinks);
    }

    pub(crate) fn run(&mut self, web: &Web) {
        for _ in 0..100_000 {
            if !self.step(web) {
                return;
            }
        }
        panic!("a crawl of {} pages does not end", web.hosts.len());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn no_host_is_asked_early(web in web(), seed: u64, delay_ms in 1u64..30, open_max in 1u32..3) {
        let mut driver = Driver::start(&web, seed, Politeness { delay_ms, open_max });
        driver.run(&web);
        let mut last = BTreeMap::new();
        for &(tick, page) in &driver.log {
            let host = web.hosts[page.index()];
            if let Some(Tick(before)) = last.insert(host, tick) {
                prop_assert!(tick.0 >= before + delay_ms, "host {host} asked at {before} and {tick:?}");
            }
        }
    }

    #[test]
    fn the_same_seed_makes_the_same_decisions(web in web(), seed: u64) {
        let politeness = Politeness { delay_ms: 7, open_max: 2 };
        let logs = [(); 2].map(|()| {
            let mut driver = Driver::start(&web, seed, politeness);
            driver.run(&web);
            driver.log
        });
        prop_assert_eq!(&logs[0], &logs[1]);
    }

    #[test]
    fn a_clock_that_jumps_back_asks_nobody_early(delay_ms in 1u64..100, jump in 0u64..1000) {
        let mut scheduler =
            Scheduler::new(Whim::new(1), Politeness { delay_ms, open_max: 9 });
        for page in 0..2 {
            let event = Event::Discovered { page: PageId(page), host: HostId(0), seed: true };
            scheduler.observe(&event, Tick(1000), &NoLinks);
        }
        prop_assert!(matches!(scheduler.next(Tick(1000)), Next::Fetch(_)));
        let back = Tick(1000 - jump);
        prop_assert_eq!(scheduler.next(back), Next::WaitUntil(Tick(1000 + delay_ms)));
    }
}
