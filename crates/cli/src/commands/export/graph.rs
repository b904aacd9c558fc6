//! The link graph of a crawl, page by page: it need not fit into memory.

use clap::Args;
use serde_json::json;
use turnstone_lab::crawled;
use turnstone_lab::number::whole;
use turnstone_linkgraph::PageSink;
use turnstone_linkgraph::bv::BvWriter;
use turnstone_linkgraph::edges::EdgeWriter;
use turnstone_pagestore::Joined;

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
        let web = Joined::look(&self.paths.looked_at()?)?;
        let sink = Box::new(BvWriter::create(&self.paths.output)?);
        write(&web, sink, &self.paths, output)
    }
}

impl Edges {
    pub(super) fn run(self, output: &Output) -> anyhow::Result<()> {
        let web = Joined::look(&self.paths.looked_at()?)?;
        let sink = Box::new(EdgeWriter::create(&self.paths.output)?);
        write(&web, sink, &self.paths, output)
    }
}

fn write(
    web: &Joined,
    mut sink: Box<dyn PageSink>,
    paths: &FromTo,
    output: &Output,
) -> anyhow::Result<()> {
    let progress = Progress::share();
    let pages = web.page_count();
    let mut link_count = 0;
    crawled::each(web, |page, links, url| -> anyhow::Result<()> {
        link_count += links.len() as u64;
        sink.page(links, Some(url))?;
        progress.at("writing", page.index() as f64 / pages as f64);
        Ok(())
    })?;
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
