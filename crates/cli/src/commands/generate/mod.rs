//! `turnstone generate WHAT`

mod graph;

use clap::Subcommand;

use crate::exit::Exit;
use crate::output::Output;

/// What to make.
#[derive(Debug, Subcommand)]
pub(crate) enum Generate {
    /// A link graph that looks like a crawl, of any size
    Graph(graph::Graph),
}

impl Generate {
    pub(crate) fn run(self, output: &Output) -> anyhow::Result<Exit> {
        match self {
            Self::Graph(command) => command.run(output),
        }
    }
}
