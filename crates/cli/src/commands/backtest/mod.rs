//! `turnstone backtest QUESTION WEB`

mod certify;
mod changes;
mod coverage;
mod discovery;
mod importance;
mod keep;
mod liveness;
mod pictures;
mod trap;
mod unknown;

pub(crate) use pictures::command_line;

use clap::Subcommand;

use crate::exit::Exit;
use crate::output::Output;

/// The question to ask of a recorded web.
#[derive(Debug, Subcommand)]
pub(crate) enum Backtest {
    /// How many downloads until most of the personalised PageRank is provably in the store?
    Coverage(coverage::Coverage),
    /// How far are estimates of importance from the truth, while crawling?
    Importance(importance::Importance),
    /// How much of a crawl does an endless calendar eat?
    Trap(trap::Trap),
    /// How many requests until the pages of an old crawl that are still alive are found?
    Liveness(liveness::Liveness),
    /// Which known pages lead to most of the new ones?
    Discovery(discovery::Discovery),
    /// Of the stored pages a policy fetches again, how many have changed, and how fresh is the store?
    Changes(Box<changes::Changes>),
    /// How current and complete is a store kept for a year with a small part of a full recrawl?
    Keep(Box<keep::Keep>),
}

impl Backtest {
    pub(crate) fn run(self, output: &Output) -> anyhow::Result<Exit> {
        match self {
            Self::Coverage(command) => command.run(output),
            Self::Importance(command) => command.run(output),
            Self::Trap(command) => command.run(output),
            Self::Liveness(command) => command.run(output),
            Self::Discovery(command) => command.run(output),
            Self::Changes(command) => command.run(output),
            Self::Keep(command) => command.run(output),
        }
    }
}
