//! How fast webs are generated, written, read, turned round and ranked; sizes are arguments.
//!
//! ```text
//! cargo bench -p turnstone-linkgraph --                                  everything, on a small web
//! cargo bench -p turnstone-linkgraph -- generate 5000000 12 web          into a BV graph
//! cargo bench -p turnstone-linkgraph -- generate 5000000 12 web.tsv.zst  into an edge list
//! cargo bench -p turnstone-linkgraph -- shape web                        degrees and reachability
//! cargo bench -p turnstone-linkgraph -- load web
//! cargo bench -p turnstone-linkgraph -- transpose web
//! cargo bench -p turnstone-linkgraph -- pagerank web 1e-6 1 [scores]     tolerance, threads, output
//! cargo bench -p turnstone-linkgraph -- csr web out                      raw arrays for compare_pagerank.py
//! ```
//!
//! Each line of output is one measurement: what, seconds, and what the size was.

#![allow(clippy::print_stdout)] // a benchmark speaks to the terminal
#![allow(missing_docs)]

use std::fs::File;
use std::io::{BufWriter, Write};
use std::num::NonZeroUsize;
use std::path::Path;
use std::time::Instant;

use turnstone_frontier::PageId;
use turnstone_linkgraph::generate::{GeneratedWeb, WebParameters, power_law};
use turnstone_linkgraph::rank::{InLinks, PageRank, Teleport};
use turnstone_linkgraph::{LinkGraph, PageSink, StoredGraph, bv, edges};

type Outcome = Result<(), Box<dyn std::error::Error>>;

fn main() -> Outcome {
    // `cargo bench` itself adds --bench.
    let arguments: Vec<String> = std::env::args()
        .skip(1)
        .filter(|a| a != "--bench")
        .collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words[..] {
        [] => everything()?,
        ["generate", pages, links, to] => generate(pages.parse()?, links.parse()?, Path::new(to))?,
        ["power-law", pages] => shape(&power_law(pages.parse()?, 2.1, 1)?),
        ["shape", web] => shape(&load(Path::new(web))?.graph),
        ["load", web] => drop(load(Path::new(web))?),
        ["transpose", web] => transpose(&load(Path::new(web))?.graph),
        ["pagerank", web, tolerance, threads] => {
            pagerank(
                load(Path::new(web))?.graph,
                tolerance.parse()?,
                threads.parse()?,
                None,
            )?;
        }
        ["pagerank", web, tolerance, threads, to] => {
            pagerank(
                load(Path::new(web))?.graph,
                tolerance.parse()?,
                threads.parse()?,
                Some(Path::new(to)),
            )?;
        }
        ["csr", web, to] => csr(&load(Path::new(web))?.graph, to)?,
        _ => return Err("see the head of benches/linkgraph.rs for what can be measured".into()),
    }
    println!("peak memory {} MiB", peak_mib());
    Ok(())
}

fn everything() -> Outcome {
    let folder = tempfile::tempdir()?;
    for name in ["web", "web.tsv.zst"] {
        let path = folder.path().join(name);
        generate(200_000, 12.0, &path)?;
        let graph = load(&path)?.graph;
        transpose(&graph);
        pagerank(graph, 1e-6, NonZeroUsize::MIN, None)?;
    }
    Ok(())
}

fn timed<T>(what: &str, size: impl FnOnce(&T) -> String, work: impl FnOnce() -> T) -> T {
    let start = Instant::now();
    let made = work();
    println!(
        "{what} {:.3} s ({})",
        start.elapsed().as_secs_f64(),
        size(&made)
    );
    made
}

fn size(graph: &LinkGraph) -> String {
    format!("{} pages, {} links", graph.page_count(), graph.link_count())
}

fn generate(pages: usize, links_per_page: f64, to: &Path) -> Outcome {
    let parameters = WebParameters {
        pages,
        links_per_page,
        ..WebParameters::default()
    };
    let web = GeneratedWeb::new(&parameters)?;
    let sink: Box<dyn PageSink> = if to.to_string_lossy().contains(".tsv") {
        Box::new(edges::EdgeWriter::create(to)?)
    } else {
        Box::new(bv::BvWriter::create(to)?)
    };
    let written = timed(
        "generate and write",
        |_| format!("{pages} pages"),
        || web.write(sink, &mut |_| {}),
    );
    written?;
    Ok(())
}

fn load(path: &Path) -> Result<StoredGraph, Box<dyn std::error::Error>> {
    let read = || {
        if bv::is_graph(path) {
            bv::read(path)
        } else {
            edges::read(path)
        }
    };
    let describe =
        |web: &Result<StoredGraph, _>| web.as_ref().map_or(String::new(), |web| size(&web.graph));
    Ok(timed("load", describe, read)?)
}

fn transpose(graph: &LinkGraph) {
    timed("transpose", size, || graph.transpose());
}

fn pagerank(graph: LinkGraph, tolerance: f64, threads: NonZeroUsize, to: Option<&Path>) -> Outcome {
    let in_links = timed("turn round", |_| String::new(), || InLinks::of(&graph));
    drop(graph);
    let options = PageRank {
        tolerance,
        threads,
        ..PageRank::default()
    };
    let ranked = timed(
        "pagerank",
        |ranked: &turnstone_linkgraph::rank::Ranked| format!("{threads} threads, {:?}", ranked.end),
        || options.rank(&in_links, Teleport::Uniform, &mut |_| {}),
    );
    let pages = in_links.page_count() as u64;
    // Scores and shares beside the links; one wave of fresh shares is 2 MiB.
    let bytes = in_links.memory_bytes() + 16 * pages + (2 << 20);
    println!(
        "memory while ranking {:.2} bytes a link",
        bytes as f64 / in_links.link_count() as f64
    );
    if let Some(to) = to {
        let mut file = BufWriter::new(File::create(to)?);
        for score in ranked.scores {
            file.write_all(&score.to_le_bytes())?;
        }
        file.flush()?;
    }
    Ok(())
}

/// Degrees, the exponent of the in-degrees, and how much is reachable from page 0.
fn shape(graph: &LinkGraph) {
    let pages = graph.page_count() as f64;
    let dangling = graph
        .pages()
        .filter(|&page| graph.outdegree(page) == 0)
        .count();
    let own = graph
        .pages()
        .filter(|&page| graph.links(page).binary_search(&page).is_ok())
        .count();
    println!(
        "mean degree {:.3}, dangling {:.4}, self-links {own}",
        graph.link_count() as f64 / pages,
        dangling as f64 / pages
    );
    let indegree = graph.indegree();
    println!(
        "in-degree: largest {:?}, of {} pages 0",
        indegree.iter().max(),
        indegree.iter().filter(|&&k| k == 0).count()
    );
    for least in [1u32, 2, 5, 10, 20, 50, 100, 200, 500] {
        // Clauset, Shalizi, Newman 2009, eq. 3.7: maximum likelihood above `least`.
        let tail: Vec<f64> = indegree
            .iter()
            .filter(|&&k| k >= least)
            .map(|&k| f64::from(k))
            .collect();
        let logs: f64 = tail
            .iter()
            .map(|k| (k / (f64::from(least) - 0.5)).ln())
            .sum();
        println!(
            "in-degree >= {least}: {} pages, exponent {:.3}",
            tail.len(),
            1.0 + tail.len() as f64 / logs
        );
    }
    let mut reached = vec![false; graph.page_count()];
    let mut queue = vec![PageId(0)];
    reached[0] = true;
    let mut count = 0;
    while let Some(page) = queue.pop() {
        count += 1;
        for &target in graph.links(page) {
            if !std::mem::replace(&mut reached[target.index()], true) {
                queue.push(target);
            }
        }
    }
    println!("reachable from page 0: {count} of {}", graph.page_count());
}

/// The transpose as raw little-endian arrays: starts (u64), sources (u32), out-degrees (u32).
fn csr(graph: &LinkGraph, to: &str) -> Outcome {
    let in_links = graph.transpose();
    let mut starts = BufWriter::new(File::create(format!("{to}.starts"))?);
    let mut sources = BufWriter::new(File::create(format!("{to}.sources"))?);
    let mut outdegree = BufWriter::new(File::create(format!("{to}.outdegree"))?);
    let mut start = 0u64;
    starts.write_all(&start.to_le_bytes())?;
    for page in graph.pages() {
        start += u64::from(in_links.outdegree(page));
        starts.write_all(&start.to_le_bytes())?;
        for source in in_links.links(page) {
            sources.write_all(&source.0.to_le_bytes())?;
        }
        outdegree.write_all(&graph.outdegree(page).to_le_bytes())?;
    }
    starts.flush()?;
    sources.flush()?;
    Ok(outdegree.flush()?)
}

/// The most memory this process ever had, where the system tells.
fn peak_mib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.trim().strip_suffix(" kB")?.parse::<u64>().ok())
        .unwrap_or(0)
        / 1024
}
