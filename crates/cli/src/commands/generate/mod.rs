//! `turnstone generate`

mod history;

use clap::Subcommand;

use crate::exit::Exit;
use crate::output::Output;

/// What to make up.
#[derive(Debug, Subcommand)]
pub(crate) enum Generate {
    /// Sites over time: pages born, changed and gone
    History(history::History),
}

impl Generate {
    pub(crate) fn run(self, output: &Output) -> anyhow::Result<Exit> {
        match self {
            Self::History(command) => command.run(output),
        }
    }
}
