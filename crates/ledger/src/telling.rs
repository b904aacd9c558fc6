//! What a crawl is told of, by whom nothing is decided: pages, outcomes and notes, as a ledger writes them.
//!
//! An opened [`Ledger`](crate::Ledger) has a policy, and opening it folds the journal. Who only adds to the past
//! (an old crawl that is taken in) needs neither: to the policy that folds it next, what is told here is news.
//! The ledger settles pages through the same function, so there is one place that knows what an outcome says
//! of the page's past.

use turnstone_frontier::{PageId, Tick};
use turnstone_pagestore::{Entry, Facts, Key, Links, NewPage, Outcome, Settled, Store};
use turnstone_urls::{Url, host_of};

use crate::exchange::host_of_name;

/// Numbers a page that some link or list leads to, so many links from a seed.
pub fn add(store: &mut Store, tick: Tick, (key, url): (Key, &Url), depth: u8) -> PageId {
    let host = host_of_name(store, tick, host_of(url));
    let new = NewPage {
        key,
        url: url.as_str(),
        host,
        seed: false,
        outside: false,
        listed: false,
        depth,
        refused: ("", ""),
        metadata: &[],
    };
    store.add(tick, new)
}

/// What came of a page, with what the journal knows of it until now.
pub(crate) fn outcome<'a>(
    store: &Store,
    page: PageId,
    settled: Settled,
    links: &'a [PageId],
    mut facts: Facts,
) -> Outcome<'a> {
    facts.again = store.index().is_stored(page);
    Outcome {
        page,
        settled,
        links: Links::Ids(links),
        before: store.index().outcome_at(page).unwrap_or_default(),
        facts,
    }
}

/// Settles a page without a request.
pub fn settle(
    store: &mut Store,
    tick: Tick,
    page: PageId,
    settled: Settled,
    links: &[PageId],
    mut facts: Facts,
) {
    if let Settled::Fetched(_) = settled {
        facts.novel = !store.index().has_text(facts.text_hash);
    }
    let outcome = outcome(store, page, settled, links, facts);
    store.settle(tick, outcome);
}

/// Writes something down for those who look at the crawl later.
pub fn note(store: &mut Store, tick: Tick, kind: &str, bytes: &[u8]) {
    store.append(tick, &Entry::Note { kind, bytes });
}
