//! `turnstone cluster audit`: all journals, read from the servers, and computed again.

use std::path::PathBuf;

use clap::Args;

use super::copy::into_directory;
use super::place::Which;
use crate::exit::Exit;
use crate::output::Output;

/// Read all journals from the servers, and compute again what is proven
///
/// Each chunk is held against the one before, every hand-out is decided again, every transfer between shards is
/// looked for on both sides, and all mass is added up: what is held and under way is all there is, or the audit
/// fails. While the crawl runs, journals are read one after the other; that is no reason for a difference.
#[derive(Debug, Args)]
pub(crate) struct Audit {
    #[command(flatten)]
    which: Which,
    /// Keep the journals that were read here [default: nowhere]
    #[arg(short, long, value_name = "DIR")]
    output: Option<PathBuf>,
}

impl Audit {
    pub(crate) fn run(self, output: &Output) -> anyhow::Result<Exit> {
        let config = self.which.config()?;
        let folder = tempfile::tempdir()?;
        let directory = self
            .output
            .unwrap_or_else(|| folder.path().join(&config.name));
        into_directory(&config, &directory)?;
        crate::commands::audit::of_copy(&directory, output)
    }
}
