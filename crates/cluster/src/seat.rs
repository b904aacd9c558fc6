//! A seat: one node's hold on one shard, from taking its lease to giving it back.
//!
//! Opening goes in an order in which every step can still be refused without harm:
//!
//! 1. *take* the lease: the next epoch;
//! 2. *read* the journal's chain to its end, into the tape: what a tape of an earlier life has
//!    beyond is kept if it continues the chain, and cut if the chain went another way;
//! 3. *check* that nobody knows more of this shard than its journal: neither the lease (a durable
//!    position), nor the lanes (transfers), nor the receivers' statements. If somebody does, the bus
//!    lost an acknowledged tail that this node does not have either: **refuse**, give the lease
//!    back, and leave everything as it is for the node that has the file;
//! 4. *seal* the journal by publishing the tape's tail and the entry `Epoch`: no older epoch can
//!    write any more;
//! 5. seal the *lanes*, and publish transfers they lack;
//! 6. *ask* the receivers: each has read our seal, and so anything before it, and states what it
//!    applied. Only now nobody can come to know more than the journal;
//! 7. *open*.
//!
//! While open a request may be sent if its hand-out is durable and the deadline has not come. What
//! is found in the log later and is not on the tape ends the seat.

use std::collections::BTreeMap;

use crate::Millis;
use crate::audit::{Sender, Statement};
use crate::bus::{Answer, Key, Request};
use crate::lane::{Halt, LOOK_MS, LaneReader, Publisher};
use crate::lease::{Holder, Holding, Lease};
use crate::register::Register;
use crate::shard::{NodeId, Shard};
use crate::stage::{Gone, Inbound, Part, Stage};
use crate::tape::Tape;
use crate::writer::{News, Writer};

/// How often a shard states its account.
pub const STATE_MS: Millis = 2_000;
/// How often a lane is read.
pub const LANE_READ_MS: Millis = 500;

/// How long receivers have to answer before they are asked again.
pub const ASK_MS: Millis = 10_000;

/// One node's hold on one shard.
#[derive(Debug)]
pub struct Seat {
    shard: Shard,
    claim: (u64, NodeId),
    shards: u32,
    stage: Stage,
    holder: Holder,
    writer: Writer,
    publishers: Vec<Publisher>,
    reader: LaneReader,
    read_at: Millis,
    /// When the end of an idle journal is looked at again.
    look_at: Millis,
    /// When receivers that did not answer are asked again.
    ask_at: Millis,
    register: Register,
    durable: u64,
    /// The entry `Epoch` is on the tape.
    on_tape: bool,
    refusing: Option<Gone>,
    /// What each receiver said of us last: what it applied, and the epoch it had heard of.
    receivers: BTreeMap<Shard, Sender>,
}

impl Seat {
    /// Wants a shard of a crawl of so many shards and lanes, for the so-manieth seat of a node.
    /// `before` is what its key said.
    pub fn take(
        shard: Shard,
        (node, life): (NodeId, u64),
        before: Option<(u64, Lease)>,
        (shards, lanes): (u32, u32),
        inbound: u32,
    ) -> Self {
        let holder = Holder::take(shard, (node, life), before);
        let claim = (holder.epoch(), node);
        Self {
            shard,
            claim,
            shards,
            stage: Stage::Taking,
            writer: Writer::new(shard, claim),
            publishers: (0..lanes)
                .map(|lane| Publisher::new(shard, lane, claim))
                .collect(),
            reader: LaneReader::new(inbound),
            read_at: 0,
            look_at: 0,
            ask_at: 0,
            register: Register::new(Key::Statement(shard), STATE_MS),
            durable: 0,
            on_tape: false,
            refusing: None,
            receivers: BTreeMap::new(),
            holder,
        }
    }

    /// With smaller chunks, so that tests cut entries in two.
    pub fn with_chunk_max(mut self, bytes: usize) -> Self {
        self.writer = Writer::new(self.shard, self.claim).with_chunk_max(bytes);
        self
    }

    /// How far it is.
    pub fn stage(&self) -> Stage {
        self.stage
    }

    /// Its epoch.
    pub fn epoch(&self) -> u64 {
        self.claim.0
    }

    /// How much of the journal is durable.
    pub fn durable(&self) -> u64 {
        self.durable
    }

    /// The moment from which on nothing may be sent.
    pub fn deadline(&self) -> Millis {
        self.holder.deadline()
    }

    /// Whether the shard may be worked on: entries may be appended to its tape.
    pub fn is_open(&self) -> bool {
        matches!(self.stage, Stage::Open | Stage::Leaving)
    }

    /// Whether a request whose hand-out is durable may be sent now.
    pub fn may_send(&self, now: Millis) -> bool {
        self.is_open() && now < self.holder.deadline()
    }

    /// Gives the shard back once everything on the tape is durable and published. The caller makes
    /// no more entries.
    pub fn leave(&mut self) {
        if self.stage == Stage::Open {
            self.stage = Stage::Leaving;
        }
    }

    /// States its account at the next opportunity.
    pub fn hurry(&mut self) {
        self.register.hurry();
    }

    /// How often its account was stated.
    pub fn stated(&self) -> u64 {
        self.register.written()
    }

    /// Takes what another shard says of itself.
    pub fn hear(&mut self, statement: &Statement) {
        if let Some(sender) = statement.senders.get(&self.shard) {
            self.receivers.insert(statement.shard, *sender);
        }
    }

    /// Everything it needs done now.
    pub fn want(&mut self, now: Millis, tape: &mut dyn Tape, out: &mut Vec<(Part, Request)>) {
        if let Stage::Gone(_) = self.stage {
            return;
        }
        self.proceed(now, tape);
        let sealed = matches!(
            self.stage,
            Stage::Lanes | Stage::Asking | Stage::Open | Stage::Leaving
        );
        let position = sealed.then_some(self.durable);
        out.extend(
            self.holder
                .want(now, position)
                .map(|ask| (Part::Lease, ask)),
        );
        if self.refusing.is_some() || self.stage == Stage::Taking {
            return;
        }
        out.extend(self.writer.want_read().map(|ask| (Part::Journal, ask)));
        if self.stage == Stage::Sealing || sealed {
            let ask = self.writer.want_append(|from, max| tape.piece(from, max));
            if ask.is_some() {
                self.look_at = now + LOOK_MS;
            } else if now >= self.look_at {
                // An idle shard would not notice that its tail was lost.
                self.look_at = now + LOOK_MS;
                self.writer.reread();
            }
            out.extend(ask.map(|ask| (Part::Journal, ask)));
        }
        if self.stage == Stage::Checking || sealed {
            let until = if sealed { self.durable } else { tape.end() };
            for (lane, publisher) in (0u32..).zip(&mut self.publishers) {
                let sent = tape.sent(lane, until);
                let ask = publisher.want(now, sealed, sent, |number| tape.transfer(lane, number));
                out.extend(ask.map(|ask| (Part::Lane(lane), ask)));
            }
        }
        if matches!(self.stage, Stage::Asking | Stage::Open | Stage::Leaving) {
            if self.stage == Stage::Asking && now >= self.ask_at {
                // A lane that lost its tail, and got it back in another order, may hide a seal.
                self.ask_at = now + ASK_MS;
                for shard in self.waits_for() {
                    self.publishers[tape.lane_of(shard) as usize].seal_again();
                }
            }
            if now >= self.read_at {
                self.read_at = now + LANE_READ_MS;
                out.extend(self.reader.want().map(|ask| (Part::Inbound, ask)));
            }
            if self.register.due(now) {
                let value = self.statement(tape).encode();
                let ask = self.register.want(now, || value);
                out.extend(ask.map(|ask| (Part::Statement, ask)));
            }
        }
    }

    fn statement(&self, tape: &dyn Tape) -> Statement {
        let mut statement = tape.statement(self.durable);
        statement.claim = self.claim;
        for shard in (0..self.shards).map(Shard) {
            let heard = self.reader.heard(shard);
            if heard > 0 {
                statement.senders.entry(shard).or_default().heard = heard;
            }
        }
        statement
    }

    /// Takes an answer. While it is open, what came from other shards is appended to `inbound`;
    /// the caller offers it to its inbox, in order, before anything else.
    pub fn answered(
        &mut self,
        (part, answer): (Part, Answer),
        now: Millis,
        tape: &mut dyn Tape,
        inbound: &mut Vec<Inbound>,
    ) {
        match part {
            Part::Lease => self.holder.answered(&answer, now),
            Part::Journal => {
                let mut news = Vec::new();
                self.writer.answered(answer, &mut news);
                for news in news {
                    self.take_news(news, tape);
                }
            }
            Part::Lane(lane) => {
                let until = if self.stage == Stage::Checking {
                    tape.end()
                } else {
                    self.durable
                };
                let sent = tape.sent(lane, until);
                let publisher = &mut self.publishers[lane as usize];
                publisher.answered(&answer, now, sent, |number| tape.transfer(lane, number));
            }
            Part::Inbound => {
                let open = self.is_open();
                let more = self.reader.answered(answer, |from, envelope| {
                    if open {
                        let transfer = envelope.transfer.to_vec();
                        inbound.push(Inbound {
                            from,
                            through: envelope.through,
                            transfer,
                        });
                    }
                });
                if more {
                    self.read_at = now;
                }
            }
            Part::Statement => {
                let epoch = self.claim.0;
                self.register.answered(&answer, |found| {
                    Statement::decode(found).is_ok_and(|found| found.claim.0 <= epoch)
                });
            }
        }
        self.proceed(now, tape);
    }

    fn take_news(&mut self, news: News, tape: &mut dyn Tape) {
        match news {
            News::Bytes { position, bytes } => self.fill(position, &bytes, tape),
            News::End => {
                if self.stage == Stage::Reading {
                    self.stage = Stage::Checking;
                }
            }
            News::Durable(position) => self.durable = self.durable.max(position),
            News::Deposed => self.stage = Stage::Gone(Gone::Deposed),
            News::Newer => self.refuse(Gone::Newer, 0),
        }
    }

    /// Brings the tape to what the chain says.
    fn fill(&mut self, position: u64, bytes: &[u8], tape: &mut dyn Tape) {
        let end = position + bytes.len() as u64;
        if tape.range(position, end) == bytes {
            return;
        }
        match self.stage {
            Stage::Reading | Stage::Checking | Stage::Sealing => {
                tape.cut(position.min(tape.end()));
                assert_eq!(tape.end(), position, "a chain has no gaps");
                tape.append(bytes);
                // Somebody wrote meanwhile: everything is checked again.
                self.on_tape = false;
                self.stage = Stage::Reading;
            }
            // The history of an open shard is its tape. Another one is another's.
            _ => self.stage = Stage::Gone(Gone::Deposed),
        }
    }

    /// Goes on to the next stage if this one is done.
    fn proceed(&mut self, now: Millis, tape: &mut dyn Tape) {
        if self.holder.holding() == Holding::Gone {
            if !matches!(self.stage, Stage::Gone(_)) {
                let left = self.stage == Stage::Leaving;
                let why = if left { Gone::Released } else { Gone::Deposed };
                self.stage = Stage::Gone(self.refusing.unwrap_or(why));
            }
            return;
        }
        if self.refusing.is_some() {
            return;
        }
        if self.register.over() {
            self.stage = Stage::Gone(Gone::Deposed);
        }
        for lane in 0..self.publishers.len() {
            if let Some(halt) = self.publishers[lane].halted() {
                self.halted(lane as u32, halt, tape);
                return;
            }
        }
        match self.stage {
            Stage::Taking if self.holder.holding() == Holding::Held => self.stage = Stage::Reading,
            Stage::Checking => self.check(tape),
            Stage::Sealing if self.writer.sealed() && self.durable == tape.end() => {
                self.stage = Stage::Lanes;
            }
            Stage::Lanes if self.published(tape) => {
                self.stage = Stage::Asking;
                self.ask_at = now + ASK_MS;
            }
            // Not after a pause beyond the deadline: whoever took the shard may be at work already.
            Stage::Asking
                if now < self.holder.deadline()
                    && self.register.written() > 0
                    && self.all_heard() =>
            {
                if !self.receivers_agree(tape) {
                    return;
                }
                self.stage = Stage::Open;
                // What was read so far was only listened to.
                self.reader.restart();
            }
            Stage::Leaving if self.durable == tape.end() && self.published(tape) => {
                self.holder.release();
            }
            _ => {}
        }
    }

    fn check(&mut self, tape: &mut dyn Tape) {
        let (known, found) = (self.holder.position(), tape.end());
        if found < known {
            self.refuse(Gone::TailLost { known, found }, known);
            return;
        }
        if !self.receivers_agree(tape) || !self.publishers.iter().all(Publisher::sure) {
            return;
        }
        self.stage = Stage::Sealing;
        if !self.on_tape {
            tape.seal(self.claim.0, self.claim.1);
            self.on_tape = true;
        }
    }

    /// Whether every lane is sealed and has all durable transfers.
    fn published(&self, tape: &dyn Tape) -> bool {
        (0u32..).zip(&self.publishers).all(|(lane, publisher)| {
            publisher.sealed()
                && publisher.sure()
                && publisher.through() == tape.sent(lane, self.durable)
        })
    }

    /// Whether every other shard has read our seal. The first epoch of all has nothing to ask.
    fn all_heard(&self) -> bool {
        self.claim.0 == 1 || self.waits_for().is_empty()
    }

    /// Whether no receiver has applied more than the journal knows. Refuses if one has.
    fn receivers_agree(&mut self, tape: &dyn Tape) -> bool {
        for (&to, said) in &self.receivers {
            let lane = tape.lane_of(to);
            let sent = tape.sent(lane, tape.end());
            if said.applied > sent {
                let applied = said.applied;
                self.refuse(
                    Gone::Beyond {
                        lane,
                        sent,
                        applied,
                    },
                    tape.end() + 1,
                );
                return false;
            }
        }
        true
    }

    fn halted(&mut self, lane: u32, halt: Halt, tape: &dyn Tape) {
        let sent = tape.sent(lane, tape.end());
        match halt {
            Halt::Deposed => self.stage = Stage::Gone(Gone::Deposed),
            Halt::Beyond { through: applied } | Halt::TwoHistories { number: applied } => {
                self.refuse(
                    Gone::Beyond {
                        lane,
                        sent,
                        applied,
                    },
                    tape.end() + 1,
                );
            }
        }
    }

    /// Goes no further, and gives the lease back to whoever has the file up to a position.
    fn refuse(&mut self, why: Gone, position: u64) {
        self.refusing = Some(why);
        self.holder.refuse(position);
    }

    /// Whom it still waits for, while it asks: the shards that have not read its seal.
    pub fn waits_for(&self) -> Vec<Shard> {
        let others = (0..self.shards)
            .map(Shard)
            .filter(|shard| *shard != self.shard);
        let heard = |shard: &Shard| {
            let said = self.receivers.get(shard);
            said.is_some_and(|said| said.heard >= self.claim.0)
        };
        others.filter(|shard| !heard(shard)).collect()
    }

    /// Why it refuses, until the lease is given back.
    pub fn refusing(&self) -> Option<Gone> {
        self.refusing
    }
}
