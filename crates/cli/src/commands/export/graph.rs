//! The link graph of a crawl, page by page: it need not fit into memory.

use clap::Args;
use serde_json::json;
use turnstone_lab::crawled;
use turnstone_lab::number::whole;
use turnstone_ledger::View;
use turnstone_linkgraph::PageSink;
use turnstone_linkgraph::bv::BvWriter;
use turnstone_linkgraph::edges::EdgeWriter;
use turnstone_pagestore::Store;

use super::FromTo;
use crate::output::Output;
use crate::progress::Progress;

/// Write the link graph as a BV graph
#[derive(Debug, Args)]
pub(crate) struct Graph {
    #[command(flatten)]
    paths: FromTo,
}

/// Write the link graph as an edge list
#[derive(Debug, Args)]
pub(crate) struct Edges {
    #[command(flatten)]
    paths: FromTo,
}

impl Graph {
    pub(super) fn run(self, output: &Output) -> anyhow::Result<()> {
        let store = Store::look(&self.paths.directory)?;
        let sink = Box::new(BvWriter::create(&self.paths.output)?);
        write(&store, sink, &self.paths, output)
    }
}

impl Edges {
    pub(super) fn run(self, output: &Output) -> anyhow::Result<()> {
        let store = Store::look(&self.paths.directory)?;
        let sink = Box::new(EdgeWriter::create(&self.paths.output)?);
        write(&store, sink, &self.paths, output)
    }
}

fn write(
    store: &Store,
    mut sink: Box<dyn PageSink>,
    paths: &FromTo,
    output: &Output,
) -> anyhow::Result<()> {
    let progress = Progress::share();
    let view = View::inside(store);
    let pages = view.len();
    let (mut links, mut link_count) = (Vec::new(), 0);
    let mut numbered = Vec::new();
    for page in view.numbered() {
        crawled::links_of(store, page, &mut links)?;
        view.links(links.iter().copied(), &mut numbered);
        link_count += numbered.len() as u64;
        sink.page(&numbered, Some(&store.url(page)?))?;
        progress.at("writing", page.index() as f64 / pages as f64);
    }
    sink.finish()?;
    drop(progress);
    let name = paths.output.display().to_string();
    let json = json!({"output": name, "pages": pages, "links": link_count});
    output.result(&json, || {
        format!(
            "{} pages and {} links written to {name}\n",
            whole(pages as u64),
            whole(link_count)
        )
    })
}
