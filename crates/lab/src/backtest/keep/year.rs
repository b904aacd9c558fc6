//! The replay: day by day the sites move, a round is announced, and the record answers.
//!
//! A policy begins with what a full crawl of day 0 would have left it: every page of that day is
//! discovered and fetched, and every link that led nowhere was found to. From then on it learns only
//! from what it asks for. A new page is discovered when a fetched page links to it. Budget that is not
//! spent in its round is lost.
//!
//! Cost: that of the policy, and O(1) a request, link and page event.

use std::sync::{Arc, RwLock};

use turnstone_frontier::{
    Change, Event, Fault, HostId, Next, NoLinks, PageId, Policy, Politeness, Scheduler, Split, Tick,
};
use turnstone_policy::keep::Surroundings;

use super::outcome::{Day, Found};
use super::web::{MovingSite, MovingWeb};
use crate::backtest::changes::paths::Directories;
use crate::history::Walk;

/// Milliseconds of a day.
const DAY_MS: u64 = 86_400_000;
/// No page, no day.
const NONE: u32 = u32::MAX;

/// How long, and with how much.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rules {
    /// Days.
    pub days: u32,
    /// How many days a round is.
    pub round_days: u32,
    /// Requests a week, as a share of the pages of day 0: 1 is a full weekly recrawl.
    pub share: f64,
}

impl Rules {
    /// Requests that may be spent before a day begins, of a web with so many pages on day 0.
    fn spendable(&self, pages: usize, day: u32) -> u64 {
        (pages as f64 * self.share * f64::from(day) / 7.0).floor() as u64
    }
}

/// What a run left.
#[derive(Clone, Debug)]
pub struct Ran {
    /// By day, from 1.
    pub days: Vec<Day>,
    /// By page that was born after day 0.
    pub found: Vec<Found>,
    /// How the policy split its budget, if it did.
    pub split: Option<Split>,
}

/// Runs a policy over some sites of a web as one crawl. `make` is given what the policy may know
/// of pages beside events.
pub fn run(
    web: &MovingWeb,
    sites: &[usize],
    rules: Rules,
    make: impl FnOnce(Arc<dyn Surroundings>) -> Box<dyn Policy>,
) -> Ran {
    let places = Arc::new(Places::default());
    let policy = make(Arc::clone(&places) as Arc<dyn Surroundings>);
    let mut year = Year::new(web, sites, policy, places);
    year.first_crawl();
    let pages = year.live as usize;
    let mut days = Vec::new();
    for day in 1..=rules.days {
        year.day = day;
        year.move_on();
        let mut tally = Day::default();
        if (day - 1) % rules.round_days == 0 {
            let end = day - 1 + rules.round_days;
            tally.budget = rules.spendable(pages, end) - rules.spendable(pages, day - 1);
            tally.requests = year.round((day - 1) / rules.round_days, tally.budget);
        }
        tally.live = year.live;
        tally.fresh = year.fresh;
        tally.stored = year.stored;
        days.push(tally);
    }
    Ran {
        days,
        found: year.found(),
        split: year.scheduler.split(),
    }
}

/// The directories of discovered pages, shared with the policy.
#[derive(Debug, Default)]
struct Places {
    directories: RwLock<Vec<u32>>,
}

impl Surroundings for Places {
    fn group(&self, page: PageId) -> Option<u32> {
        let directories = self
            .directories
            .read()
            .expect("nobody panics while writing");
        directories.get(page.index()).copied()
    }
}

/// One site on a day.
struct Present<'a> {
    site: &'a MovingSite,
    walk: Walk<'a>,
    next: usize,
    /// Where its pages begin among all.
    base: usize,
    /// Where its directories begin.
    directories: Vec<u32>,
}

/// What is known of one recorded page, by us and by the policy.
#[derive(Clone, Copy, Debug)]
struct Slot {
    /// Its number for the policy, once it was discovered.
    id: u32,
    /// Its content today; 0 when it is not there.
    today: u64,
    /// Our copy; 0 for none.
    copy: u64,
    /// Days on which it was first there (only after day 0), discovered and stored.
    born: u32,
    known: u32,
    stored: u32,
}

struct Year<'a> {
    web: &'a MovingWeb,
    sites: Vec<Present<'a>>,
    slots: Vec<Slot>,
    /// By page of the policy: its site and its slot.
    pages: Vec<(u32, u32)>,
    places: Arc<Places>,
    scheduler: Scheduler<Box<dyn Policy>>,
    day: u32,
    live: u64,
    /// Live pages whose copy is current.
    fresh: u64,
    /// Pages with a copy.
    stored: u64,
    links: Vec<PageId>,
}

impl<'a> Year<'a> {
    fn new(
        web: &'a MovingWeb,
        sites: &[usize],
        policy: Box<dyn Policy>,
        places: Arc<Places>,
    ) -> Self {
        let mut present = Vec::new();
        let mut base = 0;
        let mut directories = Directories::default();
        for &site in sites {
            let site = &web.sites[site];
            let (walk, next) = site.walk();
            directories.begin_host();
            let pages = site.history.pages.iter();
            present.push(Present {
                walk,
                next,
                base,
                directories: pages.map(|page| directories.of(&page.url)).collect(),
                site,
            });
            base += site.history.page_count();
        }
        let nothing = Slot {
            id: NONE,
            today: 0,
            copy: 0,
            born: NONE,
            known: NONE,
            stored: NONE,
        };
        Self {
            web,
            sites: present,
            slots: vec![nothing; base],
            pages: Vec::new(),
            places,
            scheduler: Scheduler::new(policy, Politeness::OFF),
            day: 0,
            live: 0,
            fresh: 0,
            stored: 0,
            links: Vec::new(),
        }
    }

    fn now(&self) -> Tick {
        Tick(u64::from(self.day) * DAY_MS)
    }

    /// Day 0: everything that is there is fetched, everything linked to is asked for.
    fn first_crawl(&mut self) {
        for site in 0..self.sites.len() {
            let present: Vec<_> = self.sites[site].walk.present().collect();
            for &(page, version) in &present {
                let today = self.content(site, version);
                self.set_today(self.sites[site].base + page.index(), today);
            }
            for (page, _) in present {
                self.discover(site, page, true);
            }
        }
        let mut next = 0;
        while next < self.pages.len() {
            self.fetch(PageId::from_index(next));
            next += 1;
        }
    }

    /// The sites as they are today.
    fn move_on(&mut self) {
        for site in 0..self.sites.len() {
            loop {
                let present = &mut self.sites[site];
                let due = present.site.day(present.next);
                if due.is_none_or(|due| due > self.day as i32) {
                    break;
                }
                present.next += 1;
                let step = present.walk.step().expect("every date has a snapshot");
                let base = present.base;
                let changed = step.changed.iter().map(|(page, _)| *page);
                for page in step.new.iter().copied() {
                    self.slots[base + page.index()].born = self.day;
                }
                for page in step.new.iter().copied().chain(step.returned).chain(changed) {
                    let version = self.sites[site].walk.version(page);
                    let version = version.expect("it was just set");
                    let today = self.content(site, version);
                    self.set_today(base + page.index(), today);
                }
                for (page, _) in step.gone {
                    self.set_today(base + page.index(), 0);
                }
            }
        }
    }

    fn content(&self, site: usize, version: crate::history::VersionId) -> u64 {
        let history = &self.sites[site].site.history;
        self.web.content(&history.versions[version.index()])
    }

    fn set_today(&mut self, slot: usize, today: u64) {
        self.count(slot, -1);
        self.slots[slot].today = today;
        self.count(slot, 1);
    }

    fn set_copy(&mut self, slot: usize, copy: u64) {
        self.count(slot, -1);
        self.slots[slot].copy = copy;
        self.count(slot, 1);
    }

    /// Adds a page to what is counted, or takes it out.
    fn count(&mut self, slot: usize, by: i64) {
        let Slot { today, copy, .. } = self.slots[slot];
        let add = |count: &mut u64, is_so: bool| {
            *count = count.wrapping_add_signed(by * i64::from(is_so));
        };
        add(&mut self.live, today != 0);
        add(&mut self.fresh, today != 0 && today == copy);
        add(&mut self.stored, copy != 0);
    }

    fn discover(&mut self, site: usize, page: PageId, seed: bool) -> PageId {
        let present = &self.sites[site];
        let slot = present.base + page.index();
        let known = self.slots[slot].id;
        if known != NONE {
            return PageId(known);
        }
        let id = PageId::from_index(self.pages.len());
        self.slots[slot].id = id.0;
        self.slots[slot].known = self.day;
        self.pages.push((site as u32, slot as u32));
        let directory = present.directories[page.index()];
        let mut directories = self.places.directories.write();
        directories
            .as_mut()
            .expect("nobody panics while writing")
            .push(directory);
        drop(directories);
        let event = Event::Discovered {
            page: id,
            host: HostId(site as u32),
            seed,
        };
        self.scheduler.observe(&event, self.now(), &NoLinks);
        id
    }

    /// Asks for a page.
    fn fetch(&mut self, id: PageId) {
        let (site, slot) = self.pages[id.index()];
        let (site, slot) = (site as usize, slot as usize);
        let Slot { today, copy, .. } = self.slots[slot];
        let page = PageId::from_index(slot - self.sites[site].base);
        if today == 0 {
            self.set_copy(slot, 0);
            let fault = Fault::Gone;
            let event = Event::Failed { page: id, fault };
            return self.scheduler.observe(&event, self.now(), &NoLinks);
        }
        self.set_copy(slot, today);
        let stored = &mut self.slots[slot].stored;
        *stored = (*stored).min(self.day);
        let mut links = std::mem::take(&mut self.links);
        links.clear();
        for link in self.sites[site].walk.links(page) {
            links.push(self.discover(site, *link, false));
        }
        let event = Event::Fetched {
            page: id,
            change: match copy {
                0 => Change::New,
                copy if copy == today => Change::Unchanged,
                _ => Change::Changed,
            },
            links: &links,
        };
        self.scheduler.observe(&event, self.now(), &NoLinks);
        self.links = links;
    }

    /// One round. Returns the requests spent.
    fn round(&mut self, round: u32, budget: u64) -> u64 {
        let now = self.now();
        self.scheduler
            .observe(&Event::Round { round, budget }, now, &NoLinks);
        let mut spent = 0;
        while spent < budget
            && let Next::Fetch(page) = self.scheduler.next(now)
        {
            self.fetch(page);
            spent += 1;
        }
        spent
    }

    fn found(&self) -> Vec<Found> {
        let born = self.slots.iter().filter(|slot| slot.born != NONE);
        let since = |day: u32, born: u32| (day != NONE).then(|| day.saturating_sub(born));
        born.map(|slot| Found {
            known: since(slot.known, slot.born),
            stored: since(slot.stored, slot.born),
        })
        .collect()
    }
}
