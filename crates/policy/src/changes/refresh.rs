//! Refresh by a list: at the start of a cycle the best pages are listed, and fetched in that order.
//!
//! What `round-robin`, `uniform`, `interval`, `crawl-value` and `azar` have in common: each knows
//! how to list the best pages of a moment ([`List`]); this policy does the rest.
//!
//! Cost: that of the list, and O(log pages) a fetch; 10 bytes a page.

use std::io;

use turnstone_frontier::{Event, Links, PageId, Policy, Random, Ranking, Tick};

use super::book::{Book, Stage};
use super::copies::{Copies, DAY_MS, Said};

/// Lists the pages most worth a fetch.
pub trait List: Send {
    /// A page is in the store from now on.
    fn know(&mut self, page: PageId);

    /// A page was fetched.
    fn learn(&mut self, answer: Answer);

    /// The best pages at `now`, best first: about `budget` of them, none twice.
    fn best(&mut self, moment: &Moment<'_>) -> Vec<PageId>;

    /// Writes what it learnt.
    fn save(&self, out: &mut dyn io::Write) -> io::Result<()>;

    /// Becomes what was saved.
    fn restore(&mut self, saved: &mut dyn io::Read) -> io::Result<()>;
}

/// What a fetch said.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Answer {
    /// The page.
    pub page: PageId,
    /// Whether our copy was out of date.
    pub changed: bool,
    /// How old our copy was.
    pub age_days: f64,
}

impl Answer {
    /// The answer of a verdict, if there is one.
    pub(super) fn of(verdict: Said) -> Option<Self> {
        Some(Self {
            page: verdict.page,
            changed: verdict.changed?,
            age_days: verdict.age_days,
        })
    }
}

/// The start of a cycle.
pub struct Moment<'a> {
    copies: &'a Copies,
    now: Tick,
    last_cycle: Tick,
    /// Every page's place in one fixed random order, which breaks ties without favour.
    lot: &'a [u32],
    /// How many pages may be fetched.
    pub budget: usize,
}

impl Moment<'_> {
    /// How many pages the store has.
    pub fn page_count(&self) -> usize {
        self.lot.len()
    }

    /// How old our copy of a page is.
    pub fn age_days(&self, page: PageId) -> f64 {
        self.copies.age_days(page, self.now)
    }

    /// How long after the last cycle this one begins; a day at least.
    pub fn cycle_days(&self) -> f64 {
        (self.now.0.saturating_sub(self.last_cycle.0) as f64 / DAY_MS).max(1.0)
    }

    /// The `budget` pages with the largest keys, largest first, ties by lot: O(pages).
    pub fn largest(&self, key: impl Fn(PageId) -> f64) -> Vec<PageId> {
        let mut keyed: Vec<(f64, u32, PageId)> = (0..self.page_count())
            .map(|index| {
                let page = PageId::from_index(index);
                (key(page), self.lot[index], page)
            })
            .collect();
        let order = |a: &(f64, u32, PageId), b: &(f64, u32, PageId)| {
            b.0.total_cmp(&a.0).then((a.1, a.2).cmp(&(b.1, b.2)))
        };
        if self.budget < keyed.len() {
            keyed.select_nth_unstable_by(self.budget, order);
            keyed.truncate(self.budget);
        }
        keyed.sort_unstable_by(order);
        keyed.into_iter().map(|(_, _, page)| page).collect()
    }
}

/// A policy that follows a list.
pub struct Refresh<L> {
    list: L,
    random: Random,
    book: Book,
    copies: Copies,
    lot: Vec<u32>,
    last_cycle: Tick,
}

impl<L: List> Refresh<L> {
    /// A policy of this seed, which breaks ties.
    pub fn new(list: L, seed: u64) -> Self {
        Self {
            list,
            random: Random::new(seed),
            book: Book::default(),
            copies: Copies::default(),
            lot: Vec::new(),
            last_cycle: Tick(0),
        }
    }

    fn begin(&mut self, budget: u64, now: Tick, ranking: &mut Ranking) {
        self.book.begin(budget, ranking);
        let known = self.book.page_count();
        let moment = Moment {
            copies: &self.copies,
            now,
            last_cycle: std::mem::replace(&mut self.last_cycle, now),
            lot: &self.lot,
            budget: usize::try_from(budget).map_or(known, |budget| budget.min(known)),
        };
        for (place, page) in self.list.best(&moment).into_iter().enumerate() {
            if self.book.left() > 0 && self.book.stage(page) == Stage::Free {
                let rank = u64::MAX - place as u64;
                self.book.ask(page, Stage::Sample, rank, ranking);
            }
        }
    }
}

impl<L: List> Policy for Refresh<L> {
    fn observe(&mut self, event: &Event<'_>, now: Tick, _: &dyn Links, ranking: &mut Ranking) {
        match *event {
            Event::Discovered { page, .. } => {
                self.book.know(page);
                self.copies.know(now);
                self.list.know(page);
                self.lot.push(self.random.bits() as u32);
                return;
            }
            Event::Round { budget, .. } => return self.begin(budget, now, ranking),
            _ => {}
        }
        if let Some(verdict) = self.copies.answer(event, now) {
            self.book.settle(verdict.page, ranking);
            if let Some(answer) = Answer::of(verdict) {
                self.list.learn(answer);
            }
        }
    }

    turnstone_frontier::saved_in_place!([random, book, copies, lot, last_cycle, mut list],
        |it| it.lot.len() != it.book.page_count() => "lots of pages that are not known");
}
