//! How often the rewrites of a site, learnt from its other pages, tell where a page went.
//!
//! ```text
//! cargo run --release -p turnstone-lab --example moved -- PAIRS.tsv|- [all|tuned|reported]
//! ```
//!
//! A line a pair: old address, new address, tab between, more columns ignored; `-` reads standard input. Each
//! page is predicted from all other pairs of its host. Hosts are split in two by a hash of their name: rules
//! were chosen on `tuned`, figures are told of `reported`. Scheme, `www.` and a slash at the end do not count.

#![allow(missing_docs, clippy::print_stdout)] // speaks to the terminal

use std::collections::BTreeMap;
use std::io::Read as _;

use turnstone_lab::moved::Rewrites;

fn host(url: &str) -> String {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let host = rest.split(['/', '?', ':']).next().unwrap_or("");
    let host = host.to_ascii_lowercase();
    host.strip_prefix("www.")
        .map_or(host.clone(), str::to_owned)
}

fn plain(url: &str) -> String {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let authority = authority.to_ascii_lowercase();
    let authority = authority.strip_prefix("www.").unwrap_or(&authority);
    format!("{authority}{}", path.trim_end_matches('/'))
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let file = arguments
        .next()
        .ok_or("give a file of pairs, or - for standard input")?;
    let part = arguments.next().unwrap_or_else(|| "all".to_owned());
    let mut text = String::new();
    if file == "-" {
        std::io::stdin().read_to_string(&mut text)?;
    } else {
        text = std::fs::read_to_string(&file)?;
    }
    let mut sites: BTreeMap<String, Vec<(&str, &str)>> = BTreeMap::new();
    for line in text.lines() {
        let mut columns = line.split('\t');
        if let (Some(old), Some(new)) = (columns.next(), columns.next()) {
            sites.entry(host(old)).or_default().push((old, new));
        }
    }
    let half = |name: &str| {
        name.bytes()
            .fold(0u32, |sum, byte| sum.wrapping_mul(31) + u32::from(byte))
            / 8
            % 2
    };
    sites.retain(|name, _| match part.as_str() {
        "tuned" => half(name) == 0,
        "reported" => half(name) == 1,
        _ => true,
    });
    let pairs: usize = sites.values().map(Vec::len).sum();
    println!("{} hosts, {pairs} pairs ({part})", sites.len());
    for least in [0.0, 0.2, 0.5, 0.8] {
        let (mut proposed, mut first, mut in_three, mut tests) = (0, 0, 0, 0);
        for site in sites.values() {
            for (at, (old, new)) in site.iter().enumerate() {
                let others = site
                    .iter()
                    .enumerate()
                    .filter(|(other, pair)| *other != at && pair.0 != *old);
                let rewrites = Rewrites::learn(others.map(|(_, pair)| *pair));
                let mut candidates = rewrites.candidates(old);
                candidates.retain(|candidate| candidate.chance >= least);
                candidates.truncate(3);
                let right = |url: &str| plain(url) == plain(new);
                proposed += usize::from(!candidates.is_empty());
                tests += candidates.len();
                first += usize::from(candidates.first().is_some_and(|one| right(&one.url)));
                in_three += usize::from(candidates.iter().any(|one| right(&one.url)));
            }
        }
        let share = |part: usize, whole: usize| 100.0 * part as f64 / whole.max(1) as f64;
        println!(
            "chance at least {least}: a candidate for {:.1} %, the first right for {:.1} % of these and {:.1} % of \
             all; among three {:.1} % of all, at {:.2} requests a page found",
            share(proposed, pairs),
            share(first, proposed),
            share(first, pairs),
            share(in_three, pairs),
            tests as f64 / in_three.max(1) as f64,
        );
    }
    Ok(())
}
