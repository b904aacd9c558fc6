//! The link table: a row for each link of a stored copy, within the scope of the crawl.
//!
//! A page that redirects links to where it leads, as in the link graph. Cost: one read of the journal
//! for each link, for the URL of its target.

use turnstone_lab::crawled;

use crate::column::{Cell, Column, Kind, Sink};
use crate::{Numbered, TableError};

/// The columns, in order.
pub(crate) const COLUMNS: &[Column] = &[
    ("source", Kind::Long),
    ("target", Kind::Long),
    ("source_url", Kind::Text),
    ("target_url", Kind::Text),
    ("source_host", Kind::Text),
    ("target_host", Kind::Text),
];

pub(crate) fn rows(crawl: &Numbered, sink: &mut impl Sink) -> Result<u64, TableError> {
    let mut links = Vec::new();
    let mut count = 0;
    for (shard, source) in crawl.pages() {
        let store = &crawl.stores()[shard];
        let index = store.index();
        crawled::links_of(store, source, &mut links)?;
        links.retain(|link| !index.is_outside(*link));
        if links.is_empty() {
            continue;
        }
        let source_url = store.url(source)?;
        for target in &links {
            let target_url = store.url(*target)?;
            sink.row(&[
                crawl.page(shard, source),
                crawl.page(shard, *target),
                Cell::text(&source_url),
                Cell::text(&target_url),
                Cell::text(index.host_name(index.host(source))),
                Cell::text(index.host_name(index.host(*target))),
            ])?;
            count += 1;
        }
    }
    Ok(count)
}
