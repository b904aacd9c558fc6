//! A process: what the live loop does, one turn after the other, until it is done or killed.

use std::collections::BTreeMap;

use turnstone_crawl::{Asker, Job, Ticks};
use turnstone_frontier::Policy;
use turnstone_ledger::Stop;
use turnstone_pagestore::Store;

use super::serve::{Flight, Heard, When};
use super::wish::Wish;
use super::{COMPARED, ORDERS, STEPS_MAX, World};

pub(super) struct Process {
    pub(super) asker: Asker<Box<dyn Policy>>,
    pub(super) ticks: Ticks,
    /// By when they arrive, in real time.
    flights: BTreeMap<(u64, u64), Flight>,
    number: u64,
    /// Another scope that was ordered and waits for what is under way.
    ordered: Option<Wish>,
}

/// How a process ended.
pub(super) enum Ended {
    Killed,
    Done(Stop),
}

impl Process {
    pub(super) fn new(asker: Asker<Box<dyn Policy>>, ticks: Ticks) -> Self {
        Self {
            asker,
            ticks,
            flights: BTreeMap::new(),
            number: 0,
            ordered: None,
        }
    }

    fn due(&mut self, now_ms: u64) -> Option<Flight> {
        let first = self.flights.first_entry()?;
        (first.key().0 <= now_ms).then(|| first.remove())
    }
}

impl World {
    pub(super) fn run(&mut self, process: &mut Process, mortal: bool) -> Ended {
        let doom = mortal.then(|| self.dice.below(60));
        let mut step = 0;
        loop {
            self.steps += 1;
            assert!(
                self.steps < STEPS_MAX,
                "it does not end: {:?} {:?}",
                process.asker.progress(),
                self.wish
            );
            self.trouble_clocks();
            let reading = self.machine.reading();
            process.asker.pass(process.ticks.moment(reading));
            self.receive(process);
            if self.take_orders(process).is_none() {
                return Ended::Killed;
            }
            let turned = process.asker.turn().unwrap();
            self.check(process);
            let dies = doom.is_some_and(|doom| step >= doom);
            if dies && self.dice.once_in(3) {
                return Ended::Killed; // before anything is written
            }
            if self.dice.once_in(40) {
                self.disk.fill(1 + self.dice.below(3) as u32);
            }
            if process.asker.ledger_mut().store_mut().write().is_err() {
                self.machine.pass(200);
                continue;
            }
            self.hosts.heard(Heard::Written);
            if self.seed.is_multiple_of(COMPARED) {
                self.compare(process);
            }
            if dies && self.dice.once_in(2) {
                return Ended::Killed; // written, and not sent
            }
            self.send(process);
            self.keep(process);
            if dies {
                return Ended::Killed; // sent
            }
            if let (Some(stop), 0) = (process.asker.stopped(), turned.open) {
                return Ended::Done(stop);
            }
            let now_ms = self.machine.real_ms;
            let due = process.flights.keys().next().map(|(at, _)| *at);
            let tick = process.ticks.at(self.machine.reading());
            let wake = turned
                .wake
                .map(|wake| now_ms + wake.0.saturating_sub(tick.0));
            let next = [due, wake].into_iter().flatten().min().unwrap_or(0);
            self.machine.pass(next.saturating_sub(now_ms).max(1));
            step += 1;
        }
    }

    /// Now and then the machine sleeps, or somebody sets its wall clock.
    fn trouble_clocks(&mut self) {
        if self.dice.once_in(80) {
            self.machine.sleep(&mut self.dice);
        }
        if self.dice.once_in(80) {
            self.machine.set_wall(&mut self.dice);
        }
    }

    /// Now and then somebody orders another scope of a crawl under way, or one more seed. Nothing if the
    /// process ends because the disk is full then.
    fn take_orders(&mut self, process: &mut Process) -> Option<()> {
        let goes_on = process.asker.stopped().is_none();
        let orders = goes_on && self.wish.is_crawl() && process.ordered.is_none();
        if orders && self.dice.once_in(ORDERS) {
            let mut wish = self.wish.clone();
            wish.rescope(&mut self.dice);
            process.asker.stand_by();
            process.ordered = Some(wish);
        }
        if !process.asker.is_quiet() || process.ordered.is_none() {
            return Some(());
        }
        process.asker.ledger_mut().store_mut().write().ok()?;
        let wish = process.ordered.take()?;
        // Neither is where an exclude rule leads: a page that was named belongs to a crawl whatever it excludes.
        let seeds = [self.hosts.web.url(0, self.dice.below(2))];
        let make = |store: &Store| Ok(wish.policy(store));
        let asker = &mut process.asker;
        asker
            .replan(&seeds, wish.scope(&self.hosts.web), &make)
            .ok()?;
        self.wish = wish;
        self.replans += 1;
        self.compare(process);
        Some(())
    }

    fn receive(&mut self, process: &mut Process) {
        while let Some(flight) = process.due(self.machine.real_ms) {
            let reading = self.machine.reading();
            // As the live client tells it: by a clock that does not count sleep.
            let ago = reading.awake.saturating_sub(flight.awake);
            let sent = process.ticks.not_before(reading, ago);
            let report = self.hosts.deliver(flight, self.machine.real_ms, sent);
            process.asker.receive(report).unwrap();
        }
    }

    fn send(&mut self, process: &mut Process) {
        let keyer = process.asker.ledger().store().keyer();
        let before = self.hosts.requests;
        let scope = self.wish.scope(&self.hosts.web);
        let reading = self.machine.reading();
        let when = When {
            real_ms: self.machine.real_ms,
            reading,
            keyer: &keyer,
        };
        for job in process.asker.take_jobs(process.ticks.moment(reading)) {
            if let Job::Page(job) = &job {
                assert!(
                    scope.check(&job.url, 0).is_ok(),
                    "{} is out of scope",
                    job.url
                );
            }
            if self.traces {
                let tick = process.ticks.at(reading);
                eprintln!("{} ms, {tick:?}: {job:?}", self.machine.real_ms);
            }
            self.sends(process, &job);
            let (after, flight) = self.hosts.take(job, when);
            process.number += 1;
            let at = (self.machine.real_ms + after, process.number);
            process.flights.insert(at, flight);
        }
        self.unsynced += self.hosts.requests - before;
    }

    /// Now and then what was written is made durable, and a checkpoint is taken.
    fn keep(&mut self, process: &mut Process) {
        let is_round = self.wish.is_round();
        let ledger = process.asker.ledger_mut();
        if self.dice.once_in(5) {
            let until = ledger.store().end();
            ledger.store().syncer().sync().unwrap();
            ledger.store_mut().durable(until);
            self.hosts.heard(Heard::Durable);
            self.unsynced = 0;
        }
        // A round is begun anew: it takes no checkpoints.
        if !is_round && self.dice.once_in(25) && ledger.checkpoint().is_ok() {
            self.hosts.heard(Heard::Durable);
            self.unsynced = 0;
        }
    }
}
