//! A URL that the crawl has not met: what would become of it if a page linked to it now.

use serde_json::{Value, json};
use turnstone_fetch::robots::{Access, Record};
use turnstone_fetch::urls::{origin_of, shown};
use turnstone_fetch::{Url, traps};
use turnstone_pagestore::PageState;

use super::waits;
use crate::commands::directory::Directory;
use crate::lines::aligned;

/// The most pages with cut links that are named, and the most pages that are looked at for them.
const TOLD_MAX: usize = 3;
const LOOKED_AT_MAX: usize = 200_000;

/// Judges a URL: as JSON, and in words.
pub(super) fn judge(directory: &Directory, url: &Url) -> anyhow::Result<(Value, String)> {
    let unmet = unmet(directory)?;
    let (class, fate) = match refusal(directory, url)? {
        Some((class, why)) => (class, format!("the crawler would not ask for it: {why}")),
        None => {
            let fate = match waits::robots(directory, url)? {
                None => "the crawler would ask for it".to_owned(),
                Some(first) => format!("the crawler would ask for it; first: {first}"),
            };
            ("not-found-yet", fate)
        }
    };
    let reason = format!("{unmet}; if a page linked to it, {fate}");
    let json = json!({
        "url": shown(url.as_str()),
        "known": false,
        "state": "not-known",
        "class": class,
        "reason": reason,
        "rank": null,
        "linked_from": [],
        "linked_from_count": 0,
    });
    let facts = [
        ("state", format!("not known: {unmet}")),
        ("if linked", fate),
    ];
    let text = format!("{}\n{}", shown(url.as_str()), aligned(&facts));
    Ok((json, text))
}

/// That nobody met it, as far as that can be known.
fn unmet(directory: &Directory) -> anyhow::Result<String> {
    if directory.store.index().tally().cut_fetches == 0 {
        return Ok("no stored page links to it, and it is no seed".to_owned());
    }
    let mut cut = Vec::new();
    let pages = directory.store.pages_in(PageState::Fetched);
    for page in pages.take(LOOKED_AT_MAX) {
        let outcome = directory.store.outcome(page)?;
        if outcome.is_some_and(|outcome| outcome.facts.unseen_links > 0) {
            cut.push(directory.url(page)?);
        }
        if cut.len() > TOLD_MAX {
            break;
        }
    }
    let more = if cut.len() > TOLD_MAX { ", …" } else { "" };
    cut.truncate(TOLD_MAX);
    Ok(match cut.is_empty() {
        true => "no link to it was seen, and it is no seed; not all links of all pages could be \
                 seen"
            .to_owned(),
        false => format!(
            "no link to it was seen, and it is no seed; but a limit cut links that may lead to it, on {}{more}",
            cut.join(", ")
        ),
    })
}

/// The rule that keeps a URL out, if one does.
fn refusal(directory: &Directory, url: &Url) -> anyhow::Result<Option<(&'static str, String)>> {
    // Nobody knows how far from a seed it would be found: as near as can be.
    if let Err(outside) = directory.plan.scope.check(url, 1) {
        return Ok(Some(("scope", outside.to_string())));
    }
    let finding = traps::judge(url, directory.now_s(), &directory.plan.traps);
    if let Some(finding) = finding.filter(|finding| finding.class == traps::TrapClass::Trap) {
        return Ok(Some(("trap", format!("trap: {}", finding.rule))));
    }
    let saved = directory.store.robots(&origin_of(url))?;
    let record = saved.and_then(|bytes| Record::restore(&bytes).ok());
    let Some(record) = record else {
        return Ok(None);
    };
    let Access::Rules { rules, .. } = record.access(directory.now_s(), &directory.plan.robots)
    else {
        return Ok(None);
    };
    let verdict = rules.check_url(url);
    Ok((!verdict.allowed).then(|| {
        let line = verdict.line.map_or_else(
            || "robots.txt refuses it".to_owned(),
            |line| format!("robots.txt line {}: {}", line.number, line.text),
        );
        ("robots", line)
    }))
}
