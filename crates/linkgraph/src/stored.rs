//! What a recorded link graph is made of: the links and, where there is a list, the URLs.
//!
//! Both formats, BV and edge list, read into this and are written from it, page by page, through
//! [`PageSink`], so that a generated web need not be in memory to be written.

use std::path::Path;

use turnstone_frontier::PageId;

use crate::error::{ReadError, WriteError};
use crate::graph::LinkGraph;
use crate::urls::UrlTable;

/// A link graph as it lies on disk.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredGraph {
    /// Who links to whom.
    pub graph: LinkGraph,
    /// The URL of each page, if there is a list of them.
    pub urls: Option<UrlTable>,
}

impl StoredGraph {
    /// Reads the list of URLs beside the web `name`, which must have `pages` lines.
    pub(crate) fn urls_for(name: &Path, pages: usize) -> Result<Option<UrlTable>, ReadError> {
        let Some(path) = UrlTable::beside(name) else {
            return Ok(None);
        };
        let urls = UrlTable::read(&path)?;
        if urls.len() != pages {
            let fault = format!("{} URLs, but the graph has {pages} pages", urls.len());
            return Err(ReadError::file(&path, fault));
        }
        Ok(Some(urls))
    }
}

/// Takes the pages of a web in ascending order and writes them.
pub trait PageSink {
    /// The next page: its distinct links, ascending, and its URL where the web has URLs.
    fn page(&mut self, links: &[PageId], url: Option<&str>) -> Result<(), WriteError>;

    /// Completes the files. Without this call nothing is left on disk.
    fn finish(self: Box<Self>) -> Result<(), WriteError>;
}

/// Writes a whole graph into a sink.
pub(crate) fn write_all(
    mut sink: Box<dyn PageSink>,
    graph: &LinkGraph,
    urls: Option<&UrlTable>,
) -> Result<(), WriteError> {
    assert!(
        urls.is_none_or(|urls| urls.len() == graph.page_count()),
        "one URL for each page"
    );
    for page in graph.pages() {
        sink.page(graph.links(page), urls.map(|urls| urls.url(page)))?;
    }
    sink.finish()
}
