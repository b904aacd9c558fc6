//! How fast pages are read, and what of it takes the time.
//!
//! `cargo bench -p turnstone-fetch --bench reading [-- PATH …]`: reads the HTML files below the paths
//! (of each path at most 2,000, evenly spread), or without a path generated pages, from memory, one
//! core, as a crawl does. Seven runs over all pages; the median of the CPU time of this thread, where
//! Linux tells it, so that neighbours count less.
//!
//! - scan: tokens only, and title, base and wishes; no links are kept, no text is hashed
//! - links: the scan, and links found, told apart and resolved
//! - text: the scan, and the fingerprint of the text
//! - all: everything that a crawl asks of a page
//! - keys: all, and the canonical key of each link, by which a crawl knows pages
#![expect(clippy::print_stdout, reason = "a measurement")]

use std::fmt::Write as _;
use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use turnstone_fetch::html::{LinksWanted, PageInput, PageLimits, read_page};
use turnstone_fetch::urls::{KeyOptions, canonical_key};
use url::Url;

const FILES_MAX: usize = 2000;
const RUNS: usize = 7;

fn main() {
    let paths = std::env::args().skip(1).filter(|a| !a.starts_with('-'));
    let mut sets: Vec<(String, Vec<Vec<u8>>)> =
        paths.map(|path| (path.clone(), files(&path))).collect();
    if sets.is_empty() {
        sets.push(("generated articles".to_owned(), vec![article(); 50]));
        sets.push(("generated indexes".to_owned(), vec![index(); 20]));
    }
    let began = Instant::now();
    println!("MiB/s: scan links text all keys");
    for (name, pages) in &sets {
        let bytes: usize = pages.iter().map(Vec::len).sum();
        let mebibytes = bytes as f64 / f64::from(1 << 20);
        let rate = |links, fingerprint, keys: Option<KeyOptions>| {
            let limits = PageLimits {
                links,
                fingerprint,
                text_bytes_max: 0,
                ..PageLimits::default()
            };
            let mut runs: Vec<Duration> = (0..RUNS)
                .map(|_| time(pages, &limits, keys.as_ref(), began))
                .collect();
            runs.sort_unstable();
            mebibytes / runs[RUNS / 2].as_secs_f64()
        };
        println!(
            "{name}: {} pages, {mebibytes:.1} MiB: {:.0} {:.0} {:.0} {:.0} {:.0}",
            pages.len(),
            rate(LinksWanted::None, false, None),
            rate(LinksWanted::Pages, false, None),
            rate(LinksWanted::None, true, None),
            rate(LinksWanted::Pages, true, None),
            rate(LinksWanted::Pages, true, Some(KeyOptions::default())),
        );
    }
}

/// Reads all pages once.
fn time(
    pages: &[Vec<u8>],
    limits: &PageLimits,
    keys: Option<&KeyOptions>,
    began: Instant,
) -> Duration {
    let url = Url::parse("https://site.example/dir/sub/page.html").expect("a plain URL");
    let start = now(began);
    for body in pages {
        let input = PageInput {
            url: &url,
            content_type: Some("text/html"),
            body: black_box(body),
            agent: "turnstone",
        };
        let page = black_box(read_page(input, limits));
        if let Some(options) = keys {
            for link in &page.links {
                black_box(canonical_key(&link.url, options));
            }
        }
    }
    now(began) - start
}

/// CPU time of this thread, else the wall clock.
fn now(began: Instant) -> Duration {
    let stat = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let spent = stat
        .and_then(|s| s.split(' ').next()?.parse().ok())
        .map(Duration::from_nanos);
    spent.unwrap_or_else(|| began.elapsed())
}

fn files(path: &str) -> Vec<Vec<u8>> {
    let mut names = Vec::new();
    collect(Path::new(path), &mut names);
    names.sort();
    let step = names.len().div_ceil(FILES_MAX).max(1);
    let read = |name: &PathBuf| std::fs::read(name).expect("a readable HTML file");
    names.iter().step_by(step).map(read).collect()
}

fn collect(path: &Path, names: &mut Vec<PathBuf>) {
    if path.is_symlink() {
        return;
    }
    if path.is_dir() {
        for entry in std::fs::read_dir(path).expect("a readable folder") {
            collect(&entry.expect("a readable folder").path(), names);
        }
    } else if path.extension().is_some_and(|e| e == "html" || e == "htm") {
        names.push(path.to_owned());
    }
}

/// About 150 kB in the proportions of a real page: head, scripts, navigation, text.
fn article() -> Vec<u8> {
    let mut page =
        String::from("<!doctype html><html><head><meta charset=utf-8><title>An article</title>");
    for i in 0..12 {
        write!(page, "<link rel=stylesheet href='/css/{i}.css'><script>var a{i}={{x:{i},f:function(){{return '<b>'+this.x}}}};</script>").expect("a string");
    }
    page.push_str("</head><body><nav>");
    for i in 0..80 {
        writeln!(page, "<div class=\"menu-item level-{}\"><a class=\"nav link\" href=\"/section/{i}/index.html?from=menu&amp;n={i}\">Section {i}</a></div>", i % 3).expect("a string");
    }
    page.push_str("</nav><main>");
    for i in 0..400 {
        writeln!(page, "<p id=\"p{i}\">Lorem ipsum dolor sit amet, <em>consectetur</em> adipiscing elit, sed do eiusmod tempor &ndash; incididunt ut \
            <a href=\"../other/page-{i}.html#note\" rel=\"noopener\">labore et dolore</a> magna aliqua. Ut enim ad minim veniam, quis nostrud exercitation \
            <img src=\"/img/{i}.png\" alt=\"\"> ullamco laboris.</p>").expect("a string");
    }
    page.push_str("</main></body></html>");
    page.into_bytes()
}

/// An index: nothing but links, all of them different.
fn index() -> Vec<u8> {
    let mut page = String::new();
    for i in 0..3000 {
        writeln!(
            page,
            "<li><a href='/w/some_page?id={i}' title='Some page'>Some page</a></li>"
        )
        .expect("a string");
    }
    page.into_bytes()
}
