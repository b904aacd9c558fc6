//! A graph whose links change at a rate: the changing web of the OPIC paper, §4.2.
//!
//! While as many pages are read as the graph has, `rate` of all pages change: half of the in-links
//! of a page are taken away, or as many as it has are added, by the toss of a coin; a page with
//! fewer than two always grows. New in-links come from pages chosen uniformly.
//!
//! Cost: O(in-links) per change, and 56 bytes per page beside 8 per link.

use turnstone_frontier::{PageId, Random};
use turnstone_linkgraph::LinkGraph;

use super::SLICES_PER_CRAWL;
use super::living_web::{LivingWeb, Moment};

/// A link graph that can be changed.
#[derive(Clone, Debug)]
pub struct Stirred {
    /// By page: links, ascending.
    out: Vec<Vec<PageId>>,
    /// By page: those that link to it, in any order.
    into: Vec<Vec<PageId>>,
    rate: f64,
    random: Random,
    /// Changes that are due but make no whole one yet.
    due: f64,
}

impl Stirred {
    /// The graph as it begins. Which changes come is fixed by the seed.
    pub fn new(graph: &LinkGraph, rate: f64, seed: u64) -> Self {
        let incoming = graph.transpose();
        Self {
            out: graph
                .pages()
                .map(|page| graph.links(page).to_vec())
                .collect(),
            into: graph
                .pages()
                .map(|page| incoming.links(page).to_vec())
                .collect(),
            rate,
            random: Random::new(seed),
            due: 0.0,
        }
    }

    /// Changes so many pages, each once.
    fn stir(&mut self, count: usize) {
        let mut pages: Vec<usize> = Vec::with_capacity(count);
        while pages.len() < count.min(self.out.len()) {
            pages.push(self.random.below(self.out.len() as u64) as usize);
            pages.sort_unstable();
            pages.dedup();
        }
        for page in pages {
            let links = self.into[page].len();
            if links >= 2 && self.random.below(2) == 0 {
                self.shrink(page, links / 2);
            } else {
                self.grow(page, links.max(1));
            }
        }
    }

    fn shrink(&mut self, page: usize, by: usize) {
        for _ in 0..by {
            let at = self.random.below(self.into[page].len() as u64) as usize;
            let source = self.into[page].swap_remove(at);
            let links = &mut self.out[source.index()];
            let at = links.binary_search(&PageId::from_index(page));
            links.remove(at.expect("what links here is linked from there"));
        }
    }

    fn grow(&mut self, page: usize, by: usize) {
        // Nobody but the page itself may be left to link to it.
        let free = self.out.len() - 1 - self.into[page].len().min(self.out.len() - 1);
        let target = PageId::from_index(page);
        let mut left = by.min(free);
        while left > 0 {
            let source = self.random.below(self.out.len() as u64) as usize;
            if source == page {
                continue;
            }
            if let Err(at) = self.out[source].binary_search(&target) {
                self.out[source].insert(at, target);
                self.into[page].push(PageId::from_index(source));
                left -= 1;
            }
        }
    }
}

impl LivingWeb for Stirred {
    fn size(&self) -> usize {
        self.out.len()
    }

    fn known(&self) -> usize {
        self.out.len()
    }

    fn is_present(&self, _: PageId) -> bool {
        true
    }

    fn links(&self, page: PageId) -> &[PageId] {
        &self.out[page.index()]
    }

    fn changes(&self) -> bool {
        self.rate > 0.0
    }

    fn advance(&mut self, moment: Moment) -> Vec<PageId> {
        if moment.slice > 0 {
            self.due += self.rate * self.out.len() as f64 / f64::from(SLICES_PER_CRAWL);
            let count = (self.due + 1e-9) as usize;
            self.due -= count as f64;
            self.stir(count);
        }
        Vec::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_directions_agree_after_any_change() {
        let links: Vec<(u32, u32)> = (0..30)
            .flat_map(|p| [(p, (p * 7 + 1) % 30), (p, 3)])
            .collect();
        let graph = LinkGraph::from_links(30, &links);
        let mut web = Stirred::new(&graph, 0.5, 4);
        for slice in 0..100 {
            web.advance(Moment { slice, of: 100 });
            let mut forward: Vec<(usize, usize)> = Vec::new();
            for (page, links) in web.out.iter().enumerate() {
                assert!(links.is_sorted() && links.windows(2).all(|pair| pair[0] != pair[1]));
                forward.extend(links.iter().map(|link| (page, link.index())));
            }
            let mut backward: Vec<(usize, usize)> = Vec::new();
            for (page, sources) in web.into.iter().enumerate() {
                backward.extend(sources.iter().map(|source| (source.index(), page)));
            }
            backward.sort_unstable();
            assert_eq!(forward, backward);
        }
        let before: Vec<Vec<PageId>> = graph.pages().map(|p| graph.links(p).to_vec()).collect();
        assert_ne!(web.out, before, "something has changed");
    }

    #[test]
    fn the_rate_is_kept_and_the_seed_decides() {
        let graph = LinkGraph::from_links(1000, &[]);
        let run = |seed| {
            let mut web = Stirred::new(&graph, 0.013, seed);
            for slice in 0..=100 {
                web.advance(Moment { slice, of: 101 });
            }
            web.out
        };
        // Five crawls change 65 pages; without in-links each change adds one or doubles them.
        let links: usize = run(1).iter().map(Vec::len).sum();
        assert!((60..=80).contains(&links), "{links}");
        assert_eq!(run(1), run(1));
        assert_ne!(run(1), run(2));
    }
}
