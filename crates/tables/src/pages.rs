//! The page table: what is known of each page in scope, a row each.
//!
//! A row tells of the last outcome; of a page refused when it was found, the refusal.

use turnstone_frontier::{Chance, PageId};
use turnstone_lab::crawled;
use turnstone_pagestore::{Facts, Settled, Store, warc};

use crate::column::{Cell, Column, Kind, Sink};
use crate::{Keep, Numbered, TableError};

/// The columns, in order.
pub(crate) const COLUMNS: &[Column] = &[
    ("page", Kind::Long),
    ("url", Kind::Distinct),
    ("host", Kind::Text),
    ("state", Kind::Text),
    ("stored", Kind::Flag),
    ("seed", Kind::Flag),
    ("depth", Kind::Short),
    ("class", Kind::Text),
    ("detail", Kind::Text),
    ("status", Kind::Short),
    ("time", Kind::Moment),
    ("milliseconds", Kind::Long),
    ("requests", Kind::Long),
    ("attempts", Kind::Long),
    ("bytes", Kind::Long),
    ("mime", Kind::Text),
    ("title", Kind::Text),
    ("words", Kind::Long),
    ("digest", Kind::Distinct),
    ("text_hash", Kind::Distinct),
    ("simhash", Kind::Distinct),
    ("novel", Kind::Flag),
    ("etag", Kind::Text),
    ("last_modified", Kind::Text),
    ("links", Kind::Long),
    ("redirects", Kind::Long),
    ("moved_to", Kind::Text),
    ("duplicate_of", Kind::Text),
    ("warc_file", Kind::Text),
    ("warc_offset", Kind::Long),
    ("warc_length", Kind::Long),
    ("chance", Kind::Real),
    ("preferences", Kind::Text),
];

pub(crate) fn rows(
    crawl: &Numbered,
    keep: Keep<'_>,
    sink: &mut impl Sink,
) -> Result<u64, TableError> {
    let files: Vec<warc::Settings> = crawl.stores().iter().map(Store::archive).collect();
    let mut links = Vec::new();
    let mut count = 0;
    for (shard, page) in crawl.pages() {
        let store = &crawl.stores()[shard];
        let outcome = store.outcome(page)?;
        if !outcome.is_none_or(|outcome| keep(&outcome.facts.preferences)) {
            continue;
        }
        crawled::links_of(store, page, &mut links)?;
        links.retain(|link| !store.index().is_outside(*link));
        row((crawl, shard), page, (links.len(), &files[shard]), sink)?;
        count += 1;
    }
    Ok(count)
}

/// What is known of a page.
fn row(
    (crawl, shard): (&Numbered, usize),
    page: PageId,
    (links, files): (usize, &warc::Settings),
    sink: &mut impl Sink,
) -> Result<(), TableError> {
    let store = &crawl.stores()[shard];
    let index = store.index();
    let outcome = store.outcome(page)?;
    let moved_to = match outcome.as_ref().map(|outcome| outcome.settled) {
        Some(Settled::Moved(to)) => Some(store.url(to)?),
        _ => None,
    };
    let facts = match outcome {
        Some(outcome) => outcome.facts,
        None => store
            .refusal(page)?
            .map(|(class, detail)| Facts::refused(&class, detail))
            .unwrap_or_default(),
    };
    let duplicate_of = facts
        .duplicate_of
        .map(|other| store.url(other))
        .transpose()?;
    let hex = |digest: &[u8; 20]| {
        let digits: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
        format!("sha1:{digits}")
    };
    let place = |number: Option<u64>| number.map_or(Cell::Nothing, Cell::number);
    let capture = facts.capture;
    let asked = facts.requests > 0;
    sink.row(&[
        crawl.page(shard, page),
        Cell::text(store.url(page)?),
        Cell::Text(index.host_name(index.host(page)).into()),
        Cell::text(index.state(page).name()),
        Cell::Flag(index.is_stored(page)),
        Cell::Flag(index.is_seed(page)),
        Cell::number(index.depth(page).into()),
        Cell::text(&facts.class),
        Cell::text(&facts.detail),
        Cell::count(facts.status.into()),
        Cell::moment(facts.wall_ms),
        Cell::number(facts.milliseconds.into()).when(asked),
        Cell::number(facts.requests.into()),
        Cell::number(facts.attempts.into()),
        Cell::number(facts.body_bytes).when(facts.status > 0),
        Cell::text(&facts.mime),
        Cell::text(&facts.title),
        Cell::count(facts.words.into()),
        Cell::maybe(facts.digest.as_ref().map(hex)),
        Cell::hash(facts.text_hash),
        Cell::hash(facts.simhash),
        Cell::Flag(facts.novel).when(index.is_stored(page)),
        Cell::bytes(&facts.etag),
        Cell::bytes(&facts.last_modified),
        Cell::number(links as u64),
        Cell::count(facts.redirects.into()),
        Cell::maybe(moved_to),
        Cell::maybe(duplicate_of),
        Cell::maybe(capture.map(|at| crawl.file(shard, files.file_name(at.file)))),
        place(capture.map(|at| at.offset)),
        place(capture.map(|at| at.length)),
        Cell::Real(Chance::from_units(facts.chance).number()).when(asked),
        Cell::text(&facts.preferences),
    ])
}
