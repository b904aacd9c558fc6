//! The text table: what each stored page says, a row each, for corpora and search engines.
//!
//! A row has the main text of the last copy with what the page says about itself, and what its publisher says
//! about use. Pages that are neither HTML nor plain text have no row. A copy that cannot be read has one: its text
//! is nothing, and `fault` says why, so that one damaged record costs its page and not the table, and nothing
//! is left out in silence.
//!
//! `group` is the number of the first page that says nearly the same (by the fingerprints that the crawl kept):
//! `count(DISTINCT "group")` counts texts, `WHERE page = "group"` keeps one of each. It is told of all stored
//! pages with a text long enough, in or out of this table.
//!
//! Cost: one read of a WARC file a page, and 20 bytes a page for the groups; no text is held but that of the row.

use turnstone_frontier::PageId;
use turnstone_pagestore::Facts;
use turnstone_pagestore::warc::Digest;
use turnstone_text::groups::{WORDS_MIN, groups};
use turnstone_text::stored::Answer;
use turnstone_text::{PageText, read};
use turnstone_urls::Url;

use crate::column::{Cell, Column, Kind, Sink};
use crate::{Numbered, TableError};

/// The columns, in order.
pub(crate) const COLUMNS: &[Column] = &[
    ("page", Kind::Long),
    ("url", Kind::Distinct),
    ("canonical_url", Kind::Distinct),
    ("host", Kind::Text),
    ("time", Kind::Moment),
    ("title", Kind::Distinct),
    ("text", Kind::Distinct),
    ("method", Kind::Text),
    ("words", Kind::Long),
    ("language", Kind::Text),
    ("language_confidence", Kind::Real),
    ("language_declared", Kind::Text),
    ("author", Kind::Text),
    ("published", Kind::Moment),
    ("modified", Kind::Moment),
    ("digest", Kind::Distinct),
    ("text_hash", Kind::Distinct),
    ("simhash", Kind::Distinct),
    ("group", Kind::Long),
    ("robots", Kind::Text),
    ("tdm_reservation", Kind::Flag),
    ("tdm_policy", Kind::Text),
    ("content_usage", Kind::Text),
    ("fault", Kind::Text),
];

pub(crate) fn rows(crawl: &Numbered, sink: &mut impl Sink) -> Result<u64, TableError> {
    let groups = Groups::of(crawl)?;
    let mut count = 0;
    for (number, (shard, page)) in crawl.pages().enumerate() {
        let store = &crawl.stores()[shard];
        if !store.index().is_stored(page) {
            continue;
        }
        let Some(copy) = store.copies(page)?.pop() else {
            continue;
        };
        let text = store.url(page)?;
        let found = match Answer::of(store, &copy)? {
            Err(unread) => Err(unread.to_string()),
            Ok(answer) => match Url::parse(&text).ok().and_then(|url| read(&url, &answer)) {
                Some(found) => Ok(found),
                None => continue,
            },
        };
        let (of, first) = groups.first(number).unwrap_or((shard, page));
        let group = crawl.page(of, first);
        row((crawl, shard, page), (&text, &copy), found, group, sink)?;
        count += 1;
    }
    Ok(count)
}

fn row(
    (crawl, shard, page): (&Numbered, usize, PageId),
    (url, copy): (&str, &Facts),
    found: Result<PageText, String>,
    group: Cell<'static>,
    sink: &mut impl Sink,
) -> Result<(), TableError> {
    let index = crawl.stores()[shard].index();
    let (found, fault) = match found {
        Ok(found) => (Some(found), None),
        Err(fault) => (None, Some(fault)),
    };
    let found = found.as_ref();
    let said = |text: fn(&PageText) -> &str| found.map_or(Cell::Nothing, |it| Cell::text(text(it)));
    let at = |ms: Option<u64>| ms.map_or(Cell::Nothing, Cell::moment);
    let language = found.and_then(|it| it.language);
    let preferences = found.map(|it| &it.preferences);
    let title = match found {
        Some(found) if !found.title.is_empty() => &found.title,
        _ => &copy.title,
    };
    let words = found.map_or(0, |it| it.text.split_whitespace().count() as u64);
    sink.row(&[
        crawl.page(shard, page),
        Cell::text(url),
        Cell::maybe(found.and_then(|it| it.canonical.as_ref()).map(Url::as_str)),
        Cell::text(index.host_name(index.host(page))),
        Cell::moment(copy.wall_ms),
        Cell::text(title),
        said(|it| &it.text),
        Cell::maybe(found.map(|it| it.method.name())),
        Cell::number(words).when(found.is_some()),
        Cell::maybe(language.map(|it| it.code)),
        language.map_or(Cell::Nothing, |it| Cell::Real(it.confidence)),
        said(|it| &it.declared_language),
        said(|it| &it.author),
        at(found.and_then(|it| it.published_ms)),
        at(found.and_then(|it| it.modified_ms)),
        Cell::maybe(copy.digest.map(|digest| Digest(digest).to_string())),
        Cell::hash(copy.text_hash),
        Cell::hash(copy.simhash),
        group,
        Cell::text(preferences.map_or_else(String::new, |it| it.robots.join(", "))),
        preferences
            .and_then(|it| it.tdm_reserved)
            .map_or(Cell::Nothing, Cell::Flag),
        preferences.map_or(Cell::Nothing, |it| Cell::text(&it.tdm_policy)),
        preferences.map_or(Cell::Nothing, |it| Cell::text(&it.usage)),
        Cell::maybe(fault),
    ])
}

/// Which pages say nearly the same.
struct Groups {
    /// The pages that were compared, each by its place among all pages, and as the crawl knows it.
    compared: Vec<(u32, u32, PageId)>,
    /// For each of those the first of its group, as a place in `compared`.
    first: Vec<u32>,
}

impl Groups {
    fn of(crawl: &Numbered) -> Result<Self, TableError> {
        let (mut compared, mut hashes) = (Vec::new(), Vec::new());
        for (number, (shard, page)) in crawl.pages().enumerate() {
            let store = &crawl.stores()[shard];
            if !store.index().is_stored(page) {
                continue;
            }
            let copy = store.copy(page)?;
            if let Some(copy) = copy.filter(|copy| copy.words >= WORDS_MIN && copy.simhash != 0) {
                compared.push((number as u32, shard as u32, page));
                hashes.push(copy.simhash);
            }
        }
        let first = groups(&hashes);
        Ok(Self { compared, first })
    }

    /// The first page of the group of a page that has this place among all; nothing where it was not compared.
    fn first(&self, number: usize) -> Option<(usize, PageId)> {
        let place = |it: &(u32, u32, PageId)| it.0;
        let at = self
            .compared
            .binary_search_by_key(&(number as u32), place)
            .ok()?;
        let (_, shard, page) = self.compared[self.first[at] as usize];
        Some((shard as usize, page))
    }
}
