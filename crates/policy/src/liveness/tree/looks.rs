//! Looks: pages drawn at random among those without a verdict, so that it can be told how many are alive.
//!
//! What the tree chooses says nothing of what it passes over. Half the square root of the
//! number of tests, as the default has it, is drawn on top: 50 looks in 10,000 requests. Once
//! the best page there is is more likely gone than alive, a look costs hardly more than what the tree
//! would ask, and one test in eight is one.
//!
//! Cost: O(1) a draw while most pages are untested, O(pages/untested) after; 48 bytes a look.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;

use turnstone_frontier::{Chance, PageId, Random, Restore, Save, corrupt};

use super::super::draws::{Draw, Guesser};
use super::super::estimate::AliveEstimate;
use super::super::survey::{Fate, Survey, Tally};

/// The largest number of looks for each square root.
pub(in super::super) const LOOKS_MAX: f64 = 100.0;

/// When looks are cheap, one test in so many is one.
const CHEAP_EVERY: u64 = 8;

/// A page that was drawn and has not come back.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    page: PageId,
    draw: Draw,
    verdict: Option<Fate>,
}

/// The draws of a survey.
#[derive(Debug)]
pub(super) struct Looks {
    /// How many for each square root of the number of tests; 0 for none.
    often: f64,
    pages: u64,
    /// How many tests there may be.
    planned: u64,
    random: Random,
    /// How many were drawn, and how many tests there had been at the last.
    drawn: u64,
    last: u64,
    guesser: Guesser,
    /// In the order they were drawn.
    waiting: VecDeque<Waiting>,
    /// Those that came back, and all before them did.
    back: Arc<Vec<Draw>>,
}

impl Looks {
    pub(super) fn new(often: f64, pages: u64, seed: u64) -> Self {
        Self {
            often,
            pages,
            planned: pages,
            // Not the numbers that samples are drawn with.
            random: Random::new(seed ^ 0x6c6f_6f6b_6c6f_6f6b),
            drawn: 0,
            last: 0,
            guesser: Guesser::default(),
            waiting: VecDeque::new(),
            back: Arc::new(Vec::new()),
        }
    }

    /// Whether anything is ever drawn.
    pub(super) fn wanted(&self) -> bool {
        self.often > 0.0
    }

    /// So many requests may be spent.
    pub(super) fn plan(&mut self, budget: u64) {
        self.planned = self.pages.min(budget);
    }

    /// The next page to draw, if one is due. `cheap`: whether nothing better is known.
    pub(super) fn draw(&mut self, known: Tally, survey: &Survey, cheap: bool) -> Option<PageId> {
        let left = self.pages - survey.settled();
        let tests = known.tested();
        if !self.wanted() || left == 0 || !self.is_due(tests, cheap) {
            return None;
        }
        let page = loop {
            let page = PageId::from_index(self.random.below(self.pages) as usize);
            if survey.is_untested(page) {
                break page;
            }
        };
        let draw = Draw {
            found: known.alive,
            left,
            guess: self.guesser.guess(known.alive, left),
            is_alive: false,
        };
        (self.drawn, self.last) = (self.drawn + 1, tests);
        self.waiting.push_back(Waiting {
            page,
            draw,
            verdict: None,
        });
        Some(page)
    }

    fn is_due(&self, tests: u64, cheap: bool) -> bool {
        let (drawn, often) = (self.drawn as f64, self.often);
        drawn * drawn < often * often * tests as f64 || (cheap && tests >= self.last + CHEAP_EVERY)
    }

    /// A page has its verdict.
    pub(super) fn answered(&mut self, page: PageId, verdict: Fate) {
        for waiting in &mut self.waiting {
            if waiting.page == page {
                waiting.verdict = Some(verdict);
            }
        }
        // Draws count in the order they were made: which of them comes back first may depend on
        // whether it is alive.
        while let Some(Waiting { draw, verdict, .. }) = self.waiting.front().copied() {
            let is_alive = match verdict {
                None => return,
                Some(Fate::Alive) => Some(true),
                Some(Fate::Gone) => Some(false),
                // Neither alive nor gone: it tells nothing.
                Some(Fate::Undecided | Fate::Untested) => None,
            };
            self.waiting.pop_front();
            if let Some(is_alive) = is_alive {
                let draw = Draw { is_alive, ..draw };
                self.guesser.learn(&draw);
                Arc::make_mut(&mut self.back).push(draw);
            }
        }
    }

    /// How many came back.
    pub(super) fn back(&self) -> usize {
        self.back.len()
    }

    /// How many of them alive and gone.
    pub(super) fn tally(&self) -> Tally {
        let alive = self.back.iter().filter(|draw| draw.is_alive).count() as u64;
        Tally {
            alive,
            gone: self.back.len() as u64 - alive,
        }
    }

    /// How many pages are alive.
    pub(super) fn estimate(&self, known: Tally, pages: u64) -> Option<AliveEstimate> {
        AliveEstimate::of_draws(pages, known, &self.back)
    }

    /// The chance with which a page is drawn in a survey that spends what was planned.
    pub(super) fn chance(&self) -> Chance {
        let looks = self.often * (self.planned as f64).sqrt();
        Chance::near(looks / self.pages as f64)
    }
}

impl Save for Looks {
    fn save(&self, out: &mut dyn io::Write) -> io::Result<()> {
        self.planned.save(out)?;
        self.random.save(out)?;
        (self.drawn, self.last).save(out)?;
        self.guesser.parts().save(out)?;
        let waiting = self.waiting.iter().map(|waiting| {
            let verdict = waiting.verdict.map_or(u8::MAX, |verdict| verdict as u8);
            ((waiting.page, verdict), parts(&waiting.draw))
        });
        waiting.collect::<Vec<_>>().save(out)?;
        self.back.iter().map(parts).collect::<Vec<_>>().save(out)
    }
}

type Parts = ((u64, u64), (f64, bool));

fn parts(draw: &Draw) -> Parts {
    ((draw.found, draw.left), (draw.guess, draw.is_alive))
}

fn of_parts(((found, left), (guess, is_alive)): Parts) -> io::Result<Draw> {
    if left == 0 || !(guess > 0.0 && guess < 1.0) {
        return Err(corrupt("a draw from nothing"));
    }
    Ok(Draw {
        found,
        left,
        guess,
        is_alive,
    })
}

impl Looks {
    /// Takes back what was saved.
    pub(super) fn restore(&mut self, from: &mut dyn io::Read) -> io::Result<()> {
        self.planned = Restore::restore(from)?;
        self.random = Restore::restore(from)?;
        (self.drawn, self.last) = Restore::restore(from)?;
        self.guesser = Guesser::of_parts(Restore::restore(from)?);
        let waiting: Vec<((PageId, u8), Parts)> = Restore::restore(from)?;
        self.waiting.clear();
        for ((page, verdict), draw) in waiting {
            let verdict = match verdict {
                u8::MAX => None,
                verdict => Some(Fate::restored(verdict)?),
            };
            let draw = of_parts(draw)?;
            self.waiting.push_back(Waiting {
                page,
                draw,
                verdict,
            });
        }
        let back: Vec<Parts> = Restore::restore(from)?;
        let back: io::Result<Vec<Draw>> = back.into_iter().map(of_parts).collect();
        self.back = Arc::new(back?);
        Ok(())
    }
}
