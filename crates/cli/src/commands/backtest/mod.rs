//! `turnstone backtest QUESTION WEB`

mod changes;
mod coverage;
mod pictures;

use clap::Subcommand;

use crate::exit::Exit;
use crate::output::Output;

/// The question to ask of a recorded web.
#[derive(Debug, Subcommand)]
pub(crate) enum Backtest {
    /// How many downloads until most of the personalised PageRank is provably in the store?
    Coverage(coverage::Coverage),
    /// Of the stored pages a policy fetches again, how many have changed, and how fresh is the store?
    Changes(Box<changes::Changes>),
}

impl Backtest {
    pub(crate) fn run(self, output: &Output) -> anyhow::Result<Exit> {
        match self {
            Self::Coverage(command) => command.run(output),
            Self::Changes(command) => command.run(output),
        }
    }
}
