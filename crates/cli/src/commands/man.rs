//! `turnstone man DIR`

use std::fs;
use std::path::PathBuf;

use anyhow::Context as _;
use clap::{Args, CommandFactory as _};
use serde_json::json;
use turnstone_lab::number::whole;

use crate::Arguments;
use crate::exit::Exit;
use crate::output::Output;

/// Write man pages, one for each command; then `man -M DIR/.. turnstone-crawl`, or `man DIR/turnstone.1`
#[derive(Debug, Args)]
pub(crate) struct Man {
    /// The folder to write to; it is made if it is not there
    #[arg(value_name = "DIR")]
    folder: PathBuf,
}

impl Man {
    pub(crate) fn run(self, output: &Output) -> anyhow::Result<Exit> {
        let name = self.folder.display().to_string();
        let write = || {
            fs::create_dir_all(&self.folder)?;
            let mut command = Arguments::command();
            command.build();
            let mut written = 0;
            pages(&self.folder, &command, &mut written)?;
            std::io::Result::Ok(written)
        };
        let written = write().with_context(|| format!("{name}: cannot be written"))?;
        output.result(&json!({"output": name, "pages": written}), || {
            format!("{} man pages written to {name}\n", whole(written))
        })?;
        Ok(Exit::Done)
    }
}

/// Writes the page of a command and those of the commands below it.
fn pages(
    folder: &std::path::Path,
    command: &clap::Command,
    written: &mut u64,
) -> std::io::Result<()> {
    let below = command
        .get_subcommands()
        .filter(|below| !below.is_hide_set());
    for below in below.filter(|below| below.get_name() != "help") {
        pages(folder, below, written)?;
    }
    let page = clap_mangen::Man::new(command.clone());
    let mut text = Vec::new();
    page.render(&mut text)?;
    fs::write(folder.join(page.get_filename()), text)?;
    *written += 1;
    Ok(())
}
