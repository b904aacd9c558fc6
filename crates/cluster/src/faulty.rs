//! A bus that misbehaves, by seed, in virtual time: for simulations of whole clusters.
//!
//! Requests and answers take time, so that they overtake each other; requests are lost, doubled or
//! carried out long after their sender has given up; answers are lost; reads are stale; appends are
//! let in at a wrong end; logs lose tails; nodes are cut off; the whole bus falls silent while it
//! elects. Every request is answered once, with [`Answer::Doubt`] after 5 s at the latest. The same
//! seed gives the same faults for the same requests.

use std::collections::{BTreeMap, BTreeSet};

use rand_core::{Rng as _, SeedableRng as _};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::bus::{Answer, Bus, Request, Stream};
use crate::memory::{Memory, Way};
use crate::shard::NodeId;

/// A moment of the world's own time, in milliseconds: no node knows it.
pub type Moment = u64;

/// After this an asker is told that nobody knows.
const PATIENCE_MS: Moment = 5_000;

/// How often things go wrong, in thousandths of all requests.
#[derive(Clone, Copy, Debug, Default)]
pub struct Faults {
    /// Requests that never arrive.
    pub lost: u32,
    /// Answers that never arrive.
    pub unanswered: u32,
    /// Requests carried out twice.
    pub doubled: u32,
    /// Requests, or second copies, that arrive up to 30 s late.
    pub late: u32,
    /// Reads of what was so a moment ago.
    pub stale: u32,
    /// Appends to a journal that are let in although they expect another end.
    pub raced: u32,
}

#[derive(Debug)]
enum Due {
    Execute {
        number: u64,
        node: NodeId,
        request: Request,
    },
    Answer {
        number: u64,
        answer: Answer,
    },
}

/// The bus and everything that is under way on it.
#[derive(Debug)]
pub struct FaultyBus<Ticket> {
    /// What it holds.
    pub memory: Memory,
    /// How often things go wrong.
    pub faults: Faults,
    random: Xoshiro256PlusPlus,
    now: Moment,
    due: BTreeMap<(Moment, u64), Due>,
    waiting: BTreeMap<u64, (NodeId, Ticket)>,
    arrived: Vec<(NodeId, Ticket, Answer)>,
    numbers: u64,
    cut: BTreeSet<NodeId>,
    silent_until: Moment,
    /// Logs that changed since they were last looked at.
    changed: BTreeSet<Stream>,
}

impl<Ticket> FaultyBus<Ticket> {
    /// Without faults yet.
    pub fn new(seed: u64) -> Self {
        Self {
            memory: Memory::default(),
            faults: Faults::default(),
            random: Xoshiro256PlusPlus::seed_from_u64(seed),
            now: 0,
            due: BTreeMap::new(),
            waiting: BTreeMap::new(),
            arrived: Vec::new(),
            numbers: 0,
            cut: BTreeSet::new(),
            silent_until: 0,
            changed: BTreeSet::new(),
        }
    }

    /// The port of one node.
    pub fn port(&mut self, node: NodeId) -> Port<'_, Ticket> {
        Port { bus: self, node }
    }

    /// Cuts a node off, or connects it again.
    pub fn cut(&mut self, node: NodeId, is_cut: bool) {
        if is_cut {
            self.cut.insert(node);
        } else {
            self.cut.remove(&node);
        }
    }

    /// Nothing is carried out before this moment: an election, or no quorum.
    pub fn silence(&mut self, until: Moment) {
        self.silent_until = self.silent_until.max(until);
    }

    /// Loses the last messages of a log.
    pub fn lose_tail(&mut self, stream: Stream, messages: usize) {
        self.memory.lose_tail(stream, messages);
        self.changed.insert(stream);
    }

    /// Forgets what a node that died was waiting for. What it asked is still under way.
    pub fn forget(&mut self, node: NodeId) {
        self.waiting.retain(|_, (asker, _)| *asker != node);
        self.arrived.retain(|(asker, _, _)| *asker != node);
    }

    /// When something happens next.
    pub fn next(&self) -> Option<Moment> {
        self.due.keys().next().map(|(moment, _)| *moment)
    }

    /// Lets everything happen that is due. Returns the logs that changed.
    pub fn advance(&mut self, now: Moment) -> BTreeSet<Stream> {
        self.now = self.now.max(now);
        while let Some(entry) = self.due.first_entry()
            && entry.key().0 <= now
        {
            let ((moment, _), due) = entry.remove_entry();
            match due {
                Due::Execute {
                    number,
                    node,
                    request,
                } => {
                    self.execute(moment, number, node, request);
                }
                Due::Answer { number, answer } => {
                    if let Some((node, ticket)) = self.waiting.remove(&number) {
                        self.arrived.push((node, ticket, answer));
                    }
                }
            }
        }
        std::mem::take(&mut self.changed)
    }

    /// The answers that arrived at a node.
    pub fn arrived(&mut self, node: NodeId) -> Vec<(Ticket, Answer)> {
        let (mine, others) = std::mem::take(&mut self.arrived)
            .into_iter()
            .partition(|(asker, _, _)| *asker == node);
        self.arrived = others;
        let mine: Vec<(NodeId, Ticket, Answer)> = mine;
        mine.into_iter()
            .map(|(_, ticket, answer)| (ticket, answer))
            .collect()
    }

    fn execute(&mut self, moment: Moment, number: u64, node: NodeId, request: Request) {
        if moment < self.silent_until {
            // The client keeps it until it is connected again, or drops it.
            if self.happens(500) {
                let at = self.silent_until + self.delay();
                self.schedule(
                    at,
                    Due::Execute {
                        number,
                        node,
                        request,
                    },
                );
            }
            return;
        }
        let way = match &request {
            Request::Append {
                stream: Stream::Journal(_),
                ..
            } if self.happens(self.faults.raced) => Way::Race,
            Request::Append { .. } | Request::Swap { .. } => Way::Right,
            _ if self.happens(self.faults.stale) => Way::Stale,
            _ => Way::Right,
        };
        let answer = self.memory.execute(&request, way);
        if let (Request::Append { stream, .. }, Answer::Appended { .. }) = (&request, &answer) {
            self.changed.insert(*stream);
        }
        if self.cut.contains(&node) || self.happens(self.faults.unanswered) {
            return;
        }
        let at = moment + self.delay();
        self.schedule(at, Due::Answer { number, answer });
    }

    fn ask(&mut self, node: NodeId, ticket: Ticket, request: Request) {
        self.numbers += 1;
        let number = self.numbers;
        self.waiting.insert(number, (node, ticket));
        let answer = Answer::Doubt;
        self.schedule(self.now + PATIENCE_MS, Due::Answer { number, answer });
        if self.cut.contains(&node) || self.happens(self.faults.lost) {
            return;
        }
        let copies = 1 + u32::from(self.happens(self.faults.doubled));
        for _ in 0..copies {
            let mut at = self.now + self.delay();
            if self.happens(self.faults.late) {
                at += self.below(30_000);
            }
            let request = request.clone();
            self.schedule(
                at,
                Due::Execute {
                    number,
                    node,
                    request,
                },
            );
        }
    }

    fn schedule(&mut self, at: Moment, due: Due) {
        self.numbers += 1;
        self.due.insert((at, self.numbers), due);
    }

    fn delay(&mut self) -> Moment {
        1 + if self.happens(50) {
            self.below(800)
        } else {
            self.below(30)
        }
    }

    fn happens(&mut self, thousandths: u32) -> bool {
        thousandths > 0 && self.below(1000) < u64::from(thousandths)
    }

    fn below(&mut self, limit: u64) -> u64 {
        self.random.next_u64() % limit
    }
}

/// One node's end of the bus.
#[derive(Debug)]
pub struct Port<'b, Ticket> {
    bus: &'b mut FaultyBus<Ticket>,
    node: NodeId,
}

impl<Ticket> Bus<Ticket> for Port<'_, Ticket> {
    fn ask(&mut self, ticket: Ticket, request: Request) {
        self.bus.ask(self.node, ticket, request);
    }

    fn answer(&mut self) -> Option<(Ticket, Answer)> {
        let at = self
            .bus
            .arrived
            .iter()
            .position(|(node, _, _)| *node == self.node)?;
        let (_, ticket, answer) = self.bus.arrived.remove(at);
        Some((ticket, answer))
    }
}
