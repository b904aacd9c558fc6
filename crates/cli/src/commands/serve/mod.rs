//! `turnstone serve DIR…`: crawls as pages, JSON and metrics, whoever runs them.
//!
//! It only looks: no lock is taken, and orders are for the process that runs a crawl (`--listen` there).

mod answers;
mod desk;
mod listen;

use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;
use turnstone_server::House;

pub(crate) use self::answers::Answering;
pub(crate) use self::desk::Changes;
pub(crate) use self::listen::{Desks, Listen, ListenOptions};
use super::live;
use crate::exit::Exit;
use crate::log;
use crate::output::Output;

/// Show crawls in the browser, and to programs: dashboard, JSON, metrics
///
/// Follows the directories while crawls run in them or not. It gives no orders: a crawl takes them where it was
/// started with --listen.
#[derive(Debug, Args)]
pub(crate) struct Serve {
    /// Crawl directories
    #[arg(value_name = "DIR", required = true)]
    directories: Vec<PathBuf>,
    /// Where to listen: a port of this machine alone, or ADDRESS:PORT; port 0 for any that is free
    #[arg(long, value_name = "ADDR", default_value = "7700")]
    listen: String,
    /// A file with the token that everybody must show; needed where others can reach ADDR
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
    /// How to say on standard error what is no result: text, or json for a document a line
    #[arg(
        long,
        value_enum,
        value_name = "FORM",
        default_value_t,
        hide_possible_values = true
    )]
    log: log::Form,
}

impl Serve {
    pub(crate) fn run(self, output: &Output) -> anyhow::Result<Exit> {
        log::begin(self.log);
        let listen = Listen::asked(&self.listen, self.token_file.as_deref())?;
        let runtime = live::runtime()?;
        runtime.block_on(async {
            let listener = listen.bind()?;
            let house = House::open(&self.directories, Arc::new(Answering), listen.gate()?)?;
            output.note(&listen::said(&listener)?);
            tokio::select! {
                () = Arc::new(house).serve(listener) => {}
                () = live::told_to_end() => {}
            }
            anyhow::Ok(())
        })?;
        runtime.shutdown_timeout(std::time::Duration::from_millis(100));
        Ok(Exit::Done)
    }
}
