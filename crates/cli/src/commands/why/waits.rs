//! What a page waits for: its turn, its host, its robots.txt, or a crawl that goes on.

use turnstone_fetch::Url;
use turnstone_fetch::robots::{Access, Record};
use turnstone_fetch::urls::{host_of, origin_of};
use turnstone_frontier::{PageId, Place, Policy};
use turnstone_lab::number::whole;
use turnstone_ledger::{Folded, Stop};
use turnstone_pagestore::PageState;

use crate::commands::crawl::verdict::because;
use crate::commands::directory::{Directory, Standing};
use crate::moment::utc;

/// Everything that stands between a page and its fetch, what binds most first; nothing for a page that waits for nothing.
pub(super) fn of<P: Policy>(
    folded: &Folded<P>,
    directory: &Directory,
    page: PageId,
    url: &Url,
) -> anyhow::Result<Vec<String>> {
    let state = directory.store.index().state(page);
    let scheduler = &folded.scheduler;
    let Some(number) = folded.view.inner(page) else {
        return Ok(Vec::new());
    };
    let place = scheduler.ranking().place(number);
    let waiting = matches!(state, PageState::Waiting | PageState::Unknown);
    if !waiting && !matches!(place, Place::Queued | Place::Deferred(_)) {
        return Ok(Vec::new());
    }
    let mut waits = Vec::new();
    match place {
        Place::Deferred(until) => waits.push(format!(
            "the crawler does not try it again before {}",
            directory.utc(until)
        )),
        Place::Absent | Place::Parked | Place::Away | Place::Shelved => waits.push(
            "the policy has not queued it: it has no rank yet, or its turn comes later".to_owned(),
        ),
        Place::Queued | Place::InFlight => {}
    }
    let (host, now) = (directory.store.index().host(page), directory.now());
    let earliest = scheduler.earliest(host);
    let name = host_of(url);
    if earliest > now {
        waits.push(format!("{name} rests until {}", directory.utc(earliest)));
    } else if !scheduler.is_free(host, now) {
        waits.push(format!("{name} has as many requests open as it may have"));
    }
    waits.extend(robots(directory, url)?);
    if place == Place::Queued {
        waits.push(match scheduler.ranking().queued_before(number) {
            0 => "it is the best queued page".to_owned(),
            1 => "one queued page has a higher rank".to_owned(),
            before => format!("{} queued pages have a higher rank", whole(before as u64)),
        });
    }
    if scheduler.coverage().is_some_and(|coverage| coverage.met()) {
        waits.push("the goal is proven without it".to_owned());
    }
    match directory.standing()? {
        Standing::Running => {}
        Standing::Stopped(why) => waits.push(match Stop::named(&why) {
            Some(stop) => format!("no crawl is running: {}", because(stop)),
            None => format!("no crawl is running: the last one ended ({why})"),
        }),
        Standing::Interrupted => {
            waits.push("no crawl is running: the last one was interrupted".to_owned());
        }
        Standing::Untouched => waits.push("no crawl has begun".to_owned()),
    }
    Ok(waits)
}

/// What a page's robots.txt has against it, as far as it is known.
pub(super) fn robots(directory: &Directory, url: &Url) -> anyhow::Result<Option<String>> {
    let authority = origin_of(url);
    let saved = directory.store.robots(&authority)?;
    let record = saved.and_then(|bytes| Record::restore(&bytes).ok());
    let Some(record) = record else {
        return Ok(Some(format!(
            "the crawler has not asked for robots.txt of {authority} yet"
        )));
    };
    Ok(
        match record.access(directory.now_s(), &directory.plan.robots) {
            Access::Rules { rules, .. } => {
                let verdict = rules.check_url(url);
                (!verdict.allowed).then(|| match verdict.line {
                    Some(line) => format!("robots.txt line {}: {}", line.number, line.text),
                    None => "robots.txt refuses it".to_owned(),
                })
            }
            Access::Open { .. } => None,
            Access::Closed { why, until_s } => Some(format!(
                "robots.txt of {authority}: {why}; the crawler asks for nothing there before {}",
                utc(until_s.saturating_mul(1000))
            )),
            Access::Unknown => Some(format!(
                "the crawler must ask for robots.txt of {authority} again"
            )),
        },
    )
}
