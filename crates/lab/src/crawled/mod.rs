//! A crawl directory as a recorded web: its link graph, or the histories of its sites.
//!
//! In the link graph every known page is a page, stored or not; the links are those of the stored
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
    let pages = store.index().page_count();
    let mut builder = GraphBuilder::with_capacity(pages, pages * 8);
    let mut urls = UrlTable::new();
    let mut links = Vec::new();
    for page in (0..pages).map(PageId::from_index) {
        links_of(store, page, &mut links)?;
        builder.push(&links);
        urls.push(&store.url(page)?);
    }
    Ok(GraphWeb {
        graph: builder.finish(),
        urls: Some(urls),
    })
}

/// By page: whether it is unknown what it links to, because it is known of and was never settled.
/// In the link graph such a page has no links.
pub fn never_asked(store: &Store) -> Vec<bool> {
    let index = store.index();
    let pages = (0..index.page_count()).map(PageId::from_index);
    let open = [PageState::Waiting, PageState::InFlight, PageState::Unknown];
    pages
        .map(|page| !index.is_stored(page) && open.contains(&index.state(page)))
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
