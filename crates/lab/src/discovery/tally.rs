//! How well a cover did, over many sites and snapshots: the columns of the paper's table 2.
//!
//! A case is a site at a snapshot where something could be found. Overhead is pages fetched per
//! new page found: pooled over all cases, and as the mean over the cases where something was found
//! (for the others it is undefined). Coverage is pooled over all new pages, so that a burst of
//! thousands decides much of it, and as the mean over cases, where it does not.

use turnstone_frontier::PageId;
use turnstone_policy::discovery::Arrivals;

/// Sums over cases. Tallies of different sites add up.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Tally {
    /// Sites and snapshots where something could be found.
    pub cases: u64,
    /// Of these, where something was.
    pub hits: u64,
    /// Old pages fetched.
    pub fetched: u64,
    /// New pages found.
    pub found: u64,
    /// New pages that could be found.
    pub new: u64,
    depths: u64,
    overheads: f64,
    coverages: f64,
}

impl Tally {
    /// Takes in one case.
    pub fn add_case(&mut self, fetched: u64, found: u64, new: u64) {
        assert!(new > 0 && found <= new, "a case has something to find");
        self.cases += 1;
        self.fetched += fetched;
        self.found += found;
        self.new += new;
        self.depths += fetched.saturating_sub(1);
        self.coverages += found as f64 / new as f64;
        if found > 0 {
            self.hits += 1;
            self.overheads += fetched as f64 / found as f64;
        }
    }

    /// Takes in another tally.
    pub fn add(&mut self, other: &Self) {
        self.cases += other.cases;
        self.hits += other.hits;
        self.fetched += other.fetched;
        self.found += other.found;
        self.new += other.new;
        self.depths += other.depths;
        self.overheads += other.overheads;
        self.coverages += other.coverages;
    }

    /// The mean number of pages fetched.
    pub fn size(&self) -> Option<f64> {
        ratio(self.fetched as f64, self.cases as f64)
    }

    /// The same counted from 0 as in the paper's table: a cover of one page has depth 0.
    pub fn depth(&self) -> Option<f64> {
        ratio(self.depths as f64, self.cases as f64)
    }

    /// Pages fetched per new page found, all cases together.
    pub fn overhead_pooled(&self) -> Option<f64> {
        ratio(self.fetched as f64, self.found as f64)
    }

    /// The mean of the overheads of the cases where something was found.
    pub fn overhead_mean(&self) -> Option<f64> {
        ratio(self.overheads, self.hits as f64)
    }

    /// The share of all new pages that was found.
    pub fn coverage(&self) -> Option<f64> {
        ratio(self.found as f64, self.new as f64)
    }

    /// The mean over cases of the share that was found.
    pub fn coverage_mean(&self) -> Option<f64> {
        ratio(self.coverages, self.cases as f64)
    }
}

fn ratio(part: f64, whole: f64) -> Option<f64> {
    (whole > 0.0).then(|| part / whole)
}

/// Judges a cover at several budgets at once: its first pages are the smaller covers.
/// `budgets` ascend; there is a tally for each.
pub fn judge(arrivals: &Arrivals, asked: &[PageId], budgets: &[u64], tallies: &mut [Tally]) {
    assert_eq!(budgets.len(), tallies.len(), "a tally for each budget");
    let new = u64::from(arrivals.found());
    let mut cover = arrivals.cover();
    let mut done = 0;
    for (budget, tally) in budgets.iter().zip(tallies) {
        let size = asked
            .len()
            .min(usize::try_from(*budget).unwrap_or(usize::MAX));
        for &page in &asked[done.min(size)..size] {
            cover.fetch(page);
        }
        done = done.max(size);
        tally.add_case(size as u64, u64::from(cover.count()), new);
    }
}
