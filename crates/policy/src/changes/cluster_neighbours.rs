//! Near by cluster: the seed's cluster first, then the nearest other clusters.
//!
//! Clusters are made elsewhere, from what pages look like; here a page has a cluster, and each
//! cluster its others in order of distance between centroids. Distance 0 is the own cluster, j
//! the j-th nearest.
//!
//! Cost: O(pages within reach) a seed; 8 bytes a page, 4 a pair of clusters.

use std::sync::Arc;

use turnstone_frontier::PageId;

use super::groups::{Groups, Marks};
use super::neighbourhood::{IsFree, Neighbourhood};

/// Which page is in which cluster, and which clusters are near each other.
#[derive(Clone, Debug, Default)]
pub struct ClusterMap {
    of_page: Vec<u32>,
    /// By cluster: the others, nearest first.
    nearest: Vec<Vec<u32>>,
    pages: Groups,
}

impl ClusterMap {
    /// The cluster of a page that is in none.
    pub const NONE: u32 = u32::MAX;

    /// The map of these clusters: by page its cluster, by cluster the others, nearest first.
    pub fn new(of_page: Vec<u32>, nearest: Vec<Vec<u32>>) -> Self {
        let pages = Groups::of(of_page.iter().copied(), nearest.len());
        Self {
            of_page,
            nearest,
            pages,
        }
    }

    /// How many clusters there are.
    pub fn cluster_count(&self) -> usize {
        self.nearest.len()
    }

    /// The cluster of a page, or [`NONE`](Self::NONE).
    pub fn cluster(&self, page: PageId) -> u32 {
        self.of_page[page.index()]
    }

    /// The pages of a cluster, ascending.
    pub fn pages(&self, cluster: u32) -> impl Iterator<Item = PageId> + '_ {
        self.pages
            .row(cluster as usize)
            .iter()
            .map(|page| PageId(*page))
    }
}

/// Pages of the nearest clusters.
#[derive(Debug)]
pub struct ClusterNeighbours {
    map: Arc<ClusterMap>,
    /// How many clusters beside the own.
    reach: usize,
    offered: Marks,
}

impl ClusterNeighbours {
    /// The neighbourhood of this reach.
    pub fn new(map: Arc<ClusterMap>, reach: usize) -> Self {
        let offered = Marks::new(map.cluster_count());
        Self {
            map,
            reach,
            offered,
        }
    }
}

impl Neighbourhood for ClusterNeighbours {
    fn begin(&mut self) {
        self.offered.wipe();
    }

    fn gather(&mut self, seed: PageId, enough: usize, is_free: &IsFree<'_>, out: &mut Vec<PageId>) {
        let own = self.map.cluster(seed);
        if own == ClusterMap::NONE {
            return;
        }
        let others = &self.map.nearest[own as usize];
        let others = &others[..self.reach.min(others.len())];
        for &cluster in std::iter::once(&own).chain(others) {
            if out.len() >= enough {
                return;
            }
            if self.offered.mark(cluster as usize) {
                let pages = self.map.pages(cluster);
                out.extend(pages.filter(|page| *page != seed && is_free(*page)));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_own_cluster_comes_first_then_the_nearest() {
        let map = ClusterMap::new(
            vec![1, 0, 1, 2, ClusterMap::NONE, 0],
            vec![vec![1, 2], vec![2, 0], vec![1, 0]],
        );
        let map = Arc::new(map);
        let within = |seed: u32, reach: usize| {
            let mut out = Vec::new();
            let mut near = ClusterNeighbours::new(Arc::clone(&map), reach);
            near.gather(PageId(seed), usize::MAX, &|_| true, &mut out);
            out.iter().map(|page| page.0).collect::<Vec<u32>>()
        };
        assert_eq!(within(0, 0), [2]);
        assert_eq!(within(0, 1), [2, 3]);
        assert_eq!(within(0, 9), [2, 3, 1, 5]);
        assert_eq!(within(4, 9), [0u32; 0]);
    }
}
