//! A cluster in virtual time: machines, their clocks and disks, the bus between them, and what
//! befalls them.

mod check;
mod node;
mod random;
mod toy;

use std::collections::BTreeMap;

use turnstone_cluster::bus::{Request, Stream};
use turnstone_cluster::channel::Transfer;
use turnstone_cluster::faulty::{Faults, FaultyBus, Moment};
use turnstone_cluster::lane::Envelope;
use turnstone_cluster::memory::Way;
use turnstone_cluster::{Millis, NodeId, Shard};

use check::Checker;
pub(crate) use node::Crawl;
use node::{Deeds, Node, Ticket};
pub(crate) use random::Random;

/// How often a process looks at its work.
const TICK_MS: Moment = 400;
/// How long a cluster may take to settle once nothing goes wrong any more.
const SETTLE_MS: Moment = 150_000;

/// What befalls a cluster.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Blow {
    /// A process dies, and is started again after a time.
    Kill {
        machine: usize,
        back_ms: Moment,
        disk: Disk,
    },
    /// A process stands still.
    Pause { machine: usize, ms: Moment },
    /// A machine cannot reach the bus.
    Cut { machine: usize, ms: Moment },
    /// The bus elects, or has no quorum.
    Silence { ms: Moment },
    /// A log loses its last messages.
    LoseTail { stream: Stream, messages: usize },
    /// The machine that has a shard dies, and at once the shard's log loses its last messages.
    KillOwner {
        shard: u32,
        messages: usize,
        back_ms: Moment,
        disk: Disk,
    },
    /// Somebody publishes another transfer under the number of one that is in a lane.
    Forge { lane: u32 },
    /// A disk is full.
    Full { machine: usize, ms: Moment },
    /// Faults begin or end.
    Weather(Weather),
}

/// What becomes of a disk.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Disk {
    /// It keeps everything.
    Whole,
    /// The end of each journal was not written yet.
    Torn,
    /// It is gone.
    Lost,
}

/// How the bus behaves.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Weather {
    Fair,
    /// Lost and doubled requests, lost answers, late arrivals, stale reads.
    Foul,
    /// And appends let in at a wrong end.
    Raced,
    /// A quarter of all answers are lost.
    Deaf,
    /// Much is carried out twice, or late.
    Echoing,
}

/// A run.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub(crate) seed: u64,
    pub(crate) machines: usize,
    pub(crate) crawl: Crawl,
    /// Parts in a million by which each clock is off.
    pub(crate) drift: u64,
    pub(crate) blows: Vec<(Moment, Blow)>,
}

/// What came of it.
#[derive(Debug)]
#[allow(dead_code, reason = "some of it is only printed when a run fails")]
pub(crate) struct Outcome {
    pub(crate) requests: u64,
    /// When hosts saw requests.
    pub(crate) request_times: Vec<Moment>,
    pub(crate) forgot: bool,
    pub(crate) epochs: u64,
    pub(crate) refusals: Vec<(Shard, String)>,
    pub(crate) alarms: Vec<String>,
    pub(crate) settled: bool,
    pub(crate) ended_ms: Moment,
    /// Pairs whose transfers have not all arrived.
    pub(crate) under_way: Vec<String>,
    pub(crate) exhausted: bool,
    /// Every seat, with how far it is.
    pub(crate) stages: Vec<String>,
    pub(crate) transfers: usize,
}

struct Machine {
    node: Option<Node>,
    disk: BTreeMap<Shard, Vec<u8>>,
    rate: u64,
    offset: u64,
    paused_until: Moment,
    tick_at: Moment,
    back_at: Option<Moment>,
    cut_until: Moment,
}

impl Machine {
    fn clock(&self, now: Moment) -> Millis {
        self.offset + now * self.rate / 1_000_000
    }
}

struct Sim {
    plan: Plan,
    bus: FaultyBus<Ticket>,
    machines: Vec<Machine>,
    random: Random,
    checker: Checker,
    now: Moment,
    lives: u64,
    alarms: Vec<String>,
    exhausted: bool,
    request_times: Vec<Moment>,
}

/// Runs a plan to its end. Panics at the first step after which something is not as it must be.
pub(crate) fn run(plan: Plan) -> Outcome {
    let mut random = Random::new(plan.seed);
    let machines = (0..plan.machines).map(|_| Machine {
        node: None,
        disk: BTreeMap::new(),
        rate: 1_000_000 - plan.drift + random.below(2 * plan.drift + 1),
        offset: random.below(1 << 40),
        paused_until: 0,
        tick_at: random.below(TICK_MS),
        back_at: Some(0),
        cut_until: 0,
    });
    let mut sim = Sim {
        bus: FaultyBus::new(plan.seed ^ 0x5eed),
        machines: machines.collect(),
        random,
        checker: Checker::new(plan.crawl),
        now: 0,
        lives: 0,
        alarms: Vec::new(),
        exhausted: false,
        request_times: Vec::new(),
        plan,
    };
    sim.run()
}

impl Sim {
    fn run(&mut self) -> Outcome {
        let mut blows = std::mem::take(&mut self.plan.blows);
        blows.sort_by_key(|(at, _)| *at);
        let last = blows.last().map_or(0, |(at, _)| *at);
        let mut blows = blows.into_iter().peekable();
        let settled = loop {
            let mut next = self
                .machines
                .iter()
                .map(|machine| machine.tick_at)
                .min()
                .unwrap_or(0);
            next = next.min(self.bus.next().unwrap_or(Moment::MAX));
            if let Some((at, _)) = blows.peek() {
                next = next.min(*at);
            }
            self.now = self.now.max(next);
            while let Some((_, blow)) = blows.next_if(|(at, _)| *at <= self.now) {
                self.strike(blow);
            }
            self.step();
            if self.now > last && self.settled() {
                break true;
            }
            if self.now > last + SETTLE_MS {
                break false;
            }
        };
        if settled {
            self.checker.end();
        }
        let under_way = self.checker.under_way();
        let stages = self
            .machines
            .iter()
            .filter_map(|machine| machine.node.as_ref());
        let stages = stages.flat_map(|node| node.seats().iter());
        let stages = stages
            .map(|(shard, held)| format!("{shard:?} {}", node::describe(held)))
            .collect();
        let transfers = self
            .checker
            .truths
            .iter()
            .map(|truth| truth.state.applied.len())
            .sum();
        Outcome {
            requests: self.checker.requests,
            request_times: std::mem::take(&mut self.request_times),
            forgot: self.checker.forgot(),
            epochs: self.checker.opened.values().sum(),
            refusals: std::mem::take(&mut self.checker.refusals),
            alarms: std::mem::take(&mut self.alarms),
            settled,
            ended_ms: self.now,
            stages,
            under_way,
            exhausted: self.exhausted,
            transfers,
        }
    }

    /// Nothing is left to do, or to spend; nothing is under way, and every shard is open.
    fn settled(&self) -> bool {
        if !(self.exhausted || self.checker.all_spent()) || !self.checker.quiet() {
            return false;
        }
        let open = |shard: u32| {
            let seats = self
                .machines
                .iter()
                .filter_map(|machine| machine.node.as_ref());
            let mut seats = seats.filter_map(|node| node.seats().get(&Shard(shard)));
            seats.any(|held| held.seat.is_open())
        };
        (0..self.plan.crawl.shards).all(open)
    }

    fn strike(&mut self, blow: Blow) {
        match blow {
            Blow::Kill {
                machine,
                back_ms,
                disk,
            } => self.kill(machine, back_ms, disk),
            Blow::Pause { machine, ms } => {
                let machine = &mut self.machines[machine];
                machine.paused_until = machine.paused_until.max(self.now + ms);
            }
            Blow::Cut { machine, ms } => {
                let machine = &mut self.machines[machine];
                machine.cut_until = self.now + ms;
                if let Some(node) = &machine.node {
                    self.bus.cut(node.id, true);
                }
            }
            Blow::Silence { ms } => self.bus.silence(self.now + ms),
            Blow::LoseTail { stream, messages } => self.bus.lose_tail(stream, messages),
            Blow::KillOwner {
                shard,
                messages,
                back_ms,
                disk,
            } => {
                let has = |machine: &Machine| {
                    machine.node.as_ref().is_some_and(|node| {
                        node.seats()
                            .get(&Shard(shard))
                            .is_some_and(|held| held.seat.is_open())
                    })
                };
                if let Some(machine) = self.machines.iter().position(has) {
                    self.kill(machine, back_ms, disk);
                }
                self.bus.lose_tail(Stream::Journal(Shard(shard)), messages);
            }
            Blow::Forge { lane } => self.forge(lane),
            Blow::Full { machine, ms } => {
                let machine = &mut self.machines[machine];
                let until = machine.clock(self.now + ms);
                if let Some(node) = &mut machine.node {
                    node.full_until = until;
                }
            }
            Blow::Weather(weather) => {
                let foul = Faults {
                    lost: 20,
                    unanswered: 40,
                    doubled: 40,
                    late: 15,
                    stale: 40,
                    raced: 0,
                };
                self.bus.faults = match weather {
                    Weather::Fair => Faults::default(),
                    Weather::Foul => foul,
                    Weather::Raced => Faults { raced: 100, ..foul },
                    Weather::Deaf => Faults {
                        unanswered: 250,
                        ..Faults::default()
                    },
                    Weather::Echoing => Faults {
                        doubled: 300,
                        late: 100,
                        ..Faults::default()
                    },
                };
            }
        }
    }

    /// Publishes the last transfer of a lane once more, with another mass in it.
    fn forge(&mut self, lane: u32) {
        let stream = Stream::Lane(lane);
        let found = self
            .bus
            .memory
            .stream(stream)
            .iter()
            .rev()
            .find_map(|message| {
                let envelope = Envelope::decode(&message.payload).ok()?;
                let mut transfer = Transfer::decode(envelope.transfer).ok()?;
                let parcel = transfer.parcels.values_mut().next()?;
                parcel.items.first_mut()?.mass += 1;
                parcel.cumulative += 1;
                let bytes = transfer.encode();
                let forged = Envelope {
                    transfer: &bytes,
                    serial: 99,
                    ..envelope
                };
                Some((message.subject, forged.encode()))
            });
        if let Some((subject, payload)) = found {
            let append = Request::Append {
                stream,
                subject,
                expect: 0,
                payload,
            };
            self.bus.memory.execute(&append, Way::Race);
        }
    }

    fn kill(&mut self, machine: usize, back_ms: Moment, disk: Disk) {
        let machine = &mut self.machines[machine];
        machine.back_at = Some(self.now + back_ms);
        let Some(node) = machine.node.take() else {
            return;
        };
        self.bus.forget(node.id);
        for (shard, held) in node.seats() {
            let tape = &held.desk.tape;
            let ends = tape.ends();
            let kept = match disk {
                Disk::Torn if !ends.is_empty() => {
                    let keep = ends.len() as u64 - self.random.below(ends.len().min(6) as u64);
                    ends[keep as usize - 1] as usize
                }
                _ => tape.bytes.len(),
            };
            machine.disk.insert(*shard, tape.bytes[..kept].to_vec());
        }
        if disk == Disk::Lost {
            machine.disk.clear();
        }
    }

    fn step(&mut self) {
        for stream in self.bus.advance(self.now) {
            if let Stream::Journal(shard) = stream {
                self.checker.journal_changed(&self.bus.memory, shard);
            }
        }
        self.checker.budget(&self.bus.memory);
        for at in 0..self.machines.len() {
            self.step_machine(at);
        }
    }

    fn step_machine(&mut self, at: usize) {
        let now = self.now;
        let machine = &mut self.machines[at];
        if machine.node.is_none() && machine.back_at.is_some_and(|back| back <= now) {
            self.lives += 1;
            let id = NodeId((at as u64 + 1) * 1000 + self.lives);
            machine.node = Some(Node::new(id, self.plan.crawl));
            machine.back_at = None;
        }
        let tick = machine.tick_at <= now;
        if tick {
            machine.tick_at = now + TICK_MS;
        }
        let clock = machine.clock(now);
        let Some(node) = &mut machine.node else {
            return;
        };
        let id = node.id;
        self.bus.cut(id, now < machine.cut_until);
        if now < machine.paused_until {
            return;
        }
        let answers = self.bus.arrived(id);
        if !tick && answers.is_empty() {
            return;
        }
        let mut told = Deeds::default();
        for (ticket, answer) in answers {
            node.answered(ticket, answer, clock, &mut told);
        }
        let mut deeds = node.tick(clock, &machine.disk, &mut self.random);
        deeds.opened.splice(0..0, told.opened);
        deeds.alarms.extend(told.alarms);
        deeds.refused.extend(told.refused);
        deeds.kept.extend(told.kept);
        for (shard, bytes) in std::mem::take(&mut deeds.kept) {
            machine.disk.insert(shard, bytes);
        }
        self.judge(id, deeds);
    }

    fn judge(&mut self, id: NodeId, deeds: Deeds) {
        for (shard, epoch) in deeds.opened {
            self.checker.opened(shard, epoch);
        }
        for sent in deeds.requests {
            self.checker.requested(&self.bus.memory, sent);
            self.request_times.push(self.now);
        }
        if deeds.exhausted {
            self.checker.exhausted();
            self.exhausted = true;
        }
        self.checker.refusals.extend(deeds.refused);
        self.alarms.extend(deeds.alarms);
        for (ticket, ask) in deeds.asks {
            use turnstone_cluster::Bus as _;
            self.bus.port(id).ask(ticket, ask);
        }
    }
}
