//! `turnstone cluster stop` and `drain`: what people tell all machines, in one key that they read each second.

use clap::Args;
use serde_json::json;
use turnstone_cluster::NodeId;
use turnstone_cluster::bus::{Answer, Key, Keys, Request};
use turnstone_cluster::orders::{Card, Orders};

use super::place::{Place, Which};
use crate::commands::live;
use crate::exit::{Exit, Usage};
use crate::output::Output;

/// How often an order is given anew when somebody else gave one meanwhile.
const TRIES: u32 = 20;

/// Tell all machines to end; the crawl can go on later
///
/// They let open requests come back, make everything durable and end. To go on: `turnstone crawl -o DIR` on any of
/// them, then on the others.
#[derive(Debug, Args)]
pub(crate) struct StopAll {
    #[command(flatten)]
    which: Which,
}

impl StopAll {
    pub(crate) fn run(self, output: &Output) -> anyhow::Result<Exit> {
        let config = self.which.config()?;
        live::runtime()?.block_on(async {
            let mut place = Place::join(&config).await?;
            order(&mut place, |orders| orders.stop = true).await
        })?;
        let json = json!({ "name": config.name, "told": "stop" });
        output.result(&json, || {
            format!("{}: all machines are told to end\n", config.name)
        })?;
        Ok(Exit::Done)
    }
}

/// Tell one machine to give its shards back and end
///
/// Its open requests come back first; the other machines take its shards over in order, without waiting for a lease
/// to run out.
#[derive(Debug, Args)]
pub(crate) struct Drain {
    /// The machine, as `turnstone cluster status` calls it: its name, or its number
    #[arg(value_name = "NODE")]
    node: String,
    #[command(flatten)]
    which: Which,
}

impl Drain {
    pub(crate) fn run(self, output: &Output) -> anyhow::Result<Exit> {
        let config = self.which.config()?;
        let node = live::runtime()?.block_on(async {
            let mut place = Place::join(&config).await?;
            let node = find(&mut place, &self.node).await?;
            order(&mut place, |orders| {
                orders.leave.insert(node);
            })
            .await?;
            anyhow::Ok(node)
        })?;
        let json =
            json!({ "name": config.name, "told": "leave", "node": format!("{:016x}", node.0) });
        output.result(&json, || {
            format!(
                "{}: {} is told to give its shards back and end\n",
                config.name, self.node
            )
        })?;
        Ok(Exit::Done)
    }
}

/// The machine of a name. The one whose sign of life is the newest, if several processes had it.
async fn find(place: &mut Place, wanted: &str) -> anyhow::Result<NodeId> {
    let mut found: Option<(u64, NodeId)> = None;
    for (key, _, value) in place.list(Keys::Nodes).await? {
        let (Key::Node(node), Ok(card)) = (key, Card::decode(&value)) else {
            continue;
        };
        let is_it = card.name == wanted || format!("{:016x}", node.0) == wanted;
        if is_it && found.is_none_or(|(at, _)| at < card.wall_ms) {
            found = Some((card.wall_ms, node));
        }
    }
    let what = || {
        Usage(format!(
            "{wanted}: no machine of this crawl; `turnstone cluster status` names them"
        ))
    };
    Ok(found.map(|(_, node)| node).ok_or_else(what)?)
}

/// Changes the orders in force.
async fn order(place: &mut Place, change: impl Fn(&mut Orders)) -> anyhow::Result<()> {
    for _ in 0..TRIES {
        let found = place.load(Key::Orders).await?;
        let (expect, mut orders) = match found {
            None => (0, Orders::default()),
            Some((revision, value)) => (revision, Orders::decode(&value)?),
        };
        change(&mut orders);
        let request = Request::Swap {
            key: Key::Orders,
            expect,
            value: orders.encode(),
        };
        if let Answer::Swapped { .. } = place.ask(request).await {
            return Ok(());
        }
    }
    anyhow::bail!("the servers do not take the order; are enough of them up?")
}
