//! A toy shard: a ledger that moves integer mass along random links, and its journal.
//!
//! It keeps the rules that a real ledger keeps: state is a fold of entries, an entry is appended
//! before its effect is seen outside, and every fold asserts that no mass appeared or vanished.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use turnstone_cluster::audit::{Account, Sender, Statement, Work};
use turnstone_cluster::chain::Ends;
use turnstone_cluster::channel::{Carries, Inbox, Item, Outbox, Parcel, Received, Transfer};
use turnstone_cluster::wire::{Cursor, Put as _};
use turnstone_cluster::{Digest, NodeId, Shard, Tape};

/// All the mass there is.
pub(crate) const ONE: u128 = 1 << 40;
/// A shard with less has nothing to do.
pub(crate) const WORTH: u64 = 1 << 33;

/// What can stand in the journal.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Entry {
    Epoch {
        epoch: u64,
        node: u64,
    },
    Endow {
        mass: u64,
    },
    HandOut {
        id: u64,
    },
    Fetched {
        id: u64,
        cover: u64,
        away: Vec<(u32, u64)>,
    },
    Sent {
        lane: u32,
        bytes: Vec<u8>,
    },
    Received(Received),
    Limit {
        requests: u64,
    },
}

impl Entry {
    fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        match self {
            Self::Epoch { epoch, node } => {
                out.push(1);
                out.put_number(*epoch);
                out.put_number(*node);
            }
            Self::Endow { mass } => {
                out.push(2);
                out.put_number(*mass);
            }
            Self::HandOut { id } => {
                out.push(3);
                out.put_number(*id);
            }
            Self::Fetched { id, cover, away } => {
                out.push(4);
                out.put_number(*id);
                out.put_number(*cover);
                out.put_number(away.len() as u64);
                for (to, mass) in away {
                    out.put_number(u64::from(*to));
                    out.put_number(*mass);
                }
            }
            Self::Sent { lane, bytes } => {
                out.push(5);
                out.put_number(u64::from(*lane));
                out.put_bytes(bytes);
            }
            Self::Received(received) => {
                out.push(6);
                out.put_number(u64::from(received.from.0));
                out.put_number(received.number);
                out.extend_from_slice(&received.digest.0);
                out.put_wide(received.parcel.cumulative);
                out.put_number(u64::try_from(received.parcel.mass()).unwrap());
            }
            Self::Limit { requests } => {
                out.push(7);
                out.put_number(*requests);
            }
        }
        out
    }

    fn decode(bytes: &[u8]) -> Self {
        let mut from = Cursor::new(bytes);
        let entry = match from.byte().unwrap() {
            1 => Self::Epoch {
                epoch: from.number().unwrap(),
                node: from.number().unwrap(),
            },
            2 => Self::Endow {
                mass: from.number().unwrap(),
            },
            3 => Self::HandOut {
                id: from.number().unwrap(),
            },
            4 => {
                let (id, cover) = (from.number().unwrap(), from.number().unwrap());
                let count = from.number().unwrap();
                let away = (0..count).map(|_| (from.small().unwrap(), from.number().unwrap()));
                Self::Fetched {
                    id,
                    cover,
                    away: away.collect(),
                }
            }
            5 => Self::Sent {
                lane: from.small().unwrap(),
                bytes: from.bytes().unwrap().to_vec(),
            },
            6 => Self::Received(Received {
                from: Shard(from.small().unwrap()),
                number: from.number().unwrap(),
                digest: Digest(from.array().unwrap()),
                parcel: Parcel {
                    cumulative: from.wide().unwrap(),
                    items: vec![item(from.number().unwrap())],
                },
            }),
            7 => Self::Limit {
                requests: from.number().unwrap(),
            },
            other => panic!("an entry of kind {other}"),
        };
        from.end().unwrap();
        entry
    }
}

fn item(mass: u64) -> Item {
    Item {
        key: [0; 12],
        carries: Carries::Mass { hops: 0 },
        mass,
        depth: 1,
        url: None,
    }
}

/// What a shard is: the fold of its journal.
#[derive(Clone, Debug, Default)]
pub(crate) struct State {
    pub(crate) account: Account,
    pub(crate) residual: u64,
    pub(crate) away: BTreeMap<u32, u64>,
    pub(crate) outbox: Outbox,
    pub(crate) inbox: Inbox,
    /// Fingerprints of what was sent, by lane and number; and applied, by sender and number.
    pub(crate) sent: BTreeMap<(u32, u64), Digest>,
    pub(crate) applied: BTreeMap<(u32, u64), Digest>,
    pub(crate) open: BTreeSet<u64>,
    pub(crate) handed: u64,
    pub(crate) limit: u64,
    pub(crate) fetched: BTreeSet<u64>,
}

impl State {
    pub(crate) fn apply(&mut self, entry: &Entry) {
        match entry {
            Entry::Epoch { .. } => self.open.clear(),
            Entry::Endow { mass } => {
                self.residual += mass;
                self.account.endowed += u128::from(*mass);
            }
            Entry::HandOut { id } => {
                self.handed += 1;
                assert_eq!(*id, self.handed, "hand-outs are numbered");
                assert!(self.handed <= self.limit, "handed out beyond the limit");
                self.open.insert(*id);
            }
            Entry::Fetched { id, cover, away } => {
                assert!(self.open.remove(id), "fetched without a hand-out");
                self.fetched.insert(*id);
                let gone: u64 = away.iter().map(|(_, mass)| mass).sum();
                self.residual -= cover + gone;
                self.account.covered += u128::from(*cover);
                for (to, mass) in away {
                    *self.away.entry(*to).or_default() += mass;
                }
            }
            Entry::Sent { lane, bytes } => {
                let transfer = Transfer::decode(bytes).unwrap();
                for (to, parcel) in &transfer.parcels {
                    let away = self.away.remove(&to.0).unwrap();
                    assert_eq!(u128::from(away), parcel.mass());
                }
                self.outbox.apply(*lane, &transfer, bytes);
                self.sent
                    .insert((*lane, transfer.number), Digest::of(bytes));
            }
            Entry::Received(received) => {
                self.inbox.apply(received);
                self.residual += u64::try_from(received.parcel.mass()).unwrap();
                let key = (received.from.0, received.number);
                assert!(
                    self.applied.insert(key, received.digest).is_none(),
                    "applied twice"
                );
            }
            Entry::Limit { requests } => self.limit = *requests,
        }
        self.account.sent = self.outbox.total();
        self.account.received = self.inbox.total();
        let away: u64 = self.away.values().sum();
        self.account.residuals = u128::from(self.residual) + u128::from(away);
        assert!(
            self.account.balanced(),
            "mass appeared or vanished: {:?}",
            self.account
        );
    }
}

/// Reads entries off bytes.
pub(crate) fn entries(mut bytes: &[u8]) -> impl Iterator<Item = (usize, Entry)> + '_ {
    std::iter::from_fn(move || {
        let (length, rest) = bytes.split_first_chunk::<2>()?;
        let length = usize::from(u16::from_le_bytes(*length));
        let (body, rest) = rest.split_at(length);
        bytes = rest;
        Some((2 + length, Entry::decode(body)))
    })
}

/// The journal of a toy shard on one machine.
#[derive(Debug)]
pub(crate) struct ToyTape {
    pub(crate) shard: Shard,
    shards: u32,
    lanes: u32,
    pub(crate) bytes: Vec<u8>,
    /// The end of every entry.
    ends: Vec<u64>,
    pub(crate) live: State,
    sent: BTreeMap<u32, Vec<(u64, Vec<u8>)>>,
    durable: RefCell<(u64, State)>,
    /// What the driver says besides.
    pub(crate) work: Work,
    pub(crate) wave: u64,
}

impl ToyTape {
    pub(crate) fn new(shard: Shard, (shards, lanes): (u32, u32), bytes: &[u8]) -> Self {
        let mut tape = Self {
            shard,
            shards,
            lanes,
            bytes: Vec::new(),
            ends: Vec::new(),
            live: State::default(),
            sent: BTreeMap::new(),
            durable: RefCell::default(),
            work: Work::Busy,
            wave: 0,
        };
        tape.append(bytes);
        tape
    }

    /// Appends an entry and folds it.
    pub(crate) fn tell(&mut self, entry: &Entry) -> u64 {
        let body = entry.encode();
        let mut bytes = u16::try_from(body.len()).unwrap().to_le_bytes().to_vec();
        bytes.extend_from_slice(&body);
        self.append(&bytes);
        self.end()
    }

    /// Sends all that waits for a lane.
    pub(crate) fn send(&mut self, lane: u32) {
        let mut items = BTreeMap::new();
        for (&to, &mass) in &self.live.away {
            if to % self.lanes == lane {
                items.insert(Shard(to), vec![item(mass)]);
            }
        }
        if !items.is_empty() {
            let bytes = self.live.outbox.make(self.shard, lane, items).encode();
            self.tell(&Entry::Sent { lane, bytes });
        }
    }

    /// Where entries end.
    pub(crate) fn ends(&self) -> &[u64] {
        &self.ends
    }
}

impl Tape for ToyTape {
    fn end(&self) -> u64 {
        self.bytes.len() as u64
    }

    fn piece(&self, from: u64, bytes_max: usize) -> (Vec<u8>, Ends) {
        let most = from + bytes_max as u64;
        let first = self.ends.partition_point(|end| *end <= from);
        let behind = self.ends.partition_point(|end| *end <= most);
        if first == self.ends.len() {
            (Vec::new(), Ends::Whole)
        } else if behind > first {
            (self.range(from, self.ends[behind - 1]), Ends::Whole)
        } else {
            (self.range(from, most), Ends::Part)
        }
    }

    fn range(&self, from: u64, until: u64) -> Vec<u8> {
        let until = until.min(self.end());
        self.bytes
            .get(from as usize..until as usize)
            .unwrap_or(&[])
            .to_vec()
    }

    fn append(&mut self, bytes: &[u8]) {
        let mut end = self.end();
        self.bytes.extend_from_slice(bytes);
        for (length, entry) in entries(bytes) {
            end += length as u64;
            self.ends.push(end);
            self.live.apply(&entry);
            if let Entry::Sent { lane, bytes } = entry {
                self.sent.entry(lane).or_default().push((end, bytes));
            }
        }
        assert_eq!(end, self.end(), "whole entries");
    }

    fn cut(&mut self, at: u64) {
        if at < self.end() {
            let bytes = self.bytes[..at as usize].to_vec();
            *self = Self::new(self.shard, (self.shards, self.lanes), &bytes);
        }
    }

    fn seal(&mut self, epoch: u64, node: NodeId) {
        self.tell(&Entry::Epoch {
            epoch,
            node: node.0,
        });
    }

    fn sent(&self, lane: u32, until: u64) -> u64 {
        let sent = self.sent.get(&lane).map_or(&[][..], Vec::as_slice);
        sent.partition_point(|(end, _)| *end <= until) as u64
    }

    fn transfer(&self, lane: u32, number: u64) -> Vec<u8> {
        self.sent[&lane][number as usize - 1].1.clone()
    }

    fn lane_of(&self, shard: Shard) -> u32 {
        shard.0 % self.lanes
    }

    fn statement(&self, durable: u64) -> Statement {
        let mut kept = self.durable.borrow_mut();
        let (at, state) = &mut *kept;
        for (length, entry) in entries(&self.bytes[*at as usize..durable as usize]) {
            *at += length as u64;
            state.apply(&entry);
        }
        let shards = || {
            (0..self.shards)
                .map(Shard)
                .filter(|other| *other != self.shard)
        };
        let senders = shards().map(|from| {
            let mass = state.inbox.known(from).mass;
            let applied = self.live.inbox.known(from).number;
            (
                from,
                Sender {
                    mass,
                    applied,
                    heard: 0,
                },
            )
        });
        let quiet = durable == self.end() && self.live.open.is_empty() && self.live.away.is_empty();
        Statement {
            shard: self.shard,
            claim: (0, NodeId(0)),
            wave: self.wave,
            position: durable,
            work: if quiet { self.work } else { Work::Busy },
            best: self.live.residual,
            account: state.account,
            sent: shards().map(|to| (to, state.outbox.mass(to))).collect(),
            senders: senders.collect(),
            figures: Vec::new(),
        }
    }
}
