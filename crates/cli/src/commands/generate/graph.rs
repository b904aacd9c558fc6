//! `turnstone generate graph`

use std::path::PathBuf;
use std::time::Instant;

use clap::{Args, ValueEnum};
use serde_json::json;
use turnstone_lab::number::{duration, whole};
use turnstone_linkgraph::bv::BvWriter;
use turnstone_linkgraph::edges::EdgeWriter;
use turnstone_linkgraph::generate::{GeneratedWeb, ParameterError, WebParameters, power_law};
use turnstone_linkgraph::{PageSink, bv, edges};

use crate::exit::{Exit, Usage};
use crate::output::Output;
use crate::progress::Progress;

/// Make a link graph that looks like a crawl: hosts, directories, URLs, few very popular pages.
///
/// The same parameters and seed make the same web on every machine. It is streamed to disk, so its
/// size is not bounded by memory.
#[derive(Debug, Args)]
pub(crate) struct Graph {
    /// Where to write: NAME or NAME.graph makes a BV graph, NAME.tsv[.zst|.gz] an edge list; the
    /// URLs go to NAME.urls beside it
    #[arg(short, long, value_name = "NAME")]
    output: PathBuf,
    /// What kind of web
    #[arg(long, default_value = "web")]
    model: Model,
    /// How many pages
    #[arg(long, default_value_t = 100_000)]
    pages: usize,
    /// Mean links of a page (model web)
    #[arg(long, default_value_t = 12.0)]
    links_per_page: f64,
    /// Exponent of the in-degree's power law
    #[arg(long, default_value_t = 2.1)]
    exponent: f64,
    /// Share of pages without links (model web)
    #[arg(long, default_value_t = 0.2)]
    dangling: f64,
    /// Share of links that stay on their host (model web)
    #[arg(long, default_value_t = 0.8)]
    local: f64,
    /// Share of local links that stay in their directory (model web)
    #[arg(long, default_value_t = 0.4)]
    same_directory: f64,
    /// Share of linking pages that link to themselves (model web)
    #[arg(long, default_value_t = 0.02)]
    self_links: f64,
    /// Pages of the smallest hosts (model web)
    #[arg(long, default_value_t = 8)]
    host_pages_min: usize,
    /// The seed of all random draws
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Model {
    /// Hosts, directories and URLs; most links stay near
    Web,
    /// The plain graph of the OPIC experiments: in-degree by a power law, sources uniform
    PowerLaw,
}

impl Graph {
    pub(crate) fn run(self, output: &Output) -> anyhow::Result<Exit> {
        let started = Instant::now();
        let links = match self.model {
            Model::Web => self.web()?,
            Model::PowerLaw => self.power_law()?,
        };
        let seconds = started.elapsed().as_secs_f64();
        let json = json!({
            "output": self.output.display().to_string(),
            "pages": self.pages,
            "links": links,
            "seed": self.seed,
            "seconds": seconds,
        });
        output.result(&json, || {
            format!(
                "{} pages and {} links written to {} in {}\n",
                whole(self.pages as u64),
                whole(links),
                self.output.display(),
                duration(seconds)
            )
        })?;
        Ok(Exit::Done)
    }

    fn web(&self) -> anyhow::Result<u64> {
        let web = GeneratedWeb::new(&WebParameters {
            pages: self.pages,
            links_per_page: self.links_per_page,
            dangling: self.dangling,
            exponent: self.exponent,
            local: self.local,
            same_directory: self.same_directory,
            self_links: self.self_links,
            host_pages_min: self.host_pages_min,
            seed: self.seed,
        })
        .map_err(|error| usage(&error))?;
        let progress = Progress::share();
        let mut watch = |pages: u64| progress.at("generating", pages as f64 / self.pages as f64);
        Ok(web.write(self.sink()?, &mut watch)?)
    }

    fn power_law(&self) -> anyhow::Result<u64> {
        let progress = Progress::busy("generating");
        let graph =
            power_law(self.pages, self.exponent, self.seed).map_err(|error| usage(&error))?;
        if self.is_edge_list() {
            edges::write(&self.output, &graph, None)?;
        } else {
            bv::write(&self.output, &graph, None)?;
        }
        drop(progress);
        Ok(graph.link_count())
    }

    fn is_edge_list(&self) -> bool {
        let name = self.output.to_string_lossy();
        [".tsv", ".tsv.zst", ".tsv.gz"]
            .iter()
            .any(|ending| name.ends_with(ending))
    }

    fn sink(&self) -> anyhow::Result<Box<dyn PageSink>> {
        Ok(if self.is_edge_list() {
            Box::new(EdgeWriter::create(&self.output)?)
        } else {
            Box::new(BvWriter::create(&self.output)?)
        })
    }
}

/// Names the option as the user knows it.
fn usage(error: &ParameterError) -> Usage {
    let option = format!("--{}", error.name.replace('_', "-"));
    Usage::of(
        &option,
        format!(
            "{} is not possible; give {} to {}",
            error.value, error.from, error.to
        ),
    )
}
