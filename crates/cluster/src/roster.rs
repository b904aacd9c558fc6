//! Who is alive, and which shards a node should take or give back.
//!
//! A node lists the signs of life and the leases again and again. A key whose revision has not
//! changed for 20 s of the looker's own clock counts as abandoned. Shards are assigned over the live
//! nodes; a node takes an assigned shard that is free, given back or abandoned, and gives back in
//! order one that is assigned to another live node. Nobody decides for all: the swap does.

use std::collections::{BTreeMap, BTreeSet};

use crate::Millis;
use crate::assignment::assign;
use crate::bus::{Answer, Key, Keys};
use crate::lease::{Hold, Lease, TAKE_MS};
use crate::shard::{NodeId, Shard};

/// What one node has seen of the others.
#[derive(Debug)]
pub struct Roster {
    me: NodeId,
    shards: u32,
    nodes: BTreeMap<NodeId, Heard>,
    leases: BTreeMap<Shard, (Heard, Lease)>,
    /// Listed at least once: before, nothing is known to be free.
    listed: bool,
    /// Shards not to be taken before a moment.
    later: BTreeMap<Shard, Millis>,
    /// Nodes that are alive and want nothing.
    leaving: BTreeSet<NodeId>,
}

#[derive(Clone, Copy, Debug)]
struct Heard {
    revision: u64,
    since: Millis,
}

impl Heard {
    /// Counts from when the answer was heard: a renewal was sent earlier, so we wait longer than
    /// its sender counts.
    fn again(before: Option<Self>, revision: u64, now: Millis) -> Self {
        match before {
            Some(seen) if seen.revision == revision => seen,
            _ => Self {
                revision,
                since: now,
            },
        }
    }

    fn abandoned(self, now: Millis) -> bool {
        now.saturating_sub(self.since) >= TAKE_MS
    }
}

impl Roster {
    /// For a node of a crawl with so many shards.
    pub fn new(me: NodeId, shards: u32) -> Self {
        Self {
            me,
            shards,
            nodes: BTreeMap::new(),
            leases: BTreeMap::new(),
            listed: false,
            later: BTreeMap::new(),
            leaving: BTreeSet::new(),
        }
    }

    /// Takes a list of nodes or leases.
    pub fn listed(&mut self, keys: Keys, answer: &Answer, now: Millis) {
        let Answer::Values(values) = answer else {
            return;
        };
        for (key, revision, value) in values {
            match *key {
                Key::Node(node) => {
                    let seen = Heard::again(self.nodes.get(&node).copied(), *revision, now);
                    self.nodes.insert(node, seen);
                }
                Key::Lease(shard) => {
                    let Ok(lease) = Lease::decode(value) else {
                        continue;
                    };
                    let before = self.leases.get(&shard).map(|(seen, _)| *seen);
                    let seen = Heard::again(before, *revision, now);
                    self.leases.insert(shard, (seen, lease));
                }
                _ => {}
            }
        }
        self.listed |= keys == Keys::Leases;
    }

    /// The nodes that are alive, ourselves included.
    pub fn alive(&self, now: Millis) -> Vec<NodeId> {
        let others = self.nodes.iter().filter(|(_, seen)| !seen.abandoned(now));
        let mut nodes: Vec<NodeId> = others.map(|(node, _)| *node).collect();
        nodes.push(self.me);
        nodes.sort_unstable();
        nodes.dedup();
        nodes
    }

    /// A node gives its shards back and wants no more, or does again.
    pub fn leaves(&mut self, node: NodeId, leaves: bool) {
        if leaves {
            self.leaving.insert(node);
        } else {
            self.leaving.remove(&node);
        }
    }

    /// The nodes that take shards.
    fn takers(&self, now: Millis) -> Vec<NodeId> {
        let mut nodes = self.alive(now);
        nodes.retain(|node| !self.leaving.contains(node));
        nodes
    }

    /// The lease of a shard as last seen.
    pub fn lease(&self, shard: Shard) -> Option<&Lease> {
        self.leases.get(&shard).map(|(_, lease)| lease)
    }

    /// The epoch of a shard as last seen.
    pub fn epoch(&self, shard: Shard) -> u64 {
        self.leases.get(&shard).map_or(0, |(_, lease)| lease.epoch)
    }

    /// Leaves a shard alone for a while: taking it has failed.
    pub fn put_off(&mut self, shard: Shard, until: Millis) {
        self.later.insert(shard, until);
    }

    /// The shards to take now, each with what its key said. `file` says how much of a shard's
    /// journal this machine has.
    pub fn to_take(
        &self,
        now: Millis,
        file: impl Fn(Shard) -> u64,
    ) -> Vec<(Shard, Option<(u64, Lease)>)> {
        if !self.listed {
            return Vec::new();
        }
        let assigned = assign(self.shards, &self.takers(now));
        (0..self.shards)
            .map(Shard)
            .filter(|shard| self.later.get(shard).is_none_or(|until| now >= *until))
            .filter_map(|shard| {
                let ours = assigned[shard.0 as usize] == Some(self.me);
                let Some((seen, lease)) = self.leases.get(&shard) else {
                    return ours.then_some((shard, None));
                };
                let free = match lease.hold {
                    Hold::Held => ours && seen.abandoned(now),
                    Hold::Released => ours,
                    Hold::Refused => file(shard) >= lease.position,
                };
                free.then_some((shard, Some((seen.revision, *lease))))
            })
            .collect()
    }

    /// Whether a shard we hold belongs to another live node by now.
    pub fn to_give(&self, shard: Shard, now: Millis) -> bool {
        let assigned = assign(self.shards, &self.takers(now));
        assigned[shard.0 as usize] != Some(self.me)
    }
}
