//! RankMass: the page with the largest proven lower bound of PageRank next.
//!
//! Each page holds the probability of all surfer's paths that end there and were not yet followed
//! further (the *residual*; the paper's rm is 1−d times it). Expanding a page counts 1−d of its
//! residual as covered and pushes the rest along its links (Cho and Schonfeld 2007; the same
//! kernel as forward push for personalised PageRank). Expanding a page for the first time costs a
//! download; fetched pages that earn again are expanded again, for nothing.
//!
//! The residual *is* the rank, kept in the ranking: queued until fetched, parked afterwards,
//! shelved when the page cannot be fetched (its mass is stuck for ever). In integers:
//! covered + residuals + lost = ONE after every event, where *lost* is what leaked or could not be
//! divided. So ONE − covered is the exact upper bound on what may be missing.
//!
//! `push=fetched-first` departs from the paper: fetched pages are expanded while they hold at
//! least a small share of the best unfetched page, since that costs no request.
//!
//! Cost: O(links · log pages) an expansion, O(trusted · log pages) for a page without links;
//! nothing per page beyond the ranking.

use std::collections::BTreeMap;
use std::io;

use turnstone_frontier::{
    Coverage, Event, Fault, Links, PageId, Policy, Ranking, Restore, Save, Tick,
};

use super::{CoveragePolicy, Dangling, Goal, NEGLIGIBLE, RETRY_MS, Trust, divide};
use crate::mass::{Fraction, ONE};

/// Which fetched pages are expanded before a new page is paid for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Push {
    /// Those that hold more than the best unfetched page: the paper's order.
    Exact,
    /// Those that hold at least this share of it.
    FetchedFirst {
        /// The share.
        share: Fraction,
    },
}

impl Push {
    /// The share that serves well.
    pub const SHARE: Fraction = Fraction::TWO_PERCENT;
}

/// The RankMass crawler.
#[derive(Debug)]
pub struct RankMass {
    trust: Trust,
    goal: Goal,
    push: Push,
    dangling: Dangling,
    covered: u64,
    /// What leaked, or was left over when masses were divided.
    lost: u64,
    /// What lies at pages that cannot be fetched.
    stuck: u64,
    pushes: u64,
    /// Pages that stand for others: their mass goes there whole.
    moved: BTreeMap<PageId, PageId>,
    buffer: Vec<PageId>,
}

impl RankMass {
    /// A crawler that trusts these pages.
    pub fn new(trust: Trust, goal: Goal, push: Push, dangling: Dangling) -> Self {
        Self {
            trust,
            goal,
            push,
            dangling,
            covered: 0,
            lost: 0,
            stuck: 0,
            pushes: 0,
            moved: BTreeMap::new(),
            buffer: Vec::new(),
        }
    }

    /// Asserts that no mass was made or lost: O(pages). For tests, and on demand.
    pub fn audit(&self, ranking: &Ranking) {
        let held: u64 = (0..ranking.page_count())
            .map(|index| ranking.rank(PageId::from_index(index)))
            .sum();
        // Mass of trusted pages not yet discovered is not in the ranking.
        let undiscovered: u64 = self
            .trust
            .masses()
            .iter()
            .filter(|(page, _)| page.index() >= ranking.page_count())
            .map(|(_, mass)| mass)
            .sum();
        assert_eq!(
            self.covered + self.lost + held + undiscovered,
            ONE,
            "mass must be conserved"
        );
    }

    /// Counts 1−d of a page's residual as covered and pushes d of it along the links.
    #[inline]
    fn expand(&mut self, residual: u64, links: &[PageId], ranking: &mut Ranking) {
        let pushed = self.goal.damping.of_rounded_up(residual);
        self.covered += residual - pushed;
        self.pushes += 1;
        let dangling = (self.dangling, &self.trust);
        self.lost += divide(pushed, links, dangling, |page, mass| {
            ranking.raise(page, mass);
        });
    }

    /// Expands fetched pages as far as the order asks before another page is fetched.
    fn settle(&mut self, links: &dyn Links, ranking: &mut Ranking) {
        while self.covered < self.goal.mass() && self.parked_page_is_next(ranking) {
            let (page, _) = ranking.best_parked().expect("a parked page is next");
            let residual = ranking.take(page);
            if let Some(&to) = self.moved.get(&page) {
                ranking.raise(to, residual);
                continue;
            }
            let mut buffer = std::mem::take(&mut self.buffer);
            self.expand(residual, links.links_of(page, &mut buffer), ranking);
            self.buffer = buffer;
        }
        self.stuck = u64::try_from(ranking.shelved_total()).expect("masses add up to ONE");
    }

    #[inline]
    fn parked_page_is_next(&self, ranking: &Ranking) -> bool {
        let Some((parked_page, parked)) = ranking.best_parked() else {
            return false;
        };
        match (ranking.best_queued(), self.push) {
            (Some((page, queued)), Push::Exact) => {
                parked > queued || (parked == queued && parked_page < page)
            }
            (Some((_, queued)), Push::FetchedFirst { share }) => {
                parked >= share.of_rounded_up(queued)
            }
            (None, _) => {
                ranking.in_flight_count() == 0
                    && u128::from(parked) * ranking.parked_count() as u128 > u128::from(NEGLIGIBLE)
            }
        }
    }

    /// The page turned out to stand for another: what it holds and will hold belongs there.
    fn forward(&mut self, page: PageId, to: PageId, ranking: &mut Ranking) {
        let mut end = to;
        while let Some(&next) = self.moved.get(&end) {
            end = next;
        }
        if end == page {
            // A circle of redirects leads nowhere: the mass stays on the shelf.
            return;
        }
        self.moved.insert(page, to);
        let residual = ranking.take(page);
        ranking.park(page);
        ranking.raise(to, residual);
    }
}

impl Policy for RankMass {
    fn observe(&mut self, event: &Event<'_>, now: Tick, links: &dyn Links, ranking: &mut Ranking) {
        match *event {
            Event::Discovered { page, .. } => {
                let mass = self.trust.of(page);
                if mass > 0 {
                    ranking.raise(page, mass);
                }
                return;
            }
            Event::Fetched { page, links, .. } => {
                let residual = ranking.take(page);
                ranking.park(page);
                self.expand(residual, links, ranking);
            }
            Event::Failed { page, fault } => match fault {
                // The page was shelved when it landed: its mass is stuck.
                Fault::Gone | Fault::Refused => {}
                Fault::Unknown => ranking.defer(page, now.plus(RETRY_MS)),
                Fault::Lost => ranking.queue(page),
            },
            Event::Moved { page, to } => self.forward(page, to, ranking),
            Event::Held { .. }
            | Event::Hinted { .. }
            | Event::Guessed { .. }
            | Event::Round { .. } => return,
        }
        self.settle(links, ranking);
    }

    fn coverage(&self) -> Option<Coverage> {
        let stuck = self.stuck + self.lost;
        Some(Coverage {
            guaranteed: self.covered,
            stuck,
            goal: self.goal.mass(),
        })
    }

    fn residual(&self, page: PageId, ranking: &Ranking) -> Option<u64> {
        Some(ranking.rank(page))
    }

    fn save(&self, out: &mut dyn io::Write) -> io::Result<()> {
        [self.covered, self.lost, self.stuck, self.pushes]
            .iter()
            .try_for_each(|n| n.save(out))?;
        self.moved.save(out)
    }

    fn restore(&mut self, saved: &mut dyn io::Read) -> io::Result<()> {
        self.covered = Restore::restore(saved)?;
        self.lost = Restore::restore(saved)?;
        self.stuck = Restore::restore(saved)?;
        self.pushes = Restore::restore(saved)?;
        self.moved = Restore::restore(saved)?;
        Ok(())
    }
}

impl CoveragePolicy for RankMass {
    fn pushes(&self) -> u64 {
        self.pushes
    }
}
