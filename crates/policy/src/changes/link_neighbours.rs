//! Near by links: siblings first, then along out-links or along in-links.
//!
//! Pages that share a parent with the seed have distance 0, even when a path leads to them;
//! others have the length of the shortest path along out-links, or its negative along in-links.
//! `reach` ≥ 0 takes siblings and up to reach steps along out-links, `reach` < 0 siblings and up
//! to −reach steps along in-links.
//!
//! Links are those the store had when the map was drawn: a refresh does not redraw it.
//!
//! Cost: O(links within reach) a seed; 8 bytes a link.

use std::sync::Arc;

use turnstone_frontier::PageId;

use super::groups::{Groups, Marks};
use super::neighbourhood::{IsFree, Neighbourhood};

/// The links between stored pages, both ways.
#[derive(Clone, Debug, Default)]
pub struct LinkMap {
    out: Groups,
    back: Groups,
    page_count: usize,
}

impl LinkMap {
    /// The map of these links; page i's links come i-th. Links must lead to pages of the map.
    pub fn new<'a>(links: impl Iterator<Item = &'a [PageId]> + Clone) -> Self {
        let page_count = links.clone().count();
        let sources = links.clone().enumerate();
        let sources = sources.flat_map(|(page, links)| links.iter().map(move |_| page as u32));
        let targets: Vec<u32> = links.flatten().map(|page| page.0).collect();
        let sources: Vec<u32> = sources.collect();
        assert!(targets.iter().all(|page| (*page as usize) < page_count));
        // Groups hold link numbers; what is wanted is the page at the link's other end.
        let mut out = Groups::of(sources.iter().copied(), page_count);
        out.replace(&targets);
        let mut back = Groups::of(targets.iter().copied(), page_count);
        back.replace(&sources);
        Self {
            out,
            back,
            page_count,
        }
    }

    /// How many pages there are.
    pub fn page_count(&self) -> usize {
        self.page_count
    }

    /// How many links there are.
    pub fn link_count(&self) -> usize {
        self.out.member_count()
    }

    /// The pages a page links to.
    pub fn out_links(&self, page: PageId) -> &[u32] {
        self.out.row(page.index())
    }

    /// The pages that link to a page.
    pub fn in_links(&self, page: PageId) -> &[u32] {
        self.back.row(page.index())
    }
}

/// Pages within a link distance.
#[derive(Debug)]
pub struct LinkNeighbours {
    map: Arc<LinkMap>,
    reach: i32,
    /// Parents whose links were all offered in this cycle.
    offered: Marks,
    found: Marks,
    visited: Marks,
}

impl LinkNeighbours {
    /// The neighbourhood of this reach.
    pub fn new(map: Arc<LinkMap>, reach: i32) -> Self {
        let count = map.page_count();
        Self {
            map,
            reach,
            offered: Marks::new(count),
            found: Marks::new(count),
            visited: Marks::new(count),
        }
    }

    /// One step along links from every page of a ring, to pages not yet visited.
    fn step(&mut self, ring: &[u32]) -> Vec<u32> {
        let mut next = Vec::new();
        for &page in ring {
            let links = match self.reach > 0 {
                true => self.map.out_links(PageId(page)),
                false => self.map.in_links(PageId(page)),
            };
            let fresh = links
                .iter()
                .filter(|page| self.visited.mark(**page as usize));
            next.extend(fresh);
        }
        next
    }

    /// Appends those of some pages that are free and not found yet, by id.
    fn offer(
        &mut self,
        pages: impl Iterator<Item = u32>,
        is_free: &IsFree<'_>,
        out: &mut Vec<PageId>,
    ) {
        let from = out.len();
        for page in pages {
            if is_free(PageId(page)) && self.found.mark(page as usize) {
                out.push(PageId(page));
            }
        }
        out[from..].sort_unstable();
    }
}

impl Neighbourhood for LinkNeighbours {
    fn begin(&mut self) {
        self.offered.wipe();
    }

    fn gather(&mut self, seed: PageId, enough: usize, is_free: &IsFree<'_>, out: &mut Vec<PageId>) {
        self.found.wipe();
        self.found.mark(seed.index());
        let map = Arc::clone(&self.map);
        let mut parents: Vec<u32> = map.in_links(seed).to_vec();
        parents.retain(|parent| self.offered.mark(*parent as usize));
        let siblings = parents
            .iter()
            .flat_map(|parent| map.out_links(PageId(*parent)));
        self.offer(siblings.copied(), is_free, out);

        self.visited.wipe();
        self.visited.mark(seed.index());
        let mut ring = vec![seed.0];
        for _ in 0..self.reach.unsigned_abs() {
            if out.len() >= enough || ring.is_empty() {
                return;
            }
            ring = self.step(&ring);
            self.offer(ring.iter().copied(), is_free, out);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(links: &[&[u32]]) -> Arc<LinkMap> {
        let links: Vec<Vec<PageId>> = links
            .iter()
            .map(|links| links.iter().map(|page| PageId(*page)).collect())
            .collect();
        Arc::new(LinkMap::new(links.iter().map(Vec::as_slice)))
    }

    /// The paper's figure 1: page 0 is the seed and page i is its p_i. Siblings are p4 and p5, to
    /// which a path leads as well; p10 is reached by a short and a long path.
    fn figure_1() -> Arc<LinkMap> {
        let mut links: [&[u32]; 13] = [&[]; 13];
        links[0] = &[5, 6, 7, 10];
        links[1] = &[2];
        links[2] = &[3];
        links[3] = &[0, 4, 5];
        links[6] = &[8, 9];
        links[7] = &[10, 11];
        links[9] = &[10];
        links[11] = &[12];
        map(&links)
    }

    fn within(reach: i32) -> Vec<u32> {
        let mut out = Vec::new();
        let mut near = LinkNeighbours::new(figure_1(), reach);
        near.gather(PageId(0), usize::MAX, &|_| true, &mut out);
        out.iter().map(|page| page.0).collect()
    }

    #[test]
    fn reach_1_is_what_the_paper_says_of_figure_1() {
        assert_eq!(within(1), [4, 5, 6, 7, 10]);
    }

    #[test]
    fn siblings_come_first_then_out_links_or_in_links() {
        assert_eq!(within(0), [4, 5]);
        assert_eq!(within(2), [4, 5, 6, 7, 10, 8, 9, 11]);
        assert_eq!(within(3), [4, 5, 6, 7, 10, 8, 9, 11, 12]);
        assert_eq!(within(-1), [4, 5, 3]);
        assert_eq!(within(-8), [4, 5, 3, 2, 1]);
    }
}
