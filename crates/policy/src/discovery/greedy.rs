//! `greedy-cover`: old pages that lead to most new pages, best first, knowing the future.
//!
//! The page that adds most comes next, ties to the lowest id, until the budget is spent, the
//! wanted share is covered or nothing can be added (the paper's GREEDY; it covers at least 1−1/e
//! of what any cover of that size can). Not a policy: it needs to know what arrived. `cov` runs it
//! on the past, the lab on the present.
//!
//! A page's gain only ever shrinks, so the heap keeps stale gains and looks again at the top only
//! (lazy greedy): the same cover as the plain loop. Pages with the same set are one candidate.
//!
//! [`upper_bound`] says how much better than GREEDY any cover can be. Whatever S covers, k more
//! pages add at most the k largest gains over S; this holds for every S, also the empty one. (Only
//! k−|S| gains would bound the covers that contain S, not all covers.)
//!
//! Cost: O(total size of the sets · log sets) in practice.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use turnstone_frontier::PageId;

use super::arrivals::Arrivals;

/// When to stop.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Until {
    /// After so many pages.
    Budget(usize),
    /// When this share of the new pages is covered.
    Share(f64),
    /// When nothing can be added.
    All,
}

/// One page of a greedy cover.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pick {
    /// The old page.
    pub page: PageId,
    /// How many new pages it adds to those before it.
    pub gain: u32,
}

/// The greedy cover, in the order it is chosen.
pub fn greedy_cover(arrivals: &Arrivals, until: Until) -> Vec<Pick> {
    // Fractions are compared with a tolerance, so that 0.1 of 30 is 3.
    let wanted = match until {
        Until::Share(share) => (share * f64::from(arrivals.found()) - 1e-9).ceil() as u32,
        Until::Budget(_) | Until::All => arrivals.found(),
    };
    let size_max = match until {
        Until::Budget(budget) => budget,
        Until::Share(_) | Until::All => usize::MAX,
    };
    let mut heap: BinaryHeap<(u32, Reverse<PageId>, u32)> = representatives(arrivals)
        .into_iter()
        .enumerate()
        .map(|(set, page)| (arrivals.size(set as u32), Reverse(page), set as u32))
        .collect();
    let mut cover = arrivals.cover();
    let mut picks = Vec::new();
    while picks.len() < size_max && cover.count() < wanted {
        let Some((_, Reverse(page), set)) = heap.pop() else {
            break;
        };
        let gain = cover.gain(set);
        if gain == 0 {
            continue;
        }
        let entry = (gain, Reverse(page), set);
        if heap.peek().is_some_and(|next| *next > entry) {
            heap.push(entry);
            continue;
        }
        cover.add(set);
        picks.push(Pick { page, gain });
    }
    picks
}

/// No cover of `budget` pages holds more new pages than this. `picks` begins the greedy cover.
pub fn upper_bound(arrivals: &Arrivals, picks: &[Pick], budget: usize) -> u32 {
    let mut cover = arrivals.cover();
    let mut bound = bound_beyond(arrivals, &cover, budget);
    for pick in &picks[..picks.len().min(budget)] {
        cover.fetch(pick.page);
    }
    bound = bound.min(bound_beyond(arrivals, &cover, budget));
    bound.min(arrivals.found())
}

/// What is covered, and the largest gains that are left.
fn bound_beyond(arrivals: &Arrivals, cover: &super::arrivals::Cover<'_>, budget: usize) -> u32 {
    let mut gains: Vec<u32> = (0..arrivals.set_count() as u32)
        .map(|set| cover.gain(set))
        .collect();
    gains.sort_unstable_by_key(|gain| Reverse(*gain));
    let sum = gains.iter().take(budget).map(|gain| u64::from(*gain)).sum();
    u32::try_from(u64::from(cover.count()).saturating_add(sum)).unwrap_or(u32::MAX)
}

/// By set: the lowest page that has it.
pub(crate) fn representatives(arrivals: &Arrivals) -> Vec<PageId> {
    let mut lowest = vec![PageId(u32::MAX); arrivals.set_count()];
    for &(page, set) in arrivals.sources() {
        let known = &mut lowest[set as usize];
        *known = (*known).min(page);
    }
    lowest
}

/// Greedy covers of many sites as one: the page with the largest gain of all comes next, ties to
/// the site that comes first. Returns (site, pick) in that order.
///
/// Sites share no page and gains fall within each, so this is the greedy cover of their union.
pub fn merge(covers: &[Vec<Pick>]) -> Vec<(usize, Pick)> {
    let mut merged: Vec<(usize, Pick)> = covers
        .iter()
        .enumerate()
        .flat_map(|(site, picks)| picks.iter().map(move |pick| (site, *pick)))
        .collect();
    // Stable: within a site the order stays.
    merged.sort_by_key(|(site, pick)| (Reverse(pick.gain), *site));
    merged
}
