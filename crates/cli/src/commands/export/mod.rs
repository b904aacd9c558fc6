//! `turnstone export graph|edges|pages|history DIR -o FILE`

mod graph;
mod history;
mod pages;

use std::path::PathBuf;

use clap::{Args, Subcommand};

use crate::exit::Exit;
use crate::output::Output;

/// Write what a crawl brought in formats that other tools read
#[derive(Debug, Subcommand)]
pub(crate) enum Export {
    /// The link graph as a BV graph: NAME.graph, NAME.properties, NAME.offsets, NAME.urls.zst
    Graph(graph::Graph),
    /// The link graph as an edge list: NAME.tsv[.zst|.gz] with NAME.urls beside it
    Edges(graph::Edges),
    /// The page table with all that is known of each page, as JSON lines or CSV
    Pages(pages::Pages),
    /// The history of each site, for backtests of discovery, changes and liveness
    History(history::History),
}

/// From where to where.
#[derive(Debug, Args)]
struct FromTo {
    /// The crawl directory
    #[arg(value_name = "DIR")]
    directory: PathBuf,
    /// Where to write
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
}

impl Export {
    pub(crate) fn run(self, output: &Output) -> anyhow::Result<Exit> {
        match self {
            Self::Graph(command) => command.run(output),
            Self::Edges(command) => command.run(output),
            Self::Pages(command) => command.run(output),
            Self::History(command) => command.run(output),
        }?;
        Ok(Exit::Done)
    }
}
