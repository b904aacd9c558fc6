//! Which known pages change sides when the scope changes.
//!
//! Pages out of scope are remembered with the links that lead to them, so that a wider scope finds
//! them without a request, and a narrower one lets go of pages that already wait. What flips is
//! written into the plan's entry: folding it again reads no URL.
//!
//! Cost: one look at every known URL, only when the scope changed.

use turnstone_frontier::{PageId, Tick};
use turnstone_pagestore::{Entry, Links, Store, StoreError};
use turnstone_urls::Url;
use turnstone_urls::scope::Scope;

use crate::terms::Terms;

/// The pages that change sides.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Flips {
    /// Those that come in.
    pub inside: Vec<PageId>,
    /// Those that leave.
    pub outside: Vec<PageId>,
}

/// What a scope changes of a crawl. Seeds were named: they belong to the crawl whatever its scope, but
/// for those that its exclude list names.
pub fn flips(store: &Store, scope: &Scope) -> Result<Flips, StoreError> {
    let mut flips = Flips::default();
    let index = store.index();
    for page in (0..index.page_count()).map(PageId::from_index) {
        let url = Url::parse(&store.url(page)?);
        let belongs = match url {
            Ok(url) if index.is_seed(page) => !scope.is_listed_out(&url),
            Ok(url) => scope.check(&url, u32::from(index.depth(page))).is_ok(),
            Err(_) => index.is_seed(page),
        };
        match (belongs, index.is_outside(page)) {
            (true, true) => flips.inside.push(page),
            (false, false) => flips.outside.push(page),
            _ => {}
        }
    }
    Ok(flips)
}

/// Gives the plan in force another scope, as the next plan, without asking anybody. Nothing if there is no plan, or
/// a newer release wrote it.
pub fn rescope(store: &mut Store, scope: &Scope, tick: Tick) -> Result<Option<Flips>, StoreError> {
    let Some(before) = store.index().plan().cloned() else {
        return Ok(None);
    };
    let Some(terms) = Terms::read(&before) else {
        return Ok(None);
    };
    let flips = flips(store, scope)?;
    let terms = Terms {
        scope: scope.to_string(),
        ..terms
    };
    let entry = Entry::Plan {
        question: &terms.question,
        policy: &terms.policy,
        seeds: before.seeds,
        text: &terms.text(),
        inside: Links::Ids(&flips.inside),
        outside: Links::Ids(&flips.outside),
    };
    let tick = tick.max(store.index().latest());
    store.append(tick, &entry);
    Ok(Some(flips))
}
