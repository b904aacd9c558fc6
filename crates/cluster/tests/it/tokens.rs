//! Tokens of addresses by seed: nodes that want to ask at the same addresses, on keys whose answers come late or
//! never, with nodes that die and that sleep through their sign of life. No two nodes ask closer than the delay,
//! and everybody who lives gets to ask.

use std::collections::BTreeMap;

use turnstone_cluster::bus::{Address, Answer, Key, Keys, Request};
use turnstone_cluster::lease::{HOLD_MS, TAKE_MS};
use turnstone_cluster::token::{Came, Tokens};
use turnstone_cluster::{Millis, NodeId};

const DELAY: Millis = 1_000;
const STEP: Millis = 50;

struct Dice(u64);

impl Dice {
    fn below(&mut self, end: u64) -> u64 {
        // SplitMix64.
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % end
    }
}

struct Node {
    id: NodeId,
    tokens: Tokens,
    /// When it last wrote its sign of life, which always succeeds while it is awake.
    sign: Millis,
    sleeps_until: Millis,
    is_dead: bool,
    /// By address: nothing is asked before.
    rests: BTreeMap<Address, Millis>,
    asked: u64,
    /// The list of wants is due.
    list_at: Millis,
}

/// The keys, and what is under way: (when it is done, when its answer comes, by whom, what).
#[derive(Default)]
struct Servers {
    keys: BTreeMap<String, (u64, Vec<u8>)>,
    revision: u64,
    under_way: Vec<(Millis, usize, Key, Request)>,
    answers: Vec<(Millis, usize, Key, Answer)>,
}

impl Servers {
    fn carry_out(&mut self, request: &Request) -> Answer {
        match request {
            Request::Load { key } => {
                let found = self.keys.get(&key.name());
                let found = found.map(|(revision, value)| (*key, *revision, value.clone()));
                Answer::Values(found.into_iter().collect())
            }
            Request::Swap { key, expect, value } => {
                let found = self
                    .keys
                    .get(&key.name())
                    .map_or(0, |(revision, _)| *revision);
                if found != *expect {
                    return Answer::Refused;
                }
                self.revision += 1;
                let revision = self.revision;
                self.keys.insert(key.name(), (revision, value.clone()));
                Answer::Swapped { revision }
            }
            other => panic!("{other:?}"),
        }
    }

    fn wants(&self) -> Answer {
        let wants = self
            .keys
            .iter()
            .filter(|(name, _)| name.starts_with(Keys::Wants.prefix()));
        let wants = wants.filter_map(|(name, (revision, value))| {
            Some((Key::parse(name)?, *revision, value.clone()))
        });
        Answer::Values(wants.collect())
    }
}

fn run(seed: u64) {
    let mut dice = Dice(seed);
    let count = 2 + dice.below(3) as usize;
    let addresses: Vec<Address> = (0..1 + dice.below(2) as u8)
        .map(|number| [number; 16])
        .collect();
    let mut servers = Servers::default();
    let mut nodes: Vec<Node> = (0..count)
        .map(|number| Node {
            id: NodeId(10 + number as u64),
            tokens: Tokens::new(NodeId(10 + number as u64)),
            sign: 0,
            sleeps_until: 0,
            is_dead: false,
            rests: BTreeMap::new(),
            asked: 0,
            list_at: 0,
        })
        .collect();
    let mut last: BTreeMap<Address, (Millis, NodeId)> = BTreeMap::new();
    let end = 240_000;
    for now in (0..end).step_by(STEP as usize) {
        let (due, later): (Vec<_>, Vec<_>) =
            servers.under_way.drain(..).partition(|(at, ..)| *at <= now);
        servers.under_way = later;
        for (_, who, key, request) in due {
            let answer = servers.carry_out(&request);
            let lost = dice.below(10) == 0;
            let answer = if lost { Answer::Doubt } else { answer };
            let wait = if lost { 5_000 } else { dice.below(300) };
            servers.answers.push((now + wait, who, key, answer));
        }
        let signs: Vec<(NodeId, Millis)> = nodes.iter().map(|node| (node.id, node.sign)).collect();
        for (who, node) in nodes.iter_mut().enumerate() {
            if node.is_dead || now < node.sleeps_until {
                continue;
            }
            match dice.below(60_000) {
                0..3 if who > 0 => node.is_dead = true,
                3..20 => node.sleeps_until = now + dice.below(60_000),
                _ => {}
            }
            if now >= node.sign + HOLD_MS {
                let mut lost = Vec::new();
                node.tokens.lapse(&mut lost);
            }
            node.sign = now;
            let (ready, later): (Vec<_>, Vec<_>) = servers
                .answers
                .drain(..)
                .partition(|(at, whose, ..)| *whose == who && *at <= now);
            servers.answers = later;
            for (_, _, key, answer) in ready {
                let gone = |other: NodeId| {
                    let sign = signs.iter().find(|(id, _)| *id == other);
                    sign.is_none_or(|(_, sign)| now >= sign + TAKE_MS)
                };
                if let Some((address, Came::Ours { taken: true })) =
                    node.tokens.answered(key, &answer, now, gone)
                {
                    node.rests.insert(address, now + DELAY);
                }
            }
            if now >= node.list_at {
                node.list_at = now + 1_000;
                node.tokens.listed(&servers.wants());
            }
            let give: Vec<Address> = node.tokens.to_give(now).collect();
            for address in &addresses {
                node.tokens.need(*address);
                let rested = now >= node.rests.get(address).copied().unwrap_or(0);
                if node.tokens.is_ours(address) && rested && !give.contains(address) {
                    if let Some((at, by)) = last.get(address) {
                        assert!(
                            *by == node.id || now >= at + DELAY,
                            "seed {seed}: {:?} asks at {now}, {by:?} did at {at}",
                            node.id
                        );
                    }
                    last.insert(*address, (now, node.id));
                    node.rests.insert(*address, now + DELAY);
                    node.asked += 1;
                }
            }
            for address in give {
                if now >= node.rests.get(&address).copied().unwrap_or(0) {
                    node.tokens.give(&address);
                }
            }
            let mut asks = Vec::new();
            node.tokens.want(now, &mut asks);
            for (key, request) in asks {
                servers
                    .under_way
                    .push((now + dice.below(400), who, key, request));
            }
        }
    }
    for node in nodes.iter().filter(|node| !node.is_dead) {
        assert!(
            node.asked > 5,
            "seed {seed}: {:?} asked {} times",
            node.id,
            node.asked
        );
    }
}

#[test]
fn tokens_keep_nodes_apart_and_starve_nobody() {
    for seed in 0..300 {
        run(seed);
    }
}
