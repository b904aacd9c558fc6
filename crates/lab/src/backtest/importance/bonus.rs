//! Pages that earn more than their links bring, as people name them.
//!
//! `TEXT=SCORE` for every page whose address contains the text, or a file with one page a line,
//! its score behind a tab.

use std::path::Path;

use turnstone_frontier::PageId;
use turnstone_policy::Spec;
use turnstone_policy::importance::{Bonus, OpicOptions, Weight};

use super::groups::counts_pages;
use crate::run::RunError;
use crate::web::{GraphWeb, page_list};

/// What a score may be, for those who gave another.
const WANTED: &str = "give a number from 0 to 1000000";

/// A bonus is paid out of OPIC's virtual page: other policies have none.
pub fn check(items: &[String], specs: &[Spec]) -> Result<(), RunError> {
    let other = specs.iter().find(|spec| spec.name() != "opic");
    match other.filter(|_| !items.is_empty()) {
        Some(other) => wrong(format!("only opic lets pages earn more; leave out {other}")),
        None => Ok(()),
    }
}

/// The bonus a user means, for these policies; later items yield to earlier ones.
pub fn parse(
    items: &[String],
    web: &GraphWeb,
    policies: &[OpicOptions],
) -> Result<Bonus, RunError> {
    if !items.is_empty() && !counts_pages(policies) {
        let why =
            "pages earn more only where pages are counted; leave out nodes=host or nodes=site";
        return wrong(why.to_owned());
    }
    let mut scores = Vec::new();
    for item in items {
        if Path::new(item).is_file() {
            let wanted = format!("is no score; {WANTED}");
            scores.extend(page_list::read(Path::new(item), web, weight, &wanted)?);
        } else {
            scores.extend(by_address(item, web)?);
        }
    }
    Ok(Bonus::new(scores))
}

fn wrong<T>(why: String) -> Result<T, RunError> {
    Err(RunError::wrong("bonus", why))
}

fn by_address(item: &str, web: &GraphWeb) -> Result<Vec<(PageId, Weight)>, RunError> {
    let Some((text, score)) = item.rsplit_once('=') else {
        let wanted = "there is no such file; give a file, or TEXT=SCORE such as news=3";
        return wrong(format!("'{item}': {wanted}"));
    };
    let Some(score) = weight(score) else {
        return wrong(format!("'{score}' is no score; {WANTED}"));
    };
    let Some(urls) = &web.urls else {
        let wanted = "the web has no addresses; give a file of pages by number";
        return wrong(format!("'{item}': {wanted}"));
    };
    let pages = web.graph.pages();
    let named = pages.filter(|page| urls.url(*page).contains(text));
    let scores: Vec<_> = named.map(|page| (page, score)).collect();
    if scores.is_empty() {
        return wrong(format!("no address contains '{text}'"));
    }
    Ok(scores)
}

fn weight(text: &str) -> Option<Weight> {
    Weight::new(text.parse().ok()?)
}
