//! A tree of places: pages die by host, by folder and alone, and the tree learns of all at once.
//!
//! Each place (the web, a host, a folder, the pages directly in a folder) is thought of by its own tests
//! and, where they are few, by the place above ([`belief`]). The page most likely alive is asked next.
//! There is no sample phase: where nothing is known a place is as likely alive as the one above, so
//! the first tests go where most pages hang on them, and a place that disappoints is left alone
//! until nothing better is left.
//!
//! With requests in flight the same order holds as far as it can: see [`offers`]. A few pages
//! are drawn at random, so that it can be told how many are alive ([`looks`]).
//!
//! What a folder tells its parts is renewed when it has moved by more than [`SLACK`]; what it thinks
//! itself is always exact. So a verdict touches its own path and rarely more.
//!
//! Cost: O(depth · log places) a verdict, amortised; 13 bytes a page and 56 a place, and in the ranking
//! at most [`offers::OPEN_MAX`] pages a host. No PageRank, no links.
//! Invariant: a page that is in the ranking is open, and at most `OPEN_MAX` of a host are queued
//! but for those drawn at random.

mod belief;
mod looks;
mod offers;
mod places;

use std::io;
use std::sync::Arc;

use turnstone_frontier::{
    Chance, Event, Links, PageId, Place as Standing, Policy, Rank, Ranking, Restore, Save, Tick,
    corrupt,
};

use super::estimate::AliveEstimate;
use super::sample::{Sample, SampleBy};
use super::survey::{Fate, Survey, Tally};
use super::{LivenessPolicy, OldCrawl};
use crate::changes::DirectoryTree;
use belief::{PRIOR, SURE, TEST, chance, passed_on};
use looks::Looks;
use offers::{OPEN_MAX, Offers};
use places::{Places, WEB};

pub(super) use looks::LOOKS_MAX;

/// A folder tells its parts what it thinks when that has moved by more than this: one in 256.
pub(super) const SLACK: u32 = SURE >> 8;

/// Pages drawn at random rank from here on, above all others.
const DRAWN: Rank = 1 << 62;

/// How likely a page is alive takes the high half of a rank.
const CHANCE_SHIFT: u32 = 32;

/// The policy.
#[derive(Debug)]
pub(super) struct Tree {
    old: Arc<OldCrawl>,
    survey: Survey,
    looks: Looks,
    /// By page its host, where the old crawl does not know its folders.
    hosts: Vec<u32>,
    places: Places,
    offers: Offers,
    /// By host: its place. Hosts are numbered as places are.
    host_places: Vec<u32>,
    /// Hosts whose offers must be made anew.
    touched: Vec<u32>,
    /// Room for the walks of one event, so that none allocates.
    path: Vec<usize>,
    stack: Vec<usize>,
}

impl Tree {
    pub(super) fn new(old: &Arc<OldCrawl>, looks: f64, seed: u64) -> Self {
        Self {
            old: Arc::clone(old),
            survey: Survey::default(),
            looks: Looks::new(looks, old.page_count() as u64, seed),
            hosts: Vec::new(),
            places: Places::default(),
            offers: Offers::default(),
            host_places: Vec::new(),
            touched: Vec::new(),
            path: Vec::new(),
            stack: Vec::new(),
        }
    }

    /// All pages are known: every host has something on offer.
    fn begin(&mut self, ranking: &mut Ranking) {
        if self.old.folders().is_none() {
            let pages = (0..self.old.page_count()).map(PageId::from_index);
            self.hosts = pages.map(|page| ranking.host(page).0).collect();
        }
        self.build();
        self.places.all[WEB].told = PRIOR;
        for host in 0..self.host_places.len() {
            let place = self.places.begin_next(WEB);
            self.places.all[place].told = PRIOR;
            self.offers
                .relist(host as u32, &mut self.places, place, None);
            self.touched.push(host as u32);
        }
        self.offer(ranking);
    }

    /// Makes the places of the old crawl.
    fn build(&mut self) {
        let pages = self.old.page_count();
        self.places = match self.old.folders() {
            Some(folders) => Places::new(folders, pages),
            None => {
                let count = self.hosts.iter().max().map_or(0, |most| most + 1);
                let tops = (0..count).collect();
                Places::new(&DirectoryTree::new(self.hosts.clone(), tops), pages)
            }
        };
        self.host_places = self.places.parts(WEB).to_vec();
        self.offers = Offers::new(self.host_places.len());
    }

    /// The host of a place, by the order of hosts: the last that does not come after it.
    fn host_of(&self, place: usize) -> u32 {
        host_of(&self.host_places, place)
    }

    /// A page has come back for good. Nothing is learnt of it without a verdict.
    fn settle(&mut self, page: PageId, verdict: Fate) {
        self.open_out_of_turn(page);
        let leaf = self.places.leaf(page);
        self.places.settle(page);
        let found = match verdict {
            Fate::Alive => Some(TEST),
            Fate::Gone => Some(0),
            Fate::Untested | Fate::Undecided => None,
        };
        let mut path = std::mem::take(&mut self.path);
        path.push(leaf);
        let mut more = found.map(|alive| (TEST, alive, 0, 0));
        let mut place = leaf;
        loop {
            let known = &mut self.places.all[place];
            known.left -= 1;
            if let Some((tests, alive, less_tests, less_alive)) = more {
                let before = passed_on(known.tests, known.alive);
                known.tests = known.tests + tests - less_tests;
                known.alive = known.alive + alive - less_alive;
                let after = passed_on(known.tests, known.alive);
                more = Some((after.0, after.1, before.0, before.1));
            }
            let Some(above) = self.places.above(place) else {
                break;
            };
            place = above;
            path.push(place);
        }
        if more.is_some() {
            for &place in path.iter().rev() {
                self.think(place);
            }
        }
        path.clear();
        self.path = path;
        self.touch(self.host_of(leaf));
    }

    /// Thinks again of a place, and of all in it if it has changed its mind.
    fn think(&mut self, place: usize) {
        let mut stack = std::mem::take(&mut self.stack);
        stack.push(place);
        while let Some(place) = stack.pop() {
            let above = self.places.above(place);
            let above = above.map_or(PRIOR, |above| self.places.all[above].told);
            let known = self.places.all[place];
            let now = chance(known.tests, known.alive, above);
            let is_exact = self.places.is_leaf(place) || known.tests == 0;
            let moved = now.abs_diff(known.told);
            if moved == 0 || (!is_exact && moved <= SLACK) {
                continue;
            }
            self.places.all[place].told = now;
            if place != WEB {
                let host = self.host_of(place);
                let turn = known.listed.map(|_| self.places.turn(place));
                self.offers.relist(host, &mut self.places, place, turn);
                self.touch(host);
            }
            let parts = self.places.begun_parts(place).iter();
            let parts = parts.map(|part| *part as usize);
            stack.extend(parts.filter(|part| self.places.all[*part].left > 0));
        }
        self.stack = stack;
    }

    fn touch(&mut self, host: u32) {
        // Almost always the same host again and again.
        if self.touched.last() != Some(&host) {
            self.touched.push(host);
        }
    }

    /// Opens a page that was not on offer, with all places it lies in.
    fn open_out_of_turn(&mut self, page: PageId) {
        let leaf = self.places.leaf(page);
        if self.places.is_open(page) {
            return;
        }
        let mut place = leaf;
        let mut path = vec![leaf];
        while let Some(above) = self
            .places
            .above(place)
            .filter(|_| !self.places.all[place].begun)
        {
            place = above;
            path.push(above);
        }
        for pair in path.windows(2).rev() {
            let (part, place) = (pair[0], pair[1]);
            self.relisted(place, |places| places.begin(part));
            self.places.all[part].told = self.places.all[place].told;
            self.relisted(part, |_| {});
        }
        self.relisted(leaf, |places| places.open(page));
    }

    /// Does something to a place and brings the list up to date.
    fn relisted<T>(&mut self, place: usize, change: impl FnOnce(&mut Places) -> T) -> T {
        let turn = self.places.all[place]
            .listed
            .map(|_| self.places.turn(place));
        let done = change(&mut self.places);
        let host = self.host_of(place);
        self.offers.relist(host, &mut self.places, place, turn);
        done
    }

    /// Makes the offers of all touched hosts anew, and of those that need no longer wait.
    fn offer(&mut self, ranking: &mut Ranking) {
        let mut hosts = std::mem::take(&mut self.touched);
        hosts.sort_unstable();
        hosts.dedup();
        for &host in &hosts {
            self.withdraw(host, ranking);
            self.offers.stand(host);
        }
        let freed = self.offers.move_bar();
        for host in hosts {
            self.fill(host, ranking);
        }
        for host in freed {
            self.fill(host, ranking);
        }
    }

    /// Takes back the pages of a host that nobody asked for yet.
    fn withdraw(&mut self, host: u32, ranking: &mut Ranking) {
        let mut open = std::mem::take(&mut self.offers.open[host as usize]);
        // From the last, so that each is its leaf's next again in its turn.
        for &page in open.iter().rev() {
            if ranking.place(page) == Standing::Queued && ranking.rank(page) < DRAWN {
                ranking.take(page);
                let leaf = self.places.leaf(page);
                self.relisted(leaf, |places| places.close(page));
            }
        }
        open.retain(|page| ranking.place(*page) == Standing::InFlight);
        self.offers.open[host as usize] = open;
    }

    /// Offers the best pages of a host, if it need not wait.
    fn fill(&mut self, host: u32, ranking: &mut Ranking) {
        let room = OPEN_MAX.saturating_sub(self.offers.open[host as usize].len());
        if self.offers.waits(host) || room == 0 {
            return;
        }
        let mut best = [None; OPEN_MAX];
        for (slot, place) in best.iter_mut().zip(self.offers.best(host).take(room)) {
            *slot = Some(place);
        }
        for place in best.into_iter().flatten() {
            while self.offers.open[host as usize].len() < OPEN_MAX && self.places.has_fresh(place) {
                let worth = self.worth(host, place);
                if worth < self.offers.bar {
                    break;
                }
                let turn = self.places.turn(place);
                let page = self.open_next(place);
                let rank = Rank::from(worth >> 1) << CHANCE_SHIFT | Rank::from(u32::MAX - turn);
                ranking.set(page, rank);
                self.offers.open[host as usize].push(page);
            }
        }
    }

    /// How likely the next page of a place is alive if all that is open there is gone.
    fn worth(&self, host: u32, place: usize) -> u32 {
        let known = &self.places.all[place];
        let open = self.offers.open[host as usize].iter();
        let open = open.filter(|page| self.lies_in(**page, place)).count() as u64;
        let above = self
            .places
            .above(place)
            .map_or(PRIOR, |above| self.places.all[above].told);
        if open == 0 {
            return known.told;
        }
        chance(known.tests + open * TEST, known.alive, above).min(known.told)
    }

    fn lies_in(&self, page: PageId, place: usize) -> bool {
        let mut at = self.places.leaf(page);
        // A part has a larger number than the place it lies in.
        while at > place {
            match self.places.above(at) {
                Some(above) => at = above,
                None => return false,
            }
        }
        at == place
    }

    /// Opens the next page of a place, beginning parts on the way down.
    fn open_next(&mut self, mut place: usize) -> PageId {
        while !self.places.is_leaf(place) {
            let part = self.relisted(place, |places| places.begin_next(place));
            self.places.all[part].told = self.places.all[place].told;
            self.relisted(part, |_| {});
            place = part;
        }
        self.relisted(place, |places| places.open_next(place))
    }

    /// Draws pages at random as far as that is due.
    fn look(&mut self, ranking: &mut Ranking) {
        let cheap = self.offers.best_of_all() < SURE / 2;
        let tally = self.survey.all();
        while let Some(page) = self.looks.draw(tally, &self.survey, cheap) {
            match ranking.place(page) {
                Standing::Absent => {
                    self.open_out_of_turn(page);
                    ranking.set(page, DRAWN);
                }
                Standing::Queued => ranking.set(page, DRAWN),
                // It is being asked for anyway.
                Standing::InFlight | Standing::Deferred(_) => {}
                Standing::Parked | Standing::Away | Standing::Shelved => {
                    unreachable!("a page without a verdict is neither parked nor shelved")
                }
            }
            self.touch(self.host_of(self.places.leaf(page)));
        }
    }
}

/// The host of a place: the last whose number is not larger.
fn host_of(host_places: &[u32], place: usize) -> u32 {
    host_places.partition_point(|host| *host as usize <= place) as u32 - 1
}

impl Policy for Tree {
    fn observe(&mut self, event: &Event<'_>, now: Tick, _: &dyn Links, ranking: &mut Ranking) {
        let page = match *event {
            Event::Discovered { page, .. } => {
                if page.index() < self.old.page_count() {
                    self.survey.announce();
                }
                if page.index() + 1 == self.old.page_count() {
                    self.begin(ranking);
                }
                return;
            }
            Event::Round { budget, .. } => return self.looks.plan(budget),
            Event::Held { .. }
            | Event::Hinted { .. }
            | Event::Crossed(_)
            | Event::Unseen { .. }
            | Event::Guessed { .. } => return,
            Event::Fetched { page, .. }
            | Event::Moved { page, .. }
            | Event::Failed { page, .. } => page,
        };
        let was_untested = self.survey.is_untested(page);
        self.survey.observe(event, now, ranking);
        if !was_untested {
            return;
        }
        match self.survey.verdict(page) {
            // It is asked for again later, and takes no room until then.
            Fate::Untested => self.touch(self.host_of(self.places.leaf(page))),
            verdict => {
                self.settle(page, verdict);
                self.looks.answered(page, verdict);
            }
        }
        self.offer(ranking);
        self.look(ranking);
        self.offer(ranking);
    }

    fn chance(&self, page: PageId, ranking: &Ranking) -> Chance {
        if ranking.rank(page) >= DRAWN {
            self.looks.chance()
        } else {
            Chance::CERTAIN
        }
    }

    fn save(&self, out: &mut dyn io::Write) -> io::Result<()> {
        self.survey.save(out)?;
        self.looks.save(out)?;
        if self.survey.page_count() == self.old.page_count() {
            self.hosts.save(out)?;
            self.places.save(out)?;
            self.offers.save(out)?;
        }
        Ok(())
    }

    fn restore(&mut self, saved: &mut dyn io::Read) -> io::Result<()> {
        self.survey = Restore::restore(saved)?;
        self.looks.restore(saved)?;
        let pages = self.old.page_count();
        if self.survey.page_count() > pages {
            return Err(corrupt("more pages than the old crawl has"));
        }
        if self.survey.page_count() < pages {
            return Ok(());
        }
        self.hosts = Restore::restore(saved)?;
        let expected = if self.old.folders().is_some() {
            0
        } else {
            pages
        };
        if self.hosts.len() != expected {
            return Err(corrupt("hosts of another old crawl"));
        }
        self.build();
        self.places.restore(saved)?;
        let tops = &self.host_places;
        let host_of = |place| host_of(tops, place);
        self.offers = Offers::restore(saved, &self.places, host_of, self.offers.host_count())?;
        Ok(())
    }
}

impl LivenessPolicy for Tree {
    fn tally(&self) -> Tally {
        self.survey.all()
    }

    fn sample(&self) -> Option<Sample> {
        let size = self.looks.back();
        self.looks.wanted().then_some(Sample {
            by: SampleBy::Random,
            size,
        })
    }

    fn sample_tally(&self) -> Tally {
        self.looks.tally()
    }

    fn estimate(&self) -> Option<AliveEstimate> {
        self.looks
            .estimate(self.survey.all(), self.old.page_count() as u64)
    }

    fn allocated_bytes(&self) -> usize {
        self.places.allocated_bytes()
            + self.offers.allocated_bytes()
            + self.survey.allocated_bytes()
    }
}
