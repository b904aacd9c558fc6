//! A web at one moment: who links to whom and, where known, the address of each page.

use turnstone_frontier::{HostId, PageId};
use turnstone_linkgraph::{GraphBuilder, Hosts, LinkGraph, StoredGraph, UrlTable};

use crate::history::History;

/// A link graph with the addresses of its pages.
#[derive(Clone, Debug)]
pub struct GraphWeb {
    /// Who links to whom.
    pub graph: LinkGraph,
    /// The address of each page, if known.
    pub urls: Option<UrlTable>,
}

impl Default for GraphWeb {
    fn default() -> Self {
        Self {
            graph: LinkGraph::from_links(0, &[]),
            urls: None,
        }
    }
}

impl GraphWeb {
    /// A graph as it was stored.
    pub fn new(stored: StoredGraph) -> Self {
        Self {
            graph: stored.graph,
            urls: stored.urls,
        }
    }

    /// A site as it was at a snapshot: its present pages, renumbered in their order, and the links
    /// between them.
    pub fn of_history(history: &History, snapshot: usize) -> Self {
        let walk = history.at(snapshot);
        let mut number = vec![None; history.page_count()];
        let mut urls = UrlTable::new();
        for (page, _) in walk.present() {
            number[page.index()] = Some(urls.push(&history.address(page)));
        }
        let mut builder = GraphBuilder::with_capacity(walk.present_count(), 0);
        let mut links: Vec<PageId> = Vec::new();
        for (page, _) in walk.present() {
            links.clear();
            links.extend(
                walk.links(page)
                    .iter()
                    .filter_map(|link| number[link.index()]),
            );
            links.sort_unstable();
            links.dedup();
            builder.push(&links);
        }
        Self {
            graph: builder.finish(),
            urls: Some(urls),
        }
    }

    /// Adds another web, its pages numbered after ours. No link leads from one to the other.
    pub fn append(&mut self, other: &Self) {
        let shift = self.graph.page_count() as u32;
        let mut builder = GraphBuilder::with_capacity(
            self.graph.page_count() + other.graph.page_count(),
            (self.graph.link_count() + other.graph.link_count()) as usize,
        );
        let mut shifted = Vec::new();
        for page in self.graph.pages() {
            builder.push(self.graph.links(page));
        }
        for page in other.graph.pages() {
            shifted.clear();
            shifted.extend(
                other
                    .graph
                    .links(page)
                    .iter()
                    .map(|link| PageId(link.0 + shift)),
            );
            builder.push(&shifted);
        }
        let mut urls = self.urls.take().unwrap_or_default();
        if let Some(others) = &other.urls {
            for page in other.graph.pages() {
                urls.push(others.url(page));
            }
        }
        self.graph = builder.finish();
        self.urls = (urls.len() == self.graph.page_count()).then_some(urls);
    }

    /// The host of every page; one for all where addresses are not known.
    pub fn hosts(&self) -> Option<Hosts> {
        self.urls.as_ref().map(UrlTable::hosts)
    }

    /// The host of each page as the scheduler wants it; empty when all are on one.
    pub fn host_ids(&self) -> Vec<HostId> {
        self.hosts()
            .map_or_else(Vec::new, |hosts| hosts.of_pages().to_vec())
    }

    /// How to name a page to a person: its address, or its number.
    pub fn name(&self, page: PageId) -> String {
        self.urls
            .as_ref()
            .map_or_else(|| page.to_string(), |urls| urls.url(page).to_owned())
    }

    /// The page a person means: a number, or an address as recorded.
    pub fn find(&self, name: &str) -> Option<PageId> {
        if let Some(page) = self.urls.as_ref().and_then(|urls| urls.find(name)) {
            return Some(page);
        }
        let page = PageId(name.parse().ok()?);
        (page.index() < self.graph.page_count()).then_some(page)
    }
}
