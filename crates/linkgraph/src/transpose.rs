//! Turning every link round, by counting sort in blocks that stay in cache.
//!
//! The plain way writes each link to the next free place of its target: a cache miss a link once
//! the graph outgrows the cache. Here links first go, in batches, into bins of neighbouring targets
//! (a few hundred sequential streams), and each bin is then spread over a part of the result
//! small enough to stay in cache. Sources are visited in ascending order throughout, so each
//! page's sources come out ascending without a sort.
//!
//! Cost: O(pages + links); beyond the result 8 bytes a page and one batch (at most 128 MiB).

use turnstone_frontier::PageId;

use crate::graph::LinkGraph;

/// Links binned at a time: 8 bytes each.
const BATCH_LINKS: usize = 1 << 24;
/// Pages in a bin: their cursors take 256 KiB.
const BIN_PAGES_LOG2: u32 = 15;

pub(crate) fn transpose(graph: &LinkGraph) -> LinkGraph {
    transpose_in(graph, BATCH_LINKS)
}

fn transpose_in(graph: &LinkGraph, batch_links: usize) -> LinkGraph {
    let pages = graph.page_count();
    let mut starts = vec![0u64; pages + 1];
    for target in graph.targets() {
        starts[target.index() + 1] += 1;
    }
    for page in 0..pages {
        starts[page + 1] += starts[page];
    }
    let mut next = starts.clone();
    let mut sources = vec![PageId(0); graph.targets().len()];

    let bins = (pages >> BIN_PAGES_LOG2) + 1;
    let batch_links = batch_links.min(graph.targets().len().max(1));
    let mut batch = vec![(PageId(0), PageId(0)); batch_links];
    let mut page = 0;
    while page < pages {
        let last = last_page_of_batch(graph, page, batch_links);
        if last == page {
            // One page with more links than a batch holds: straight to their places.
            spread(
                graph
                    .links(PageId(page as u32))
                    .iter()
                    .map(|&t| (PageId(page as u32), t)),
                &mut next,
                &mut sources,
            );
            page += 1;
            continue;
        }
        let binned = bin(graph, page..last, bins, &mut batch);
        spread(binned.iter().copied(), &mut next, &mut sources);
        page = last;
    }
    LinkGraph::from_rows(starts, sources)
}

/// The page after the last whose links still fit into a batch that begins at `first`.
fn last_page_of_batch(graph: &LinkGraph, first: usize, batch_links: usize) -> usize {
    let limit = graph.starts()[first] + batch_links as u64;
    first + graph.starts()[first..].partition_point(|&start| start <= limit) - 1
}

/// The links of `pages` as (source, target), those of one bin of targets together.
fn bin<'a>(
    graph: &LinkGraph,
    pages: std::ops::Range<usize>,
    bins: usize,
    batch: &'a mut [(PageId, PageId)],
) -> &'a [(PageId, PageId)] {
    let bin_of = |target: PageId| target.index() >> BIN_PAGES_LOG2;
    let range = graph.starts()[pages.start] as usize..graph.starts()[pages.end] as usize;
    let mut next = vec![0usize; bins + 1];
    for &target in &graph.targets()[range.clone()] {
        next[bin_of(target) + 1] += 1;
    }
    for i in 0..bins {
        next[i + 1] += next[i];
    }
    for page in pages {
        let source = PageId(page as u32);
        for &target in graph.links(source) {
            let at = &mut next[bin_of(target)];
            batch[*at] = (source, target);
            *at += 1;
        }
    }
    &batch[..range.len()]
}

/// Writes each link's source to the next free place of its target.
fn spread(links: impl Iterator<Item = (PageId, PageId)>, next: &mut [u64], sources: &mut [PageId]) {
    for (source, target) in links {
        let at = &mut next[target.index()];
        sources[*at as usize] = source;
        *at += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Small batches must give what one batch gives; a page wider than a batch too.
    #[test]
    fn batches_do_not_matter() {
        let pages = 70_000;
        let mut links: Vec<(u32, u32)> = (0..pages)
            .flat_map(|i| [(i, i * 7 % pages), (i, i * 61 % 997)])
            .collect();
        links.extend((0..500).map(|i| (33, i * 131)));
        let graph = LinkGraph::from_links(pages as usize, &links);
        let whole = transpose(&graph);
        for batch_links in [1, 2, 64, 499, 10_000] {
            assert!(
                transpose_in(&graph, batch_links) == whole,
                "batches of {batch_links}"
            );
        }
        assert!(whole.transpose() == graph);
    }
}
