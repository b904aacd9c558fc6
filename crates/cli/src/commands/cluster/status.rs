//! `turnstone cluster status`: machines, shards, what is proven, from what everybody said last.

use std::collections::BTreeMap;

use clap::Args;
use serde_json::json;
use turnstone_cluster::audit::{Audit as Sums, Statement, Work};
use turnstone_cluster::budget::Ledger as Budget;
use turnstone_cluster::bus::{Key, Keys};
use turnstone_cluster::lease::{Hold, Lease};
use turnstone_cluster::level::Told;
use turnstone_cluster::orders::{Card, Orders};
use turnstone_cluster::{NodeId, Shard};
use turnstone_crawl::Figures;
use turnstone_frontier::Coverage;
use turnstone_lab::number::{at_least, at_most, duration, plural, whole};
use turnstone_node::desk::masses;
use turnstone_node::stop_of;

use super::place::{Place, Which};
use crate::commands::crawl::verdict;
use crate::commands::live;
use crate::exit::Exit;
use crate::lines::aligned;
use crate::moment::now_ms;
use crate::output::Output;
use crate::table::Table;

/// Whoever said nothing for longer is taken for gone here.
const SILENT_MS: u64 = 20_000;

/// Tell where the crawl stands: machines, shards, what is proven
///
/// What every shard stated last, some seconds ago. `turnstone status DIR` reads the journals instead.
#[derive(Debug, Args)]
pub(crate) struct Status {
    #[command(flatten)]
    which: Which,
}

/// What the servers have.
struct Found {
    nodes: BTreeMap<NodeId, Card>,
    leases: BTreeMap<Shard, Lease>,
    statements: BTreeMap<Shard, Statement>,
    told: Option<Told>,
    orders: Orders,
    budget: Option<Budget>,
    shards: u32,
}

impl Status {
    pub(crate) fn run(self, output: &Output) -> anyhow::Result<Exit> {
        let config = self.which.config()?;
        let found = live::runtime()?.block_on(async {
            let mut place = Place::join(&config).await?;
            look(&mut place).await
        })?;
        output.result(&found.json(&config.name), || found.text(&config.name))?;
        Ok(Exit::Done)
    }
}

async fn look(place: &mut Place) -> anyhow::Result<Found> {
    let mut found = Found {
        nodes: BTreeMap::new(),
        leases: BTreeMap::new(),
        statements: BTreeMap::new(),
        told: None,
        orders: Orders::default(),
        budget: None,
        shards: place.founding.shards,
    };
    for keys in [Keys::Nodes, Keys::Leases, Keys::Statements] {
        for (key, _, value) in place.list(keys).await? {
            match key {
                Key::Node(node) => {
                    found.nodes.insert(node, Card::decode(&value)?);
                }
                Key::Lease(shard) => {
                    found.leases.insert(shard, Lease::decode(&value)?);
                }
                Key::Statement(shard) => {
                    found.statements.insert(shard, Statement::decode(&value)?);
                }
                _ => {}
            }
        }
    }
    let value = |found: Option<(u64, Vec<u8>)>| found.map(|(_, value)| value);
    if let Some(bytes) = value(place.load(Key::Level).await?) {
        found.told = Some(Told::decode(&bytes)?);
    }
    if let Some(bytes) = value(place.load(Key::Orders).await?) {
        found.orders = Orders::decode(&bytes)?;
    }
    if let Some(bytes) = value(place.load(Key::Budget).await?) {
        found.budget = Some(Budget::decode(&bytes)?);
    }
    Ok(found)
}

/// The machines that have shards now.
pub(super) async fn working(place: &mut Place) -> anyhow::Result<Vec<String>> {
    let found = look(place).await?;
    let alive = found.alive().into_iter();
    let working = alive.filter(|node| !found.held_by(*node).is_empty());
    Ok(working.map(|node| found.name(node)).collect())
}

impl Found {
    fn silent_ms(&self, node: NodeId) -> u64 {
        let said = self.nodes.get(&node).map_or(0, |card| card.wall_ms);
        now_ms().saturating_sub(said)
    }

    fn name(&self, node: NodeId) -> String {
        match self.nodes.get(&node) {
            Some(card) => turnstone_events::plain(&card.name),
            None => format!("{:016x}", node.0),
        }
    }

    fn coverage(&self) -> Coverage {
        let all = self.statements.values().map(|it| masses(&it.account));
        Coverage::of_shards(all, 0)
    }

    fn sum(&self) -> Figures {
        let seen = turnstone_node::Seen {
            statements: self
                .statements
                .iter()
                .map(|(shard, it)| (shard.0, it.clone()))
                .collect(),
            ..turnstone_node::Seen::default()
        };
        seen.figures()
    }

    /// The machines whose sign of life is fresh.
    fn alive(&self) -> Vec<NodeId> {
        let nodes = self.nodes.keys().copied();
        nodes
            .filter(|node| self.silent_ms(*node) < SILENT_MS)
            .collect()
    }

    fn held_by(&self, node: NodeId) -> Vec<u32> {
        let held = |(_, lease): &(&Shard, &Lease)| lease.node == node && lease.hold == Hold::Held;
        self.leases
            .iter()
            .filter(held)
            .map(|(shard, _)| shard.0)
            .collect()
    }

    /// Where all mass is accounted for: statements of all shards, to the last bit.
    fn is_balanced(&self) -> bool {
        self.statements.len() == self.shards as usize
            && Sums::of(self.statements.values()).accounts_for(u128::from(Coverage::ONE))
    }

    fn state(&self) -> String {
        let end = self.told.and_then(|told| stop_of(told.end));
        let alive = self.alive();
        let held = alive.iter().any(|node| !self.held_by(*node).is_empty());
        match end {
            _ if self.orders.stop && held => "being stopped".to_owned(),
            Some(stop) => format!("ended: {}", verdict::because(stop)),
            None if self.orders.stop => "stopped; `turnstone crawl -o DIR` goes on".to_owned(),
            None if held => "running".to_owned(),
            None if !alive.is_empty() => "shards are being taken over".to_owned(),
            None => "no machine takes part; `turnstone crawl -o DIR` goes on".to_owned(),
        }
    }

    fn json(&self, name: &str) -> serde_json::Value {
        let (sum, coverage) = (self.sum(), self.coverage());
        let end = self.told.and_then(|told| stop_of(told.end));
        json!({
            "name": name,
            "state": self.state(),
            "stopped_by": end.map(turnstone_ledger::Stop::name),
            "pages": sum.pages,
            "known": sum.known,
            "waiting": sum.waiting,
            "gone": sum.gone,
            "refused": sum.refused,
            "requests": sum.requests,
            "bytes": sum.bytes,
            "guaranteed": coverage.guaranteed_fraction(),
            "upper_bound": coverage.possible_fraction(),
            "mass_accounted_for": self.is_balanced(),
            "nodes": self.nodes.iter().map(|(node, card)| json!({
                "node": format!("{:016x}", node.0),
                "name": card.name,
                "silent_seconds": self.silent_ms(*node) as f64 / 1000.0,
                "leaving": card.leaving || self.orders.leave.contains(node),
                "shards": self.held_by(*node),
            })).collect::<Vec<_>>(),
            "shards": (0..self.shards).map(|shard| {
                let lease = self.leases.get(&Shard(shard));
                let statement = self.statements.get(&Shard(shard));
                let figures = statement.map(|it| Figures::of_numbers(&it.figures));
                json!({
                    "shard": shard,
                    "epoch": lease.map(|it| it.epoch),
                    "node": lease.map(|it| format!("{:016x}", it.node.0)),
                    "hold": lease.map(|it| hold(it.hold)),
                    "durable_bytes": lease.map(|it| it.position),
                    "idle": statement.map(|it| it.work == Work::Idle),
                    "pages": figures.map(|it| it.pages),
                    "requests": figures.map(|it| it.requests),
                    "waiting": figures.map(|it| it.waiting),
                })
            }).collect::<Vec<_>>(),
            "budget_left": self.budget.as_ref().map(|budget| {
                let left = |kind: usize| (budget.total[kind] != u64::MAX).then(|| budget.remaining(kind));
                json!({ "requests": left(0), "bytes": left(1), "pages": left(2) })
            }),
        })
    }

    fn text(&self, name: &str) -> String {
        let (sum, coverage) = (self.sum(), self.coverage());
        let alive = self.alive();
        let mut facts = vec![
            ("crawl", format!("{name}: {}", self.state())),
            (
                "stored",
                format!(
                    "{} of {} known, by {}",
                    whole(sum.pages),
                    whole(sum.known),
                    plural(sum.requests, "request")
                ),
            ),
            (
                "proven",
                format!(
                    "at least {} is stored, at most {}",
                    at_least(coverage.guaranteed_fraction()),
                    at_most(coverage.possible_fraction())
                ),
            ),
            (
                "mass",
                match self.is_balanced() {
                    true => "all accounted for, to the last bit".to_owned(),
                    false if self.statements.len() < self.shards as usize => {
                        "not every shard has said where it stands yet".to_owned()
                    }
                    false => {
                        "statements are of different runs; `cluster audit` computes it".to_owned()
                    }
                },
            ),
        ];
        if let Some(budget) = &self.budget {
            let kinds = ["requests", "bytes", "pages"];
            let left = kinds
                .iter()
                .enumerate()
                .filter(|(kind, _)| budget.total[*kind] != u64::MAX);
            let left = left.map(|(kind, what)| {
                format!(
                    "{} of {} {what} not given to a shard yet",
                    whole(budget.remaining(kind)),
                    whole(budget.total[kind])
                )
            });
            facts.push(("budget", left.collect::<Vec<_>>().join(", ")));
        }
        let mut text = aligned(&facts);
        let mut table = Table::new(&["machine", "heard of", "shards"]);
        for node in self.nodes.keys() {
            let held = self.held_by(*node);
            let silent = self.silent_ms(*node);
            let is_here = alive.contains(node);
            if !is_here && held.is_empty() {
                continue;
            }
            let heard = match is_here {
                true => format!("{} ago", duration(silent as f64 / 1000.0)),
                false => format!("silent for {}", duration(silent as f64 / 1000.0)),
            };
            let held: Vec<String> = held.iter().map(u32::to_string).collect();
            table.row([self.name(*node), heard, held.join(" ")]);
        }
        text += "\n";
        text += &table.text();
        let refused = self
            .leases
            .iter()
            .filter(|(_, lease)| lease.hold == Hold::Refused);
        for (shard, lease) in refused {
            text += &format!(
                "\nshard {} was refused: its journal lacks what was acknowledged up to {}; start the machine that has \
                 its file\n",
                shard.0,
                whole(lease.position)
            );
        }
        text
    }
}

fn hold(hold: Hold) -> &'static str {
    match hold {
        Hold::Held => "held",
        Hold::Released => "given back",
        Hold::Refused => "refused",
    }
}
