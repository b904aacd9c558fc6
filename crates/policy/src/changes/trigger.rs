//! Whether a sample leads to its neighbours: the download probability φ of the paper.
//!
//! `changed` follows a sample that has changed; `history` and `weighted-history` follow with
//! probability 1 − e^(−λ), λ being the share of cycles in which the page was seen to change, all
//! alike or weighted by their number; `pagerank` follows important pages, changed or not.
//!
//! As published, a cycle in which the page was not fetched counts as one without change;
//! `cycles=observed` counts only cycles in which it was fetched. The paper's equation 8 divides
//! by the number of cycles once more than its text allows; the division is left out.
//!
//! Cost: O(1) a sample; 16 bytes a page.

use std::io;

use turnstone_frontier::{PageId, Restore, Save};

/// What decides whether a sample leads to its neighbours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trigger {
    /// Every sample does.
    Always,
    /// Samples that have changed.
    Changed,
    /// The share of cycles with a change.
    History(Cycles),
    /// The same, later cycles weighing more.
    WeightedHistory(Cycles),
    /// Importance.
    PageRank,
}

/// Which cycles a history counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cycles {
    /// All of them: no fetch, no change.
    All,
    /// Those in which the page was fetched.
    Observed,
}

/// What a page did so far, in numbers of cycles from 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Track {
    changes: u32,
    fetches: u32,
    /// Sums of the numbers of those cycles.
    changed_in: u32,
    fetched_in: u32,
}

/// The change history of every page, and its importance on a scale of 0 to 10.
#[derive(Debug, Default)]
pub(super) struct Past {
    seen: Vec<Track>,
}

impl Past {
    pub(super) fn know(&mut self) {
        self.seen.push(Track::default());
    }

    /// The page was fetched in this cycle.
    pub(super) fn learn(&mut self, page: PageId, cycle: u32, changed: bool) {
        let seen = &mut self.seen[page.index()];
        seen.fetches += 1;
        seen.fetched_in += cycle;
        if changed {
            seen.changes += 1;
            seen.changed_in += cycle;
        }
    }

    /// λ of the history triggers, after `cycle` cycles.
    pub(super) fn rate(&self, page: PageId, cycle: u32, trigger: Trigger) -> f64 {
        let seen = self.seen[page.index()];
        let (part, whole) = match trigger {
            Trigger::History(Cycles::All) => (seen.changes, u64::from(cycle)),
            Trigger::History(Cycles::Observed) => (seen.changes, u64::from(seen.fetches)),
            Trigger::WeightedHistory(Cycles::All) => {
                let cycle = u64::from(cycle);
                (seen.changed_in, cycle * (cycle + 1) / 2)
            }
            Trigger::WeightedHistory(Cycles::Observed) => {
                (seen.changed_in, u64::from(seen.fetched_in))
            }
            Trigger::Always | Trigger::Changed | Trigger::PageRank => (0, 1),
        };
        if whole == 0 {
            0.0
        } else {
            f64::from(part) / whole as f64
        }
    }
}

/// By page: importance as the paper's 0 to 10, by the logarithm between the least and the most.
pub(super) fn importance_levels(importance: &[f64]) -> Vec<u8> {
    let positive = || importance.iter().copied().filter(|rank| *rank > 0.0);
    let least = positive().fold(f64::INFINITY, f64::min).ln();
    let most = positive().fold(0.0, f64::max).ln();
    let level = |rank: f64| {
        if rank <= 0.0 || most <= least {
            return 0;
        }
        (10.0 * (rank.ln() - least) / (most - least)).round() as u8
    };
    importance.iter().map(|rank| level(*rank)).collect()
}

impl Save for Past {
    fn save(&self, out: &mut dyn io::Write) -> io::Result<()> {
        let flat = |seen: &Track| [seen.changes, seen.fetches, seen.changed_in, seen.fetched_in];
        self.seen
            .iter()
            .flat_map(flat)
            .collect::<Vec<u32>>()
            .save(out)
    }
}

impl Restore for Past {
    fn restore(from: &mut dyn io::Read) -> io::Result<Self> {
        let flat: Vec<u32> = Restore::restore(from)?;
        let seen = |four: &[u32]| Track {
            changes: four[0],
            fetches: four[1],
            changed_in: four[2],
            fetched_in: four[3],
        };
        Ok(Self {
            seen: flat.chunks_exact(4).map(seen).collect(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_those_of_the_papers_equations() {
        // Fetched in cycles 1, 2 and 4 of 4; changed in 1 and 4.
        let mut past = Past::default();
        past.know();
        for (cycle, changed) in [(1, true), (2, false), (4, true)] {
            past.learn(PageId(0), cycle, changed);
        }
        let rate = |trigger| past.rate(PageId(0), 4, trigger);
        assert_eq!(rate(Trigger::History(Cycles::All)), 2.0 / 4.0);
        assert_eq!(rate(Trigger::History(Cycles::Observed)), 2.0 / 3.0);
        assert_eq!(rate(Trigger::WeightedHistory(Cycles::All)), 5.0 / 10.0);
        assert_eq!(rate(Trigger::WeightedHistory(Cycles::Observed)), 5.0 / 7.0);
    }

    #[test]
    fn later_changes_weigh_more() {
        // The paper's figure 3: one change; three early; three late.
        let changes: [&[u32]; 3] = [&[4], &[1, 2, 4], &[2, 3, 4]];
        let mut past = Past::default();
        for (page, cycles) in changes.iter().enumerate() {
            past.know();
            for cycle in 1..=4 {
                past.learn(PageId::from_index(page), cycle, cycles.contains(&cycle));
            }
        }
        let rate = |page| past.rate(PageId(page), 4, Trigger::WeightedHistory(Cycles::All));
        assert!(rate(0) < rate(1) && rate(1) < rate(2));
    }

    #[test]
    fn importance_is_spread_from_0_to_10() {
        let levels = importance_levels(&[1e-6, 1e-5, 1e-3, 1e-1, 0.0]);
        assert_eq!(levels, [0, 2, 6, 10, 0]);
        assert_eq!(importance_levels(&[0.5, 0.5]), [0, 0]);
    }
}
