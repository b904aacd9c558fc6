//! What a LiveRank costs, in PageRank runs: `pa-ratio` from the old crawl to its last request.
//!
//! ```text
//! cargo bench -p turnstone-lab --bench liveness -- [PAGES [LINKS_PER_PAGE [TOLERANCE]]]
//! ```
//!
//! and what a verdict costs the tree of places: folders of ten pages, three deep, a thousand pages a
//! host; a third of the hosts is dead, and of the others a third of the folders and a tenth of the pages.
//!
//! Default 200000 12 1e-6. One thread; seconds of CPU, not of the clock. Every third host is alive,
//! one page in a hundred is sampled at random. Each line is one measurement.

#![allow(missing_docs, clippy::print_stdout)] // a benchmark speaks to the terminal

use std::num::NonZeroUsize;
use std::sync::Arc;

use turnstone_frontier::{HostId, Politeness};
use turnstone_lab::replay::{self, Replay};
use turnstone_linkgraph::LinkGraph;
use turnstone_linkgraph::generate::{GeneratedWeb, WebParameters};
use turnstone_linkgraph::rank::{GraphRank, InLinks, PageRank, Teleport};
use turnstone_policy::changes::DirectoryTree;
use turnstone_policy::liveness::{self, OldCrawl, Sample, SampleBy, Start};

fn main() {
    let numbers: Vec<f64> = std::env::args()
        .skip(1)
        .filter_map(|argument| argument.parse().ok())
        .collect();
    let number = |index: usize, default: f64| numbers.get(index).copied().unwrap_or(default);
    let parameters = WebParameters {
        pages: number(0, 200_000.0) as usize,
        links_per_page: number(1, 12.0),
        ..WebParameters::default()
    };
    let web = GeneratedWeb::new(&parameters).expect("the parameters are within their limits");
    let graph = web.graph();
    println!(
        "web: {} pages, {} links",
        graph.page_count(),
        graph.link_count()
    );
    let pagerank = PageRank {
        tolerance: number(2, 1e-6),
        threads: NonZeroUsize::MIN,
        ..PageRank::default()
    };

    measure_tree(&graph);

    let in_links = InLinks::of(&graph);
    let began = cpu_seconds();
    let ranked = pagerank.rank(&in_links, Teleport::Uniform, &mut |_| {});
    let one_run = cpu_seconds() - began;
    println!(
        "one PageRank run: {one_run:.2} s, {} sweeps",
        ranked.end.sweeps
    );
    drop((in_links, ranked));

    let ranks = Arc::new(GraphRank::new(&graph, pagerank));
    let began = cpu_seconds();
    let old = Arc::new(OldCrawl::new(ranks));
    assert_eq!(old.by_pagerank().len(), graph.page_count());
    let orders = cpu_seconds() - began;
    println!("static orders: {orders:.2} s");

    let pages = graph.page_count();
    let alive: Vec<bool> = (0..pages).map(|page| page / 1000 % 3 == 0).collect();
    for policy in ["pagerank", "pa", "pa-ratio", "alive-bfs", "alive-indegree"] {
        let start = Start {
            old: Arc::clone(&old),
            sample: Sample {
                by: SampleBy::Random,
                size: pages.div_ceil(100),
            },
            seed: 1,
        };
        let spec = policy.parse().expect("the name alone is a spec");
        let policy = liveness::build(&spec, &start).expect("the sample fits the web");
        let start = replay::Start {
            graph: &graph,
            hosts: &[],
            seeds: &[],
            politeness: Politeness::OFF,
        };
        let began = cpu_seconds();
        let mut replay = Replay::start(start, policy).with_fates(&alive);
        // The answer that completes the sample is the one that makes the order.
        let sample = pages.div_ceil(100) as u64;
        while replay.requests() + 1 < sample && replay.step().is_some() {}
        let before = cpu_seconds();
        replay.step();
        let ordering = cpu_seconds() - before;
        while replay.step().is_some() {}
        let seconds = cpu_seconds() - began;
        println!(
            "{spec}: ordering {ordering:.2} s, with the static orders {:.2} PageRank runs; the whole \
             crawl of {} requests {seconds:.2} s, {:.2} runs",
            (orders + ordering) / one_run,
            replay.requests(),
            (orders + seconds) / one_run
        );
    }
}

fn measure_tree(graph: &LinkGraph) {
    let pages = graph.page_count();
    let (mut above, mut of_page, mut hosts) = (Vec::new(), Vec::new(), Vec::new());
    let mut at = [0u32; 3];
    for page in 0..pages {
        for (depth, size) in [1000, 100, 10].into_iter().enumerate() {
            if page % size == 0 {
                let number = above.len() as u32;
                above.push(if depth == 0 { number } else { at[depth - 1] });
                at[depth] = number;
            }
        }
        of_page.push(at[2]);
        hosts.push(HostId((page / 1000) as u32));
    }
    // Fates by a hash of host, folder and page.
    let luck = |number: usize| (number as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
    let is_alive = |page: usize| {
        luck(page / 1000) % 3 > 0 && luck(page / 10 + 7) % 3 > 0 && luck(page + 13) % 10 > 0
    };
    let alive: Vec<bool> = (0..pages).map(is_alive).collect();
    let folders = above.len();
    let tree = Arc::new(DirectoryTree::new(of_page, above));
    let ranks = Arc::new(GraphRank::new(graph, PageRank::default()));
    for spec in ["tree:looks=0", "tree"] {
        let start = Start {
            old: Arc::new(OldCrawl::new(ranks.clone()).in_folders(Arc::clone(&tree))),
            sample: Sample {
                by: SampleBy::Random,
                size: 1,
            },
            seed: 1,
        };
        let policy = liveness::build(&spec.parse().expect("a spec"), &start).expect("no sample");
        let start = replay::Start {
            graph,
            hosts: &hosts,
            seeds: &[],
            politeness: Politeness::OFF,
        };
        let began = cpu_seconds();
        let mut replay = Replay::start(start, policy).with_fates(&alive);
        let ready = cpu_seconds();
        let mut bytes = 0;
        let mut slowest: f64 = 0.0;
        let mut before = ready;
        while replay.step().is_some() {
            if replay.requests().is_multiple_of(10_000) {
                let now = cpu_seconds();
                slowest = slowest.max((now - before) / 1e4);
                before = now;
                bytes = bytes.max(replay.scheduler().policy().allocated_bytes());
            }
        }
        let seconds = cpu_seconds() - ready;
        println!(
            "{spec}: {folders} folders, beginning {:.2} s; {} requests {seconds:.2} s, {:.2} µs each, in \
             the slowest 10,000 {:.2} µs; {:.1} bytes a page at most",
            ready - began,
            replay.requests(),
            seconds / replay.requests() as f64 * 1e6,
            slowest * 1e6,
            bytes as f64 / pages as f64,
        );
    }
}

/// Seconds this thread has computed.
fn cpu_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/schedstat").unwrap_or_default();
    let nanoseconds = stat
        .split_whitespace()
        .next()
        .and_then(|text| text.parse::<f64>().ok());
    nanoseconds.expect("Linux counts CPU time in /proc/self/schedstat") / 1e9
}
