//! One simulated process: the very machine that real nodes run, over toy shards.

use std::collections::BTreeMap;

use turnstone_cluster::audit::{Statement, Work};
use turnstone_cluster::batch::Batches;
use turnstone_cluster::budget::Amounts;
use turnstone_cluster::bus::{Answer, Request};
use turnstone_cluster::chain::Ends;
use turnstone_cluster::channel::{Admission, Transfer};
use turnstone_cluster::desk::{Taken, Wish};
use turnstone_cluster::level::Told;
use turnstone_cluster::node::{Cutting, Event};
use turnstone_cluster::stage::Gone;
use turnstone_cluster::{Desk, Held, Millis, NodeId, Shard, Tape};

pub(crate) use turnstone_cluster::node::Ticket;

use super::random::Random;
use super::toy::{Entry, ONE, ToyTape, WORTH, entries};

const OPEN_MAX: usize = 2;

/// How the crawl is cut, and what it may spend.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Crawl {
    pub(crate) shards: u32,
    pub(crate) lanes: u32,
    pub(crate) budget: u64,
    pub(crate) chunk_max: usize,
}

/// A request that a node sends to the web.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sent {
    pub(crate) shard: Shard,
    pub(crate) epoch: u64,
    pub(crate) id: u64,
}

/// What one step of a node did to the world.
#[derive(Debug, Default)]
pub(crate) struct Deeds {
    pub(crate) asks: Vec<(Ticket, Request)>,
    pub(crate) requests: Vec<Sent>,
    pub(crate) opened: Vec<(Shard, u64)>,
    pub(crate) refused: Vec<(Shard, String)>,
    pub(crate) exhausted: bool,
    pub(crate) alarms: Vec<String>,
    /// Journals given back to the disk.
    pub(crate) kept: Vec<(Shard, Vec<u8>)>,
}

/// A toy shard at this node: its tape, and what its loop would do.
#[derive(Debug)]
pub(crate) struct ToyDesk {
    pub(crate) tape: ToyTape,
    /// Hand-outs whose requests are not sent (0), or come back at a moment.
    requests: BTreeMap<u64, (u64, Millis)>,
    batches: Batches,
    was_open: bool,
    leaving: bool,
    /// It was given something in this epoch: the limit is known to be ours.
    funded: bool,
    /// A limit that could not be entered, for the disk was full.
    to_enter: Option<u64>,
    full: bool,
    level: u64,
    alarms: Vec<String>,
}

impl Tape for ToyDesk {
    fn end(&self) -> u64 {
        self.tape.end()
    }
    fn piece(&self, from: u64, bytes_max: usize) -> (Vec<u8>, Ends) {
        self.tape.piece(from, bytes_max)
    }
    fn range(&self, from: u64, until: u64) -> Vec<u8> {
        self.tape.range(from, until)
    }
    fn append(&mut self, bytes: &[u8]) {
        self.tape.append(bytes);
    }
    fn cut(&mut self, at: u64) {
        self.tape.cut(at);
    }
    fn seal(&mut self, epoch: u64, node: NodeId) {
        self.tape.seal(epoch, node);
    }
    fn sent(&self, lane: u32, until: u64) -> u64 {
        self.tape.sent(lane, until)
    }
    fn transfer(&self, lane: u32, number: u64) -> Vec<u8> {
        self.tape.transfer(lane, number)
    }
    fn lane_of(&self, shard: Shard) -> u32 {
        self.tape.lane_of(shard)
    }
    fn statement(&self, durable: u64) -> Statement {
        self.tape.statement(durable)
    }
}

impl Desk for ToyDesk {
    fn known(&self, from: Shard) -> u64 {
        self.tape.live.inbox.known(from).number
    }

    fn take(&mut self, transfer: &[u8]) -> Taken {
        let it = Transfer::decode(transfer).expect("a transfer");
        let me = self.tape.shard;
        if it.from == me || self.leaving && self.is_closed() {
            return Taken::In;
        }
        let inbox = &mut self.tape.live.inbox;
        match inbox.offer(me, transfer).expect("a transfer") {
            Admission::Apply(_) if self.full => Taken::Gap,
            Admission::Apply(received) if received.parcel.items.is_empty() => {
                inbox.apply(&received);
                Taken::In
            }
            Admission::Apply(received) => {
                self.tape.tell(&Entry::Received(received));
                Taken::In
            }
            Admission::Skip => Taken::In,
            Admission::Gap { .. } => Taken::Gap,
            Admission::Alarm(alarm) => {
                self.alarms.push(alarm.to_string());
                Taken::In
            }
        }
    }

    fn transfers_in(&self, piece: &[u8], lane: u32) -> Vec<Vec<u8>> {
        let sent = entries(piece).filter_map(|(_, entry)| match entry {
            Entry::Sent { lane: of, bytes } if of == lane => Some(bytes),
            _ => None,
        });
        sent.collect()
    }

    fn wish(&self) -> Wish {
        let state = &self.tape.live;
        if self.full {
            return Wish::Nothing;
        }
        if state.residual >= WORTH
            && !self.leaving
            && (!self.funded || state.handed + 1 >= state.limit)
        {
            return Wish::Reach([state.handed + 4, 0, 0]);
        }
        let over = self.leaving || state.residual < WORTH;
        if over && state.open.is_empty() && state.limit > state.handed {
            return Wish::Keep([state.handed, 0, 0]);
        }
        Wish::Nothing
    }

    fn wished(&mut self, _: Amounts) {}

    fn granted(&mut self, limit: Amounts) {
        self.funded = true;
        self.to_enter = Some(limit[0]);
        self.enter();
    }

    fn hear(&mut self, told: &Told) {
        self.tape.wave = told.wave;
        self.level = told.level;
    }

    fn is_closed(&self) -> bool {
        let state = &self.tape.live;
        self.leaving
            && state.open.is_empty()
            && state.away.is_empty()
            && (state.limit == state.handed || !self.funded)
            && self.to_enter.is_none()
    }
}

impl ToyDesk {
    fn enter(&mut self) {
        if !self.full
            && let Some(requests) = self.to_enter.take()
            && requests != self.tape.live.limit
        {
            self.tape.tell(&Entry::Limit { requests });
        }
    }

    /// The first thing an open shard does.
    fn open(&mut self, crawl: Crawl) {
        if self.was_open {
            return;
        }
        self.was_open = true;
        let shard = self.tape.shard;
        if self.tape.live.account.endowed == 0 {
            let each = ONE / u128::from(crawl.shards);
            let mass = if shard.0 == 0 {
                ONE - each * u128::from(crawl.shards - 1)
            } else {
                each
            };
            self.tape.tell(&Entry::Endow {
                mass: u64::try_from(mass).unwrap(),
            });
        }
        // What an earlier epoch took out of the pages but did not send.
        for (&to, &mass) in &self.tape.live.away {
            self.batches.add(self.tape.lane_of(Shard(to)), mass, 30, 0);
        }
    }

    fn hand_out(&mut self) {
        let state = &self.tape.live;
        let may = self.funded
            && self.to_enter.is_none()
            && state.handed < state.limit
            && state.open.len() < OPEN_MAX;
        if may && !self.leaving && state.residual >= WORTH.max(self.level / 64) {
            let id = state.handed + 1;
            let end = self.tape.tell(&Entry::HandOut { id });
            self.requests.insert(id, (end, 0));
        }
    }

    fn come_back(&mut self, now: Millis, random: &mut Random, crawl: Crawl) {
        let back = |(_, (_, at)): &(&u64, &(u64, Millis))| *at != 0 && *at <= now;
        let back: Vec<u64> = self
            .requests
            .iter()
            .filter(back)
            .map(|(id, _)| *id)
            .collect();
        for id in back {
            self.requests.remove(&id);
            let residual = self.tape.live.residual;
            let cover = residual / 2;
            let mut away = Vec::new();
            for _ in 0..=random.below(2) {
                let to = random.below(u64::from(crawl.shards)) as u32;
                let mass = residual / 8 + random.below(1000);
                if to != self.tape.shard.0 && mass <= residual / 4 {
                    away.push((to, mass));
                }
            }
            for (to, mass) in &away {
                self.batches
                    .add(self.tape.lane_of(Shard(*to)), *mass, 30, now);
            }
            self.tape.tell(&Entry::Fetched { id, cover, away });
        }
    }

    fn send(&mut self, now: Millis) {
        while let Some(lane) = self.batches.due(now, self.level) {
            self.tape.send(lane);
        }
        if self.leaving && self.requests.is_empty() {
            while let Some(lane) = self.batches.any() {
                self.tape.send(lane);
            }
        }
    }
}

/// A process.
pub(crate) struct Node {
    pub(crate) id: NodeId,
    crawl: Crawl,
    machine: turnstone_cluster::Node<ToyDesk>,
    /// The disk is full up to this moment of our clock.
    pub(crate) full_until: Millis,
}

impl Node {
    pub(crate) fn new(id: NodeId, crawl: Crawl) -> Self {
        let cut = Cutting {
            shards: crawl.shards,
            lanes: crawl.lanes,
            budget: Some([crawl.budget, 0, 0]),
        };
        Self {
            id,
            crawl,
            machine: turnstone_cluster::Node::new(id, "a machine", cut)
                .with_chunk_max(crawl.chunk_max),
            full_until: 0,
        }
    }

    /// The shards it has.
    pub(crate) fn seats(&self) -> &BTreeMap<Shard, Held<ToyDesk>> {
        self.machine.seats()
    }

    /// Everything to be done now.
    pub(crate) fn tick(
        &mut self,
        now: Millis,
        disk: &BTreeMap<Shard, Vec<u8>>,
        random: &mut Random,
    ) -> Deeds {
        let mut deeds = Deeds::default();
        let full = now < self.full_until;
        self.set_full(full);
        let crawl = self.crawl;
        let mut exhausted = false;
        deeds.asks = self.machine.tick(
            now,
            0,
            |shard| disk.get(&shard).map_or(0, |bytes| bytes.len() as u64),
            |shard| {
                let bytes = disk.get(&shard).map_or(&[][..], Vec::as_slice);
                Some(ToyDesk {
                    tape: ToyTape::new(shard, (crawl.shards, crawl.lanes), bytes),
                    requests: BTreeMap::new(),
                    batches: Batches::default(),
                    was_open: false,
                    leaving: false,
                    funded: false,
                    to_enter: None,
                    full,
                    level: 0,
                    alarms: Vec::new(),
                })
            },
            |_| {
                // It is found out again and again: the toy goes on, so that late faults find it open.
                exhausted = true;
                0
            },
        );
        deeds.exhausted = exhausted;
        self.take_events(&mut deeds);
        let shards: Vec<Shard> = self.machine.seats().keys().copied().collect();
        for shard in shards {
            self.work(shard, now, random, &mut deeds);
        }
        deeds
    }

    fn set_full(&mut self, full: bool) {
        let shards: Vec<Shard> = self.machine.seats().keys().copied().collect();
        for shard in shards {
            if let Some(desk) = self.machine.desk(shard) {
                desk.full = full;
                desk.enter();
            }
        }
    }

    fn take_events(&mut self, deeds: &mut Deeds) {
        for event in self.machine.events() {
            match event {
                Event::Opened(shard, epoch) => deeds.opened.push((shard, epoch)),
                Event::Leave(shard) => {
                    if let Some(desk) = self.machine.desk(shard) {
                        desk.leaving = true;
                    }
                }
                Event::Over(shard, why, desk) => {
                    if matches!(
                        why,
                        Gone::Newer | Gone::TailLost { .. } | Gone::Beyond { .. }
                    ) {
                        deeds.refused.push((shard, why.to_string()));
                    }
                    deeds.kept.push((shard, desk.tape.bytes));
                }
                Event::End(_) | Event::Stop | Event::Token(..) => {}
            }
        }
    }

    /// What the loop of a shard does.
    fn work(&mut self, shard: Shard, now: Millis, random: &mut Random, deeds: &mut Deeds) {
        let crawl = self.crawl;
        let Some(held) = self.machine.seats().get(&shard) else {
            return;
        };
        let (is_open, may_send) = (held.seat.is_open(), held.seat.may_send(now));
        let (durable, epoch) = (held.seat.durable(), held.seat.epoch());
        let is_in_work = held.seat.stage() == turnstone_cluster::Stage::Open;
        let Some(desk) = self.machine.desk(shard) else {
            return;
        };
        deeds.alarms.append(&mut desk.alarms);
        if !is_open {
            return;
        }
        if !desk.full {
            desk.open(crawl);
            if is_in_work {
                desk.hand_out();
                desk.come_back(now, random, crawl);
                desk.send(now);
            }
        }
        for (&id, (end, back_at)) in &mut desk.requests {
            if *back_at == 0 && durable >= *end && may_send {
                *back_at = now + 1_500 + random.below(5_000);
                deeds.requests.push(Sent { shard, epoch, id });
            }
        }
        let idle = desk.tape.live.residual < WORTH && !desk.leaving;
        desk.tape.work = if idle { Work::Idle } else { Work::Busy };
    }

    /// Takes an answer.
    pub(crate) fn answered(
        &mut self,
        ticket: Ticket,
        answer: Answer,
        now: Millis,
        deeds: &mut Deeds,
    ) {
        self.set_full(now < self.full_until);
        self.machine.answered(ticket, answer, now);
        self.take_events(deeds);
    }
}

/// For a failure's message.
pub(crate) fn describe(held: &Held<ToyDesk>) -> String {
    let state = &held.desk.tape.live;
    format!(
        "{:?} epoch {} {:?} wave {} residual {} away {:?} open {:?} handed {}/{} durable {}/{} leaving {} waits for {:?}",
        held.seat.stage(),
        held.seat.epoch(),
        held.desk.tape.work,
        held.desk.tape.wave,
        state.residual,
        state.away,
        state.open,
        state.handed,
        state.limit,
        held.seat.durable(),
        held.desk.tape.end(),
        held.desk.leaving,
        held.seat.waits_for(),
    )
}
