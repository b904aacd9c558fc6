//! The book of one cycle: which pages were asked for, and how much may still be spent.
//!
//! Every policy of this question asks through the book, so two promises are kept in one place: a
//! cycle never asks for more pages than its budget, and never for a page twice. A request is spent
//! when it is asked for; a page may be taken back only while it is still queued.
//!
//! Cost: O(log pages) per page asked for; 1 byte a page.

use std::io;

use turnstone_frontier::{PageId, Rank, Ranking, Restore, Save, corrupt};

/// What a page is in this cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Stage {
    /// Not asked for.
    Free,
    /// Asked for as a sample: its answer may lead to its neighbours.
    Sample,
    /// Asked for because of another page.
    Follower,
    /// Answered.
    Settled,
}

impl Stage {
    fn restored(byte: u8) -> io::Result<Self> {
        Ok(match byte {
            0 => Self::Free,
            1 => Self::Sample,
            2 => Self::Follower,
            3 => Self::Settled,
            _ => return Err(corrupt("a page in no stage of a cycle")),
        })
    }
}

/// What was asked for in this cycle.
#[derive(Debug, Default)]
pub(super) struct Book {
    /// By page.
    stages: Vec<Stage>,
    /// Pages that were asked for in this cycle, some of them taken back since.
    asked: Vec<PageId>,
    budget: u64,
    used: u64,
}

impl Book {
    /// A page was discovered.
    pub(super) fn know(&mut self, page: PageId) {
        assert_eq!(page.index(), self.stages.len(), "page ids are dense");
        self.stages.push(Stage::Free);
    }

    /// How many pages are known.
    pub(super) fn page_count(&self) -> usize {
        self.stages.len()
    }

    /// A new cycle. Pages of the last one that were not handed out are forgotten; those still in
    /// flight are paid for from the new budget, so that none is asked for twice.
    pub(super) fn begin(&mut self, budget: u64, ranking: &mut Ranking) {
        self.budget = budget;
        self.used = 0;
        for page in std::mem::take(&mut self.asked) {
            let stage = &mut self.stages[page.index()];
            let waiting = matches!(*stage, Stage::Sample | Stage::Follower);
            if waiting && in_flight(page, ranking) {
                *stage = Stage::Follower;
                self.asked.push(page);
                self.used += 1;
                continue;
            }
            *stage = Stage::Free;
            if waiting {
                ranking.take(page);
            }
        }
    }

    /// How many more pages may be asked for.
    pub(super) fn left(&self) -> u64 {
        self.budget.saturating_sub(self.used)
    }

    /// How many pages the cycle may ask for.
    pub(super) fn budget(&self) -> u64 {
        self.budget
    }

    /// How many pages were asked for in this cycle so far, those taken back included.
    pub(super) fn asked(&self) -> u64 {
        self.asked.len() as u64
    }

    /// What a page is in this cycle.
    #[inline]
    pub(super) fn stage(&self, page: PageId) -> Stage {
        self.stages[page.index()]
    }

    /// Asks for a free page. The caller has looked that something is left.
    pub(super) fn ask(&mut self, page: PageId, stage: Stage, rank: Rank, ranking: &mut Ranking) {
        assert!(self.used < self.budget, "a cycle spends its budget at most");
        assert_eq!(
            self.stage(page),
            Stage::Free,
            "page {page} is asked for once a cycle"
        );
        self.stages[page.index()] = stage;
        self.asked.push(page);
        self.used += 1;
        ranking.set(page, rank);
    }

    /// A sample becomes a follower at another rank, unless it is on its way already.
    pub(super) fn promote(&mut self, page: PageId, rank: Rank, ranking: &mut Ranking) {
        if self.stage(page) == Stage::Sample && !in_flight(page, ranking) {
            self.stages[page.index()] = Stage::Follower;
            ranking.set(page, rank);
        }
    }

    /// Takes a page back that was asked for. False when it is on its way already.
    pub(super) fn withdraw(&mut self, page: PageId, ranking: &mut Ranking) -> bool {
        if in_flight(page, ranking) {
            return false;
        }
        self.stages[page.index()] = Stage::Free;
        self.used -= 1;
        ranking.take(page);
        true
    }

    /// The page was answered. Returns what it had been.
    pub(super) fn settle(&mut self, page: PageId, ranking: &mut Ranking) -> Stage {
        ranking.take(page);
        let before = self.stage(page);
        if before == Stage::Free {
            // Fetched for another reason than ours: not spent, but not to be asked for again.
            self.asked.push(page);
        }
        self.stages[page.index()] = Stage::Settled;
        before
    }
}

/// Whether the page was handed out and has not come back.
fn in_flight(page: PageId, ranking: &Ranking) -> bool {
    ranking.in_flight_count() > 0 && ranking.in_flight().any(|other| other == page)
}

impl Save for Book {
    fn save(&self, out: &mut dyn io::Write) -> io::Result<()> {
        let stages: Vec<u8> = self.stages.iter().map(|stage| *stage as u8).collect();
        stages.save(out)?;
        self.asked.save(out)?;
        self.budget.save(out)?;
        self.used.save(out)
    }
}

impl Restore for Book {
    fn restore(from: &mut dyn io::Read) -> io::Result<Self> {
        let stages: Vec<u8> = Restore::restore(from)?;
        let stages: io::Result<Vec<Stage>> = stages.into_iter().map(Stage::restored).collect();
        let book = Self {
            stages: stages?,
            asked: Restore::restore(from)?,
            budget: Restore::restore(from)?,
            used: Restore::restore(from)?,
        };
        let unknown = |page: &PageId| page.index() >= book.stages.len();
        if book.asked.iter().any(unknown) || book.used > book.budget.max(book.asked.len() as u64) {
            return Err(corrupt("a cycle that does not add up"));
        }
        Ok(book)
    }
}
