//! One simulated process: the real machines, driven over a toy shard.

use std::collections::BTreeMap;

use turnstone_cluster::audit::{Statement, Waves, Work};
use turnstone_cluster::batch::Batches;
use turnstone_cluster::budget::{Came, Purse};
use turnstone_cluster::bus::{Answer, Key, Keys, Request};
use turnstone_cluster::channel::Admission;
use turnstone_cluster::level::{Levels, Phi, TELL_MS, Told};
use turnstone_cluster::register::Register;
use turnstone_cluster::roster::Roster;
use turnstone_cluster::stage::Part;
use turnstone_cluster::writer::{News, Writer};
use turnstone_cluster::{Millis, NodeId, Seat, Shard, Stage, Tape as _};

use super::random::Random;
use super::toy::{Entry, ONE, ToyTape, WORTH, entries};

const LIST_MS: Millis = 1_000;
const OPEN_MAX: usize = 2;

/// What a question was about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ticket {
    Alive,
    List(Keys),
    Level,
    Lead,
    Seat(Shard, u64, Part),
    Purse(Shard, u64),
    Gap(Shard, u64, Shard),
}

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

/// A shard at this node.
pub(crate) struct Held {
    pub(crate) seat: Seat,
    pub(crate) tape: ToyTape,
    purse: Purse,
    life: u64,
    was_open: bool,
    /// Hand-outs whose requests are not sent (0), or come back at a moment.
    requests: BTreeMap<u64, (u64, Millis)>,
    batches: Batches,
    /// Senders whose transfers are read in their journals, up to a number.
    gaps: BTreeMap<Shard, (u64, Option<Writer>)>,
    draw_at: Millis,
    /// The limit was lowered by an entry that ends here.
    returning: Option<u64>,
    leaving: bool,
    /// The first swap of this epoch was done: the limit is known to be ours.
    funded: bool,
}

struct Lead {
    register: Register,
    waves: Option<Waves>,
    epoch: u64,
    exhausted: bool,
}

/// A process.
pub(crate) struct Node {
    pub(crate) id: NodeId,
    crawl: Crawl,
    pub(crate) seats: BTreeMap<Shard, Held>,
    roster: Roster,
    alive: Register,
    statements: BTreeMap<Shard, Statement>,
    levels: Levels,
    told: Told,
    lead: Option<Lead>,
    lives: u64,
    listing: BTreeMap<&'static str, bool>,
    list_at: Millis,
    /// The disk is full up to this moment of our clock.
    pub(crate) full_until: Millis,
}

impl Node {
    pub(crate) fn new(id: NodeId, crawl: Crawl) -> Self {
        Self {
            id,
            crawl,
            seats: BTreeMap::new(),
            roster: Roster::new(id, crawl.shards),
            alive: Register::new(Key::Node(id), 3_000),
            statements: BTreeMap::new(),
            levels: Levels::default(),
            told: Told::default(),
            lead: None,
            lives: 0,
            listing: BTreeMap::new(),
            list_at: 0,
            full_until: 0,
        }
    }

    /// Everything to be done now.
    pub(crate) fn tick(
        &mut self,
        now: Millis,
        disk: &BTreeMap<Shard, Vec<u8>>,
        random: &mut Random,
    ) -> Deeds {
        let mut deeds = Deeds::default();
        self.look_around(now, &mut deeds);
        for (shard, before) in self.roster.to_take(now, |shard| {
            disk.get(&shard).map_or(0, |bytes| bytes.len() as u64)
        }) {
            if self.seats.contains_key(&shard) {
                continue;
            }
            let crawl = self.crawl;
            let cut = (crawl.shards, crawl.lanes);
            self.lives += 1;
            let seat = Seat::take(
                shard,
                (self.id, self.lives),
                before,
                cut,
                shard.0 % crawl.lanes,
            )
            .with_chunk_max(crawl.chunk_max);
            let bytes = disk.get(&shard).map_or(&[][..], Vec::as_slice);
            let held = Held {
                purse: Purse::new(shard, seat.epoch(), [crawl.budget, 0, 0], crawl.shards),
                seat,
                tape: ToyTape::new(shard, cut, bytes),
                life: self.lives,
                was_open: false,
                requests: BTreeMap::new(),
                batches: Batches::default(),
                gaps: BTreeMap::new(),
                draw_at: 0,
                returning: None,
                leaving: false,
                funded: false,
            };
            self.seats.insert(shard, held);
        }
        let shards: Vec<Shard> = self.seats.keys().copied().collect();
        for shard in shards {
            self.work(shard, now, random, &mut deeds);
        }
        self.lead(now, &mut deeds);
        deeds
    }

    fn look_around(&mut self, now: Millis, deeds: &mut Deeds) {
        let alive = self.alive.want(now, || vec![1]);
        deeds.asks.extend(alive.map(|ask| (Ticket::Alive, ask)));
        if now < self.list_at {
            return;
        }
        self.list_at = now + LIST_MS;
        for keys in [Keys::Leases, Keys::Nodes, Keys::Statements] {
            if !std::mem::replace(self.listing.entry(keys.prefix()).or_default(), true) {
                deeds
                    .asks
                    .push((Ticket::List(keys), Request::List { keys }));
            }
        }
        if !std::mem::replace(self.listing.entry("level").or_default(), true) {
            deeds
                .asks
                .push((Ticket::Level, Request::Load { key: Key::Level }));
        }
    }

    fn work(&mut self, shard: Shard, now: Millis, random: &mut Random, deeds: &mut Deeds) {
        let full = now < self.full_until;
        let give = self.roster.to_give(shard, now);
        let told = self.told;
        let crawl = self.crawl;
        let held = self.seats.get_mut(&shard).expect("it is held");
        for statement in self.statements.values() {
            held.seat.hear(statement);
        }
        held.tape.wave = told.wave;
        if held.seat.is_open() && !full {
            held.open(crawl, deeds);
            held.leaving |= give;
            if held.seat.stage() == Stage::Open {
                held.draw(now);
                held.hand_out(told.level);
                held.come_back(now, random, crawl);
                held.send(now, told.level);
                held.leave();
            }
        }
        if held.seat.is_open() {
            held.request(now, random, deeds);
            let idle = held.tape.live.residual < WORTH && held.purse.resting() && !held.leaving;
            held.tape.work = if idle && held.gaps.is_empty() {
                Work::Idle
            } else {
                Work::Busy
            };
            held.fill_gaps(deeds);
            let ask = held.purse.want();
            deeds
                .asks
                .extend(ask.map(|ask| (Ticket::Purse(shard, held.life), ask)));
        }
        let mut wanted = Vec::new();
        held.seat.want(now, &mut held.tape, &mut wanted);
        let life = held.life;
        let asks = wanted
            .into_iter()
            .map(|(part, ask)| (Ticket::Seat(shard, life, part), ask));
        deeds.asks.extend(asks);
        if let Stage::Gone(why) = held.seat.stage() {
            if held.seat.refusing().is_some() {
                deeds.refused.push((shard, why.to_string()));
                self.roster.put_off(shard, now + 10_000);
            }
            let held = self.seats.remove(&shard).expect("it is held");
            deeds.kept.push((shard, held.tape.bytes));
        }
    }

    fn lead(&mut self, now: Millis, deeds: &mut Deeds) {
        let epoch = self
            .seats
            .get(&Shard(0))
            .filter(|held| held.seat.may_send(now));
        let Some(epoch) = epoch.map(|held| held.seat.epoch()) else {
            self.lead = None;
            return;
        };
        let shards = self.crawl.shards;
        let fresh = || Lead {
            register: Register::new(Key::Level, TELL_MS),
            waves: None,
            epoch,
            exhausted: false,
        };
        let lead = self.lead.get_or_insert_with(fresh);
        if lead.epoch != epoch {
            *lead = fresh();
        }
        if let Some(waves) = &mut lead.waves
            && lead.register.written() > 0
            && self.statements.len() == shards as usize
            && waves.take(&self.statements)
        {
            lead.exhausted = true;
            deeds.exhausted = true;
        }
        let told = Told {
            epoch,
            level: self.levels.level(Phi::default(), now),
            wave: lead.waves.as_ref().map_or(0, Waves::wave),
            exhausted: lead.exhausted,
        };
        let ask = lead.register.want(now, || told.encode());
        deeds.asks.extend(ask.map(|ask| (Ticket::Lead, ask)));
    }

    /// Takes an answer.
    pub(crate) fn answered(
        &mut self,
        ticket: Ticket,
        answer: Answer,
        now: Millis,
        deeds: &mut Deeds,
    ) {
        match ticket {
            Ticket::Alive => self.alive.answered(&answer, |_| true),
            Ticket::List(keys) => {
                self.listing.insert(keys.prefix(), false);
                self.roster.listed(keys, &answer, now);
                self.heard_statements(&answer, now);
            }
            Ticket::Level => {
                self.listing.insert("level", false);
                if let Some(told) = told(&answer)
                    && told.wave >= self.told.wave
                {
                    self.told = told;
                }
            }
            Ticket::Lead => {
                let Some(lead) = &mut self.lead else {
                    return;
                };
                let epoch = lead.epoch;
                let is_load = matches!(answer, Answer::Values(_));
                lead.register.answered(&answer, |found| {
                    Told::decode(found).is_ok_and(|found| found.epoch <= epoch)
                });
                if is_load {
                    let last = told(&answer).map_or(0, |told| told.wave);
                    if lead.waves.as_ref().is_none_or(|waves| waves.wave() < last) {
                        lead.waves = Some(Waves::new(self.crawl.shards, last));
                    }
                }
            }
            Ticket::Seat(shard, life, part) => {
                let full = now < self.full_until;
                let crawl = self.crawl;
                if let Some(held) = self.held(shard, life) {
                    let mut transfers = Vec::new();
                    held.seat
                        .answered((part, answer), now, &mut held.tape, &mut transfers);
                    for inbound in transfers {
                        if !inbound.transfer.is_empty() {
                            held.offer(&inbound.transfer, full, deeds);
                        }
                        held.expect(inbound.from, inbound.through);
                    }
                    held.open(crawl, deeds);
                }
            }
            Ticket::Purse(shard, life) => {
                if let Some(held) = self.held(shard, life)
                    && let Some(came) = held.purse.answered(&answer)
                {
                    held.paid(came, now);
                }
            }
            Ticket::Gap(shard, life, from) => {
                let full = now < self.full_until;
                if let Some(held) = self.held(shard, life) {
                    held.filled(from, answer, full, deeds);
                }
            }
        }
    }

    fn held(&mut self, shard: Shard, life: u64) -> Option<&mut Held> {
        self.seats.get_mut(&shard).filter(|held| held.life == life)
    }

    fn heard_statements(&mut self, answer: &Answer, now: Millis) {
        let Answer::Values(values) = answer else {
            return;
        };
        for (key, revision, value) in values {
            if let Key::Statement(shard) = key {
                let statement = Statement::decode(value).expect("a statement");
                self.levels.take(&statement, *revision, now);
                self.statements.insert(*shard, statement);
            }
        }
    }
}

fn told(answer: &Answer) -> Option<Told> {
    match answer {
        Answer::Values(values) => Told::decode(&values.first()?.2).ok(),
        _ => None,
    }
}

impl Held {
    /// For a failure's message.
    pub(crate) fn describe(&self) -> String {
        let state = &self.tape.live;
        format!(
            "{:?} epoch {} {:?} wave {} residual {} away {:?} open {:?} handed {}/{} durable {}/{} \
             gaps {:?} leaving {} resting {} waits for {:?}",
            self.seat.stage(),
            self.seat.epoch(),
            self.tape.work,
            self.tape.wave,
            state.residual,
            state.away,
            state.open,
            state.handed,
            state.limit,
            self.seat.durable(),
            self.tape.end(),
            self.gaps.keys().collect::<Vec<_>>(),
            self.leaving,
            self.purse.resting(),
            self.seat.waits_for(),
        )
    }

    /// The first thing an open shard does.
    fn open(&mut self, crawl: Crawl, deeds: &mut Deeds) {
        if self.was_open || !self.seat.is_open() {
            return;
        }
        self.was_open = true;
        let shard = self.tape.shard;
        deeds.opened.push((shard, self.seat.epoch()));
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

    fn draw(&mut self, now: Millis) {
        let state = &self.tape.live;
        let short = !self.funded || state.handed + 1 >= state.limit;
        let needs = state.residual >= WORTH && short;
        if needs
            && !self.leaving
            && self.purse.resting()
            && now >= self.draw_at
            && self.returning.is_none()
        {
            self.draw_at = now + 2_000;
            self.purse.draw([state.handed + 4, 0, 0]);
        }
        // Nothing to do: what is left may be of use elsewhere.
        let over = self.leaving || state.residual < WORTH;
        let unspent = state.limit > state.handed || !self.funded;
        let idle = over && state.open.is_empty() && unspent;
        if idle && self.purse.resting() && self.returning.is_none() {
            let end = self.tape.tell(&Entry::Limit {
                requests: self.tape.live.handed,
            });
            self.returning = Some(end);
        }
        if let Some(end) = self.returning
            && self.seat.durable() >= end
            && self.purse.resting()
        {
            self.purse.give_back([self.tape.live.limit, 0, 0]);
            self.returning = None;
        }
    }

    fn paid(&mut self, came: Came, now: Millis) {
        let (Came::Given(given) | Came::Spent(given)) = came;
        if let Came::Spent(_) = came {
            self.draw_at = now + 5_000;
        }
        let raises = given[0] > self.tape.live.limit;
        if self.seat.stage() == Stage::Open && (raises || !self.funded) {
            self.tape.tell(&Entry::Limit { requests: given[0] });
        }
        self.funded = true;
    }

    fn hand_out(&mut self, level: u64) {
        let state = &self.tape.live;
        let may = self.funded
            && state.handed < state.limit
            && state.open.len() < OPEN_MAX
            && self.returning.is_none();
        if may && !self.leaving && state.residual >= WORTH.max(level / 64) {
            let id = state.handed + 1;
            let end = self.tape.tell(&Entry::HandOut { id });
            self.requests.insert(id, (end, 0));
        }
    }

    /// Sends the requests whose hand-outs are durable.
    fn request(&mut self, now: Millis, random: &mut Random, deeds: &mut Deeds) {
        for (&id, (end, back_at)) in &mut self.requests {
            if *back_at == 0 && self.seat.durable() >= *end && self.seat.may_send(now) {
                *back_at = now + 1_500 + random.below(5_000);
                let (shard, epoch) = (self.tape.shard, self.seat.epoch());
                deeds.requests.push(Sent { shard, epoch, id });
            }
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

    fn send(&mut self, now: Millis, level: u64) {
        while let Some(lane) = self.batches.due(now, level) {
            self.tape.send(lane);
        }
        if self.leaving && self.requests.is_empty() {
            while let Some(lane) = self.batches.any() {
                self.tape.send(lane);
            }
        }
    }

    fn leave(&mut self) {
        let state = &self.tape.live;
        let done = state.open.is_empty() && state.away.is_empty() && self.purse.resting();
        if self.leaving && done && self.returning.is_none() && state.limit == state.handed {
            self.seat.leave();
        }
    }

    fn offer(&mut self, transfer: &[u8], full: bool, deeds: &mut Deeds) {
        if self.seat.stage() != Stage::Open {
            return;
        }
        let parsed = turnstone_cluster::channel::Transfer::decode(transfer).expect("a transfer");
        let (from, number) = (parsed.from, parsed.number);
        if from == self.tape.shard {
            return;
        }
        let me = self.tape.shard;
        match self
            .tape
            .live
            .inbox
            .offer(me, transfer)
            .expect("a transfer")
        {
            Admission::Apply(_) if full => {
                let gap = self.gaps.entry(from).or_default();
                gap.0 = gap.0.max(number);
            }
            Admission::Apply(received) if received.parcel.items.is_empty() => {
                self.tape.live.inbox.apply(&received);
            }
            Admission::Apply(received) => {
                self.tape.tell(&Entry::Received(received));
            }
            Admission::Skip => {}
            Admission::Gap { .. } => {
                let gap = self.gaps.entry(from).or_default();
                gap.0 = gap.0.max(number);
            }
            Admission::Alarm(alarm) => deeds.alarms.push(alarm.to_string()),
        }
    }

    /// A sender has sent so much.
    fn expect(&mut self, from: Shard, through: u64) {
        let known = self.tape.live.inbox.known(from).number;
        let open = self.seat.stage() == Stage::Open && from != self.tape.shard;
        if open && known < through {
            let gap = self.gaps.entry(from).or_default();
            gap.0 = gap.0.max(through);
        }
    }

    fn fill_gaps(&mut self, deeds: &mut Deeds) {
        let inbox = &self.tape.live.inbox;
        self.gaps
            .retain(|from, (until, _)| inbox.known(*from).number < *until);
        for (&from, (_, reader)) in &mut self.gaps {
            // A reader of the sender's chain: it wants nothing but to read.
            let reader = reader.get_or_insert_with(|| Writer::new(from, (u64::MAX, NodeId(0))));
            reader.reread();
            if let Some(ask) = reader.want_read() {
                deeds
                    .asks
                    .push((Ticket::Gap(self.tape.shard, self.life, from), ask));
            }
        }
    }

    fn filled(&mut self, from: Shard, answer: Answer, full: bool, deeds: &mut Deeds) {
        let Some((_, Some(reader))) = self.gaps.get_mut(&from) else {
            return;
        };
        let mut news = Vec::new();
        reader.answered(answer, &mut news);
        let lane = self.tape.lane_of(self.tape.shard);
        for news in news {
            if let News::Bytes { bytes, .. } = news {
                for (_, entry) in entries(&bytes) {
                    match entry {
                        Entry::Sent { lane: of, bytes } if of == lane => {
                            self.offer(&bytes, full, deeds);
                        }
                        _ => {}
                    }
                }
            }
        }
        if full {
            // Offered while nothing could be written: it is all read again.
            self.gaps.entry(from).or_default().1 = None;
        }
    }
}
