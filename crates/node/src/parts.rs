//! What a node is made of, what it shows while it runs, and how it ends.

use std::collections::BTreeMap;
use std::future::Future;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use turnstone_cluster::audit::Statement;
use turnstone_cluster::bus::Bus;
use turnstone_cluster::node::Ticket;
use turnstone_cluster::{Answer, NodeId, Shard};
use turnstone_crawl::{CrawlError, Figures, Parts, Progress, Summary};
use turnstone_frontier::Coverage;
use turnstone_ledger::{Stop, Until};
use turnstone_pagestore::StoreError;

/// A bus whose answers can be waited for.
pub trait Line: Bus<Ticket> {
    /// The next answer.
    fn answered(&mut self) -> impl Future<Output = (Ticket, Answer)> + Send;
}

/// Makes what a shard's loop is made of, from the shard's folder; its journal is there and sealed.
pub type Opener<P> = Arc<
    dyn Fn(&Path, Shard) -> Result<Parts<P>, Box<dyn std::error::Error + Send + Sync>>
        + Send
        + Sync,
>;

/// What a node is made of.
pub struct NodeParts<P> {
    /// Its folder; shards are in folders of it.
    pub directory: PathBuf,
    /// What people call it.
    pub name: String,
    /// Drawn anew for each process.
    pub id: NodeId,
    /// What keys of all shards are made with.
    pub secret: [u8; 16],
    /// How many shards and lanes.
    pub cut: (u32, u32),
    /// When all are to end.
    pub until: Until,
    /// The goal, in mass.
    pub goal: u64,
    /// The longest body.
    pub body_bytes_max: u64,
    /// The most pages under way at once.
    pub connections: usize,
    /// Whether hosts at one address are asked as one.
    pub per_address: bool,
    /// The delay between two requests to a host, in ticks.
    pub delay_ms: u64,
    /// How fast the crawl's clock runs, and that of leases: 1 but for tests.
    pub scales: (u32, u32),
    /// Opens a shard.
    pub open: Opener<P>,
}

/// Why a node ended in disorder. Its shards are taken over by others.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NodeError {
    /// A journal cannot be written or read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A shard's loop failed.
    #[error("shard {shard}: {source}")]
    Crawl {
        /// Which.
        shard: u32,
        /// Why.
        source: CrawlError,
    },
    /// A shard cannot be opened.
    #[error("shard {shard}: {what}")]
    Open {
        /// Which.
        shard: u32,
        /// Why.
        what: String,
    },
}

/// How a node ended.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Why all ended; nothing where only this node left.
    pub stop: Option<Stop>,
    /// What all shards said last.
    pub seen: Seen,
    /// The summaries of the loops that ended here.
    pub summaries: Vec<Summary>,
    /// How long it took.
    pub running: Duration,
}

/// What a node sees of the whole crawl.
#[derive(Clone, Debug, Default)]
pub struct Seen {
    /// By shard: what it stated last.
    pub statements: BTreeMap<u32, Statement>,
    /// The shards that are worked on here.
    pub here: Vec<u32>,
    /// Those that are being opened, given back or refused, and how far they are.
    pub on_the_way: Vec<(u32, String)>,
    /// What all prove together.
    pub coverage: Option<Coverage>,
    /// The loops of this node, added up.
    pub progress: Progress,
    /// What people should know, each told once.
    pub said: Vec<String>,
}

impl Seen {
    /// What all shards have done.
    pub fn figures(&self) -> Figures {
        let mut sum = Figures::default();
        for statement in self.statements.values() {
            let one = Figures::of_numbers(&statement.figures);
            sum.pages += one.pages;
            sum.known += one.known;
            sum.waiting += one.waiting;
            sum.gone += one.gone;
            sum.refused += one.refused;
            sum.requests += one.requests;
            sum.bytes += one.bytes;
            sum.spent_pages += one.spent_pages;
            sum.unreachable |= one.unreachable;
            sum.bodies_lost += one.bodies_lost;
            sum.wall_ms = sum.wall_ms.max(one.wall_ms);
        }
        sum
    }
}
