//! Sampling: random pages, and where a sample says so, the pages near it (Tan, Zhuang, Mitra and
//! Giles, Efficiently Detecting Webpage Updates Using Samples, 2007).
//!
//! A cycle visits the stored pages in random order. A sample whose trigger fires leads to its
//! neighbours within reach, nearest first; they are fetched before the next sample, and do not
//! lead further. With no neighbourhood this is random node sampling (`rns`).
//!
//! All samples the budget allows are queued at once, so that a driver with many hosts is never
//! held up; each neighbour takes the place of the last sample. A driver that asks for one page at
//! a time gets exactly the paper's order.
//!
//! The chance of a sample is that of the first draw: the budget over all pages. With neighbours it is
//! a bound from above, since they take the places of samples; a neighbour follows from an answer.
//!
//! Cost: O(log pages) a fetch and what the neighbourhood costs; 5 bytes a page, 21 with history.

use std::io;

use turnstone_frontier::{
    Chance, Event, Links, PageId, Policy, Random, Ranking, Restore, Save, Tick, corrupt,
};

use super::book::{Book, Stage};
use super::copies::Copies;
use super::neighbourhood::Neighbourhood;
use super::trigger::{Past, Trigger};

/// Followers rank above all samples.
const FOLLOWERS: u64 = u64::MAX;
const SAMPLES: u64 = u64::MAX / 2;

/// Samples and their neighbours.
pub struct Sampling {
    near: Box<dyn Neighbourhood>,
    trigger: Trigger,
    /// By page: importance from 0 to 10, for [`Trigger::PageRank`].
    levels: Vec<u8>,
    random: Random,
    book: Book,
    copies: Copies,
    past: Past,
    /// The number of the cycle, from 1.
    cycle: u32,
    /// All pages; those before `samples` are this cycle's samples, in random order.
    order: Vec<PageId>,
    samples: u64,
    /// How many followers were asked for in this cycle.
    followers: u64,
}

impl Sampling {
    /// A sampler of this seed.
    pub fn new(near: Box<dyn Neighbourhood>, trigger: Trigger, levels: Vec<u8>, seed: u64) -> Self {
        Self {
            near,
            trigger,
            levels,
            random: Random::new(seed),
            book: Book::default(),
            copies: Copies::default(),
            past: Past::default(),
            cycle: 0,
            order: Vec::new(),
            samples: 0,
            followers: 0,
        }
    }

    fn begin(&mut self, budget: u64, ranking: &mut Ranking) {
        self.cycle += 1;
        self.book.begin(budget, ranking);
        self.near.begin();
        self.followers = 0;
        self.samples = 0;
        for at in 0..self.order.len() {
            if self.book.left() == 0 {
                break;
            }
            let other = at as u64 + self.random.below((self.order.len() - at) as u64);
            self.order.swap(at, other as usize);
            self.samples += 1;
            let page = self.order[at];
            if self.book.stage(page) == Stage::Free {
                self.book
                    .ask(page, Stage::Sample, SAMPLES - at as u64, ranking);
            }
        }
    }

    /// A sample came back: does it lead to its neighbours?
    fn fires(&mut self, page: PageId, changed: bool) -> bool {
        let probability = match self.trigger {
            Trigger::Always => return true,
            Trigger::Changed => return changed,
            Trigger::History(_) | Trigger::WeightedHistory(_) => {
                1.0 - (-self.past.rate(page, self.cycle, self.trigger)).exp()
            }
            Trigger::PageRank => {
                let level = self.levels.get(page.index()).copied().unwrap_or(0);
                (f64::from(level) + 1.0) / 11.0
            }
        };
        self.random.unit() < probability
    }

    /// Asks for the neighbours of a page, each in place of the last sample.
    fn follow(&mut self, seed: PageId, ranking: &mut Ranking) {
        let book = &self.book;
        let enough = book.left() + self.samples;
        let known = book.page_count();
        let is_free = |page: PageId| {
            page.index() < known && matches!(book.stage(page), Stage::Free | Stage::Sample)
        };
        let mut found = Vec::new();
        self.near
            .gather(seed, enough as usize, &is_free, &mut found);
        for page in found {
            let rank = FOLLOWERS - self.followers;
            if self.book.stage(page) == Stage::Sample {
                self.book.promote(page, rank, ranking);
            } else if self.book.left() > 0 || self.give_up_a_sample(ranking) {
                self.book.ask(page, Stage::Follower, rank, ranking);
            } else {
                return;
            }
            self.followers += 1;
        }
    }

    /// Takes back the last sample that is not on its way. False when there is none.
    fn give_up_a_sample(&mut self, ranking: &mut Ranking) -> bool {
        while self.samples > 0 {
            self.samples -= 1;
            let page = self.order[self.samples as usize];
            if self.book.stage(page) == Stage::Sample && self.book.withdraw(page, ranking) {
                return true;
            }
        }
        false
    }
}

impl Policy for Sampling {
    fn observe(&mut self, event: &Event<'_>, now: Tick, _: &dyn Links, ranking: &mut Ranking) {
        match *event {
            Event::Discovered { page, .. } => {
                self.book.know(page);
                self.copies.know(now);
                self.past.know();
                self.order.push(page);
                return;
            }
            Event::Round { budget, .. } => return self.begin(budget, ranking),
            _ => {}
        }
        let Some(verdict) = self.copies.answer(event, now) else {
            return;
        };
        let stage = self.book.settle(verdict.page, ranking);
        let Some(changed) = verdict.changed else {
            return;
        };
        self.past.learn(verdict.page, self.cycle.max(1), changed);
        if stage == Stage::Sample && self.fires(verdict.page, changed) {
            self.follow(verdict.page, ranking);
        }
    }

    fn chance(&self, page: PageId, _: &Ranking) -> Chance {
        match self.book.stage(page) {
            Stage::Sample => Chance::of(self.book.budget(), self.order.len() as u64),
            Stage::Free | Stage::Follower | Stage::Settled => Chance::CERTAIN,
        }
    }

    fn save(&self, out: &mut dyn io::Write) -> io::Result<()> {
        self.random.save(out)?;
        self.book.save(out)?;
        self.copies.save(out)?;
        self.past.save(out)?;
        self.cycle.save(out)?;
        self.order.save(out)?;
        self.samples.save(out)?;
        self.followers.save(out)
    }

    fn restore(&mut self, saved: &mut dyn io::Read) -> io::Result<()> {
        self.random = Restore::restore(saved)?;
        self.book = Restore::restore(saved)?;
        self.copies = Restore::restore(saved)?;
        self.past = Restore::restore(saved)?;
        self.cycle = Restore::restore(saved)?;
        self.order = Restore::restore(saved)?;
        self.samples = Restore::restore(saved)?;
        self.followers = Restore::restore(saved)?;
        self.near.begin();
        let count = self.book.page_count();
        if self.order.len() != count || self.order.iter().any(|page| page.index() >= count) {
            return Err(corrupt("samples of pages that are not known"));
        }
        if self.samples > count as u64 {
            return Err(corrupt("more samples than pages"));
        }
        Ok(())
    }
}
