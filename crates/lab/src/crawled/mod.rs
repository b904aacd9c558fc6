//! A crawl directory as a recorded web: its link graph, or the histories of its sites.
//!
//! In the link graph every page in scope is a page, stored or not; the links are those of the stored
//! copy. A page that redirects links to where it leads, and nowhere else.

mod history;
mod snapshots;

pub use history::{ExportError, HistoryCounts, SiteHistories};
pub use snapshots::{SnapshotBy, WHOLE_SITE};

use turnstone_frontier::{Links as _, PageId};
use turnstone_linkgraph::{GraphBuilder, UrlTable};
use turnstone_pagestore::{PageState, Settled, Store, StoreError};

use crate::web::GraphWeb;

/// The link graph of a crawl with the URLs of its pages.
pub fn graph(store: &Store) -> Result<GraphWeb, StoreError> {
    let pages = pages(store);
    let mut numbers = vec![None; store.index().page_count()];
    for (number, page) in pages.iter().enumerate() {
        numbers[page.index()] = Some(PageId::from_index(number));
    }
    let mut builder = GraphBuilder::with_capacity(pages.len(), pages.len() * 8);
    let mut urls = UrlTable::new();
    let (mut links, mut numbered) = (Vec::new(), Vec::new());
    for page in pages {
        links_of(store, page, &mut links)?;
        numbered.clear();
        numbered.extend(links.iter().filter_map(|link| numbers[link.index()]));
        builder.push(&numbered);
        urls.push(&store.url(page)?);
    }
    Ok(GraphWeb {
        graph: builder.finish(),
        urls: Some(urls),
    })
}

/// The pages of a crawl: those in scope, in the order they were found.
pub fn pages(store: &Store) -> Vec<PageId> {
    let pages = (0..store.index().page_count()).map(PageId::from_index);
    pages
        .filter(|page| !store.index().is_outside(*page))
        .collect()
}

/// By page: whether it is unknown what it links to, because it is known of and was never settled.
/// In the link graph such a page has no links.
pub fn never_asked(store: &Store) -> Vec<bool> {
    let index = store.index();
    let open = [PageState::Waiting, PageState::InFlight, PageState::Unknown];
    pages(store)
        .into_iter()
        .map(|page| !index.is_copied(page) && open.contains(&index.state(page)))
        .collect()
}

/// The distinct pages that a page leads to, ascending.
pub fn links_of(store: &Store, page: PageId, links: &mut Vec<PageId>) -> Result<(), StoreError> {
    let moved = store.index().state(page) == PageState::Moved;
    let last = moved.then(|| store.outcome(page)).transpose()?.flatten();
    if let Some(Settled::Moved(to)) = last.map(|outcome| outcome.settled) {
        links.clear();
        links.push(to);
        return Ok(());
    }
    store.links_of(page, links);
    links.sort_unstable();
    links.dedup();
    Ok(())
}
