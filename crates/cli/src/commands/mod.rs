//! One file a command.

mod backtest;
mod completions;
mod generate;
mod info;
mod policies;
mod rank;
mod trusted;

use clap::Subcommand;

use crate::exit::Exit;
use crate::output::Output;

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Try policies on a recorded web
    #[command(subcommand)]
    Backtest(backtest::Backtest),
    /// Score every page of a recorded web: PageRank or in-degree
    Rank(rank::Rank),
    /// Make synthetic webs of any size, for scale tests and demos
    #[command(subcommand)]
    Generate(generate::Generate),
    /// Tell what a recorded web holds
    Info(info::Info),
    /// List every policy with its parameters, paper and cost
    Policies(policies::Policies),
    /// Print a completion script for a shell
    Completions(completions::Completions),
}

impl Command {
    pub(crate) fn run(self, output: &Output) -> anyhow::Result<Exit> {
        match self {
            Self::Backtest(command) => command.run(output),
            Self::Rank(command) => command.run(output),
            Self::Generate(command) => command.run(output),
            Self::Info(command) => command.run(output),
            Self::Policies(command) => command.run(output),
            Self::Completions(command) => command.run(output),
        }
    }
}
