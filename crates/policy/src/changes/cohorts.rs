//! Cohorts: fetch from the groups of pages that are now seen to have changed, the lasting first.
//!
//! Pages of one directory whose copies were made in the same cycle, with the same outcome then,
//! are a *cohort*: what rebuilds one of them mostly rebuilds them all. A copy is of the cycle that
//! began last before it was made; before the first, all are of one. A crawl takes its time, and a
//! cycle too: copies of one cycle are told apart only where their ages differ by days, by powers of
//! two ([`span`]), never by the moment at which an answer happened to come. A page fetched from a
//! cohort says how likely its other pages are out of date *now*, which no rate learnt from the
//! past can say; that is the idea of sampling (Tan et al. 2007) put beside change rates pooled by
//! directory and site, as for pages that change on their own.
//!
//! For every cohort the chance q that a page of it has changed starts from the rate of its kind
//! (directory, outcome) and the age of its copies, and moves with every answer from it, and from
//! its site's cohorts of the same age and outcome. The next page is of the cohort with the largest
//! q^focus · life, *life* being the time a fresh copy will stay current within the horizon: a
//! request is spent where it most surely finds a change, and of equal chances where it lasts.
//!
//! A share of fetches (`explore`) goes to any page, drawn at random. The chance of such a page is to
//! be drawn by any draw of the cycle; all others are certain.
//!
//! Cost: O(pages log pages) a cycle, O(log cohorts) a fetch, and some dozens of times
//! a cycle that of all cohorts of a site; 22 bytes a page.
//! Invariant: what was learnt counts in later cycles; within one, only what the cycle itself saw.

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::io;
use std::sync::Arc;

use turnstone_frontier::{
    Chance, Event, Links, PageId, Policy, Random, Ranking, Restore, Save, Tick, corrupt,
};

use super::book::{Book, Stage};
use super::copies::{Copies, DAY_MS, Said};
use super::pooled::GroupRates;
use super::rate::{Evidence, Visit};
use super::{DirectoryTree, Store};

/// How the policy weighs things.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Weighing {
    /// The power of the chance that a page has changed, against the time it will stay fresh.
    pub focus: f64,
    /// How far ahead freshness counts, in days.
    pub horizon_days: f64,
    /// How many answers the expectation of a site weighs as much as.
    pub expectation: f64,
    /// How many answers the site's answers of this cycle weigh as much as, for a cohort.
    pub site: f64,
    /// The share of fetches that go to a page at random.
    pub explore: f64,
    /// How many pages are queued at once: more keep more hosts busy, fewer decide on more.
    pub ahead: u64,
}

impl Default for Weighing {
    fn default() -> Self {
        Self {
            focus: 4.0,
            horizon_days: 180.0,
            expectation: 1.0,
            site: 1.0,
            explore: 0.02,
            ahead: 1,
        }
    }
}

impl Weighing {
    /// The chance of a change in a site's cohorts of one age and outcome.
    pub fn blend_site(&self, answers: u32, changes: u32, expected: f64) -> f64 {
        blend(answers, changes, expected, self.expectation)
    }

    /// The chance of a change in one of these cohorts.
    pub fn blend_cohort(&self, answers: u32, changes: u32, site: f64) -> f64 {
        blend(answers, changes, site, self.site)
    }

    /// What a fetch is worth, in whole numbers.
    pub fn worth(&self, chance: f64, life: f64) -> u64 {
        (chance.powf(self.focus) * life * (1u64 << 60) as f64) as u64
    }
}

/// The share of changes, with an expectation that weighs as much as some answers.
fn blend(answers: u32, changes: u32, expected: f64, weight: f64) -> f64 {
    (f64::from(changes) + weight * expected) / (f64::from(answers) + weight)
}

/// What the last fetches of a page said: nothing yet, or up to two verdicts.
type Streak = u8;

/// How many different outcomes there are.
const OUTCOMES: usize = 7;

/// The outcome after one more verdict. 0 none; 1, 2 one verdict; 3 to 6 two or more.
fn after(outcome: Streak, changed: bool) -> Streak {
    match outcome {
        0 => 1 + u8::from(changed),
        1 | 2 => 3 + 2 * (outcome - 1) + u8::from(changed),
        _ => 3 + 2 * ((outcome - 3) & 1) + u8::from(changed),
    }
}

/// Into which span of ages a copy falls: less than a day, one, two to three, four to seven, and so on.
fn span(age_ms: u64) -> u32 {
    let days = age_ms / DAY_MS as u64;
    days.checked_ilog2().map_or(0, |power| power + 1)
}

/// Pages that lie together and were last fetched together, with the same outcome.
#[derive(Debug, Default)]
struct Cohort {
    /// Its site's cohorts of the same age and outcome.
    league: u32,
    /// What is expected before any answer of this cycle.
    expected: f64,
    /// The share of the horizon a fresh copy stays current.
    life: f64,
    answers: u32,
    changes: u32,
    /// What is left, last first.
    pages: Vec<PageId>,
    /// Breaks ties without favour.
    lot: u32,
    /// Its worth, as it was last put in order.
    placed: Option<u64>,
}

/// Cohorts of one site of the same age and outcome.
///
/// Its answers are told to its cohorts one by one up to eight, then when there are an eighth more:
/// so a cohort is put in order anew only some dozens of times, however large the site.
#[derive(Debug, Default)]
struct League {
    answers: u32,
    changes: u32,
    /// The answers and changes its cohorts know of.
    told: (u32, u32),
    cohorts: Vec<u32>,
}

impl League {
    /// Adds an answer. True when it is time to tell.
    fn answer(&mut self, changed: bool) -> bool {
        self.answers += 1;
        self.changes += u32::from(changed);
        let due = self.answers >= self.told.0 + (self.told.0 / 8).max(1);
        if due {
            self.told = (self.answers, self.changes);
        }
        due
    }
}

/// A cohort's place: the worthiest first, then by lot.
type Place = (Reverse<u64>, u32, u32);

/// The policy.
pub struct Cohorts {
    weighing: Weighing,
    sites: Arc<[u32]>,
    tree: Arc<DirectoryTree>,
    /// By outcome: how often pages change after it.
    rates: Vec<GroupRates>,
    random: Random,
    book: Book,
    copies: Copies,
    /// When each cycle began.
    cycles: Vec<Tick>,
    /// By page.
    outcomes: Vec<Streak>,
    /// By page: its cohort in this cycle.
    cohort_of: Vec<u32>,
    cohorts: Vec<Cohort>,
    leagues: Vec<League>,
    /// Cohorts with pages left, best first.
    order: BTreeSet<Place>,
    waiting: u64,
    /// Pages that were drawn at random in this cycle.
    by_lot: BTreeSet<PageId>,
}

impl Cohorts {
    /// A policy for a store.
    pub fn new(store: &dyn Store, weighing: Weighing, seed: u64) -> Self {
        let (sites, tree) = (store.sites(), store.directories());
        let rates = || GroupRates::new(Arc::clone(&sites), Arc::clone(&tree), 0.5);
        Self {
            weighing,
            rates: (0..OUTCOMES).map(|_| rates()).collect(),
            sites,
            tree,
            random: Random::new(seed),
            book: Book::default(),
            copies: Copies::default(),
            cycles: Vec::new(),
            outcomes: Vec::new(),
            cohort_of: Vec::new(),
            cohorts: Vec::new(),
            leagues: Vec::new(),
            order: BTreeSet::new(),
            waiting: 0,
            by_lot: BTreeSet::new(),
        }
    }

    /// The rate at which a page changes after an outcome; before anything is known of it, the
    /// rate of pages never visited.
    fn rate(&self, page: PageId, outcome: Streak) -> f64 {
        let first = self.rates[0].rate(page);
        match outcome {
            0 => first,
            1 | 2 => self.rates[usize::from(outcome)].rate_from(page, first),
            _ => {
                let last = 1 + ((outcome - 3) & 1);
                let shorter = self.rates[usize::from(last)].rate_from(page, first);
                self.rates[usize::from(outcome)].rate_from(page, shorter)
            }
        }
    }

    fn begin(&mut self, budget: u64, now: Tick, ranking: &mut Ranking) {
        self.book
            .begin(budget.min(self.outcomes.len() as u64), ranking);
        self.waiting = 0;
        self.by_lot.clear();
        self.cycles.push(now);
        self.form_cohorts(now);
        self.order.clear();
        for cohort in 0..self.cohorts.len() {
            self.place(cohort);
        }
        self.ask_ahead(ranking);
    }

    /// Groups all pages anew, in random order within each cohort.
    fn form_cohorts(&mut self, now: Tick) {
        /// Site, cycle of the copy, span of its age, outcome; and the directory.
        type Key = ((u32, Reverse<usize>, u32, Streak), u32);
        let key = |page: PageId| -> Key {
            let index = page.index();
            let fetched = self.copies.fetched(page);
            let league = (
                self.sites[index],
                Reverse(self.cycles.partition_point(|began| *began <= fetched)),
                span(self.copies.age_ms(page, now)),
                self.outcomes[index],
            );
            (league, self.tree.directory(page))
        };
        let mut pages: Vec<(Key, u64, PageId)> = Vec::with_capacity(self.outcomes.len());
        for index in 0..self.outcomes.len() {
            let page = PageId::from_index(index);
            if self.book.stage(page) == Stage::Free {
                pages.push((key(page), self.random.bits(), page));
            }
        }
        pages.sort_unstable();
        self.cohorts.clear();
        self.leagues.clear();
        let mut last: Option<Key> = None;
        for cohort in pages.chunk_by(|a, b| a.0 == b.0) {
            let (key, _, _) = cohort[0];
            if last.is_none_or(|last| last.0 != key.0) {
                self.leagues.push(League::default());
            }
            last = Some(key);
            let number = self.cohorts.len() as u32;
            let league = self.leagues.last_mut().expect("a league began");
            league.cohorts.push(number);
            let lot = self.random.bits() as u32;
            let pages: Vec<PageId> = cohort.iter().map(|(_, _, page)| *page).collect();
            for page in &pages {
                self.cohort_of[page.index()] = number;
            }
            let cohort = self.cohort(pages, key.0.3, now, lot);
            self.cohorts.push(cohort);
        }
    }

    /// The cohort of some pages, with the mean of their ages.
    fn cohort(&self, pages: Vec<PageId>, outcome: Streak, now: Tick, lot: u32) -> Cohort {
        let ages = pages.iter().map(|page| self.copies.age_ms(*page, now));
        let age = ages.sum::<u64>() / pages.len() as u64;
        let age_days = age as f64 / DAY_MS;
        let x = self.rate(pages[0], after(outcome, true)) * self.weighing.horizon_days;
        Cohort {
            league: self.leagues.len() as u32 - 1,
            expected: -(-self.rate(pages[0], outcome) * age_days).exp_m1(),
            life: if x < 1e-9 { 1.0 } else { -(-x).exp_m1() / x },
            lot,
            pages,
            ..Cohort::default()
        }
    }

    /// Puts a cohort where it belongs now; nowhere when it has no pages left.
    fn place(&mut self, number: usize) {
        let cohort = &mut self.cohorts[number];
        let place = |worth| (Reverse(worth), cohort.lot, number as u32);
        if let Some(worth) = cohort.placed {
            self.order.remove(&place(worth));
        }
        let (answers, changes) = self.leagues[cohort.league as usize].told;
        let site = self.weighing.blend_site(answers, changes, cohort.expected);
        let chance = self
            .weighing
            .blend_cohort(cohort.answers, cohort.changes, site);
        let worth = self.weighing.worth(chance, cohort.life);
        let left = (!cohort.pages.is_empty()).then_some(worth);
        self.order.extend(left.map(place));
        cohort.placed = left;
    }

    /// Queues pages until so many are waiting, or the budget is spent.
    fn ask_ahead(&mut self, ranking: &mut Ranking) {
        while self.waiting < self.weighing.ahead && self.book.left() > 0 {
            let Some(page) = self.choose() else {
                return;
            };
            // The earlier asked for, the sooner.
            self.book
                .ask(page, Stage::Sample, u64::MAX - self.book.asked(), ranking);
            self.waiting += 1;
        }
    }

    /// A page of the best cohort, or now and then of any.
    fn choose(&mut self) -> Option<PageId> {
        if self.random.unit() < self.weighing.explore {
            let any = PageId::from_index(self.random.below(self.outcomes.len() as u64) as usize);
            if self.book.stage(any) == Stage::Free {
                // Its cohort comes upon it later and passes over it.
                self.by_lot.insert(any);
                return Some(any);
            }
        }
        loop {
            let &(_, _, number) = self.order.first()?;
            let pages = &mut self.cohorts[number as usize].pages;
            let page = pages.pop();
            if pages.is_empty() {
                self.place(number as usize);
            }
            if page.is_some_and(|page| self.book.stage(page) == Stage::Free) {
                return page;
            }
        }
    }

    fn learn(&mut self, verdict: Said) {
        let (page, Some(changed)) = (verdict.page, verdict.changed) else {
            return;
        };
        let outcome = self.outcomes[page.index()];
        let visit = Visit {
            interval: verdict.age_days,
            changed,
        };
        let evidence = Evidence::of_visit(visit, self.rate(page, outcome));
        self.rates[usize::from(outcome)].learn(page, evidence);
        self.outcomes[page.index()] = after(outcome, changed);
        let number = self.cohort_of[page.index()] as usize;
        let Some(cohort) = self.cohorts.get_mut(number) else {
            return;
        };
        cohort.answers += 1;
        cohort.changes += u32::from(changed);
        let league = cohort.league as usize;
        if self.leagues[league].answer(changed) {
            for at in 0..self.leagues[league].cohorts.len() {
                self.place(self.leagues[league].cohorts[at] as usize);
            }
        } else {
            self.place(number);
        }
    }
}

impl Policy for Cohorts {
    fn observe(&mut self, event: &Event<'_>, now: Tick, _: &dyn Links, ranking: &mut Ranking) {
        match *event {
            Event::Discovered { page, .. } => {
                self.book.know(page);
                self.copies.know(now);
                self.outcomes.push(0);
                self.cohort_of.push(u32::MAX);
                return;
            }
            Event::Round { budget, .. } => return self.begin(budget, now, ranking),
            _ => {}
        }
        if let Some(verdict) = self.copies.answer(event, now) {
            if self.book.settle(verdict.page, ranking) == Stage::Sample {
                self.waiting -= 1;
            }
            self.learn(verdict);
            self.ask_ahead(ranking);
        }
    }

    fn chance(&self, page: PageId, _: &Ranking) -> Chance {
        if !self.by_lot.contains(&page) {
            return Chance::CERTAIN;
        }
        let each = self.weighing.explore / self.outcomes.len().max(1) as f64;
        Chance::near(-(self.book.budget() as f64 * (-each).ln_1p()).exp_m1())
    }

    fn save(&self, out: &mut dyn io::Write) -> io::Result<()> {
        self.random.save(out)?;
        self.by_lot.iter().copied().collect::<Vec<_>>().save(out)?;
        self.book.save(out)?;
        self.copies.save(out)?;
        self.cycles.save(out)?;
        self.outcomes.save(out)?;
        self.cohort_of.save(out)?;
        self.rates.iter().try_for_each(|rates| rates.save(out))?;
        self.waiting.save(out)?;
        (self.leagues.len() as u64).save(out)?;
        for league in &self.leagues {
            (league.answers, league.changes).save(out)?;
            league.told.save(out)?;
        }
        (self.cohorts.len() as u64).save(out)?;
        for cohort in &self.cohorts {
            cohort.league.save(out)?;
            (cohort.expected, cohort.life).save(out)?;
            (cohort.answers, cohort.changes).save(out)?;
            cohort.pages.save(out)?;
            cohort.lot.save(out)?;
            cohort.placed.save(out)?;
        }
        Ok(())
    }

    fn restore(&mut self, saved: &mut dyn io::Read) -> io::Result<()> {
        self.random = Restore::restore(saved)?;
        let by_lot: Vec<PageId> = Restore::restore(saved)?;
        self.by_lot = by_lot.into_iter().collect();
        self.book = Restore::restore(saved)?;
        self.copies = Restore::restore(saved)?;
        self.cycles = Restore::restore(saved)?;
        self.outcomes = Restore::restore(saved)?;
        self.cohort_of = Restore::restore(saved)?;
        for rates in &mut self.rates {
            rates.restore(saved)?;
        }
        self.waiting = Restore::restore(saved)?;
        self.leagues = Vec::new();
        for _ in 0..u64::restore(saved)? {
            let (answers, changes) = Restore::restore(saved)?;
            self.leagues.push(League {
                answers,
                changes,
                told: Restore::restore(saved)?,
                cohorts: Vec::new(),
            });
        }
        self.cohorts = Vec::new();
        self.order.clear();
        for number in 0..u64::restore(saved)? {
            let number = u32::try_from(number).map_err(|_| corrupt("too many cohorts"))?;
            let league: u32 = Restore::restore(saved)?;
            let (expected, life) = Restore::restore(saved)?;
            let (answers, changes) = Restore::restore(saved)?;
            let pages = Restore::restore(saved)?;
            let (lot, placed): (u32, Option<u64>) = Restore::restore(saved)?;
            let known = self.leagues.get_mut(league as usize);
            known
                .ok_or_else(|| corrupt("a cohort of no league"))?
                .cohorts
                .push(number);
            self.order
                .extend(placed.map(|worth| (Reverse(worth), lot, number)));
            self.cohorts.push(Cohort {
                league,
                expected,
                life,
                answers,
                changes,
                pages,
                lot,
                placed,
            });
        }
        self.check()
    }
}

impl Cohorts {
    /// Whether what was restored hangs together.
    fn check(&self) -> io::Result<()> {
        let count = self.book.page_count();
        let counted = self.outcomes.len() == count && self.cohort_of.len() == count;
        let fits = count <= self.sites.len();
        let sound = self
            .outcomes
            .iter()
            .all(|outcome| usize::from(*outcome) < OUTCOMES);
        let mut pages = self.cohorts.iter().flat_map(|cohort| &cohort.pages);
        let known = pages.all(|page| page.index() < count);
        match counted && fits && sound && known {
            true => Ok(()),
            false => Err(corrupt("cohorts that do not hang together")),
        }
    }
}
