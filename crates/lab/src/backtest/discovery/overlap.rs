//! How much old pages share of what they lead to (the paper's figure 5).
//!
//! Every pair of old pages that lead to something has a Jaccard coefficient; the paper found most
//! near 0 or near 1. Pages with the same set are counted together, so the cost goes with distinct
//! sets. Each case weighs the same: pairs grow with the square, and one burst would be everything.
//!
//! Cost: O(Σ over components of (sets that hold it)²).

use turnstone_policy::discovery::{Arrivals, each_overlap};

use super::truth::OVERLAP_BINS;

/// Shares of the pairs by coefficient: none in common first, then tenths. None without a pair.
pub(super) fn overlap_shares(arrivals: &Arrivals) -> Option<[f64; OVERLAP_BINS]> {
    let pages = arrivals.sources().len() as f64;
    if pages < 2.0 {
        return None;
    }
    let mut with_set = vec![0u32; arrivals.set_count()];
    for (_, set) in arrivals.sources() {
        with_set[*set as usize] += 1;
    }
    let mut pairs = [0.0; OVERLAP_BINS];
    let same: f64 = with_set
        .iter()
        .map(|count| f64::from(*count) * (f64::from(*count) - 1.0) / 2.0)
        .sum();
    pairs[OVERLAP_BINS - 1] += same;
    let mut counted = same;
    each_overlap(arrivals, |a, b, jaccard| {
        let count = f64::from(with_set[a as usize]) * f64::from(with_set[b as usize]);
        // (0, 0.1] is the first bin after "none", (0.9, 1] the last.
        let bin = (jaccard * 10.0 - 1e-9).ceil().clamp(1.0, 10.0) as usize;
        pairs[bin] += count;
        counted += count;
    });
    let all = pages * (pages - 1.0) / 2.0;
    pairs[0] = all - counted;
    Some(pairs.map(|count| count / all))
}
