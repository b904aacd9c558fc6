//! `--bonus`: pages that earn more than their links bring.
//!
//! `TEXT=SCORE` for every page whose address contains the text, or a file with one page a line,
//! its score behind a tab.

use std::fs;
use std::path::Path;

use anyhow::Context as _;
use turnstone_frontier::PageId;
use turnstone_lab::web::GraphWeb;
use turnstone_policy::Spec;
use turnstone_policy::importance::{Bonus, OpicOptions, Weight};

use crate::commands::groups::counts_pages;
use crate::exit::Usage;

/// What a score may be, for those who gave another.
const WANTED: &str = "give a number from 0 to 1000000";

/// A bonus is paid out of OPIC's virtual page: other policies have none.
pub(crate) fn check(items: &[String], specs: &[Spec]) -> Result<(), Usage> {
    let other = specs.iter().find(|spec| spec.name() != "opic");
    match other.filter(|_| !items.is_empty()) {
        Some(other) => Err(Usage::of(
            "--bonus",
            format!("only opic lets pages earn more; leave out {other}"),
        )),
        None => Ok(()),
    }
}

/// The bonus a user means, for these policies; later items yield to earlier ones.
pub(crate) fn parse(
    items: &[String],
    web: &GraphWeb,
    policies: &[OpicOptions],
) -> anyhow::Result<Bonus> {
    if !items.is_empty() && !counts_pages(policies) {
        let why =
            "pages earn more only where pages are counted; leave out nodes=host or nodes=site";
        return Err(Usage::of("--bonus", why).into());
    }
    let mut scores = Vec::new();
    for item in items {
        if Path::new(item).is_file() {
            read(Path::new(item), web, &mut scores)?;
        } else {
            by_address(item, web, &mut scores)?;
        }
    }
    Ok(Bonus::new(scores))
}

fn by_address(
    item: &str,
    web: &GraphWeb,
    scores: &mut Vec<(PageId, Weight)>,
) -> anyhow::Result<()> {
    let (text, score) = item.rsplit_once('=').ok_or_else(|| {
        let wanted = "there is no such file; give a file, or TEXT=SCORE such as news=3";
        Usage::of("--bonus", format!("'{item}': {wanted}"))
    })?;
    let score = weight(score)
        .ok_or_else(|| Usage::of("--bonus", format!("'{score}' is no score; {WANTED}")))?;
    let urls = web.urls.as_ref().ok_or_else(|| {
        let wanted = "the web has no addresses; give a file of pages by number";
        Usage::of("--bonus", format!("'{item}': {wanted}"))
    })?;
    let before = scores.len();
    let pages = web.graph.pages();
    scores.extend(
        pages
            .filter(|page| urls.url(*page).contains(text))
            .map(|page| (page, score)),
    );
    if scores.len() == before {
        return Err(Usage::of("--bonus", format!("no address contains '{text}'")).into());
    }
    Ok(())
}

fn read(file: &Path, web: &GraphWeb, scores: &mut Vec<(PageId, Weight)>) -> anyhow::Result<()> {
    let name = file.display();
    let text = fs::read_to_string(file).with_context(|| name.to_string())?;
    for (index, line) in text.lines().enumerate() {
        let (line, number) = (line.trim(), index + 1);
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let (page, score) = line.split_once('\t').unwrap_or((line, "1"));
        let found = web.find(page.trim());
        let page =
            found.with_context(|| format!("{name}, line {number}: there is no page '{page}'"))?;
        let score = weight(score.trim())
            .with_context(|| format!("{name}, line {number}: '{score}' is no score; {WANTED}"))?;
        scores.push((page, score));
    }
    Ok(())
}

fn weight(text: &str) -> Option<Weight> {
    Weight::new(text.parse().ok()?)
}
