//! PageRank against a dense linear solve, and the same bytes for any number of threads.

use std::num::NonZeroUsize;

use proptest::prelude::*;
use turnstone_frontier::PageId;
use turnstone_linkgraph::LinkGraph;
use turnstone_linkgraph::rank::{Dangling, InLinks, PageRank, Ranked, Teleport};

use crate::random;

/// Y·(I − d·A) = (1−d)·X by Gaussian elimination with pivoting; dangling rows of A are zero or X/|X|.
fn solve(graph: &LinkGraph, damping: f64, teleport: &[f64], dangling: Dangling) -> Vec<f64> {
    let n = graph.page_count();
    let mass: f64 = teleport.iter().sum();
    // Row i is the equation of Y[i]; the last column is the right side.
    let mut rows = vec![vec![0.0; n + 1]; n];
    for i in 0..n {
        rows[i][i] = 1.0;
        rows[i][n] = (1.0 - damping) * teleport[i];
    }
    for page in graph.pages() {
        let links = graph.links(page);
        for target in links {
            rows[target.index()][page.index()] -= damping / links.len() as f64;
        }
        if links.is_empty() && dangling == Dangling::Spread && mass > 0.0 {
            for (i, row) in rows.iter_mut().enumerate() {
                row[page.index()] -= damping * teleport[i] / mass;
            }
        }
    }
    for column in 0..n {
        let pivot = (column..n)
            .max_by(|&a, &b| rows[a][column].abs().total_cmp(&rows[b][column].abs()))
            .unwrap();
        rows.swap(column, pivot);
        let (done, rest) = rows.split_at_mut(column + 1);
        let pivot_row = &done[column];
        for row in rest {
            let factor = row[column] / pivot_row[column];
            if factor != 0.0 {
                for k in column..=n {
                    row[k] -= factor * pivot_row[k];
                }
            }
        }
    }
    let mut solution = vec![0.0; n];
    for i in (0..n).rev() {
        let known: f64 = (i + 1..n).map(|k| rows[i][k] * solution[k]).sum();
        solution[i] = (rows[i][n] - known) / rows[i][i];
    }
    solution
}

fn distance(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b).abs()).sum()
}

fn rank(graph: &LinkGraph, options: PageRank, teleport: Teleport<'_>) -> Ranked {
    options.rank(&InLinks::of(graph), teleport, &mut |_| {})
}

fn options(dangling: Dangling, tolerance: f64, threads: usize) -> PageRank {
    let threads = NonZeroUsize::new(threads).unwrap();
    PageRank {
        dangling,
        tolerance,
        threads,
        ..PageRank::default()
    }
}

fn check_against_solve(
    graph: &LinkGraph,
    weights: &[f64],
    damping: f64,
) -> Result<(), TestCaseError> {
    let uniform = vec![1.0 / graph.page_count() as f64; graph.page_count()];
    for dangling in [Dangling::Leak, Dangling::Spread] {
        for (teleport, given) in [
            (&uniform[..], Teleport::Uniform),
            (weights, Teleport::Weights(weights)),
        ] {
            let exact = solve(graph, damping, teleport, dangling);
            let options = PageRank {
                damping,
                ..options(dangling, 1e-13, 1)
            };
            let ranked = rank(graph, options, given);
            prop_assert!(ranked.converged);
            let off = distance(&ranked.scores, &exact);
            prop_assert!(
                off <= 1e-12,
                "{off:e} for {dangling:?} after {:?}",
                ranked.end
            );

            // A loose tolerance is kept too: the bound is a bound.
            let loose = rank(
                graph,
                PageRank {
                    tolerance: 1e-3,
                    ..options
                },
                given,
            );
            let off = distance(&loose.scores, &exact);
            prop_assert!(
                off <= loose.end.distance_max + 1e-12 && off <= 1e-3,
                "{off:e}"
            );
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn agrees_with_a_dense_solve(
        graph in random::graph(60),
        weights in proptest::collection::vec(prop_oneof![Just(0.0), 0.0..1.0f64], 60),
        damping in prop_oneof![Just(0.85), 0.0..0.97f64],
    ) {
        let weights = &weights[..graph.page_count()];
        let mass: f64 = weights.iter().sum::<f64>().max(1e-3);
        let weights: Vec<f64> = weights.iter().map(|weight| weight / mass).collect();
        check_against_solve(&graph, &weights, damping)?;
    }
}

/// The sizes the promise names: up to 200 pages; with self-links, dangling and isolated pages.
#[test]
fn agrees_with_a_dense_solve_on_200_pages() {
    for seed in 0..4u32 {
        let mut state = seed;
        let mut next = |below: u32| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 8) % below
        };
        let links: Vec<(u32, u32)> = (0..150 + 250 * seed)
            .map(|_| (next(160), next(190)))
            .chain([(3, 3), (199, 199)])
            .collect();
        let graph = LinkGraph::from_links(200, &links);
        assert!(graph.pages().any(|page| graph.links(page).is_empty()));
        let mut weights = vec![0.0; 200];
        (weights[3], weights[150], weights[195]) = (0.5, 0.25, 0.25);
        check_against_solve(&graph, &weights, 0.85).unwrap();
    }
}

/// A web of several waves of blocks, links near and far, some pages without any.
fn large() -> LinkGraph {
    let pages = 300_000u32;
    let links: Vec<(u32, u32)> = (0..pages)
        .filter(|page| page % 5 != 0)
        .flat_map(|i| {
            let far = i.wrapping_mul(2_654_435_761) % pages;
            [
                (i, (i + 1) % pages),
                (i, i - i % 100),
                (i, far),
                (i, far / 1000),
            ]
        })
        .collect();
    LinkGraph::from_links(pages as usize, &links)
}

#[test]
fn the_same_bytes_for_any_number_of_threads() {
    let graph = large();
    let in_links = InLinks::of(&graph);
    let mut weights = vec![0.0; graph.page_count()];
    weights[1] = 0.75;
    weights[299_999] = 0.25;
    for dangling in [Dangling::Leak, Dangling::Spread] {
        for teleport in [Teleport::Uniform, Teleport::Weights(&weights)] {
            let run =
                |threads| options(dangling, 1e-8, threads).rank(&in_links, teleport, &mut |_| {});
            let alone = run(1);
            assert!(alone.converged);
            for threads in [2, 3, 7] {
                let bytes = |ranked: &Ranked| -> Vec<u64> {
                    ranked.scores.iter().map(|score| score.to_bits()).collect()
                };
                assert!(bytes(&run(threads)) == bytes(&alone), "{threads} threads");
            }
        }
    }
}

/// On a web of several waves, the plain power iteration is the slow truth.
#[test]
fn agrees_with_a_power_iteration() {
    let graph = large();
    let pages = graph.page_count();
    let mut scores = vec![1.0 / pages as f64; pages];
    for _ in 0..160 {
        let mut next = vec![0.15 / pages as f64; pages];
        for page in graph.pages() {
            let links = graph.links(page);
            for target in links {
                next[target.index()] += 0.85 * scores[page.index()] / links.len() as f64;
            }
        }
        scores = next;
    }
    let ranked = rank(&graph, options(Dangling::Leak, 1e-10, 2), Teleport::Uniform);
    let off = distance(&ranked.scores, &scores);
    assert!(off <= 2e-10, "{off:e}");
}

#[test]
fn progress_is_told_and_limits_hold() {
    let graph = LinkGraph::from_links(3, &[(0, 1), (1, 2), (2, 0), (2, 2)]);
    let in_links = InLinks::of(&graph);
    let mut steps = Vec::new();
    let few = PageRank {
        sweeps_max: 3,
        tolerance: 1e-15,
        ..PageRank::default()
    };
    let ranked = few.rank(&in_links, Teleport::Uniform, &mut |progress| {
        steps.push(*progress);
    });
    assert_eq!(steps.len(), 3);
    assert_eq!(steps.last(), Some(&ranked.end));
    assert!(!ranked.converged && steps[2].step < steps[0].step);
    assert_eq!(in_links.indegree(), [1, 1, 2]);
    assert_eq!(in_links.sources(PageId(2)), [PageId(1), PageId(2)]);
}

#[test]
fn nothing_to_teleport_to() {
    let graph = LinkGraph::from_links(2, &[(0, 1)]);
    for dangling in [Dangling::Leak, Dangling::Spread] {
        let ranked = rank(
            &graph,
            options(dangling, 1e-9, 1),
            Teleport::Weights(&[0.0, 0.0]),
        );
        assert_eq!(ranked.scores, [0.0, 0.0]);
    }
    let empty = LinkGraph::from_links(0, &[]);
    assert!(
        rank(&empty, PageRank::default(), Teleport::Uniform)
            .scores
            .is_empty()
    );
}
