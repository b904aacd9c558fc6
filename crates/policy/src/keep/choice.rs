//! The best of many candidates, in one pass.
//!
//! Cost: O(1) a candidate, amortised: whatever is below the bar so far is passed over, and twice as
//! many as wanted are kept at most.

use turnstone_frontier::{Arm, PageId};

/// A page that may be asked for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Candidate {
    pub(super) worth: f64,
    /// Breaks ties without favour.
    pub(super) lot: u32,
    pub(super) page: PageId,
    pub(super) arm: Arm,
}

impl Candidate {
    /// Whether it comes before another: a total order.
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        let ties = (self.lot, self.page).cmp(&(other.lot, other.page));
        other.worth.total_cmp(&self.worth).then(ties)
    }
}

/// The best so far.
#[derive(Debug)]
pub(super) struct Best {
    wanted: usize,
    kept: Vec<Candidate>,
    /// What a candidate must not be worse than.
    bar: Option<Candidate>,
}

impl Best {
    pub(super) fn of(wanted: usize) -> Self {
        Self {
            wanted,
            kept: Vec::new(),
            bar: None,
        }
    }

    pub(super) fn offer(&mut self, candidate: Candidate) {
        if self.wanted == 0 || self.bar.is_some_and(|bar| bar.cmp(&candidate).is_lt()) {
            return;
        }
        self.kept.push(candidate);
        if self.kept.len() >= 2 * self.wanted + 64 {
            self.prune();
        }
    }

    fn prune(&mut self) {
        if self.kept.len() > self.wanted {
            self.kept
                .select_nth_unstable_by(self.wanted - 1, Candidate::cmp);
            self.kept.truncate(self.wanted);
            self.bar = self.kept.last().copied();
        }
    }

    /// Them, best first.
    pub(super) fn finish(mut self) -> Vec<Candidate> {
        if self.wanted > 0 {
            self.prune();
        }
        self.kept.sort_unstable_by(Candidate::cmp);
        self.kept
    }
}
