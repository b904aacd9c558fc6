//! Explore: a share of each round goes to pages drawn at random, whatever the policy inside thinks.
//!
//! What a policy never asks for, its record never tells of. Some pages drawn uniformly from all that
//! could be asked for, with the chance logged, make the record tell of all of them: each stands for
//! one over its chance.
//!
//! At the start of a round of budget B, the share of B is drawn without replacement from the N
//! candidates; the policy inside has the rest of the budget. A drawn page that the policy inside
//! asks for anyway counts as its own: it was certain. Every other drawn page was drawn with chance
//! (share of B)/N, exactly, as long as the policy inside does not come to ask for it later in the
//! round because of another answer; then it was likelier than that. A page that the policy inside drew
//! could have been drawn either way, and its chance says so.
//!
//! Cost: O(pages) a round; 1 byte a page. Invariant: inside and drawn pages together are no more than
//! the budget.

use std::collections::BTreeSet;
use std::io;

use turnstone_frontier::{
    Chance, Event, Fault, Links, PageId, Place, Policy, Random, Ranking, Report, Restore, Save,
    Tick, corrupt,
};

/// Which pages can be drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Among {
    /// All that are announced.
    Known,
    /// Those that were fetched and are there.
    Fetched,
}

/// A policy that leaves a share of each round to chance.
#[derive(Debug)]
pub struct Explore<P> {
    inner: P,
    share: f64,
    among: Among,
    random: Random,
    /// By page: whether it can be drawn.
    candidates: Vec<bool>,
    /// Drawn in this round and not yet come back.
    drawn: BTreeSet<PageId>,
    /// How many were drawn, of how many.
    odds: (u64, u64),
}

impl<P: Policy> Explore<P> {
    /// A share from 0 to 1 of each round is drawn at random.
    pub fn new(inner: P, share: f64, among: Among, seed: u64) -> Self {
        assert!((0.0..=1.0).contains(&share), "a share is from 0 to 1");
        Self {
            inner,
            share,
            among,
            // Not the numbers that the policy inside draws.
            random: Random::new(seed ^ 0x9e37_79b9_7f4a_7c15),
            candidates: Vec::new(),
            drawn: BTreeSet::new(),
            odds: (0, 1),
        }
    }

    /// Draws this round's pages. Returns how many.
    fn draw(&mut self, budget: u64) -> u64 {
        let all = self.candidates.iter().enumerate();
        let all = all.filter(|(_, candidate)| **candidate);
        let mut pages: Vec<PageId> = all.map(|(index, _)| PageId::from_index(index)).collect();
        let wanted = (self.share * budget as f64).round() as u64;
        let wanted = wanted.min(budget).min(pages.len() as u64);
        for place in 0..wanted as usize {
            let left = (pages.len() - place) as u64;
            pages.swap(place, place + self.random.below(left) as usize);
        }
        self.odds = (wanted, (pages.len() as u64).max(1));
        pages.truncate(wanted as usize);
        self.drawn = pages.into_iter().collect();
        wanted
    }

    fn begin(
        &mut self,
        (round, budget): (u32, u64),
        now: Tick,
        links: &dyn Links,
        ranking: &mut Ranking,
    ) {
        for page in std::mem::take(&mut self.drawn) {
            if ranking.place(page) == Place::Queued {
                ranking.take(page);
            }
        }
        let drawn = self.draw(budget);
        let event = Event::Round {
            round,
            budget: budget - drawn,
        };
        self.inner.observe(&event, now, links, ranking);
        // What the policy inside asks for is its own.
        self.drawn
            .retain(|page| ranking.place(*page) == Place::Absent);
        for page in &self.drawn {
            ranking.set(*page, 1);
        }
    }

    fn settle(&mut self, event: &Event<'_>, ranking: &mut Ranking) {
        let (page, is_there) = match *event {
            Event::Discovered { .. } => {
                self.candidates.push(self.among == Among::Known);
                return;
            }
            Event::Fetched { page, .. } => (page, Some(true)),
            Event::Moved { page, .. }
            | Event::Failed {
                page,
                fault: Fault::Gone | Fault::Refused,
            } => (page, Some(false)),
            Event::Failed {
                page,
                fault: Fault::Unknown,
            } => (page, None),
            Event::Failed {
                fault: Fault::Lost, ..
            }
            | Event::Held { .. }
            | Event::Unseen { .. }
            | Event::Hinted { .. }
            | Event::Crossed(_)
            | Event::Guessed { .. }
            | Event::Round { .. } => return,
        };
        if let (Among::Fetched, Some(is_there)) = (self.among, is_there) {
            self.candidates[page.index()] = is_there;
        }
        if self.drawn.remove(&page) && ranking.place(page) == Place::Queued {
            ranking.take(page);
        }
    }
}

impl<P: Policy> Policy for Explore<P> {
    fn observe(&mut self, event: &Event<'_>, now: Tick, links: &dyn Links, ranking: &mut Ranking) {
        match *event {
            // A round without limit asks for everything: there is nothing to draw.
            Event::Round { round, budget } if budget < u64::MAX => {
                self.begin((round, budget), now, links, ranking);
            }
            _ => {
                self.inner.observe(event, now, links, ranking);
                self.settle(event, ranking);
            }
        }
    }

    fn report(&self) -> Report<'_> {
        self.inner.report()
    }

    fn chance(&self, page: PageId, ranking: &Ranking) -> Chance {
        let drawn = Chance::of(self.odds.0, self.odds.1);
        if self.drawn.contains(&page) {
            return drawn;
        }
        match self.inner.chance(page, ranking) {
            Chance::CERTAIN => Chance::CERTAIN,
            // The policy inside drew it; we might have.
            inner if self.odds.0 > 0 => {
                let missed = (1.0 - inner.number()) * (1.0 - drawn.number());
                Chance::near(1.0 - missed)
            }
            inner => inner,
        }
    }

    fn save(&self, out: &mut dyn io::Write) -> io::Result<()> {
        self.random.save(out)?;
        self.candidates.save(out)?;
        self.drawn.iter().copied().collect::<Vec<_>>().save(out)?;
        self.odds.save(out)?;
        self.inner.save(out)
    }

    fn restore(&mut self, saved: &mut dyn io::Read) -> io::Result<()> {
        self.random = Restore::restore(saved)?;
        self.candidates = Restore::restore(saved)?;
        let drawn: Vec<PageId> = Restore::restore(saved)?;
        if drawn
            .iter()
            .any(|page| page.index() >= self.candidates.len())
        {
            return Err(corrupt("a page was drawn that is not known"));
        }
        self.drawn = drawn.into_iter().collect();
        self.odds = Restore::restore(saved)?;
        self.inner.restore(saved)
    }
}
