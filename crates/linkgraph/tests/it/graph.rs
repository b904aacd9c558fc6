//! The link graph against a set of pairs.

use std::collections::BTreeSet;

use expect_test::expect;
use proptest::prelude::*;
use turnstone_frontier::PageId;
use turnstone_linkgraph::{ArcBuilder, GraphBuilder, LinkGraph};

use crate::random;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn a_graph_is_the_set_of_its_links((pages, links) in random::links(40, 200)) {
        let set: BTreeSet<(u32, u32)> = links.iter().copied().collect();
        let graph = LinkGraph::from_links(pages, &links);
        prop_assert_eq!(graph.page_count(), pages);
        prop_assert_eq!(graph.link_count(), set.len() as u64);
        prop_assert!(graph.arcs().map(|(s, t)| (s.0, t.0)).eq(set.iter().copied()));

        // The order in which links come does not matter, nor does the way they are given.
        let mut sorted = ArcBuilder::new();
        for &(s, t) in &set {
            sorted.add(PageId(s), PageId(t));
            sorted.add(PageId(s), PageId(t));
        }
        prop_assert_eq!(sorted.links_seen(), set.len() as u64);
        prop_assert_eq!(&sorted.finish(pages), &graph);
        let mut by_page = GraphBuilder::with_capacity(0, 0);
        for page in graph.pages() {
            prop_assert_eq!(graph.links(page).len(), graph.outdegree(page) as usize);
            by_page.push(graph.links(page));
        }
        prop_assert_eq!(&by_page.finish(), &graph);
    }

    #[test]
    fn the_transpose_turns_every_link_round((pages, links) in random::links(40, 200)) {
        let graph = LinkGraph::from_links(pages, &links);
        let turned: Vec<(u32, u32)> = links.iter().map(|&(s, t)| (t, s)).collect();
        let transpose = graph.transpose();
        prop_assert_eq!(&transpose, &LinkGraph::from_links(pages, &turned));
        prop_assert_eq!(&transpose.transpose(), &graph);
        let indegree: Vec<u32> = transpose.pages().map(|p| transpose.outdegree(p)).collect();
        prop_assert_eq!(graph.indegree(), indegree);
    }
}

#[test]
fn four_bytes_a_link_and_eight_a_page() {
    let graph = LinkGraph::from_links(4, &[(2, 1), (0, 3), (0, 1), (2, 1), (3, 3)]);
    expect![[r#"
        4 pages, 4 links
        0: [1, 3]
        1: []
        2: [1]
        3: [3]"#]]
    .assert_eq(&format!("{graph:?}"));
    assert_eq!(graph.memory_bytes(), 4 * 4 + 8 * 5);
}

#[test]
#[should_panic(expected = "must ascend strictly")]
fn a_builder_refuses_doubles() {
    GraphBuilder::with_capacity(1, 2).push(&[PageId(0), PageId(0)]);
}

#[test]
#[should_panic(expected = "must lead to a page of the graph")]
fn a_builder_refuses_pages_that_are_not() {
    let mut builder = GraphBuilder::with_capacity(1, 1);
    builder.push(&[PageId(1)]);
    builder.finish();
}
