//! The capture table: a row for each answer that a fetch brought, under the column names of Common
//! Crawl's columnar index, so that queries written for that index run on it. Ours stand behind theirs.
//!
//! All fetches are there in the order of the journal, those of an imported crawl too: of such, `imported`
//! is true, and there is a WARC file only where this crawl wrote one. `subset` is `warc` for pages that
//! came and `crawldiagnostics` for every other answer, as there. What we do not look at (charset,
//! languages, a media type guessed from the body, segments) is null: a query that counts on it runs and
//! finds nothing. Offsets have 64 bits here, because the size of WARC files can be set.
//!
//! Cost: one pass over the journal, with one read for the URL of each row.

use std::collections::HashMap;

use turnstone_frontier::{Chance, HostId, PageId};
use turnstone_pagestore::warc::{self, Digest};
use turnstone_pagestore::{Entry, Facts, Fold, Settled, Store, Written};
use turnstone_urls::surt;

use crate::column::{Cell, Column, Kind, Sink};
use crate::host_parts::HostParts;
use crate::{Keep, Numbered, TableError};

/// The columns, in order.
pub(crate) const COLUMNS: &[Column] = &[
    ("url_surtkey", Kind::Distinct),
    ("url", Kind::Distinct),
    ("url_host_name", Kind::Text),
    ("url_host_tld", Kind::Text),
    ("url_host_2nd_last_part", Kind::Text),
    ("url_host_3rd_last_part", Kind::Text),
    ("url_host_4th_last_part", Kind::Text),
    ("url_host_5th_last_part", Kind::Text),
    ("url_host_registry_suffix", Kind::Text),
    ("url_host_registered_domain", Kind::Text),
    ("url_host_private_suffix", Kind::Text),
    ("url_host_private_domain", Kind::Text),
    ("url_host_name_reversed", Kind::Text),
    ("url_protocol", Kind::Text),
    ("url_port", Kind::Int),
    ("url_path", Kind::Distinct),
    ("url_query", Kind::Distinct),
    ("fetch_time", Kind::Moment),
    ("fetch_status", Kind::Short),
    ("fetch_redirect", Kind::Text),
    ("content_digest", Kind::Distinct),
    ("content_mime_type", Kind::Text),
    ("content_mime_detected", Kind::Text),
    ("content_charset", Kind::Text),
    ("content_languages", Kind::Text),
    ("content_truncated", Kind::Text),
    ("warc_filename", Kind::Text),
    ("warc_record_offset", Kind::Long),
    ("warc_record_length", Kind::Long),
    ("warc_segment", Kind::Text),
    ("crawl", Kind::Text),
    ("subset", Kind::Text),
    ("page", Kind::Long),
    ("class", Kind::Text),
    ("detail", Kind::Text),
    ("bytes", Kind::Long),
    ("title", Kind::Text),
    ("words", Kind::Long),
    ("text_hash", Kind::Distinct),
    ("simhash", Kind::Distinct),
    ("etag", Kind::Text),
    ("last_modified", Kind::Text),
    ("milliseconds", Kind::Long),
    ("chance", Kind::Real),
    ("imported", Kind::Flag),
    ("preferences", Kind::Text),
];

/// Hosts whose parts are remembered; then all are forgotten.
const HOSTS_MAX: usize = 1 << 16;

pub(crate) fn rows(
    crawl: &Numbered,
    keep: Keep<'_>,
    sink: &mut impl Sink,
) -> Result<u64, TableError> {
    let mut count = 0;
    for shard in 0..crawl.stores().len() {
        count += store_rows((crawl, shard), keep, sink)?;
    }
    Ok(count)
}

/// The rows of one journal.
fn store_rows(
    (crawl, shard): (&Numbered, usize),
    keep: Keep<'_>,
    sink: &mut impl Sink,
) -> Result<u64, TableError> {
    let store = &crawl.stores()[shard];
    let [a, b, c, d, ..] = store.namespace();
    let mut rows = Rows {
        numbered: (crawl, shard),
        store,
        sink,
        keep,
        hosts: HashMap::new(),
        files: store.archive(),
        crawl: format!("{a:02x}{b:02x}{c:02x}{d:02x}"),
        count: 0,
    };
    store.try_fold(&mut rows)?;
    Ok(rows.count)
}

struct Rows<'a, S> {
    numbered: (&'a Numbered, usize),
    store: &'a Store,
    sink: &'a mut S,
    keep: Keep<'a>,
    hosts: HashMap<(HostId, String), HostParts>,
    files: warc::Settings,
    crawl: String,
    count: u64,
}

impl<S: Sink> Fold<TableError> for Rows<'_, S> {
    fn see(&mut self, _: Written, entry: &Entry<'_>) -> Result<(), TableError> {
        match entry {
            Entry::Outcome(outcome)
                if outcome.facts.status > 0
                    && !self.store.index().is_forgotten(outcome.page)
                    && (self.keep)(&outcome.facts.preferences) =>
            {
                self.count += 1;
                self.add(outcome.page, outcome.settled, &outcome.facts)
            }
            _ => Ok(()),
        }
    }
}

impl<S: Sink> Rows<'_, S> {
    fn add(&mut self, page: PageId, settled: Settled, facts: &Facts) -> Result<(), TableError> {
        let text = self.store.url(page)?;
        let url = turnstone_urls::Url::parse(&text).ok();
        let url = url.as_ref();
        if self.hosts.len() >= HOSTS_MAX {
            self.hosts.clear();
        }
        let name = url.and_then(|url| url.host_str()).unwrap_or_default();
        let key = (self.store.index().host(page), name.to_owned());
        let host = self.hosts.entry(key).or_insert_with(|| HostParts::of(name));
        let part = |index: usize| Cell::maybe(host.last.get(index).map(String::as_str));
        let came = matches!(settled, Settled::Fetched(_)) && (200..300).contains(&facts.status);
        let led_to = match settled {
            Settled::Moved(to) => Some(self.store.url(to)?),
            _ => None,
        };
        let place = |number: Option<u64>| number.map_or(Cell::Nothing, Cell::number);
        let capture = facts.capture;
        let (crawl, shard) = self.numbered;
        let file = capture.map(|at| crawl.file(shard, self.files.file_name(at.file)));
        let asked = facts.requests > 0;
        self.sink.row(&[
            Cell::maybe(url.map(surt)),
            Cell::text(&text),
            Cell::text(&host.name),
            part(0),
            part(1),
            part(2),
            part(3),
            part(4),
            Cell::maybe(host.registry_suffix.as_deref()),
            Cell::maybe(host.registered_domain.as_deref()),
            Cell::maybe(host.private_suffix.as_deref()),
            Cell::maybe(host.private_domain.as_deref()),
            Cell::text(&host.reversed),
            Cell::maybe(url.map(|url| url.scheme())),
            place(url.and_then(|url| url.port()).map(u64::from)),
            Cell::maybe(url.map(|url| url.path())),
            Cell::maybe(url.and_then(|url| url.query())),
            Cell::moment(facts.wall_ms),
            Cell::number(facts.status.into()),
            Cell::maybe(led_to),
            Cell::maybe(facts.digest.map(|digest| Digest(digest).to_string())),
            Cell::text(&facts.mime),
            Cell::Nothing,
            Cell::Nothing,
            Cell::Nothing,
            Cell::Nothing,
            Cell::maybe(file),
            place(capture.map(|at| at.offset)),
            place(capture.map(|at| at.length)),
            Cell::Nothing,
            Cell::text(&self.crawl),
            Cell::text(if came { "warc" } else { "crawldiagnostics" }),
            crawl.page(shard, page),
            Cell::text(&facts.class),
            Cell::text(&facts.detail),
            Cell::number(facts.body_bytes),
            Cell::text(&facts.title),
            Cell::count(facts.words.into()),
            Cell::hash(facts.text_hash),
            Cell::hash(facts.simhash),
            Cell::bytes(&facts.etag),
            Cell::bytes(&facts.last_modified),
            Cell::number(facts.milliseconds.into()).when(asked),
            Cell::Real(Chance::from_units(facts.chance).number()).when(asked),
            Cell::Flag(!asked),
            Cell::text(&facts.preferences),
        ])
    }
}
