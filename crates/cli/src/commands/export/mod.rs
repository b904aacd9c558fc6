//! `turnstone export graph|edges|pages|links|events|captures|decisions|text|wacz|history DIR -o FILE`

mod graph;
mod history;
mod place;
mod table;
mod wacz;

use std::path::PathBuf;

use clap::{Args, Subcommand};
use turnstone_tables::Table;

use crate::exit::Exit;
use crate::output::Output;

/// Write what a crawl brought in formats that other tools read
#[derive(Debug, Subcommand)]
pub(crate) enum Export {
    /// The link graph as a BV graph: NAME.graph, NAME.properties, NAME.offsets, NAME.urls.zst
    Graph(graph::Graph),
    /// The link graph as an edge list: NAME.tsv[.zst|.gz] with NAME.urls beside it
    Edges(graph::Edges),
    /// All that is known of each page, as Parquet, JSON lines or CSV
    Pages(table::Rows),
    /// Every link of a stored copy, with the URLs of both pages: Parquet, JSON lines or CSV
    Links(table::Rows),
    /// What happened to pages, as `events` tells it: Parquet, JSON lines or CSV
    Events(table::Rows),
    /// Every answer in the columns of Common Crawl's index: Parquet, JSON lines or CSV
    Captures(table::Rows),
    /// Every hand-out with its question, policy, arm, chance and outcome: Parquet, JSON lines or CSV
    Decisions(table::Rows),
    /// What each stored page says: main text, title, language, dates, near duplicates, what its publisher permits
    Text(table::Rows),
    /// The crawl as one file that replays in a browser: WARC files, index, page list, digests
    Wacz(wacz::Wacz),
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

impl FromTo {
    /// Where to read.
    fn looked_at(&self) -> anyhow::Result<PathBuf> {
        super::cluster::looked_at(&self.directory)
    }
}

impl Export {
    pub(crate) fn run(self, output: &Output) -> anyhow::Result<Exit> {
        match self {
            Self::Graph(command) => command.run(output),
            Self::Edges(command) => command.run(output),
            Self::Pages(command) => command.run(Table::Pages, output),
            Self::Links(command) => command.run(Table::Links, output),
            Self::Events(command) => command.run(Table::Events, output),
            Self::Captures(command) => command.run(Table::Captures, output),
            Self::Decisions(command) => command.run(Table::Decisions, output),
            Self::Text(command) => command.run(Table::Text, output),
            Self::Wacz(command) => command.run(output),
            Self::History(command) => command.run(output),
        }?;
        Ok(Exit::Done)
    }
}
