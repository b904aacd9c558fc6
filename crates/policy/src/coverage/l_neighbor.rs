//! L-Neighbor: level by level from the trusted pages.
//!
//! A surfer who is not bored for L steps is still within L links of a trusted page, so when all
//! pages within L links are fetched, at least 1−d^(L+1) is covered (Cho and Schonfeld 2007,
//! theorem 1). The slides' loop tests before it downloads and ends one level short; here a level
//! is fetched whole, and the crawl ends after the first whose bound meets the goal.
//!
//! A page that cannot be fetched breaks the theorem for its level and all below: the guarantee
//! stays at the levels above it. An empty level means that everything reachable is in the store.
//!
//! Cost: O(links) per fetch; one byte a page.

use std::io;

use turnstone_frontier::{
    Coverage, Event, Fault, Links, PageId, Policy, Ranking, Restore, Save, Tick, corrupt,
};

use super::{CoveragePolicy, Goal, RETRY_MS, Trust};
use crate::mass::ONE;

/// How far a page has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
enum Stage {
    /// No fetched page links to it.
    Unseen,
    /// It belongs to the next level.
    Next,
    /// It belongs to the current level and has not come back.
    Pending,
    /// It came back, or belongs to a level above.
    Settled,
    /// It can never be fetched, and no level has met it yet.
    Barred,
}

impl Stage {
    fn restored(number: u8) -> io::Result<Self> {
        let stages = [
            Self::Unseen,
            Self::Next,
            Self::Pending,
            Self::Settled,
            Self::Barred,
        ];
        let found = stages.into_iter().find(|stage| *stage as u8 == number);
        found.ok_or_else(|| corrupt("a page at no known stage"))
    }
}

/// The L-Neighbor crawler.
#[derive(Debug)]
pub struct LNeighbor {
    trusted: Vec<PageId>,
    goal: Goal,
    /// By page: how far it has come.
    stages: Vec<Stage>,
    /// Pages of the current level that have not come back.
    pending: u64,
    /// Pages of the next level.
    next: Vec<PageId>,
    guaranteed: u64,
    /// d^(L+1) for the current level L, rounded up: what may be missing when it is complete.
    missing: u64,
    /// What may be missing for ever, once a page of some level could not be fetched.
    blocked: Option<u64>,
}

impl LNeighbor {
    /// A crawler that trusts these pages.
    pub fn new(trust: &Trust, goal: Goal) -> Self {
        Self {
            trusted: trust.masses().iter().map(|(page, _)| *page).collect(),
            goal,
            stages: Vec::new(),
            pending: 0,
            next: Vec::new(),
            guaranteed: 0,
            missing: goal.damping.of_rounded_up(ONE),
            blocked: None,
        }
    }

    /// A page of the current level links here.
    fn see(&mut self, page: PageId) {
        match self.stages[page.index()] {
            Stage::Unseen => self.stages[page.index()] = Stage::Next,
            // It stays barred, and blocks the level it turns out to belong to.
            Stage::Barred => {}
            Stage::Next | Stage::Pending | Stage::Settled => return,
        }
        self.next.push(page);
    }

    /// A page joins the current level.
    fn join(&mut self, page: PageId, ranking: &mut Ranking) {
        if self.stages[page.index()] == Stage::Barred {
            self.block(page);
        } else {
            self.stages[page.index()] = Stage::Pending;
            self.pending += 1;
            // One rank for all: within a level the order is by id.
            ranking.set(page, 1);
        }
    }

    /// A page of the current level will never come: only the levels above it are complete.
    fn block(&mut self, page: PageId) {
        self.stages[page.index()] = Stage::Settled;
        self.blocked.get_or_insert(ONE - self.guaranteed);
    }

    /// A page of the current level is settled; perhaps the level is.
    fn settle(&mut self, page: PageId, ranking: &mut Ranking) {
        assert_eq!(
            self.stages[page.index()],
            Stage::Pending,
            "page {page} was not asked for"
        );
        self.stages[page.index()] = Stage::Settled;
        self.pending -= 1;
        while self.pending == 0 && !self.finish_level() {
            self.missing = self.goal.damping.of_rounded_up(self.missing);
            for page in std::mem::take(&mut self.next) {
                self.join(page, ranking);
            }
        }
    }

    /// The current level is complete. Returns whether that ends the crawl.
    fn finish_level(&mut self) -> bool {
        let all_reachable = self.next.is_empty() && self.blocked.is_none();
        let missing = if all_reachable { 0 } else { self.missing };
        self.guaranteed = ONE - missing.max(self.blocked.unwrap_or(0));
        self.guaranteed >= self.goal.mass() || self.next.is_empty()
    }
}

impl Policy for LNeighbor {
    fn observe(&mut self, event: &Event<'_>, now: Tick, _: &dyn Links, ranking: &mut Ranking) {
        match *event {
            Event::Discovered { page, .. } => {
                self.stages.push(Stage::Unseen);
                if self.trusted.binary_search(&page).is_ok() {
                    self.join(page, ranking);
                }
            }
            Event::Fetched { page, links, .. } => {
                ranking.take(page);
                for &link in links {
                    self.see(link);
                }
                self.settle(page, ranking);
            }
            Event::Failed {
                page,
                fault: Fault::Gone | Fault::Refused,
            } => {
                ranking.take(page);
                match self.stages[page.index()] {
                    Stage::Pending => {
                        self.blocked.get_or_insert(ONE - self.guaranteed);
                        self.settle(page, ranking);
                    }
                    Stage::Unseen | Stage::Next => self.stages[page.index()] = Stage::Barred,
                    Stage::Settled | Stage::Barred => {}
                }
            }
            Event::Failed {
                page,
                fault: Fault::Unknown,
            } => {
                ranking.defer(page, now.plus(RETRY_MS));
            }
            Event::Failed {
                page,
                fault: Fault::Lost,
            } => ranking.queue(page),
            Event::Moved { page, to } => {
                // The page it stands for belongs to the same level.
                ranking.take(page);
                match self.stages[to.index()] {
                    Stage::Unseen | Stage::Barred => self.join(to, ranking),
                    Stage::Next => {
                        self.next.retain(|next| *next != to);
                        self.join(to, ranking);
                    }
                    Stage::Pending | Stage::Settled => {}
                }
                self.settle(page, ranking);
            }
            Event::Held { .. }
            | Event::Hinted { .. }
            | Event::Guessed { .. }
            | Event::Round { .. } => {}
        }
    }

    fn coverage(&self) -> Option<Coverage> {
        Some(Coverage {
            guaranteed: self.guaranteed,
            stuck: self.blocked.unwrap_or(0),
            goal: self.goal.mass(),
        })
    }

    fn save(&self, out: &mut dyn io::Write) -> io::Result<()> {
        self.stages
            .iter()
            .map(|stage| *stage as u8)
            .collect::<Vec<u8>>()
            .save(out)?;
        self.pending.save(out)?;
        self.next.save(out)?;
        self.guaranteed.save(out)?;
        self.missing.save(out)?;
        self.blocked.save(out)
    }

    fn restore(&mut self, saved: &mut dyn io::Read) -> io::Result<()> {
        let stages: Vec<u8> = Restore::restore(saved)?;
        self.stages = stages
            .into_iter()
            .map(Stage::restored)
            .collect::<io::Result<_>>()?;
        self.pending = Restore::restore(saved)?;
        self.next = Restore::restore(saved)?;
        self.guaranteed = Restore::restore(saved)?;
        self.missing = Restore::restore(saved)?;
        self.blocked = Restore::restore(saved)?;
        if self
            .next
            .iter()
            .any(|page| page.index() >= self.stages.len())
        {
            return Err(corrupt("a level with a page that is not known"));
        }
        Ok(())
    }
}

impl CoveragePolicy for LNeighbor {
    fn pushes(&self) -> u64 {
        0
    }
}
