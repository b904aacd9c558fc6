//! Slots: part of a round goes where out-degree would never look, and part to guessed addresses.
//!
//! Pages that led to new ones before are most of the answer, but not all: a redesign hangs new pages on pages that
//! never led anywhere. So of ten requests seven go by the statistic of the past, one to the first page
//! of a host (its home page) and two to the pages with most links. With guesses (`guess`), an address that the
//! driver guessed competes with them: a guess that hits costs nothing, because a new page must be fetched anyway,
//! so one with chance p that brings n pages is worth p · n / (1 − p) a request. What a slot is worth is
//! learnt: at each recrawl the policy works out how many new pages each of its slots would have added to those
//! before it. The requests worth most come first.
//!
//! A guess that is worth less than `least` new pages a request is never asked for, whatever budget is left.
//!
//! Cost: O(pages) per round for the pages with most links, O(log pages) per fetch and guess; 8 bytes a page beside
//! the statistic.

use std::collections::{BTreeMap, BTreeSet};
use std::io;

use turnstone_frontier::{
    Chance, Event, Fault, HostId, Links, PageId, Place, Policy, Rank, Ranking, Restore, Save, Tick,
};

use super::DiscoveryPolicy;
use super::arrivals::Arrivals;
use super::history_based::{Statistic, clear, known_pages, settle};
use super::watch::{Phase, RECRAWL, Target, Watch};

/// A new page in units of rank.
const PAGE_RANK: f64 = (1u64 << 24) as f64;
/// Ranks stay below this.
const RANK_MAX: f64 = (1u64 << 60) as f64;

/// What a request to a known page is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Slot {
    /// The best by the statistic.
    First,
    /// Others by the statistic.
    Past,
    /// The first page of a host.
    Home,
    /// A page with many links.
    Hub,
}

const SLOTS: usize = 4;
/// The slots of ten requests.
const PATTERN: [Slot; 10] = [
    Slot::Past,
    Slot::Home,
    Slot::Past,
    Slot::Hub,
    Slot::Past,
    Slot::Hub,
    Slot::Past,
    Slot::Past,
    Slot::Past,
    Slot::Past,
];
/// New pages that a request of each slot is believed to bring before any recrawl.
const PRIOR: [f64; SLOTS] = [2.0, 0.2, 0.2, 0.2];

/// What can be set.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Weights {
    /// A guess must be worth so many new pages a request.
    pub(crate) least: f64,
    /// Whether guesses are asked for at all.
    pub(crate) guesses: bool,
    /// The share of a round that may be wasted on guesses.
    pub(crate) wasted: f64,
    /// What a guess promises is divided by this before it is compared.
    pub(crate) caution: f64,
}

/// What requests of a slot have brought.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Yield {
    requests: f64,
    pages: f64,
}

/// Ranks by slots.
#[derive(Debug)]
pub(crate) struct Slots<S> {
    weights: Weights,
    watch: Watch,
    statistic: S,
    recrawl: bool,
    /// By page: how many links it had when last fetched; none if it was gone.
    links: Vec<Option<u32>>,
    /// By host: its first page.
    homes: BTreeMap<u32, PageId>,
    yields: [Yield; SLOTS],
    /// The pages of this round's slots, and what each is for.
    plan: Vec<(PageId, u8)>,
    /// Pages ranked for the current round, guesses included.
    queued: Vec<PageId>,
    /// Guesses of this round that were not asked for yet.
    open: BTreeSet<PageId>,
    /// How many more guesses of this round may miss.
    misses_left: u64,
}

impl<S: Statistic> Slots<S> {
    pub(crate) fn new(statistic: S, weights: Weights, target: Target) -> Self {
        Self {
            weights,
            watch: Watch::new(Phase::Recrawl, target),
            statistic,
            recrawl: false,
            links: Vec::new(),
            homes: BTreeMap::new(),
            yields: [Yield::default(); SLOTS],
            plan: Vec::new(),
            queued: Vec::new(),
            open: BTreeSet::new(),
            misses_left: 0,
        }
    }

    fn discover(&mut self, page: PageId, host: HostId) {
        self.watch.discover(page, host);
        self.links.push(None);
        self.homes.entry(host.0).or_insert(page);
    }

    fn begin(&mut self, round: u32, budget: u64, ranking: &mut Ranking) {
        if let Some(seen) = self.watch.begin(round, budget) {
            self.credit(&seen.arrivals);
            self.statistic.learn(seen.round, &seen.arrivals);
        }
        self.recrawl = budget == RECRAWL;
        clear(&mut self.queued, ranking);
        self.open.clear();
        if !self.recrawl {
            let misses = (self.weights.wasted * budget as f64) as u64;
            self.misses_left = misses.max(1).min(budget);
            self.plan = self.slots(usize::try_from(budget).unwrap_or(usize::MAX));
            for (place, &(page, slot)) in self.plan.iter().enumerate() {
                // Without guesses there is nothing to compare with, and the order of the slots stays.
                let worth = match self.weights.guesses {
                    true => rank(self.worth(slot as usize)),
                    false => rank(1.0),
                };
                ranking.set(page, worth.saturating_sub(place as u64).max(1));
                self.queued.push(page);
            }
        }
    }

    /// What each slot of the last round added to those before it.
    fn credit(&mut self, arrivals: &Arrivals) {
        let mut cover = arrivals.cover();
        for &(page, slot) in &self.plan {
            let of = &mut self.yields[slot as usize];
            of.requests += 1.0;
            of.pages += f64::from(cover.fetch(page));
        }
    }

    /// New pages that a request of a slot is expected to bring.
    fn worth(&self, slot: usize) -> f64 {
        let of = self.yields[slot];
        (of.pages + PRIOR[slot]) / (of.requests + 1.0)
    }

    /// The pages of a round, each with its slot.
    fn slots(&mut self, budget: usize) -> Vec<(PageId, u8)> {
        let wanted = budget.min(self.links.len());
        let count = |slot| {
            let of_ten = PATTERN.iter().filter(|of| **of == slot).count();
            wanted.div_ceil(PATTERN.len()) * of_ten
        };
        let is_there = |page: &PageId| self.links[page.index()].is_some();
        let mut hubs: Vec<PageId> = (0..self.links.len()).map(PageId::from_index).collect();
        hubs.retain(is_there);
        // Those with most links, and as many more as the other slots may take of them.
        let kept = (count(Slot::Hub) + wanted).min(hubs.len());
        let by_links = |page: &PageId| (std::cmp::Reverse(self.links[page.index()]), *page);
        if kept > 0 && kept < hubs.len() {
            hubs.select_nth_unstable_by_key(kept - 1, by_links);
        }
        hubs.truncate(kept);
        hubs.sort_unstable_by_key(by_links);
        let homes: Vec<PageId> = self.homes.values().copied().filter(is_there).collect();
        let past = self.statistic.best(wanted);
        let mut sources = [past.iter(), homes.iter(), hubs.iter()];
        let mut taken = BTreeSet::new();
        let mut plan: Vec<(PageId, u8)> = Vec::new();
        for place in 0..wanted {
            let slot = PATTERN[place % PATTERN.len()];
            let source = match slot {
                Slot::First | Slot::Past => &mut sources[0],
                Slot::Home => &mut sources[1],
                Slot::Hub => &mut sources[2],
            };
            if let Some(page) = source.find(|page| taken.insert(**page)) {
                let slot = if place == 0 { Slot::First } else { slot };
                plan.push((*page, slot as u8));
            }
        }
        plan
    }

    /// A guess enters the round, or its worth changed.
    fn guess(&mut self, page: PageId, chance: Chance, brings: u32, ranking: &mut Ranking) {
        if self.recrawl || !self.weights.guesses || ranking.place(page) == Place::InFlight {
            return;
        }
        let chance = probability(chance);
        let worth = chance * f64::from(brings) / (1.0 - chance).max(1e-9);
        if worth < self.weights.least || self.misses_left == 0 {
            self.open.remove(&page);
            ranking.take(page);
        } else {
            ranking.set(page, rank(worth / self.weights.caution).max(1));
            ranking.queue(page);
            self.queued.push(page);
            self.open.insert(page);
        }
    }

    /// A page that was asked for is not there.
    fn miss(&mut self, page: PageId, ranking: &mut Ranking) {
        if self.open.remove(&page) {
            self.misses_left = self.misses_left.saturating_sub(1);
            if self.misses_left == 0 {
                for page in std::mem::take(&mut self.open) {
                    ranking.take(page);
                }
            }
        }
    }
}

/// A worth as a rank.
fn rank(worth: f64) -> Rank {
    (worth * PAGE_RANK).min(RANK_MAX) as Rank
}

/// A chance as a number.
fn probability(chance: Chance) -> f64 {
    match chance.to_units() {
        0 => 1.0,
        units => f64::from(units) / (1u64 << 32) as f64,
    }
}

impl<S: Statistic> Policy for Slots<S> {
    fn observe(&mut self, event: &Event<'_>, _: Tick, _: &dyn Links, ranking: &mut Ranking) {
        settle(event, ranking);
        match *event {
            Event::Discovered { page, host, .. } => self.discover(page, host),
            Event::Guessed {
                page,
                chance,
                brings,
            } => self.guess(page, chance, brings, ranking),
            Event::Fetched { page, links, .. } => {
                self.open.remove(&page);
                self.links[page.index()] = Some(u32::try_from(links.len()).unwrap_or(u32::MAX));
                if self.watch.fetch(page, links) {
                    self.statistic.told(page, links.len());
                }
                if self.recrawl {
                    self.statistic.presence(page, true);
                }
            }
            Event::Failed {
                page,
                fault: Fault::Gone,
            } => {
                self.links[page.index()] = None;
                self.miss(page, ranking);
                if self.recrawl {
                    self.statistic.presence(page, false);
                }
            }
            Event::Round { round, budget } => self.begin(round, budget, ranking),
            Event::Failed { .. }
            | Event::Moved { .. }
            | Event::Held { .. }
            | Event::Unseen { .. }
            | Event::Hinted { .. }
            | Event::Crossed(_) => {}
        }
    }

    fn save(&self, out: &mut dyn io::Write) -> io::Result<()> {
        self.watch.save(out)?;
        self.statistic.save(out)?;
        self.recrawl.save(out)?;
        self.links.save(out)?;
        self.homes.save(out)?;
        for of in &self.yields {
            (of.requests, of.pages).save(out)?;
        }
        self.plan.save(out)?;
        self.queued.save(out)?;
        self.open.iter().copied().collect::<Vec<_>>().save(out)?;
        self.misses_left.save(out)
    }

    fn restore(&mut self, saved: &mut dyn io::Read) -> io::Result<()> {
        self.watch.restore(saved)?;
        self.statistic.restore(saved)?;
        self.recrawl = Restore::restore(saved)?;
        self.links = Restore::restore(saved)?;
        self.homes = Restore::restore(saved)?;
        for of in &mut self.yields {
            let (requests, pages) = Restore::restore(saved)?;
            *of = Yield { requests, pages };
        }
        self.plan = Restore::restore(saved)?;
        self.queued = Restore::restore(saved)?;
        let open: Vec<PageId> = Restore::restore(saved)?;
        self.misses_left = Restore::restore(saved)?;
        let known = self.watch.page_count();
        if self.links.len() != known || self.plan.iter().any(|(_, slot)| *slot as usize >= SLOTS) {
            return Err(turnstone_frontier::corrupt(
                "slots and pages that do not agree",
            ));
        }
        known_pages(&open, known)?;
        self.open = open.into_iter().collect();
        let planned: Vec<PageId> = self.plan.iter().map(|(page, _)| *page).collect();
        known_pages(&planned, known)?;
        known_pages(&self.homes.values().copied().collect::<Vec<_>>(), known)?;
        known_pages(&self.queued, known)
    }
}

impl<S: Statistic> DiscoveryPolicy for Slots<S> {
    fn recrawl_every(&self) -> Option<u32> {
        self.statistic.recrawl_every()
    }

    /// The slots of a small round are not the first of a large one: one that nobody can fill stays empty.
    fn learns_from_rounds(&self) -> bool {
        true
    }

    fn guesses(&self) -> bool {
        self.weights.guesses
    }
}
