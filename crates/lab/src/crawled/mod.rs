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
use turnstone_pagestore::{Joined, PageState, Settled, Store, StoreError};

use crate::web::GraphWeb;

/// The link graph of a crawl with the URLs of its pages.
pub fn graph(web: &Joined) -> Result<GraphWeb, StoreError> {
    let count = web.page_count();
    let mut builder = GraphBuilder::with_capacity(count, count * 8);
    let mut urls = UrlTable::new();
    each(web, |_, links, url| {
        builder.push(links);
        urls.push(url);
        Ok::<_, StoreError>(())
    })?;
    Ok(GraphWeb {
        graph: builder.finish(),
        urls: Some(urls),
    })
}

/// Every page of a crawl in scope, in order, with the distinct pages that it leads to, ascending, and its URL.
pub fn each<E: From<StoreError>>(
    web: &Joined,
    mut tell: impl FnMut(PageId, &[PageId], &str) -> Result<(), E>,
) -> Result<(), E> {
    let (mut links, mut numbered) = (Vec::new(), Vec::new());
    for (number, (shard, page)) in web.pages().enumerate() {
        let store = &web.stores()[shard];
        links_of(store, page, &mut links)?;
        numbered.clear();
        numbered.extend(links.iter().filter_map(|link| web.number(shard, *link)));
        numbered.sort_unstable();
        numbered.dedup();
        tell(PageId::from_index(number), &numbered, &store.url(page)?)?;
    }
    Ok(())
}

/// By page: whether it is unknown what it links to, because it is known of and was never settled.
/// In the link graph such a page has no links.
pub fn never_asked(web: &Joined) -> Vec<bool> {
    let open = [
        PageState::Waiting,
        PageState::InFlight,
        PageState::Unknown,
        PageState::Away,
    ];
    web.pages()
        .map(|(shard, page)| {
            let index = web.stores()[shard].index();
            !index.is_copied(page) && open.contains(&index.state(page))
        })
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
