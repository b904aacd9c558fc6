//! `turnstone serve DIR…`: crawls as pages, JSON and metrics, whoever runs them; and with `--frontier` the frontier
//! for other crawlers.
//!
//! Showing only looks: no lock is taken, and orders are for the process that runs a crawl (`--listen` there). A
//! frontier has its directory for itself.

mod answers;
mod desk;
mod frontier;
mod listen;

use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;
use turnstone_server::House;

pub(crate) use self::answers::Answering;
pub(crate) use self::desk::{Changes, Desk, Desks};
use self::frontier::{FrontierAsked, FrontierOptions};
pub(crate) use self::listen::{Listen, ListenOptions};
use super::live;
use crate::exit::Exit;
use crate::log;
use crate::output::Output;

/// Where crawls are shown where nobody says.
const DASHBOARD: &str = "7700";

/// Show crawls in the browser, and to programs: dashboard, JSON, metrics
///
/// Follows the directories while crawls run in them or not. It gives no orders: a crawl takes them where it was
/// started with --listen. With --frontier it lends pages to other crawlers instead, and shows a dashboard of their
/// crawls only where --listen asks for one.
#[derive(Debug, Args)]
pub(crate) struct Serve {
    /// Crawl directories; with --frontier the one in which all crawls of others are kept
    #[arg(value_name = "DIR", required = true)]
    directories: Vec<PathBuf>,
    /// Where to listen: a port of this machine alone, or ADDRESS:PORT; port 0 for any that is free
    /// [default: 7700, none with --frontier]
    #[arg(long, value_name = "ADDR")]
    listen: Option<String>,
    #[command(flatten)]
    frontier: FrontierOptions,
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
        let token_file = self.token_file.as_deref();
        let frontier = self.frontier.asked(&self.directories, token_file)?;
        let listen = match (&self.listen, &frontier) {
            (Some(address), _) => Some(Listen::asked(address, token_file)?),
            (None, None) => Some(Listen::asked(DASHBOARD, token_file)?),
            (None, Some(_)) => None,
        };
        let runtime = live::runtime()?;
        runtime.block_on(async {
            let lending = match &frontier {
                Some(asked) => {
                    let listener = asked.listen.bind()?;
                    let opened = asked.open()?;
                    output.note(&FrontierAsked::said(listener.local_addr()?));
                    Some((opened, listener))
                }
                None => None,
            };
            let showing = match &listen {
                Some(listen) => {
                    let listener = listen.bind()?;
                    let directories = match &frontier {
                        Some(asked) => asked.crawls(),
                        None => self.directories.clone(),
                    };
                    let house = House::open(&directories, Arc::new(Answering), listen.gate()?)?;
                    output.note(&listen::said(&listener)?);
                    Some((house, listener))
                }
                None => None,
            };
            let lend = async {
                match lending {
                    Some((frontier, listener)) => {
                        frontier.serve(listener, live::told_to_end()).await
                    }
                    None => std::future::pending().await,
                }
            };
            let show = async {
                match showing {
                    Some((house, listener)) => Arc::new(house).serve(listener).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                lent = lend => lent?,
                () = show => {}
                () = live::told_to_end() => {}
            }
            anyhow::Ok(())
        })?;
        runtime.shutdown_timeout(std::time::Duration::from_millis(100));
        Ok(Exit::Done)
    }
}
