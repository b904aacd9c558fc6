//! Trusted pages as people write them: where the surfer starts.
//!
//! `top:N`, `random:N` or `random:N:SEED`, a list `PAGE[=WEIGHT],…`, or a file with one page a line, its weight behind a tab.

use std::path::Path;

use turnstone_frontier::{PageId, Random};
use turnstone_linkgraph::rank::{InLinks, PageRank, Teleport};
use turnstone_policy::coverage::Trust;

use super::{GraphWeb, page_list};
use crate::run::RunError;

/// The trusted pages a user means.
pub fn parse(text: &str, web: &GraphWeb) -> Result<Trust, RunError> {
    let pages = web.graph.page_count();
    let counted = |count: &str| {
        let count = count.parse().ok();
        count.filter(|count| (1..=pages).contains(count))
    };
    if let Some(count) = text.strip_prefix("top:") {
        let Some(count) = counted(count) else {
            return wrong(format!("'{text}': give top:N with N from 1 to {pages}"));
        };
        return Ok(Trust::alike(top(web, count))?);
    }
    if let Some(drawn) = text.strip_prefix("random:") {
        let (count, seed) = drawn.split_once(':').unwrap_or((drawn, "1"));
        let (Some(count), Ok(seed)) = (counted(count), seed.parse()) else {
            return wrong(format!(
                "'{text}': give random:N or random:N:SEED, N from 1 to {pages}"
            ));
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
        .collect::<Result<_, RunError>>()?;
    Ok(Trust::weighted(pages)?)
}

fn wrong<T>(why: String) -> Result<T, RunError> {
    Err(RunError::wrong("trusted", why))
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
fn page_and_weight(item: &str, web: &GraphWeb) -> Result<(PageId, f64), RunError> {
    if let Some(page) = web.find(item) {
        return Ok((page, 1.0));
    }
    let weighted = item
        .rsplit_once('=')
        .and_then(|(page, weight)| Some((web.find(page)?, weight.parse().ok()?)));
    if let Some(weighted) = weighted {
        return Ok(weighted);
    }
    let last = web.graph.page_count() - 1;
    let address = web.urls.as_ref().map_or("", |_| "a recorded URL, ");
    wrong(format!(
        "there is no page or file '{item}'; give {address}a page number from 0 to {last}, top:N or a file"
    ))
}

fn read(file: &Path, web: &GraphWeb) -> Result<Trust, RunError> {
    let weight = |weight: &str| weight.parse().ok();
    let pages = page_list::read(file, web, weight, "is not a weight; give a positive number")?;
    let trust = Trust::weighted(pages);
    trust.map_err(|error| RunError::wrong("trusted", format!("{}: {error}", file.display())))
}
