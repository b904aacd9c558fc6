//! A policy from nothing to a backtest: `docs/write-a-policy.md` walks through it.
//!
//! ```text
//! cargo run --release -p turnstone-lab --example write_a_policy
//! ```

#![allow(missing_docs, clippy::print_stdout)] // an example speaks to the terminal

use turnstone_frontier::{PageId, Policy, Politeness};
use turnstone_lab::replay::{Replay, Start};
use turnstone_linkgraph::LinkGraph;
use turnstone_linkgraph::generate::{GeneratedWeb, WebParameters};
use turnstone_linkgraph::rank::{Dangling, InLinks, PageRank, Teleport};
use turnstone_policy::breadth_first::BreadthFirst;
use turnstone_policy::coverage::{self, Goal, Trust};

mod policy;

fn main() {
    let parameters = WebParameters {
        pages: 20_000,
        ..WebParameters::default()
    };
    let web = GeneratedWeb::new(&parameters).expect("the parameters are within their limits");
    let graph = web.graph();
    let seeds: Vec<PageId> = (0..10).map(PageId).collect();
    let truth = truth(&graph, &seeds);
    let trust = Trust::alike(seeds.iter().copied()).expect("ten pages can be trusted");
    let spec = "rankmass".parse().expect("it is in the catalogue");
    let rankmass = coverage::build(&spec, &trust, Goal::default()).expect("it needs nothing more");

    println!("downloads until this share of the PageRank is stored:");
    println!(
        "{:>14}  {:>7}  {:>7}  {:>7}",
        "policy", "50 %", "80 %", "90 %"
    );
    let policies: [(&str, Box<dyn Policy>); 3] = [
        ("breadth-first", Box::<BreadthFirst>::default()),
        ("most-linked", Box::<policy::MostLinked>::default()),
        ("rankmass", Box::new(rankmass)),
    ];
    for (name, policy) in policies {
        let [half, most, nearly] = downloads(policy, &graph, &seeds, &truth, [0.5, 0.8, 0.9]);
        println!("{name:>14}  {half:>7}  {most:>7}  {nearly:>7}");
    }
}

/// How many downloads a policy needs until the stored pages hold each of these shares.
fn downloads(
    policy: Box<dyn Policy>,
    graph: &LinkGraph,
    seeds: &[PageId],
    truth: &[f64],
    shares: [f64; 3],
) -> [u64; 3] {
    let start = Start {
        graph,
        hosts: &[],
        seeds,
        politeness: Politeness::OFF,
    };
    let mut replay = Replay::start(start, policy);
    let mut reached = [0; 3];
    let (mut stored, mut count) = (0.0, 0);
    while reached[2] == 0
        && let Some(page) = replay.step()
    {
        stored += truth[page.index()];
        count += 1;
        for (share, reached) in shares.iter().zip(&mut reached) {
            if *reached == 0 && stored >= *share {
                *reached = count;
            }
        }
    }
    reached
}

/// The PageRank of a surfer who begins at the seeds.
fn truth(graph: &LinkGraph, seeds: &[PageId]) -> Vec<f64> {
    let mut teleport = vec![0.0; graph.page_count()];
    for seed in seeds {
        teleport[seed.index()] = 1.0 / seeds.len() as f64;
    }
    let pagerank = PageRank {
        dangling: Dangling::Spread,
        ..PageRank::default()
    };
    let in_links = InLinks::of(graph);
    let ranked = pagerank.rank(&in_links, Teleport::Weights(&teleport), &mut |_| {});
    ranked.scores
}
