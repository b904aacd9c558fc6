//! A link graph from a stream of links in any order, duplicates welcome.
//!
//! Edge lists are nearly always sorted, so the builder believes in order until it is disappointed:
//! sorted links go straight into rows (4 bytes a link). From the first link out of order on, links
//! wait as pairs and are put into their rows by counting at the end, each row sorted, doubles
//! dropped.
//!
//! Cost: O(links) when sorted, else O(links · log links per page). Peak memory 4 bytes a link when
//! sorted, 16 when not: 300 M unsorted links pass through 5 GiB.

use turnstone_frontier::PageId;

use crate::graph::LinkGraph;

/// Waiting links are kept in pieces of this many, so that they never move while they grow.
const PIECE: usize = 1 << 20;

/// Collects links and becomes a [`LinkGraph`].
#[derive(Debug, Default)]
pub struct ArcBuilder {
    /// Rows of the sorted beginning: `starts` has an entry for each page up to the last source.
    starts: Vec<u64>,
    targets: Vec<PageId>,
    /// Links that came out of order.
    waiting: Vec<Vec<(PageId, PageId)>>,
    /// The largest id met, plus one.
    pages_seen: usize,
}

impl ArcBuilder {
    /// A builder with no links.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds the link from `source` to `target`; adding it again changes nothing.
    #[inline]
    pub fn add(&mut self, source: PageId, target: PageId) {
        self.pages_seen = self
            .pages_seen
            .max(source.index() + 1)
            .max(target.index() + 1);
        if self.waiting.is_empty() && self.fits_at_the_end(source, target) {
            while self.starts.len() <= source.index() {
                self.starts.push(self.targets.len() as u64);
            }
            self.targets.push(target);
            return;
        }
        if self.waiting.is_empty() && self.is_last(source, target) {
            return;
        }
        match self.waiting.last_mut() {
            Some(piece) if piece.len() < PIECE => piece.push((source, target)),
            _ => {
                let mut piece = Vec::with_capacity(PIECE);
                piece.push((source, target));
                self.waiting.push(piece);
            }
        }
    }

    /// Whether the link comes after every link so far.
    #[inline]
    fn fits_at_the_end(&self, source: PageId, target: PageId) -> bool {
        let last_source = self.starts.len().wrapping_sub(1);
        match self.targets.last() {
            None => true,
            Some(&last) => {
                source.index() > last_source || (source.index() == last_source && target > last)
            }
        }
    }

    fn is_last(&self, source: PageId, target: PageId) -> bool {
        source.index() + 1 == self.starts.len() && self.targets.last() == Some(&target)
    }

    /// The largest page id met, plus one.
    pub fn pages_seen(&self) -> usize {
        self.pages_seen
    }

    /// Links held so far; those out of order may still turn out to be doubles.
    pub fn links_seen(&self) -> u64 {
        self.targets.len() as u64
            + self
                .waiting
                .iter()
                .map(|piece| piece.len() as u64)
                .sum::<u64>()
    }

    /// The graph with this many pages. Panics when a link names a page beyond.
    pub fn finish(self, page_count: usize) -> LinkGraph {
        assert!(
            u32::try_from(page_count).is_ok(),
            "page ids are 32-bit: at most 2^32 - 1 pages"
        );
        assert!(
            self.pages_seen <= page_count,
            "a link names page {}",
            self.pages_seen - 1
        );
        let Self {
            mut starts,
            mut targets,
            waiting,
            ..
        } = self;
        starts.resize(page_count + 1, targets.len() as u64);
        if waiting.is_empty() {
            targets.shrink_to_fit();
            return LinkGraph::from_rows(starts, targets);
        }
        let (starts, mut targets) = merge(starts, targets, waiting);
        let starts = sort_rows(starts, &mut targets);
        targets.shrink_to_fit();
        LinkGraph::from_rows(starts, targets)
    }
}

/// Puts rows and waiting links into one set of rows by counting.
fn merge(
    sorted_starts: Vec<u64>,
    sorted_targets: Vec<PageId>,
    waiting: Vec<Vec<(PageId, PageId)>>,
) -> (Vec<u64>, Vec<PageId>) {
    let page_count = sorted_starts.len() - 1;
    // First how many links each page has, shifted by one so that the sums become the starts.
    let mut starts = vec![0u64; page_count + 1];
    for page in 0..page_count {
        starts[page + 1] = sorted_starts[page + 1] - sorted_starts[page];
    }
    for &(source, _) in waiting.iter().flatten() {
        starts[source.index() + 1] += 1;
    }
    for page in 0..page_count {
        starts[page + 1] += starts[page];
    }
    let mut targets = vec![PageId(0); starts[page_count] as usize];
    let mut next = starts.clone();
    for page in 0..page_count {
        let row = sorted_starts[page] as usize..sorted_starts[page + 1] as usize;
        let at = next[page] as usize;
        targets[at..at + row.len()].copy_from_slice(&sorted_targets[row.clone()]);
        next[page] += row.len() as u64;
    }
    drop((sorted_starts, sorted_targets));
    for piece in waiting {
        for (source, target) in piece {
            let at = &mut next[source.index()];
            targets[*at as usize] = target;
            *at += 1;
        }
    }
    (starts, targets)
}

/// Sorts each row and drops doubles, moving rows down over the gaps.
fn sort_rows(mut starts: Vec<u64>, targets: &mut Vec<PageId>) -> Vec<u64> {
    let mut kept = 0usize;
    for page in 0..starts.len() - 1 {
        let row = starts[page] as usize..starts[page + 1] as usize;
        starts[page] = kept as u64;
        targets[row.clone()].sort_unstable();
        let row_start = kept;
        for i in row {
            let target = targets[i];
            if kept == row_start || targets[kept - 1] != target {
                targets[kept] = target;
                kept += 1;
            }
        }
    }
    let last = starts.len() - 1;
    starts[last] = kept as u64;
    targets.truncate(kept);
    starts
}
