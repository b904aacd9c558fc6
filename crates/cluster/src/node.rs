//! A node: one process of a cluster, with all its seats, as one machine that is fed answers.
//!
//! It keeps its sign of life, lists who else is alive, takes shards that are its to take and gives back those that are
//! not, lets each seat publish and receive, draws what shards may spend, holds tokens of addresses, and where
//! it has shard 0 tells the level, the waves and the end. What a shard *is* it does not know: that is a [`Desk`],
//! a tape that takes transfers and says what it wants to spend.
//!
//! The driver calls [`Node::tick`] again and again, hands what it asks to a bus, and gives back the answers by
//! [`Node::answered`]. What it is told meanwhile are [`Event`]s.
//!
//! Cost: O(shards) a tick, and the requests of the machines.

use std::collections::{BTreeMap, BTreeSet};

use crate::Millis;
use crate::audit::{Statement, Waves};
use crate::budget::{Amounts, Came, Purse};
use crate::bus::{Answer, Key, Keys, Request};
use crate::chain::CHUNK_BYTES_MAX;
use crate::desk::Desk;
use crate::held::Held;
use crate::lease::{Hold, Lease, RENEW_MS};
use crate::level::{Levels, Phi, TELL_MS, Told};
use crate::orders::{Card, Orders};
use crate::register::Register;
use crate::roster::Roster;
use crate::seat::Seat;
use crate::shard::{NodeId, Shard};
use crate::stage::{Gone, Part, Stage};
use crate::token::{self, Tokens};

/// How often leases, nodes and statements are listed.
pub const LIST_MS: Millis = 1_000;
/// How long a shard that was refused is left alone.
const PUT_OFF_MS: Millis = 10_000;

/// What a question was about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ticket {
    /// The sign of life.
    Alive,
    /// A list.
    List(Keys),
    /// What the lead told.
    Level,
    /// What people told.
    Orders,
    /// What we tell as the lead.
    Lead,
    /// A part of a seat, of so-manieth life.
    Seat(Shard, u64, Part),
    /// What a shard may spend.
    Purse(Shard, u64),
    /// A sender's journal, read for a shard.
    Gap(Shard, u64, Shard),
    /// A token, or that it is wanted.
    Token(Key),
}

/// What happened at a node.
#[derive(Debug)]
pub enum Event<D> {
    /// A shard may be worked on, in this epoch.
    Opened(Shard, u64),
    /// A shard is to be given back: its work is to end, then [`Desk::is_closed`].
    Leave(Shard),
    /// A seat is over. Nothing more may be written to its tape, and nothing sent.
    Over(Shard, Gone, D),
    /// The end was told, by a number of the driver's.
    End(u64),
    /// People want all to end.
    Stop,
    /// What became of the token of an address.
    Token(crate::bus::Address, token::Came),
}

#[derive(Debug)]
struct Lead {
    register: Register,
    waves: Option<Waves>,
    epoch: u64,
}

/// How the crawl is cut, and what it may spend.
#[derive(Clone, Copy, Debug)]
pub struct Cutting {
    /// How many shards.
    pub shards: u32,
    /// How many lanes.
    pub lanes: u32,
    /// What all may spend; nothing where there is no budget.
    pub budget: Option<Amounts>,
}

/// One process of a cluster.
#[derive(Debug)]
pub struct Node<D> {
    me: NodeId,
    card: Card,
    cut: Cutting,
    seats: BTreeMap<Shard, Held<D>>,
    roster: Roster,
    alive: Register,
    cards: BTreeMap<NodeId, Card>,
    statements: BTreeMap<Shard, Statement>,
    levels: Levels,
    told: Told,
    /// The revision of what was told when this node first read it: told before its time.
    told_before: Option<u64>,
    orders: Orders,
    orders_before: Option<u64>,
    lead: Option<Lead>,
    lives: u64,
    listing: BTreeSet<&'static str>,
    list_at: Millis,
    tokens: Tokens,
    chunk_max: usize,
    /// Gives everything back.
    leaving: bool,
    end: u64,
    events: Vec<Event<D>>,
}

impl<D: Desk> Node<D> {
    /// Of a crawl, by an id that is drawn anew for each process.
    pub fn new(me: NodeId, name: &str, cut: Cutting) -> Self {
        let name = name.to_owned();
        Self {
            me,
            card: Card {
                name,
                ..Card::default()
            },
            cut,
            seats: BTreeMap::new(),
            roster: Roster::new(me, cut.shards),
            alive: Register::new(Key::Node(me), RENEW_MS),
            cards: BTreeMap::new(),
            statements: BTreeMap::new(),
            levels: Levels::default(),
            told: Told::default(),
            told_before: None,
            orders: Orders::default(),
            orders_before: None,
            lead: None,
            lives: 0,
            listing: BTreeSet::new(),
            list_at: 0,
            tokens: Tokens::new(me),
            chunk_max: CHUNK_BYTES_MAX,
            leaving: false,
            end: 0,
            events: Vec::new(),
        }
    }

    /// With smaller chunks, so that tests cut entries in two.
    pub fn with_chunk_max(mut self, bytes: usize) -> Self {
        self.chunk_max = bytes;
        self
    }

    /// Who it is.
    pub fn me(&self) -> NodeId {
        self.me
    }

    /// The shards that it has, or is about to have or to give.
    pub fn seats(&self) -> &BTreeMap<Shard, Held<D>> {
        &self.seats
    }

    /// The tape of a shard that it has.
    pub fn desk(&mut self, shard: Shard) -> Option<&mut D> {
        self.seats.get_mut(&shard).map(|held| &mut held.desk)
    }

    /// What shards said last, those of other nodes too.
    pub fn statements(&self) -> &BTreeMap<Shard, Statement> {
        &self.statements
    }

    /// What the lead told last.
    pub fn told(&self) -> &Told {
        &self.told
    }

    /// Up to when requests under tokens may be sent.
    pub fn deadline(&self) -> Millis {
        self.alive.deadline()
    }

    /// The tokens of addresses.
    pub fn tokens(&mut self) -> &mut Tokens {
        &mut self.tokens
    }

    /// Whether nothing is known yet of who has what.
    pub fn is_new(&self) -> bool {
        self.told_before.is_none() || self.alive.written() == 0
    }

    /// Gives everything back and takes nothing more.
    pub fn leave(&mut self) {
        self.leaving = true;
        self.card.leaving = true;
    }

    /// Whether it gives everything back.
    pub fn is_leaving(&self) -> bool {
        self.leaving
    }

    /// Whether every shard was given back in order, as far as this node has heard.
    pub fn all_given_back(&self) -> bool {
        let given = |shard| {
            let lease = self.roster.lease(Shard(shard));
            lease.is_some_and(|lease| lease.hold == Hold::Released)
        };
        (0..self.cut.shards).all(given)
    }

    /// Whether it holds the lead, and in which epoch of shard 0.
    pub fn leads(&self, now: Millis) -> Option<u64> {
        let first = self.seats.get(&Shard(0))?;
        first.seat.may_send(now).then(|| first.seat.epoch())
    }

    /// What happened since this was last asked.
    pub fn events(&mut self) -> Vec<Event<D>> {
        std::mem::take(&mut self.events)
    }

    /// The lead tells all to end, for this reason of the driver's. The first reason holds.
    pub fn end(&mut self, why: u64) {
        if self.end == 0 {
            self.end = why;
        }
    }

    /// Everything to be asked now. `file` says how much of a shard's journal this machine has, `open` opens
    /// a tape on it, unless that has to wait; `exhausted` is the reason for the end when nothing is left.
    pub fn tick(
        &mut self,
        now: Millis,
        wall_ms: u64,
        file: impl Fn(Shard) -> u64,
        mut open: impl FnMut(Shard) -> Option<D>,
        exhausted: impl FnOnce(&BTreeMap<Shard, Statement>) -> u64,
    ) -> Vec<(Ticket, Request)> {
        let mut asks = Vec::new();
        self.look_around(now, wall_ms, &mut asks);
        if now >= self.alive.deadline() {
            let mut lost = Vec::new();
            self.tokens.lapse(&mut lost);
            let lost = lost.into_iter();
            self.events
                .extend(lost.map(|(address, came)| Event::Token(address, came)));
        }
        let may_take = !self.leaving && self.told.end == 0 && self.end == 0 && !self.is_new();
        if may_take {
            for (shard, before) in self.roster.to_take(now, file) {
                if !self.seats.contains_key(&shard)
                    && let Some(desk) = open(shard)
                {
                    self.take(shard, before, desk);
                }
            }
        }
        let shards: Vec<Shard> = self.seats.keys().copied().collect();
        for shard in shards {
            self.work(shard, now, &mut asks);
            self.hand_on(shard);
        }
        self.lead(now, exhausted, &mut asks);
        let mut keys = Vec::new();
        self.tokens.want(now, &mut keys);
        let keys = keys.into_iter();
        asks.extend(keys.map(|(key, ask)| (Ticket::Token(key), ask)));
        asks
    }

    fn take(&mut self, shard: Shard, before: Option<(u64, Lease)>, desk: D) {
        self.lives += 1;
        let Cutting {
            shards,
            lanes,
            budget,
        } = self.cut;
        let inbound = desk.lane_of(shard);
        let seat = Seat::take(
            shard,
            (self.me, self.lives),
            before,
            (shards, lanes),
            inbound,
        )
        .with_chunk_max(self.chunk_max);
        let total = budget.unwrap_or_default();
        let held = Held {
            purse: Purse::new(shard, seat.epoch(), total, shards),
            seat,
            desk,
            life: self.lives,
            was_open: false,
            leaving: false,
            stated: None,
            draw_at: 0,
            funded: budget.is_none(),
            gaps: BTreeMap::new(),
            handed_on: BTreeMap::new(),
        };
        self.seats.insert(shard, held);
    }

    fn look_around(&mut self, now: Millis, wall_ms: u64, asks: &mut Vec<(Ticket, Request)>) {
        self.card.wall_ms = wall_ms;
        let card = &self.card;
        let alive = self.alive.want(now, || card.encode());
        asks.extend(alive.map(|ask| (Ticket::Alive, ask)));
        if now < self.list_at {
            return;
        }
        self.list_at = now + LIST_MS;
        for keys in [Keys::Leases, Keys::Nodes, Keys::Statements, Keys::Wants] {
            if self.listing.insert(keys.prefix()) {
                asks.push((Ticket::List(keys), Request::List { keys }));
            }
        }
        for (name, ticket, key) in [
            ("level", Ticket::Level, Key::Level),
            ("orders", Ticket::Orders, Key::Orders),
        ] {
            if self.listing.insert(name) {
                asks.push((ticket, Request::Load { key }));
            }
        }
    }

    fn work(&mut self, shard: Shard, now: Millis, asks: &mut Vec<(Ticket, Request)>) {
        let give = self.leaving
            || self.told.end != 0
            || self.orders.leave.contains(&self.me)
            || self.roster.to_give(shard, now);
        let held = self.seats.get_mut(&shard).expect("it is held");
        for statement in self.statements.values() {
            held.seat.hear(statement);
        }
        held.desk.hear(&self.told);
        if held.seat.is_open() {
            if !held.was_open {
                held.was_open = true;
                self.events.push(Event::Opened(shard, held.seat.epoch()));
            }
            if give && !held.leaving {
                held.leaving = true;
                self.events.push(Event::Leave(shard));
            }
            if held.leaving && held.purse.resting() {
                held.leave();
            }
            if self.cut.budget.is_some() {
                held.spend(now);
                let ask = held.purse.want();
                asks.extend(ask.map(|ask| (Ticket::Purse(shard, held.life), ask)));
            }
            held.fill_gaps(shard, now, asks);
        }
        let mut wanted = Vec::new();
        held.seat.want(now, &mut held.desk, &mut wanted);
        let life = held.life;
        let wanted = wanted.into_iter();
        asks.extend(wanted.map(|(part, ask)| (Ticket::Seat(shard, life, part), ask)));
        if let Stage::Gone(why) = held.seat.stage() {
            if held.seat.refusing().is_some() {
                self.roster.put_off(shard, now + PUT_OFF_MS);
            }
            let held = self.seats.remove(&shard).expect("it is held");
            self.events.push(Event::Over(shard, why, held.desk));
        }
    }

    /// Gives what a shard sent to those of this node at once: it is durable, and what comes by the lane as well is
    /// known by its number.
    fn hand_on(&mut self, from: Shard) {
        let Some(held) = self.seats.get_mut(&from).filter(|held| held.was_open) else {
            return;
        };
        let durable = held.seat.durable();
        let mut fresh = Vec::new();
        for lane in 0..self.cut.lanes {
            let sent = held.desk.sent(lane, durable);
            let before = held.handed_on.entry(lane).or_insert(sent);
            for number in *before + 1..=sent {
                fresh.push((lane, held.desk.transfer(lane, number)));
            }
            *before = sent;
        }
        for (lane, transfer) in fresh {
            for (to, held) in &mut self.seats {
                if *to != from && held.was_open && held.desk.lane_of(*to) == lane {
                    // Whoever lacks one before it reads the lane.
                    held.desk.take(&transfer);
                }
            }
        }
    }

    fn lead(
        &mut self,
        now: Millis,
        exhausted: impl FnOnce(&BTreeMap<Shard, Statement>) -> u64,
        asks: &mut Vec<(Ticket, Request)>,
    ) {
        // The lead goes on telling the end while it gives its shard back: others must hear it.
        let first = self.seats.get(&Shard(0));
        let epoch = first.filter(|held| held.seat.may_send(now));
        let Some(epoch) = epoch.map(|held| held.seat.epoch()) else {
            self.lead = None;
            return;
        };
        let fresh = || Lead {
            register: Register::new(Key::Level, TELL_MS),
            waves: None,
            epoch,
        };
        let lead = self.lead.get_or_insert_with(fresh);
        if lead.epoch != epoch {
            *lead = fresh();
        }
        if let Some(waves) = &mut lead.waves
            && lead.register.written() > 0
            && self.statements.len() == self.cut.shards as usize
            && waves.take(&self.statements)
            && self.end == 0
        {
            self.end = exhausted(&self.statements);
        }
        let told = Told {
            epoch,
            level: self.levels.level(Phi::default(), now),
            wave: lead.waves.as_ref().map_or(0, Waves::wave),
            end: self.end,
        };
        let ask = lead.register.want(now, || told.encode());
        asks.extend(ask.map(|ask| (Ticket::Lead, ask)));
    }

    /// Takes an answer.
    pub fn answered(&mut self, ticket: Ticket, answer: Answer, now: Millis) {
        match ticket {
            Ticket::Alive => self.alive.answered(&answer, |_| true),
            Ticket::List(keys) => {
                self.listing.remove(keys.prefix());
                self.roster.listed(keys, &answer, now);
                self.listed(&answer, now);
            }
            Ticket::Level => {
                self.listing.remove("level");
                self.heard(&answer);
            }
            Ticket::Orders => {
                self.listing.remove("orders");
                self.ordered(&answer);
            }
            Ticket::Lead => self.lead_answered(&answer),
            Ticket::Seat(shard, life, part) => {
                if let Some(held) = self.held(shard, life) {
                    let mut inbound = Vec::new();
                    held.seat
                        .answered((part, answer), now, &mut held.desk, &mut inbound);
                    for message in inbound {
                        held.receive(&message);
                    }
                }
            }
            Ticket::Purse(shard, life) => {
                if let Some(held) = self.held(shard, life)
                    && let Some(Came::Given(given) | Came::Spent(given)) =
                        held.purse.answered(&answer)
                {
                    held.funded = true;
                    held.desk.granted(given);
                }
            }
            Ticket::Gap(shard, life, from) => {
                if let Some(held) = self.held(shard, life) {
                    held.filled((shard, from), answer, now);
                }
            }
            Ticket::Token(key) => {
                let gone = |node| !self.roster.alive(now).contains(&node);
                if let Some((address, came)) = self.tokens.answered(key, &answer, now, gone) {
                    self.events.push(Event::Token(address, came));
                }
            }
        }
    }

    fn held(&mut self, shard: Shard, life: u64) -> Option<&mut Held<D>> {
        self.seats.get_mut(&shard).filter(|held| held.life == life)
    }

    fn listed(&mut self, answer: &Answer, now: Millis) {
        self.tokens.listed(answer);
        let Answer::Values(values) = answer else {
            return;
        };
        for (key, revision, value) in values {
            match *key {
                // Another release's statement says nothing here.
                Key::Statement(shard) => {
                    if let Ok(statement) = Statement::decode(value) {
                        self.levels.take(&statement, *revision, now);
                        self.statements.insert(shard, statement);
                    }
                }
                Key::Node(node) => {
                    if let Ok(card) = Card::decode(value) {
                        self.roster.leaves(node, card.leaving);
                        self.cards.insert(node, card);
                    }
                }
                _ => {}
            }
        }
    }

    fn heard(&mut self, answer: &Answer) {
        let Answer::Values(values) = answer else {
            return;
        };
        let found = values.first();
        let revision = found.map_or(0, |(_, revision, _)| *revision);
        let before = *self.told_before.get_or_insert(revision);
        let Some(Ok(told)) = found.map(|(_, _, value)| Told::decode(value)) else {
            return;
        };
        // An end that was told before this node came is that of an earlier run.
        if revision != before && told.wave >= self.told.wave {
            if told.end != 0 && self.told.end == 0 {
                self.events.push(Event::End(told.end));
            }
            self.told = told;
        }
    }

    fn ordered(&mut self, answer: &Answer) {
        let Answer::Values(values) = answer else {
            return;
        };
        let found = values.first();
        let revision = found.map_or(0, |(_, revision, _)| *revision);
        let before = *self.orders_before.get_or_insert(revision);
        let Some(Ok(orders)) = found.map(|(_, _, value)| Orders::decode(value)) else {
            return;
        };
        if revision != before && orders.stop && !self.orders.stop {
            self.events.push(Event::Stop);
        }
        if orders.leave.contains(&self.me) && !self.leaving {
            self.leave();
        }
        for node in &orders.leave {
            self.roster.leaves(*node, true);
        }
        self.orders = Orders {
            stop: orders.stop && revision != before,
            ..orders
        };
    }

    fn lead_answered(&mut self, answer: &Answer) {
        let Some(lead) = &mut self.lead else {
            return;
        };
        let epoch = lead.epoch;
        lead.register.answered(answer, |found| {
            Told::decode(found).is_ok_and(|found| found.epoch <= epoch)
        });
        if let Answer::Values(values) = answer {
            let found = values.first();
            let told = found.and_then(|(_, _, value)| Told::decode(value).ok());
            let last = told.map_or(0, |told| told.wave);
            if lead.waves.as_ref().is_none_or(|waves| waves.wave() < last) {
                lead.waves = Some(Waves::new(self.cut.shards, last));
            }
        }
    }
}
