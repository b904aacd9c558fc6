//! Link graphs with URLs, edge lists or BV graphs: every page was stored once, with its links.
//!
//! A graph has one date: that of its file, or what `--date` says.
//! Cost: the graph in memory, 4 bytes a link and the text of its URLs.

use anyhow::bail;
use turnstone_crawl::old_crawl::{Homes, OldFetch};
use turnstone_fetch::urls::{UrlLimits, parse};
use turnstone_frontier::PageId;
use turnstone_lab::web::{self, GraphWeb};
use turnstone_linkgraph::UrlTable;

use super::skipped::{Place, Skipped};
use super::source::Source;
use super::spool::InTime;
use super::url_list::listed;

/// The pages of a graph.
pub(super) struct Graph {
    name: String,
    web: GraphWeb,
    urls: UrlTable,
    date_ms: u64,
    next: usize,
}

impl Graph {
    /// Opens a graph; notes its hosts, and the pages whose URLs cannot be used.
    pub(super) fn open(
        source: &Source,
        date_ms: u64,
        (homes, skipped): (&mut Homes, &mut Skipped),
    ) -> anyhow::Result<Self> {
        let mut web = web::open_graph(&source.path)?;
        let Some(urls) = web.urls.take() else {
            bail!(
                "{}: the graph has no URLs; put a list beside it, NAME.urls, with the URL of page i \
                 in line i",
                source.path.display()
            );
        };
        let name = source.name();
        for page in web.graph.pages() {
            match parse(urls.url(page), &UrlLimits::default()) {
                Ok(url) => homes.add(&url, date_ms),
                Err(error) => skipped.add(&name, Place::Page(u64::from(page.0)), error.to_string()),
            }
        }
        Ok(Self {
            name,
            web,
            urls,
            date_ms,
            next: 0,
        })
    }

    /// How many pages there are.
    pub(super) fn len(&self) -> u64 {
        self.web.graph.page_count() as u64
    }
}

impl InTime for Graph {
    fn next(&mut self) -> anyhow::Result<Option<OldFetch>> {
        while self.next < self.web.graph.page_count() {
            let page = PageId::from_index(self.next);
            self.next += 1;
            let Ok(mut url) = parse(self.urls.url(page), &UrlLimits::default()) else {
                continue; // noted when the graph was opened
            };
            url.set_fragment(None);
            let detail = format!("{}, page {page}", self.name);
            let mut fetch = listed(&url, self.date_ms, detail);
            let links = self.web.graph.links(page).iter();
            fetch.links = links.map(|link| self.urls.url(*link).to_owned()).collect();
            return Ok(Some(fetch));
        }
        Ok(None)
    }
}
