//! `turnstone generate WHAT`

mod graph;
mod history;

use clap::Subcommand;

use crate::exit::Exit;
use crate::output::Output;

/// What to make.
#[derive(Debug, Subcommand)]
pub(crate) enum Generate {
    /// A link graph that looks like a crawl, of any size
    Graph(graph::Graph),
    /// Sites over time, of any size: pages born, changed and gone
    History(history::History),
}

impl Generate {
    pub(crate) fn run(self, output: &Output) -> anyhow::Result<Exit> {
        match self {
            Self::Graph(command) => command.run(output),
            Self::History(command) => command.run(output),
        }
    }
}
