//! `turnstone cluster`, and `crawl --cluster`: a crawl that several machines share.
//!
//! | file | what it does |
//! |---|---|
//! | `place` | where the servers are, who we are to them, which crawl it is |
//! | `asked` | what was asked of the crawl, kept on the servers for machines that join |
//! | `drive`, `shown` | runs a node until all is done; what people see of it |
//! | `status`, `audit`, `copy`, `orders` | look at the whole, and tell it what to do |
//!
//! What a node does is in crate `node`, the protocol in `cluster`, the servers in `bus`.

mod asked;
mod audit;
mod copy;
mod drive;
mod orders;
mod place;
mod shown;
mod status;

use clap::Subcommand;

pub(crate) use copy::looked_at;
pub(crate) use drive::{Order, carry_out};
pub(crate) use place::{ClusterOptions, is_shared};

use crate::exit::Exit;
use crate::output::Output;

/// Share a crawl among several machines
#[derive(Debug, Subcommand)]
pub(crate) enum Cluster {
    /// Take part in a crawl that another machine founded with `crawl --cluster`
    Join(drive::Join),
    /// Tell where the crawl stands: machines, shards, what is proven
    Status(status::Status),
    /// Read all journals from the servers, and compute again what is proven
    Audit(audit::Audit),
    /// Read all journals from the servers into a directory, for commands that look at one
    Copy(copy::Copy),
    /// Tell one machine to give its shards back and end
    Drain(orders::Drain),
    /// Tell all machines to end; the crawl can go on later
    Stop(orders::StopAll),
    /// Share a crawl that was begun with `crawl --shards` on this machine
    Adopt(drive::Adopt),
}

impl Cluster {
    pub(crate) fn run(self, output: &Output) -> anyhow::Result<Exit> {
        match self {
            Self::Join(command) => command.run(output),
            Self::Status(command) => command.run(output),
            Self::Audit(command) => command.run(output),
            Self::Copy(command) => command.run(output),
            Self::Drain(command) => command.run(output),
            Self::Stop(command) => command.run(output),
            Self::Adopt(command) => command.run(output),
        }
    }
}
