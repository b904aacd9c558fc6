//! COV-WIN: one cover of everything that past recrawls found. Ours, not the paper's.
//!
//! The paper's `cov` knows only the last recrawl: "it is not easy to average cover information
//! from multiple recrawls". It need not be averaged. Every new page that a past recrawl saw is a
//! thing to cover, worth α^age / (new pages of its recrawl); one greedy cover is made over all of
//! them. Four rules make it find more than `od-win` with fewer fetches:
//!
//! - A thing that is covered already is worth only β of what it was (`again`): first come pages
//!   that found something else, then those that found the same, as a second chance and in the
//!   order of `od-win`. β = 0 ends there; β = 1 is `od-win` from the start.
//! - The order ends where a page adds less than a share `least` of all worth.
//! - A recrawl that saw few new pages says less (`few`, f): a thing is worth 1 / (new pages + f).
//!   A small f decides only between pages that would otherwise be worth the same.
//! - Of pages that add the same, the one with more links comes first: a list before a post.
//!
//! Pages that were gone at the last recrawl are not asked for. Worth is counted in integers, so
//! the order is the same everywhere.
//!
//! Pages that found the same in every recrawl are one candidate, so menus cost nothing. Cost per
//! recrawl that saw a new page: O(candidates · what they found), lazily as in GREEDY; memory 8
//! bytes for each (page, recrawl it led in), for the last [`FINDS_MAX`] recrawls.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};
use std::io;

use turnstone_frontier::{PageId, Restore, Save, corrupt};

use super::arrivals::Arrivals;
use super::components::Lists;
use super::history_based::Statistic;
use super::out_degree::power;

/// How many recrawls that saw new pages are remembered.
pub(crate) const FINDS_MAX: usize = 128;

/// What the new pages of the latest recrawl are worth together, about.
pub(crate) const WORTH: f64 = (1u64 << 44) as f64;

/// What can be set.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Weights {
    /// α: what a find is worth a round later.
    pub(crate) decay: f64,
    /// β: what is left of a thing once it is covered.
    pub(crate) again: f64,
    /// The share of all worth that a page must add.
    pub(crate) least: f64,
    /// A recrawl that saw so many new pages weighs half as much as one that saw very many.
    pub(crate) few: f64,
}

/// What a recrawl saw.
#[derive(Clone, Debug, PartialEq)]
struct Find {
    round: u32,
    found: u32,
    /// By component: new pages.
    weights: Vec<u32>,
    /// What some page led to, as components.
    sets: Lists,
}

/// A page that led to new pages.
#[derive(Clone, Debug, Default, PartialEq)]
struct Leader {
    /// How many links it had when it last led to one.
    links: u32,
    /// What it led to: (number of the find, set), oldest first.
    led: Vec<(u32, u32)>,
}

/// What COV-WIN remembers.
#[derive(Clone, Debug)]
pub(crate) struct CoverWindow {
    weights: Weights,
    finds: VecDeque<Find>,
    /// The number of the oldest find remembered.
    first_find: u32,
    leaders: BTreeMap<PageId, Leader>,
    /// By page: gone at the last recrawl. Shorter than the pages that are known.
    gone: Vec<bool>,
    order: Vec<PageId>,
    /// Whether the order is that of what is remembered.
    ranked: bool,
}

impl CoverWindow {
    pub(crate) fn new(weights: Weights) -> Self {
        Self {
            weights,
            finds: VecDeque::new(),
            first_find: 0,
            leaders: BTreeMap::new(),
            gone: Vec::new(),
            order: Vec::new(),
            ranked: true,
        }
    }

    /// Forgets the oldest find, and the pages that led to nothing since.
    fn forget_oldest(&mut self) {
        self.finds.pop_front();
        self.first_find += 1;
        let first = self.first_find;
        self.leaders.retain(|_, leader| {
            leader.led.retain(|(find, _)| *find >= first);
            !leader.led.is_empty()
        });
    }

    fn is_gone(&self, page: PageId) -> bool {
        self.gone.get(page.index()).copied().unwrap_or(false)
    }

    /// Pages that led to the same: those with most links last, then the lowest ids.
    fn candidates(&self) -> Vec<Candidate<'_>> {
        let mut alike: BTreeMap<&[(u32, u32)], Vec<MoreLinks>> = BTreeMap::new();
        for (page, leader) in &self.leaders {
            if !self.is_gone(*page) {
                let pages = alike.entry(&leader.led).or_default();
                pages.push((leader.links, Reverse(*page)));
            }
        }
        let mut candidates: Vec<Candidate<'_>> = alike
            .into_iter()
            .map(|(led, pages)| Candidate { led, pages })
            .collect();
        for candidate in &mut candidates {
            candidate.pages.sort_unstable();
        }
        candidates
    }

    fn rank(&mut self) {
        let mut worth = Worth::new(&self.finds, self.first_find, self.weights);
        let least = (self.weights.least * worth.total() as f64) as u64;
        let mut candidates = self.candidates();
        let entry = |worth: &Worth<'_>, candidates: &[Candidate<'_>], at: usize| {
            let candidate = &candidates[at];
            let best = candidate.pages.last()?;
            Some((worth.of(candidate.led), *best, at))
        };
        let mut heap: BinaryHeap<_> = (0..candidates.len())
            .filter_map(|at| entry(&worth, &candidates, at))
            .collect();
        let mut order = Vec::new();
        while let Some((_, _, at)) = heap.pop() {
            let now = entry(&worth, &candidates, at).expect("only those with pages are kept");
            if heap.peek().is_some_and(|next| *next > now) {
                heap.push(now);
                continue;
            }
            let (adds, (_, Reverse(page)), _) = now;
            if adds == 0 || adds < least {
                break;
            }
            order.push(page);
            worth.cover(candidates[at].led);
            candidates[at].pages.pop();
            heap.extend(entry(&worth, &candidates, at));
        }
        self.order = order;
    }
}

/// Pages that led to the same in every recrawl.
struct Candidate<'a> {
    led: &'a [(u32, u32)],
    pages: Vec<MoreLinks>,
}

/// A page with its number of links; the best of some is the largest.
type MoreLinks = (u32, Reverse<PageId>);

/// What every new page of the past is still worth.
struct Worth<'a> {
    finds: &'a VecDeque<Find>,
    first_find: u32,
    /// By find: what a page of it is worth at first, and once it is covered.
    levels: Vec<(u64, u64)>,
    /// By find, by component: what each page of it is worth.
    each: Vec<Vec<u64>>,
}

impl<'a> Worth<'a> {
    fn new(finds: &'a VecDeque<Find>, first_find: u32, weights: Weights) -> Self {
        let latest = finds.back().map_or(0, |find| find.round);
        let level = |find: &Find| {
            let age = latest.saturating_sub(find.round);
            let evidence = f64::from(find.found) + weights.few;
            let first = (WORTH * power(weights.decay, age) / evidence) as u64;
            (first, (first as f64 * weights.again) as u64)
        };
        let levels: Vec<(u64, u64)> = finds.iter().map(level).collect();
        let each = finds.iter().zip(&levels);
        Self {
            finds,
            first_find,
            each: each
                .map(|(find, (first, _))| vec![*first; find.weights.len()])
                .collect(),
            levels,
        }
    }

    fn total(&self) -> u64 {
        let finds = self.finds.iter().zip(&self.levels);
        finds
            .map(|(find, (first, _))| u64::from(find.found) * first)
            .sum()
    }

    fn of(&self, led: &[(u32, u32)]) -> u64 {
        let mut sum = 0;
        for &(find, set) in led {
            let at = (find - self.first_find) as usize;
            let find = &self.finds[at];
            let parts = find.sets.row(set as usize).iter();
            sum += parts
                .map(|part| u64::from(find.weights[*part as usize]) * self.each[at][*part as usize])
                .sum::<u64>();
        }
        sum
    }

    fn cover(&mut self, led: &[(u32, u32)]) {
        for &(find, set) in led {
            let at = (find - self.first_find) as usize;
            for part in self.finds[at].sets.row(set as usize) {
                self.each[at][*part as usize] = self.levels[at].1;
            }
        }
    }
}

impl Statistic for CoverWindow {
    fn learn(&mut self, round: u32, arrivals: &Arrivals) {
        if arrivals.found() == 0 {
            return;
        }
        let number = self.first_find + self.finds.len() as u32;
        self.finds.push_back(Find {
            round,
            found: arrivals.found(),
            weights: arrivals.weights.clone(),
            sets: arrivals.sets.clone(),
        });
        for &(page, set) in arrivals.sources() {
            let leader = self.leaders.entry(page).or_default();
            leader.led.push((number, set));
        }
        if self.finds.len() > FINDS_MAX {
            self.forget_oldest();
        }
        self.ranked = false;
    }

    fn told(&mut self, page: PageId, links: usize) {
        let links = u32::try_from(links).unwrap_or(u32::MAX);
        self.leaders.entry(page).or_default().links = links;
    }

    fn presence(&mut self, page: PageId, present: bool) {
        if self.gone.len() <= page.index() {
            self.gone.resize(page.index() + 1, false);
        }
        if std::mem::replace(&mut self.gone[page.index()], !present) == present {
            self.ranked = false;
        }
    }

    fn best(&mut self, _: usize) -> &[PageId] {
        if !std::mem::replace(&mut self.ranked, true) {
            self.rank();
        }
        &self.order
    }

    fn save(&self, out: &mut dyn io::Write) -> io::Result<()> {
        (self.finds.len() as u64).save(out)?;
        for find in &self.finds {
            (find.round, find.found).save(out)?;
            find.weights.save(out)?;
            find.sets.save(out)?;
        }
        self.first_find.save(out)?;
        (self.leaders.len() as u64).save(out)?;
        for (page, leader) in &self.leaders {
            (*page, leader.links).save(out)?;
            leader.led.save(out)?;
        }
        self.gone.save(out)?;
        self.order.save(out)?;
        self.ranked.save(out)
    }

    fn restore(&mut self, saved: &mut dyn io::Read) -> io::Result<()> {
        self.finds.clear();
        for _ in 0..u64::restore(saved)? {
            let (round, found) = Restore::restore(saved)?;
            let weights: Vec<u32> = Restore::restore(saved)?;
            let sets = Lists::restore(saved)?;
            if !sets.all_below(weights.len()) || found == 0 {
                return Err(corrupt("a find with a part that is not known"));
            }
            self.finds.push_back(Find {
                round,
                found,
                weights,
                sets,
            });
        }
        self.first_find = Restore::restore(saved)?;
        self.leaders.clear();
        for _ in 0..u64::restore(saved)? {
            let (page, links) = Restore::restore(saved)?;
            let led: Vec<(u32, u32)> = Restore::restore(saved)?;
            let fits = |(find, set): &(u32, u32)| {
                let at = find.checked_sub(self.first_find);
                at.and_then(|at| self.finds.get(at as usize))
                    .is_some_and(|find| (*set as usize) < find.sets.len())
            };
            if !led.iter().all(fits) {
                return Err(corrupt("a page that led to what is not known"));
            }
            self.leaders.insert(page, Leader { links, led });
        }
        self.gone = Restore::restore(saved)?;
        self.order = Restore::restore(saved)?;
        self.ranked = Restore::restore(saved)?;
        Ok(())
    }
}
