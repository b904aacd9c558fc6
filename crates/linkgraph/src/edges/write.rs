//! Writing edge lists: ids, sorted, one link a line, and the list of URLs beside them.
//!
//! Pages are written as they come, so a web need not be in memory. The files appear whole or not
//! at all.

use std::path::Path;

use turnstone_frontier::PageId;

use crate::error::WriteError;
use crate::graph::LinkGraph;
use crate::input::with_suffix;
use crate::output::NewFile;
use crate::stored::{PageSink, write_all};
use crate::urls::{UrlTable, UrlWriter};

/// Writes the graph to `path` and, if given, its URLs beside it.
pub fn write(path: &Path, graph: &LinkGraph, urls: Option<&UrlTable>) -> Result<(), WriteError> {
    write_all(Box::new(EdgeWriter::create(path)?), graph, urls)
}

/// Writes an edge list page by page.
pub struct EdgeWriter {
    edges: NewFile,
    urls: Option<UrlWriter>,
    /// Pages so far, and how many of them a reader can tell from the links.
    pages: u32,
    pages_told: u32,
    line: Vec<u8>,
}

impl EdgeWriter {
    /// Begins `path`, an edge list whose name ends in `.tsv`, `.tsv.zst` or `.tsv.gz`.
    pub fn create(path: &Path) -> Result<Self, WriteError> {
        if super::web_name(path).is_none() {
            let fault = "the name of an edge list ends in .tsv, .tsv.zst or .tsv.gz";
            return Err(WriteError::new(path, std::io::Error::other(fault)));
        }
        Ok(Self {
            edges: NewFile::create(path)?,
            urls: None,
            pages: 0,
            pages_told: 0,
            line: Vec::with_capacity(1 << 12),
        })
    }

    /// Where the URLs go: beside the links, compressed alike.
    fn create_urls(&self) -> Result<UrlWriter, WriteError> {
        let path = self.edges.path();
        let name = super::web_name(path).expect("create() has looked at the name");
        let suffix = match path.extension().and_then(|ext| ext.to_str()) {
            Some("zst") => ".urls.zst",
            Some("gz") => ".urls.gz",
            _ => ".urls",
        };
        UrlWriter::create(&with_suffix(&name, suffix))
    }
}

impl PageSink for EdgeWriter {
    fn page(&mut self, links: &[PageId], url: Option<&str>) -> Result<(), WriteError> {
        if let Some(url) = url {
            if self.pages == 0 {
                self.urls = Some(self.create_urls()?);
            }
            self.urls
                .as_mut()
                .expect("every page has a URL or none has")
                .push(url)?;
        }
        let mut number = itoa::Buffer::new();
        self.line.clear();
        self.line
            .extend_from_slice(number.format(self.pages).as_bytes());
        self.line.push(b'\t');
        let source_bytes = self.line.len();
        for target in links {
            self.line.truncate(source_bytes);
            self.line
                .extend_from_slice(number.format(target.0).as_bytes());
            self.line.push(b'\n');
            self.edges.put(&self.line)?;
        }
        self.pages += 1;
        if let Some(last) = links.last() {
            self.pages_told = self.pages_told.max(self.pages).max(last.0 + 1);
        }
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> Result<(), WriteError> {
        if self.urls.is_none() && self.pages_told < self.pages {
            let comment = format!("# pages {}\n", self.pages);
            self.edges.put(comment.as_bytes())?;
        }
        let urls = self.urls.map(UrlWriter::seal).transpose()?;
        let edges = self.edges.seal()?;
        if let Some(urls) = urls {
            urls.publish()?;
        }
        edges.publish()
    }
}
