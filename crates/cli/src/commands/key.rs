//! `turnstone key new|directory`: keys that sign our requests, and what to publish of them.

use std::io::Write as _;
use std::path::PathBuf;

use anyhow::Context as _;
use clap::{Args, Subcommand};
use turnstone_fetch::{KEY_DIRECTORY, KEY_DIRECTORY_TYPE, key_directory, new_key};

use super::live::read_secret;
use crate::exit::{Exit, Usage};
use crate::output::Output;

/// Keys for signed requests (Web Bot Auth): make one, print what to publish of it
///
/// A site that wants to know whether it is really you who crawls checks the signature of a request with the
/// public key that your own site publishes. Crawl with --signature-key and --signature-agent.
#[derive(Debug, Args)]
pub(crate) struct Key {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Make a private key, in a new file that only you may read
    New {
        /// The file, which must not exist
        file: PathBuf,
    },
    /// Print the document that your site is to publish: the public halves of these keys
    Directory {
        /// The files of the private keys; two while you change from one to the next
        #[arg(required = true)]
        files: Vec<PathBuf>,
    },
}

impl Key {
    pub(crate) fn run(self, output: &Output) -> anyhow::Result<Exit> {
        match self.what {
            What::New { file } => {
                let key = new_key()?;
                write_new(&file, &key)?;
                output.note(&format!(
                    "{} holds a private key: keep it secret. `turnstone key directory {0}` prints what to \
                     publish",
                    file.display()
                ));
            }
            What::Directory { files } => {
                let keys = files.iter().map(|file| read_secret("FILE", file));
                let keys = keys.collect::<anyhow::Result<Vec<String>>>()?;
                let document = key_directory(&keys).map_err(|error| Usage::of("FILE", error))?;
                std::io::stdout().write_all(document.as_bytes())?;
                output.note(&format!(
                    "publish this at {KEY_DIRECTORY} of the site that --signature-agent names, as \
                     {KEY_DIRECTORY_TYPE}"
                ));
            }
        }
        Ok(Exit::Done)
    }
}

fn write_new(file: &std::path::Path, key: &str) -> anyhow::Result<()> {
    use std::os::unix::fs::OpenOptionsExt as _;
    let shown = || file.display().to_string();
    let mut out = std::fs::OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(file)
        .with_context(shown)?;
    out.write_all(key.as_bytes()).with_context(shown)?;
    out.sync_all().with_context(shown)
}
