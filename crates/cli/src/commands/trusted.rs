//! `--trusted`: where the surfer starts.
//!
//! `top:N`, `random:N` or `random:N:SEED`, a list `PAGE[=WEIGHT],…`, or a file with one page a line, its weight behind a tab.

use std::fs;
use std::path::Path;

use anyhow::Context as _;
use turnstone_frontier::{PageId, Random};
use turnstone_lab::web::GraphWeb;
use turnstone_linkgraph::rank::{InLinks, PageRank, Teleport};
use turnstone_policy::coverage::Trust;

use crate::exit::Usage;

/// The trusted pages a user means.
pub(crate) fn parse(text: &str, web: &GraphWeb) -> anyhow::Result<Trust> {
    if let Some(count) = text.strip_prefix("top:") {
        let pages = web.graph.page_count();
        let count = count
            .parse()
            .ok()
            .filter(|count| (1..=pages).contains(count));
        let count = count.ok_or_else(|| {
            Usage::of(
                "--trusted",
                format!("'{text}': give top:N with N from 1 to {pages}"),
            )
        })?;
        return Ok(Trust::alike(top(web, count))?);
    }
    if let Some(drawn) = text.strip_prefix("random:") {
        let (count, seed) = drawn.split_once(':').unwrap_or((drawn, "1"));
        let pages = web.graph.page_count();
        let count = count
            .parse()
            .ok()
            .filter(|count| (1..=pages).contains(count));
        let (Some(count), Ok(seed)) = (count, seed.parse()) else {
            let what = format!("'{text}': give random:N or random:N:SEED, N from 1 to {pages}");
            return Err(Usage::of("--trusted", what).into());
        };
        let mut order: Vec<PageId> = web.graph.pages().collect();
        Random::new(seed).shuffle(&mut order);
        order.truncate(count);
        return Ok(Trust::alike(order)?);
    }
    if Path::new(text).is_file() {
        return read(Path::new(text), web);
    }
    let pages: Vec<(PageId, f64)> = text
        .split(',')
        .map(|item| page_and_weight(item, web))
        .collect::<Result<_, Usage>>()?;
    Ok(Trust::weighted(pages)?)
}

/// The pages of highest PageRank, ties by id.
fn top(web: &GraphWeb, count: usize) -> Vec<PageId> {
    let ranked = PageRank::default().rank(&InLinks::of(&web.graph), Teleport::Uniform, &mut |_| {});
    let mut order: Vec<PageId> = web.graph.pages().collect();
    order.sort_by(|a, b| {
        ranked.scores[b.index()]
            .total_cmp(&ranked.scores[a.index()])
            .then(a.cmp(b))
    });
    order.truncate(count);
    order
}

/// `PAGE` or `PAGE=WEIGHT`; a URL may itself hold `=`, so the whole is tried first.
fn page_and_weight(item: &str, web: &GraphWeb) -> Result<(PageId, f64), Usage> {
    if let Some(page) = web.find(item) {
        return Ok((page, 1.0));
    }
    let weighted = item
        .rsplit_once('=')
        .and_then(|(page, weight)| Some((web.find(page)?, weight.parse().ok()?)));
    weighted.ok_or_else(|| {
        let last = web.graph.page_count() - 1;
        let wanted = match web.urls {
            Some(_) => {
                format!("give a recorded URL, a page number from 0 to {last}, top:N or a file")
            }
            None => format!("give a page number from 0 to {last}, top:N or a file"),
        };
        Usage::of(
            "--trusted",
            format!("there is no page or file '{item}'; {wanted}"),
        )
    })
}

fn read(file: &Path, web: &GraphWeb) -> anyhow::Result<Trust> {
    let name = file.display();
    let text = fs::read_to_string(file).with_context(|| name.to_string())?;
    let mut pages = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let (page, weight) = line.split_once('\t').unwrap_or((line, "1"));
        let number = index + 1;
        let found = web.find(page.trim());
        let page =
            found.with_context(|| format!("{name}, line {number}: there is no page '{page}'"))?;
        let weight: f64 = weight.trim().parse().ok().with_context(|| {
            format!("{name}, line {number}: '{weight}' is not a weight; give a positive number")
        })?;
        pages.push((page, weight));
    }
    Trust::weighted(pages).with_context(|| name.to_string())
}
