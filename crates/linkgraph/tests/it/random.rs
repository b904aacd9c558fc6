//! Random small webs for property tests.

use proptest::prelude::*;
use turnstone_linkgraph::LinkGraph;

/// A page count and links between these pages, in any order, doubles and self-links among them.
pub(crate) fn links(
    pages_max: usize,
    links_max: usize,
) -> impl Strategy<Value = (usize, Vec<(u32, u32)>)> {
    (1..=pages_max).prop_flat_map(move |pages| {
        let page = 0..pages as u32;
        (
            Just(pages),
            proptest::collection::vec((page.clone(), page), 0..=links_max),
        )
    })
}

/// A random web; runs of neighbouring pages and repeated lists occur, as in real ones.
pub(crate) fn graph(pages_max: usize) -> impl Strategy<Value = LinkGraph> {
    let near = proptest::collection::vec((any::<u32>(), 0..12u32, 1..9u32), 0..40);
    (links(pages_max, 150), near).prop_map(|((pages, mut links), near)| {
        let n = pages as u32;
        for (source, gap, run) in near {
            let source = source % n;
            for sibling in source..n.min(source + 3) {
                let targets = (source + gap)..(source + gap + run);
                links.extend(targets.filter(|&t| t < n).map(|t| (sibling, t)));
            }
        }
        LinkGraph::from_links(pages, &links)
    })
}
