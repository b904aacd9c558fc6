//! The replay: day by day the sites move, a round is announced, and the record answers.
//!
//! A policy begins with what a full crawl of day 0 would have left it: every page of that day is
//! discovered and fetched, and every link that led nowhere was found to. From then on it learns only
//! from what it asks for. A new page is discovered when a fetched page links to it. Budget that is not
//! spent in its round is lost.
//!
//! Cost: that of the policy, and O(1) a request, link and page event.

use turnstone_frontier::{Change, Event, Fault, HostId, Links, PageId, Policy, Split, Tick};

use turnstone_policy::changes::paths::Directories;

use super::outcome::{Day, Found};
use super::web::{MovingSite, MovingWeb};
use crate::driver::{Answer, Answers, Driver, Newcomer};
use crate::history::{VersionId, Walk};

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
    /// What sites say of their own changes.
    pub hints: Announced,
}

/// What sites announce, as sitemaps and feeds do: drawn by lot, the same for every policy.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Announced {
    /// The share of all changes, on the day they happen.
    pub changes: f64,
    /// By page that did not change, false announcements a day.
    pub false_daily: f64,
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

/// Runs a policy over some sites of a web as one crawl.
pub fn run(web: &MovingWeb, sites: &[usize], rules: Rules, policy: Box<dyn Policy>) -> Ran {
    let mut year = Year::new(web, sites);
    let mut driver = Driver::in_rounds(policy);
    year.begin();
    driver.announce(&mut year);
    // Everything that is there is fetched, everything linked to is asked for.
    let mut next = 0;
    while next < year.pages.len() {
        driver.fetch(&mut year, PageId::from_index(next));
        next += 1;
    }
    let pages = year.live as usize;
    let mut days = Vec::new();
    for day in 1..=rules.days {
        year.day = day;
        driver.at(Tick(u64::from(day) * DAY_MS));
        year.move_on(rules.hints);
        for page in std::mem::take(&mut year.hinted) {
            driver.tell(&Event::Hinted { page, by: None }, year.lent());
        }
        let mut tally = Day::default();
        if (day - 1) % rules.round_days == 0 {
            let end = day - 1 + rules.round_days;
            let budget = rules.spendable(pages, end) - rules.spendable(pages, day - 1);
            let round = (day - 1) / rules.round_days;
            driver.tell(&Event::Round { round, budget }, year.lent());
            tally.budget = budget;
            while tally.requests < budget && driver.step(&mut year).is_some() {
                tally.requests += 1;
            }
        }
        tally.live = year.live;
        tally.fresh = year.fresh;
        tally.stored = year.stored;
        tally.live_weight = year.live_weight;
        tally.fresh_weight = year.fresh_weight;
        days.push(tally);
    }
    Ran {
        days,
        found: year.found(),
        split: driver.scheduler().split(),
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
    /// What it counts for by the links to it, in millionths of an average page.
    weight: u64,
    /// Our copy; 0 for none.
    copy: u64,
    /// The versions of our last copy and the one before it, whatever became of the page since.
    versions: [Option<VersionId>; 2],
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
    /// How many of them were announced.
    announced: usize,
    /// How many of them are there on day 0.
    seeds: usize,
    /// Pages said to have changed today.
    hinted: Vec<PageId>,
    day: u32,
    live: u64,
    /// Live pages whose copy is current.
    fresh: u64,
    /// Pages with a copy.
    stored: u64,
    live_weight: u64,
    fresh_weight: u64,
    /// What the page asked for last is to our copy; none if it is not there.
    change: Option<Change>,
    /// Its links.
    links: Vec<PageId>,
}

impl<'a> Year<'a> {
    fn new(web: &'a MovingWeb, sites: &[usize]) -> Self {
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
        let weights: Vec<u64> = present
            .iter()
            .flat_map(|present: &Present<'_>| present.site.weights.iter().copied())
            .collect();
        let nothing = Slot {
            id: NONE,
            today: 0,
            weight: 0,
            copy: 0,
            versions: [None; 2],
            born: NONE,
            known: NONE,
            stored: NONE,
        };
        Self {
            web,
            sites: present,
            slots: weights
                .into_iter()
                .map(|weight| Slot { weight, ..nothing })
                .collect(),
            pages: Vec::new(),
            announced: 0,
            seeds: 0,
            hinted: Vec::new(),
            day: 0,
            live: 0,
            fresh: 0,
            stored: 0,
            live_weight: 0,
            fresh_weight: 0,
            change: None,
            links: Vec::new(),
        }
    }

    /// Day 0: what is there is known.
    fn begin(&mut self) {
        for site in 0..self.sites.len() {
            let present: Vec<_> = self.sites[site].walk.present().collect();
            for &(page, version) in &present {
                let today = self.content(site, version);
                self.set_today(self.sites[site].base + page.index(), today);
            }
            for (page, _) in present {
                self.discover(site, page);
            }
        }
        self.seeds = self.pages.len();
    }

    /// The sites as they are today.
    fn move_on(&mut self, hints: Announced) {
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
                    if self.draws(base + page.index(), hints.changes) {
                        self.hint(base + page.index());
                    }
                }
                for (page, _) in step.gone {
                    self.set_today(base + page.index(), 0);
                }
            }
        }
        self.cry_wolf(hints.false_daily);
    }

    /// Pages that are as they were, and are said to have changed.
    fn cry_wolf(&mut self, daily: f64) {
        if daily <= 0.0 {
            return;
        }
        for slot in 0..self.slots.len() {
            if self.slots[slot].today != 0 && self.draws(slot, daily) {
                self.hint(slot);
            }
        }
    }

    /// A lot for a page and a day.
    fn draws(&self, slot: usize, chance: f64) -> bool {
        let mut bits = (slot as u64) << 16 ^ u64::from(self.day);
        // The finish of splitmix64.
        bits = bits.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((bits ^ (bits >> 31)) >> 11) as f64 / (1u64 << 53) as f64 >= 1.0 - chance
    }

    /// A page that the policy knows is said to have changed.
    fn hint(&mut self, slot: usize) {
        if self.slots[slot].id != NONE && self.slots[slot].copy != 0 {
            self.hinted.push(PageId(self.slots[slot].id));
        }
    }

    fn content(&self, site: usize, version: VersionId) -> u64 {
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
        let Slot {
            today,
            copy,
            weight,
            ..
        } = self.slots[slot];
        let add = |count: &mut u64, is_so: bool, each: u64| {
            *count = count.wrapping_add_signed(by * i64::from(is_so) * each as i64);
        };
        let (live, fresh) = (today != 0, today != 0 && today == copy);
        add(&mut self.live, live, 1);
        add(&mut self.fresh, fresh, 1);
        add(&mut self.stored, copy != 0, 1);
        add(&mut self.live_weight, live, weight);
        add(&mut self.fresh_weight, fresh, weight);
    }

    fn discover(&mut self, site: usize, page: PageId) -> PageId {
        let slot = self.sites[site].base + page.index();
        let known = self.slots[slot].id;
        if known != NONE {
            return PageId(known);
        }
        let id = PageId::from_index(self.pages.len());
        self.slots[slot].id = id.0;
        self.slots[slot].known = self.day;
        self.pages.push((site as u32, slot as u32));
        id
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

impl Answers for Year<'_> {
    fn asked(&mut self, id: PageId) {
        let (site, slot) = self.pages[id.index()];
        let (site, slot) = (site as usize, slot as usize);
        let Slot { today, copy, .. } = self.slots[slot];
        self.set_copy(slot, today);
        if today == 0 {
            self.change = None;
            return;
        }
        self.change = Some(match copy {
            0 => Change::New,
            copy if copy == today => Change::Unchanged,
            _ => Change::Changed,
        });
        let page = PageId::from_index(slot - self.sites[site].base);
        let version = self.sites[site].walk.version(page);
        let held = &mut self.slots[slot];
        held.stored = held.stored.min(self.day);
        held.versions = [version, held.versions[0]];
        let mut links = std::mem::take(&mut self.links);
        links.clear();
        for link in self.sites[site].walk.links(page) {
            links.push(self.discover(site, *link));
        }
        self.links = links;
    }

    fn newcomer(&mut self) -> Option<Newcomer> {
        let (site, _) = *self.pages.get(self.announced)?;
        let page = PageId::from_index(self.announced);
        self.announced += 1;
        Some(Newcomer {
            page,
            host: HostId(site),
            seed: page.index() < self.seeds,
        })
    }

    fn answer(&self, _: PageId) -> Answer<'_> {
        match self.change {
            Some(change) => Answer::Fetched(change, &self.links),
            None => Answer::Failed(Fault::Gone),
        }
    }

    fn lent(&self) -> &dyn Links {
        self
    }
}

impl Year<'_> {
    /// The links of a copy, by the policy's numbers.
    fn copy<'b>(&self, page: PageId, copy: usize, buffer: &'b mut Vec<PageId>) -> &'b [PageId] {
        buffer.clear();
        let (site, slot) = self.pages[page.index()];
        let present = &self.sites[site as usize];
        if let Some(version) = self.slots[slot as usize].versions[copy] {
            let links = present.site.history.links_of(version).iter();
            let id = |link: &PageId| PageId(self.slots[present.base + link.index()].id);
            buffer.extend(links.map(id));
        }
        buffer
    }
}

/// What a live crawl would know of its pages, too.
impl Links for Year<'_> {
    fn links_of<'b>(&'b self, page: PageId, buffer: &'b mut Vec<PageId>) -> &'b [PageId] {
        self.copy(page, 0, buffer)
    }

    fn old_links_of<'b>(&'b self, page: PageId, buffer: &'b mut Vec<PageId>) -> &'b [PageId] {
        self.copy(page, 1, buffer)
    }

    fn folder_of(&self, page: PageId) -> Option<u64> {
        let (site, slot) = self.pages[page.index()];
        let present = &self.sites[site as usize];
        let directory = present.directories[slot as usize - present.base];
        Some(u64::from(directory))
    }
}
