//! What every policy of importance can be asked, beside its ranks.

use turnstone_frontier::{PageId, Policy, Ranking};

/// A policy that knows how important pages are.
pub trait Estimator: Policy {
    /// The importance of a page, or of its host where hosts are the nodes, as a share of all. 0 for a page
    /// that is gone.
    fn importance(&self, page: PageId, ranking: &Ranking) -> f64;

    /// What it took so far.
    fn gauges(&self) -> Gauges;

    /// The cash a page has earned since it was last read, where there is cash.
    fn cash(&self, page: PageId, ranking: &Ranking) -> Option<u64>;

    /// Asserts that nothing was made or lost: O(pages). For tests, and on demand.
    fn audit(&self, ranking: &Ranking);
}

/// Numbers of an estimator.
#[derive(Clone, Copy, Debug)]
pub struct Gauges {
    /// Pages read.
    pub visits: u64,
    /// OPIC's clock G: how often all the cash there is has been read.
    pub clock: Option<f64>,
    /// Measures kept per page, on average.
    pub measures_per_node: f64,
    /// The bytes it takes beyond the ranking, as allocated.
    pub allocated_bytes: usize,
}
