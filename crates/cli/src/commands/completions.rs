//! `turnstone completions SHELL`

use clap::{Args, CommandFactory as _};
use clap_complete::Shell;

use crate::Arguments;
use crate::exit::Exit;
use crate::output::Output;

/// Print a completion script; for bash: `turnstone completions bash > ~/.local/share/bash-completion/completions/turnstone`
#[derive(Debug, Args)]
pub(crate) struct Completions {
    /// The shell to complete for
    shell: Shell,
}

impl Completions {
    pub(crate) fn run(self, output: &Output) -> anyhow::Result<Exit> {
        let mut script = Vec::new();
        clap_complete::generate(
            self.shell,
            &mut Arguments::command(),
            "turnstone",
            &mut script,
        );
        output.raw(&String::from_utf8(script)?)?;
        Ok(Exit::Done)
    }
}
