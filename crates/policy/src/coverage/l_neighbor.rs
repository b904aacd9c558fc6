//! L-Neighbor: level by level from the trusted pages.
//!
//! A surfer who is not bored for L steps is still within L links of a trusted page, so when all
//! pages within L links are fetched, at least 1−d^(L+1) is covered (Cho and Schonfeld 2007,
//! theorem 1). The slides' loop tests before it downloads and ends one level short; here a level
//! is fetched whole, and the crawl ends after the first whose bound meets the goal. An empty level
//! means that everything reachable is in the store.
//!
//! A dead page is as if it were not there: the theorem holds for the web without it, so its level
//! can be complete. With `gone=count` it breaks the theorem for its level and all below, and the
//! guarantee stays at the levels above. So it does below a page some of whose links nobody saw.
//!
//! Levels say nothing about where mass surely lies, so no more is said about what is missing than
//! that it may be nothing: what is possible is always all. And a level does not tell which of its
//! pages depend on which: where a stored page comes back with other links, a redirect leads
//! elsewhere or a dead page is there after all, nothing is claimed until the levels were read anew.
//!
//! Cost: O(links) per fetch; one byte and three bits a page. Levels are read anew, O(links of
//! stored pages), at most once in a sixteenth as many events as pages are stored.

use std::collections::BTreeMap;
use std::io;

use turnstone_frontier::{
    Change, Coverage, Event, Fault, Links, PageId, Place, Policy, Proof, Ranking, Report, Restore,
    Save, Tick, corrupt,
};

use super::correction::Moments;
use super::fates::{Fate, Fates};
use super::{CoveragePolicy, Goal, Gone, RETRY_MS, Trust};
use crate::mass::ONE;

/// Where a page stands among the levels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
enum Stage {
    /// No page of the levels so far links to it.
    Unseen,
    /// It belongs to the next level.
    Next,
    /// It belongs to the current level and has not come back.
    Pending,
    /// It came back, or belongs to a level above.
    Settled,
}

impl Stage {
    fn restored(number: u8) -> io::Result<Self> {
        let stages = [Self::Unseen, Self::Next, Self::Pending, Self::Settled];
        let found = stages.into_iter().find(|stage| *stage as u8 == number);
        found.ok_or_else(|| corrupt("a page at no known stage"))
    }
}

/// The L-Neighbor crawler.
#[derive(Debug)]
pub struct LNeighbor {
    trusted: Vec<PageId>,
    goal: Goal,
    gone: Gone,
    fates: Fates,
    /// How many links of a page were not seen.
    unseen_links: BTreeMap<PageId, u64>,
    /// What was told of the page that is told of next.
    foretold: Option<(PageId, u64)>,
    moments: Moments,
    /// Whether the levels may be wrong.
    stale: bool,
    levels: Levels,
}

/// The levels so far.
#[derive(Debug)]
struct Levels {
    /// By page: how far it has come.
    stages: Vec<Stage>,
    /// Pages of the current level that have not come back, or trusted pages not yet discovered.
    pending: u64,
    /// Pages of the next level.
    next: Vec<PageId>,
    /// Whether any page of a level is stored.
    found: bool,
    guaranteed: u64,
    /// d^(L+1) for the current level L, rounded up: what may be missing when it is complete.
    missing: u64,
    /// What may be missing for ever.
    blocked: u64,
}

impl LNeighbor {
    /// A crawler that trusts these pages.
    pub fn new(trust: &Trust, goal: Goal) -> Self {
        let trusted: Vec<PageId> = trust.masses().iter().map(|(page, _)| *page).collect();
        Self {
            goal,
            gone: Gone::Skip,
            fates: Fates::default(),
            unseen_links: BTreeMap::new(),
            foretold: None,
            moments: Moments::default(),
            stale: false,
            levels: Levels {
                stages: Vec::new(),
                pending: trusted.len() as u64,
                next: Vec::new(),
                found: false,
                guaranteed: 0,
                missing: goal.damping.of_rounded_up(ONE),
                blocked: 0,
            },
            trusted,
        }
    }

    /// The same crawler with another view of links to dead pages.
    #[must_use]
    pub fn with_gone(mut self, gone: Gone) -> Self {
        self.gone = gone;
        self
    }

    fn stage(&self, page: PageId) -> Stage {
        self.levels.stages[page.index()]
    }

    /// A page joins the current level. What is known of it already counts at once.
    fn join(&mut self, page: PageId, links: &dyn Links, ranking: &mut Ranking) {
        // It may stand for another, which then joins too.
        let mut joining = Some(page);
        while let Some(page) = joining {
            match self.stage(page) {
                Stage::Pending | Stage::Settled => return,
                Stage::Next => self.levels.next.retain(|next| *next != page),
                Stage::Unseen => {}
            }
            self.levels.stages[page.index()] = Stage::Settled;
            match self.fates.of(page) {
                Fate::Open => {
                    self.levels.stages[page.index()] = Stage::Pending;
                    self.levels.pending += 1;
                    // One rank for all: within a level the order is by id.
                    return ranking.set(page, 1);
                }
                Fate::Stored => {
                    let mut buffer = Vec::new();
                    return self.found(page, links.links_of(page, &mut buffer));
                }
                Fate::Dead => return self.missed(),
                Fate::Moved => joining = self.fates.next(page),
            }
        }
    }

    /// A page of the current level is in the store.
    fn found(&mut self, page: PageId, links: &[PageId]) {
        self.levels.found = true;
        if self.unseen_links.contains_key(&page) {
            self.levels.blocked = self.levels.blocked.max(self.levels.missing);
        }
        for &link in links {
            if self.stage(link) == Stage::Unseen {
                self.levels.stages[link.index()] = Stage::Next;
                self.levels.next.push(link);
            }
        }
    }

    /// A page of the current level will never come. Where that counts, only the levels above it
    /// are complete.
    fn missed(&mut self) {
        if self.gone == Gone::Count {
            let above = ONE - self.levels.guaranteed;
            self.levels.blocked = self.levels.blocked.max(above);
        }
    }

    /// A page of the current level has come back. Perhaps the level is complete, and the next.
    fn settle(&mut self, page: PageId, links: &dyn Links, ranking: &mut Ranking) {
        self.levels.stages[page.index()] = Stage::Settled;
        self.levels.pending -= 1;
        self.go_on(links, ranking);
    }

    fn go_on(&mut self, links: &dyn Links, ranking: &mut Ranking) {
        while self.levels.pending == 0 && !self.finish_level() {
            self.levels.missing = self.goal.damping.of_rounded_up(self.levels.missing);
            for page in std::mem::take(&mut self.levels.next) {
                // Not if it has joined already, because another page stands for it.
                if self.stage(page) == Stage::Next {
                    self.levels.stages[page.index()] = Stage::Unseen;
                    self.join(page, links, ranking);
                }
            }
        }
    }

    /// The current level is complete. Returns whether that ends the crawl.
    fn finish_level(&mut self) -> bool {
        let levels = &mut self.levels;
        if !levels.found {
            // No trusted page is there.
            levels.blocked = ONE;
        }
        let all_reachable = levels.next.is_empty() && levels.blocked == 0;
        let missing = if all_reachable { 0 } else { levels.missing };
        levels.guaranteed = ONE - missing.max(levels.blocked);
        levels.guaranteed >= self.goal.mass() || levels.next.is_empty()
    }

    /// Reads the levels anew, when they may be wrong and it is time.
    fn catch_up(&mut self, links: &dyn Links, ranking: &mut Ranking) {
        let stored = self.fates.stored_count();
        self.moments.pay(stored);
        let is_time = self.levels.pending == 0 || self.moments.rested(stored);
        let known = self.levels.stages.len();
        let all_known = self.trusted.last().is_none_or(|page| page.index() < known);
        if !(self.stale && all_known && is_time && self.moments.can_pay(stored)) {
            return;
        }
        self.moments.spend(stored, 1);
        self.stale = false;
        for page in (0..known).map(PageId::from_index) {
            if ranking.place(page) == Place::Queued {
                ranking.take(page);
            }
        }
        self.levels.stages.fill(Stage::Unseen);
        self.levels.next.clear();
        self.levels.found = false;
        self.levels.guaranteed = 0;
        self.levels.missing = self.goal.damping.of_rounded_up(ONE);
        self.levels.blocked = 0;
        self.levels.pending = 0;
        for page in self.trusted.clone() {
            self.join(page, links, ranking);
        }
        self.go_on(links, ranking);
    }

    fn fetched(
        &mut self,
        page: PageId,
        change: Change,
        (own, links): (&[PageId], &dyn Links),
        ranking: &mut Ranking,
    ) {
        ranking.take(page);
        let unseen = match self.foretold.take() {
            Some((about, links)) if about == page => links,
            _ => 0,
        };
        let before = match unseen {
            0 => self.unseen_links.remove(&page),
            _ => self.unseen_links.insert(page, unseen),
        };
        let is_same = change == Change::Unchanged && before.unwrap_or(0) == unseen;
        let is_news = !is_same || self.fates.of(page) != Fate::Stored;
        self.stale |= is_news && self.stage(page) == Stage::Settled;
        self.fates.store(page, self.levels.stages.len());
        if self.stage(page) == Stage::Pending {
            self.found(page, own);
            self.settle(page, links, ranking);
        }
    }

    fn died(&mut self, page: PageId, links: &dyn Links, ranking: &mut Ranking) {
        ranking.take(page);
        let fate = self.fates.of(page);
        if matches!(fate, Fate::Stored | Fate::Dead) {
            return;
        }
        self.fates.die(page, false);
        match self.stage(page) {
            Stage::Pending => {
                self.missed();
                self.settle(page, links, ranking);
            }
            // It was a redirect: perhaps the one to all that is trusted.
            Stage::Settled => self.stale = true,
            Stage::Unseen | Stage::Next => {}
        }
    }

    fn moved(&mut self, page: PageId, to: PageId, links: &dyn Links, ranking: &mut Ranking) {
        if self.fates.leads_through(to, page) {
            return self.died(page, links, ranking);
        }
        ranking.take(page);
        let is_news = self.fates.next(page) != Some(to);
        self.stale |= is_news && self.stage(page) == Stage::Settled;
        self.unseen_links.remove(&page);
        self.fates.move_on(page, to, self.levels.stages.len());
        if self.stage(page) == Stage::Pending {
            // The page it stands for belongs to the same level.
            self.join(to, links, ranking);
            self.settle(page, links, ranking);
        }
    }
}

impl Policy for LNeighbor {
    fn observe(&mut self, event: &Event<'_>, now: Tick, links: &dyn Links, ranking: &mut Ranking) {
        match *event {
            Event::Discovered { page, .. } => {
                self.levels.stages.push(Stage::Unseen);
                if self.trusted.binary_search(&page).is_ok() {
                    self.levels.pending -= 1;
                    self.join(page, links, ranking);
                }
                return;
            }
            Event::Unseen { page, links } => {
                self.foretold = Some((page, links));
                return;
            }
            Event::Fetched {
                page,
                change,
                links: own,
            } => self.fetched(page, change, (own, links), ranking),
            Event::Failed { page, fault } => match fault {
                Fault::Gone | Fault::Refused => self.died(page, links, ranking),
                Fault::Unknown if self.fates.of(page) == Fate::Open => {
                    ranking.defer(page, now.plus(RETRY_MS));
                }
                // Of a page that came once before, this is no news.
                Fault::Unknown => {
                    ranking.take(page);
                }
                Fault::Lost => ranking.queue(page),
            },
            Event::Moved { page, to } => self.moved(page, to, links, ranking),
            Event::Held { .. }
            | Event::Hinted { .. }
            | Event::Crossed(_)
            | Event::Guessed { .. }
            | Event::Round { .. } => return,
        }
        self.catch_up(links, ranking);
    }

    fn report(&self) -> Report<'_> {
        Report {
            proof: Some(self),
            ..Report::default()
        }
    }

    fn save(&self, out: &mut dyn io::Write) -> io::Result<()> {
        self.fates.save(out)?;
        self.unseen_links.save(out)?;
        self.foretold.save(out)?;
        self.moments.save(out)?;
        self.stale.save(out)?;
        let levels = &self.levels;
        let stages = levels.stages.iter().map(|stage| *stage as u8);
        stages.collect::<Vec<u8>>().save(out)?;
        levels.next.save(out)?;
        levels.found.save(out)?;
        let numbers = [
            levels.pending,
            levels.guaranteed,
            levels.missing,
            levels.blocked,
        ];
        numbers.iter().try_for_each(|number| number.save(out))
    }

    fn restore(&mut self, saved: &mut dyn io::Read) -> io::Result<()> {
        self.fates = Restore::restore(saved)?;
        self.unseen_links = Restore::restore(saved)?;
        self.foretold = Restore::restore(saved)?;
        self.moments = Restore::restore(saved)?;
        self.stale = Restore::restore(saved)?;
        let stages: Vec<u8> = Restore::restore(saved)?;
        let levels = &mut self.levels;
        levels.stages = stages
            .into_iter()
            .map(Stage::restored)
            .collect::<io::Result<_>>()?;
        levels.next = Restore::restore(saved)?;
        levels.found = Restore::restore(saved)?;
        levels.pending = Restore::restore(saved)?;
        levels.guaranteed = Restore::restore(saved)?;
        levels.missing = Restore::restore(saved)?;
        levels.blocked = Restore::restore(saved)?;
        let known = levels.stages.len();
        if levels.next.iter().any(|page| page.index() >= known) {
            return Err(corrupt("a level with a page that is not known"));
        }
        Ok(())
    }
}

impl Proof for LNeighbor {
    fn coverage(&self) -> Coverage {
        let sure = |mass: u64| if self.stale { 0 } else { mass };
        Coverage {
            guaranteed: sure(self.levels.guaranteed),
            certified: None,
            possible: ONE,
            stuck: sure(self.levels.blocked),
            goal: self.goal.mass(),
        }
    }
}

impl CoveragePolicy for LNeighbor {
    fn pushes(&self) -> u64 {
        0
    }
}
