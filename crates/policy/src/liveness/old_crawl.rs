//! What is known of an old crawl before any request is made: its static orders.
//!
//! Pages by PageRank, by in-degree and in random order (Huynh, Mathieu, Viennot 2014, section 2.3).
//! Scores are real numbers, so they are turned into orders once, by sorting, and every decision
//! after that compares integers. Ties: smaller id first.
//!
//! Cost: one PageRank run and a sort or two when first asked for, shared by all policies on the same
//! crawl; 8 to 12 bytes a page.

use std::cmp::Reverse;
use std::fmt;
use std::sync::{Arc, OnceLock};

use turnstone_frontier::{PageId, Random, WholeGraphRank};

use crate::changes::DirectoryTree;

/// An old crawl: its links, as far as ranks need them, and its static orders.
pub struct OldCrawl {
    graph: Arc<dyn WholeGraphRank>,
    pages: usize,
    folders: Option<Arc<DirectoryTree>>,
    /// Computed when it is first asked for.
    by_pagerank: OnceLock<ByPageRank>,
    /// Sorted when it is first asked for.
    by_indegree: OnceLock<Vec<PageId>>,
}

/// Pages by PageRank, and by page: its place among them.
struct ByPageRank {
    order: Vec<PageId>,
    places: Vec<u32>,
}

impl OldCrawl {
    /// An old crawl with these links. Nothing is computed yet.
    pub fn new(graph: Arc<dyn WholeGraphRank>) -> Self {
        Self {
            pages: graph.page_count(),
            graph,
            folders: None,
            by_pagerank: OnceLock::new(),
            by_indegree: OnceLock::new(),
        }
    }

    /// The same, and in which folder each page lies.
    #[must_use]
    pub fn in_folders(mut self, folders: Arc<DirectoryTree>) -> Self {
        self.folders = Some(folders);
        self
    }

    /// How many pages it has.
    pub fn page_count(&self) -> usize {
        self.pages
    }

    /// The folders its pages lie in, if that is known.
    pub fn folders(&self) -> Option<&DirectoryTree> {
        self.folders.as_deref()
    }

    /// Its pages by PageRank, best first.
    pub fn by_pagerank(&self) -> &[PageId] {
        &self.pagerank().order
    }

    fn pagerank(&self) -> &ByPageRank {
        self.by_pagerank.get_or_init(|| {
            let uniform = vec![1.0 / self.pages.max(1) as f64; self.pages];
            let pagerank = self.graph.rank(&uniform);
            let order = sorted(self.pages, |page| Reverse(Score(pagerank[page])));
            let mut places = vec![0; self.pages];
            for (place, page) in order.iter().enumerate() {
                places[page.index()] = place as u32;
            }
            ByPageRank { order, places }
        })
    }

    /// Its pages by in-degree, best first.
    pub fn by_indegree(&self) -> &[PageId] {
        self.by_indegree.get_or_init(|| {
            let indegree = self.graph.indegree();
            sorted(self.page_count(), |page| Reverse(indegree[page]))
        })
    }

    /// Its pages in the random order of a seed.
    pub fn at_random(&self, seed: u64) -> Vec<PageId> {
        let mut pages: Vec<PageId> = (0..self.page_count()).map(PageId::from_index).collect();
        Random::new(seed).shuffle(&mut pages);
        pages
    }

    /// Where a page stands among all by PageRank: 0 is the best.
    pub(super) fn place(&self, page: PageId) -> u32 {
        self.pagerank().places[page.index()]
    }

    /// PageRank with all teleports to these pages, alike; all 0 when there are none.
    pub(super) fn rank_from(&self, pages: &[PageId]) -> Vec<f64> {
        let teleport = self.teleport_to(pages);
        if pages.is_empty() {
            return teleport;
        }
        self.graph.rank(&teleport)
    }

    /// The same for two sets of pages at once, neither of them empty.
    pub(super) fn rank_from_both(&self, sets: [&[PageId]; 2]) -> [Vec<f64>; 2] {
        let [one, other] = sets.map(|pages| self.teleport_to(pages));
        self.graph.rank_pair([&one, &other])
    }

    fn teleport_to(&self, pages: &[PageId]) -> Vec<f64> {
        let mut teleport = vec![0.0; self.page_count()];
        for page in pages {
            teleport[page.index()] = 1.0 / pages.len() as f64;
        }
        teleport
    }

    /// Some pages by score, best first; ties by PageRank, then id.
    pub(super) fn by_score(
        &self,
        pages: impl Iterator<Item = PageId>,
        scores: &[f64],
    ) -> Vec<PageId> {
        // The keys lie beside the pages: sorting then reads memory in order.
        let mut keyed: Vec<(Reverse<Score>, u32, PageId)> = pages
            .map(|page| (Reverse(Score(scores[page.index()])), self.place(page), page))
            .collect();
        keyed.sort_unstable();
        keyed.into_iter().map(|(_, _, page)| page).collect()
    }
}

impl fmt::Debug for OldCrawl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "OldCrawl of {} pages", self.page_count())
    }
}

/// All pages in ascending order of a key, ties by id.
fn sorted<K: Ord>(pages: usize, key: impl Fn(usize) -> K) -> Vec<PageId> {
    let mut keyed: Vec<(K, u32)> = (0..pages).map(|page| (key(page), page as u32)).collect();
    keyed.sort_unstable();
    keyed.into_iter().map(|(_, page)| PageId(page)).collect()
}

/// A score with the total order of IEEE 754.
#[derive(Clone, Copy, Debug)]
pub(super) struct Score(pub(super) f64);

impl PartialEq for Score {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Score {}

impl PartialOrd for Score {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Score {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.0.total_cmp(&other.0)
    }
}
