//! `turnstone backtest QUESTION WEB`

mod coverage;
mod liveness;
mod pictures;

use clap::Subcommand;

use crate::exit::Exit;
use crate::output::Output;

/// The question to ask of a recorded web.
#[derive(Debug, Subcommand)]
pub(crate) enum Backtest {
    /// How many downloads until most of the personalised PageRank is provably in the store?
    Coverage(coverage::Coverage),
    /// How many requests until the pages of an old crawl that are still alive are found?
    Liveness(liveness::Liveness),
}

impl Backtest {
    pub(crate) fn run(self, output: &Output) -> anyhow::Result<Exit> {
        match self {
            Self::Coverage(command) => command.run(output),
            Self::Liveness(command) => command.run(output),
        }
    }
}
