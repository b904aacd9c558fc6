//! The event table: what happened to pages, as `turnstone events` tells it, a row each.

use std::path::Path;

use turnstone_events::Stream;
use turnstone_frontier::{Arm, Chance, PageId};
use turnstone_pagestore::warc::Digest;
use turnstone_pagestore::{Position, shard_folders};

use crate::column::{Cell, Column, Kind, Sink};
use crate::{Numbered, TableError};

/// The columns, in order.
pub(crate) const COLUMNS: &[Column] = &[
    ("id", Kind::Distinct),
    ("position", Kind::Long),
    ("next", Kind::Long),
    ("kind", Kind::Text),
    ("page", Kind::Long),
    ("url", Kind::Distinct),
    ("host", Kind::Text),
    ("time", Kind::Moment),
    ("first_seen", Kind::Moment),
    ("found_by", Kind::Text),
    ("seed", Kind::Flag),
    ("title", Kind::Text),
    ("bytes", Kind::Long),
    ("words", Kind::Long),
    ("status", Kind::Short),
    ("class", Kind::Text),
    ("detail", Kind::Text),
    ("old_digest", Kind::Distinct),
    ("new_digest", Kind::Distinct),
    ("moved_to", Kind::Text),
    ("question", Kind::Text),
    ("arm", Kind::Text),
    ("chance", Kind::Real),
];

pub(crate) fn rows(directory: &Path, sink: &mut impl Sink) -> Result<u64, TableError> {
    let mut count = 0;
    let folders = shard_folders(directory);
    // Where there are several journals pages are numbered over all of them.
    let numbered = match folders.is_empty() {
        true => None,
        false => Some(Numbered::look(directory)?),
    };
    let folders = if folders.is_empty() {
        vec![directory.to_owned()]
    } else {
        folders
    };
    for (shard, folder) in folders.iter().enumerate() {
        count += stream_rows(folder, sink, |page| match &numbered {
            Some(crawl) => crawl.page(shard, page),
            None => Cell::number(page.0.into()),
        })?;
    }
    Ok(count)
}

/// The rows of one journal.
fn stream_rows(
    directory: &Path,
    sink: &mut impl Sink,
    number: impl Fn(PageId) -> Cell<'static>,
) -> Result<u64, TableError> {
    let digest = |digest: Option<[u8; 20]>| digest.map(|digest| Digest(digest).to_string());
    let mut count = 0;
    let mut stream = Stream::open(directory)?;
    stream.pull(Position::default(), |event| {
        count += 1;
        sink.row(&[
            Cell::text(&event.id),
            Cell::number(event.at.0),
            Cell::number(event.next.0),
            Cell::text(event.kind.name()),
            number(event.page),
            Cell::text(&event.url),
            Cell::text(&event.host),
            Cell::moment(event.when_ms),
            Cell::moment(event.first_seen_ms),
            Cell::maybe(event.found_by.as_deref()),
            Cell::Flag(event.seed),
            Cell::text(&event.title),
            Cell::number(event.bytes),
            Cell::number(event.words.into()),
            Cell::count(event.status.into()),
            Cell::text(&event.class),
            Cell::text(&event.detail),
            Cell::maybe(digest(event.old_digest)),
            Cell::maybe(digest(event.new_digest)),
            Cell::maybe(event.moved_to.as_deref()),
            Cell::text(&event.why.question),
            Cell::maybe(event.why.arm.map(Arm::name)),
            Cell::Real(Chance::from_units(event.why.chance).number()),
        ])
    })?;
    Ok(count)
}
