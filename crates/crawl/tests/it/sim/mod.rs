//! The real ledger and asker in virtual time: a web that misbehaves, a disk that fails, and kills
//! at any event, also while a crawl is taken over, with changes of plan in between.
//!
//! After every step: no host is asked early (the web itself says so), mass is conserved, budgets
//! hold. After every kill, and in a share of the crawls after every step: the crawl that is opened
//! is the one that was, bit for bit, and nothing that was durable is lost. At the end: everything
//! that can be had is stored. A process may also die between two bytes of what it writes while it
//! takes a crawl over, and a machine may be back before its hosts have rested.
//!
//! A failure names its seed and the command that repeats it. `make sim RUNS=… SEED=…` runs more.

mod dice;
mod disk;
mod web;

use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;

use turnstone_crawl::{Asker, AskerParts, Epoch, Job, Moment, Plan, Session};
use turnstone_fetch::Limits;
use turnstone_fetch::scope::{Scope, ScopeRules};
use turnstone_fetch::urls::KeyOptions;
use turnstone_frontier::{PageId, Politeness, Tick};
use turnstone_ledger::{Ledger, Past, Stop, View, flips, sow};
use turnstone_pagestore::{PageState, Store, journal::Journal};
use turnstone_policy::coverage::{Dangling, Goal, Push, RankMass, Trust};
use turnstone_policy::mass::Fraction;

use self::dice::Dice;
use self::disk::VirtualDisk;
use self::web::{DELAY_MS, Flight, VirtualWeb};

/// Kills in `make test`, and the first seed.
const KILLS: u64 = 10_000;
const SEED: u64 = 1;
/// Kills of one crawl at most.
const KILLS_PER_CRAWL: u64 = 12;
/// A crawl that takes more steps than this does not end.
const STEPS_MAX: u64 = 20_000;
/// Pages of one pattern that are asked for on trust.
const TRUST: u32 = 20;
/// Of so many crawls one is opened beside itself after every step; all are at every kill.
const COMPARED: u64 = 8;
/// The wall clock at tick 0.
const BIRTH_MS: u64 = 1_900_000_000_000;

fn from_environment(name: &str, default: u64) -> u64 {
    std::env::var(name)
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(default)
}

#[test]
fn a_crawl_survives_anything() {
    let seed = from_environment("SEED", SEED);
    let kills_wanted = from_environment("KILLS", KILLS);
    let runs = from_environment("RUNS", u64::MAX);
    let (mut kills, mut run) = (0, 0);
    while run < runs && (kills < kills_wanted || runs != u64::MAX) {
        let seed = seed + run;
        let crawl = catch_unwind(AssertUnwindSafe(|| World::new(seed).live()));
        match crawl {
            Ok(more) => kills += more,
            Err(cause) => {
                eprintln!("repeat with: make sim RUNS=1 SEED={seed}");
                std::panic::resume_unwind(cause);
            }
        }
        run += 1;
    }
    println!("{run} crawls, {kills} kills");
}

/// Everything but the process.
struct World {
    seed: u64,
    dice: Dice,
    web: VirtualWeb,
    disk: Arc<VirtualDisk>,
    folder: tempfile::TempDir,
    now: Tick,
    /// Which start of the machine this is.
    boot: u64,
    kills: u64,
    wish: Wish,
    steps: u64,
    /// So much of the journal must be there, whatever happened.
    sure: u64,
    /// Requests sent since the journal was last made durable, and those that a power loss made it
    /// forget: no budget can count them.
    unsynced: u64,
    forgotten: u64,
}

/// What a process was when it was killed.
struct Was {
    wish: Wish,
    at: Tick,
    print: Vec<u8>,
}

/// What is asked of the crawl now.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Wish {
    exclude: Vec<String>,
    everywhere: bool,
    first: bool,
    requests: Option<u64>,
}

impl Wish {
    fn scope(&self, web: &VirtualWeb) -> Scope {
        let hosts = (0..web.hosts).map(|host| format!("h{host}.example"));
        Scope::new(ScopeRules {
            hosts: if self.everywhere {
                Vec::new()
            } else {
                hosts.collect()
            },
            exclude: self.exclude.clone(),
            ..ScopeRules::default()
        })
        .unwrap()
    }

    fn plan(&self, web: &VirtualWeb) -> Plan {
        let mut plan = Plan::new(self.scope(web));
        plan.politeness = Politeness {
            delay_ms: DELAY_MS,
            open_max: 1,
        };
        plan.connections = 4;
        plan.pattern_trust = Some(TRUST);
        plan.until.requests = self.requests;
        plan
    }
}

/// A process.
struct Process {
    asker: Asker<RankMass>,
    flights: BTreeMap<(Tick, u64), Flight>,
    number: u64,
}

/// How a process ended.
enum Ended {
    Killed,
    Done(Stop),
}

fn policy(store: &Store, first: bool) -> RankMass {
    let view = View::inside(store);
    let seeds = store.index().seeds().iter();
    let seeds: Vec<PageId> = seeds.filter_map(|seed| view.inner(*seed)).collect();
    let goal = Goal {
        epsilon: Fraction::new(1e-6).unwrap(),
        ..Goal::default()
    };
    let push = if first {
        Push::FetchedFirst { share: Push::SHARE }
    } else {
        Push::Exact
    };
    RankMass::new(Trust::alike(seeds).unwrap(), goal, push, Dangling::Jump)
}

impl World {
    fn new(seed: u64) -> Self {
        let mut dice = Dice(seed.wrapping_mul(0x9E37_79B9));
        let shared = Path::new("/dev/shm");
        let folder = if shared.is_dir() {
            tempfile::tempdir_in(shared)
        } else {
            tempfile::tempdir()
        };
        let folder = folder.unwrap();
        std::fs::create_dir(folder.path().join("store")).unwrap();
        let requests = dice.once_in(4).then(|| 10 + dice.below(60));
        Self {
            seed,
            web: VirtualWeb::new(seed),
            disk: Arc::new(VirtualDisk::default()),
            folder,
            now: Tick(0),
            boot: 0,
            kills: 0,
            wish: Wish {
                exclude: Vec::new(),
                everywhere: false,
                first: dice.once_in(2),
                requests,
            },
            steps: 0,
            sure: 0,
            unsynced: 0,
            forgotten: 0,
            dice,
        }
    }

    /// Crawls to the end, however often it is killed; returns how often that was.
    fn live(mut self) -> u64 {
        let path = Path::new("journal");
        Journal::begin(self.disk.clone(), path, [7; 16]).unwrap();
        let kills_max = 1 + self.dice.below(KILLS_PER_CRAWL);
        let mut before: Option<Was> = None;
        let mut patience = 4;
        loop {
            let mortal = self.kills < kills_max;
            let Some(mut process) = self.open(&mut before, mortal) else {
                continue;
            };
            match self.run(&mut process, mortal) {
                Ended::Done(Stop::Unreachable) if patience > 0 => {
                    // Whoever waits for hosts that failed a few times runs the crawl again.
                    patience -= 1;
                    self.disk.fill(0);
                    self.now = self.now.plus(60_000);
                }
                Ended::Done(stop) => {
                    self.judge(&process, stop);
                    return self.kills;
                }
                Ended::Killed => before = self.kill(process),
            }
        }
    }

    /// Ends a process without a word. Returns what the next one must be like.
    fn kill(&mut self, mut process: Process) -> Option<Was> {
        self.kills += 1;
        self.web.hang_up();
        let ledger = process.asker.ledger_mut();
        let whole = ledger.store().waiting_bytes() == 0;
        let mut was = whole.then(|| Was {
            wish: self.wish.clone(),
            at: self.now,
            print: ledger.fingerprint(self.now),
        });
        drop(process);
        if self.dice.once_in(4) {
            self.sure = self.disk.lose_power(&mut self.dice);
            self.boot += 1;
            self.forgotten += std::mem::take(&mut self.unsynced);
            // A machine may be back sooner than its hosts have rested.
            self.now = self.now.plus(1 + self.dice.below(3 * DELAY_MS));
            was = None;
        } else {
            self.sure = self.disk.durable_length();
        }
        self.disk.fill(0);
        self.now = self.now.plus(self.dice.below(3000));
        was
    }

    /// Takes the crawl over; nothing if it is killed meanwhile.
    fn open(&mut self, before: &mut Option<Was>, mortal: bool) -> Option<Process> {
        if self.kills > 0 && self.dice.once_in(4) {
            self.change_plan();
        }
        self.disk.revive();
        if mortal && self.dice.once_in(6) {
            let changes = self.dice.below(4) as u32;
            self.disk.die_after(changes);
        }
        let Ok(journal) = Journal::on(self.disk.clone(), Path::new("journal")) else {
            return self.died(before);
        };
        let Ok(mut store) = Store::own(self.folder.path(), journal, "a simulation") else {
            return self.died(before);
        };
        assert!(store.end().0 >= self.sure, "what was durable is lost");
        let seeds = [self.web.url(0, 0)];
        sow(&mut store, &seeds, &KeyOptions::default(), self.now);
        if store.write().is_err() {
            return self.died(before);
        }
        let first = self.wish.first;
        let plan = self.wish.plan(&self.web);
        let scope = plan.scope.clone();
        let terms = plan.terms("crawl", format!("rankmass {first}"), Past::All);
        let opened = Ledger::open(
            store,
            terms,
            false,
            self.now,
            |store| flips(store, &scope),
            |store| policy(store, first),
        );
        let (mut ledger, opened) = match opened {
            Ok(opened) => opened,
            Err(_) if self.disk.is_dead() => return self.died(before),
            Err(error) => panic!("{error}"),
        };
        assert!(opened.exact, "every hand-out is decided again");
        if let Some(was) = before.take()
            && was.wish == self.wish
        {
            assert!(!opened.replanned, "the plan is the same");
            let same = ledger.fingerprint(was.at) == was.print;
            assert!(same, "the crawl that was opened is not the one that was");
        }
        let boot = self.boot.to_string();
        let last = ledger.index().sessions().last();
        let session = Session {
            rebooted: last.is_some_and(|last| last.boot != boot),
            boot,
            boot_ms: self.now.0,
        };
        let parts = AskerParts {
            plan,
            epoch: Epoch(BIRTH_MS),
            limits: Limits::default(),
            ledger,
        };
        let mut asker = Asker::begin(parts, &session, self.moment()).unwrap();
        if mortal && self.dice.once_in(12) {
            // Killed while it takes over, before or after that is written.
            if self.dice.once_in(2) {
                let _ = asker.ledger_mut().store_mut().write();
            }
            self.kills += 1;
            return None;
        }
        // As the live loop does: that it began is durable before it asks for anything.
        let store = asker.ledger_mut().store_mut();
        if store.write().is_err() || store.syncer().sync().is_err() {
            return self.died(before);
        }
        self.unsynced = 0;
        self.disk.revive();
        Some(Process {
            asker,
            flights: BTreeMap::new(),
            number: 0,
        })
    }

    /// The process ended in the middle of writing, while it took the crawl over.
    fn died(&mut self, before: &mut Option<Was>) -> Option<Process> {
        assert!(
            self.disk.is_dead(),
            "nothing else keeps a crawl from being opened"
        );
        self.kills += 1;
        *before = None;
        None
    }

    /// Whoever opened the crawl now would have the one that runs, bit for bit.
    fn compare(&self, process: &mut Process) {
        let journal = Journal::on(self.disk.clone(), Path::new("journal")).unwrap();
        let store = Store::on(self.folder.path(), journal).unwrap();
        let (first, plan) = (self.wish.first, self.wish.plan(&self.web));
        let opened = Ledger::open(
            store,
            plan.terms("crawl", format!("rankmass {first}"), Past::All),
            false,
            self.now,
            |store| flips(store, &plan.scope),
            |store| policy(store, first),
        );
        let (mut ledger, opened) = opened.unwrap();
        assert!(opened.exact && !opened.replanned, "{opened:?}");
        let live = process.asker.ledger_mut().fingerprint(self.now);
        let same = ledger.fingerprint(self.now) == live;
        assert!(
            same,
            "the crawl that would be opened is not the one that runs"
        );
    }

    fn change_plan(&mut self) {
        match self.dice.below(3) {
            0 => {
                self.wish.exclude = match self.wish.exclude.is_empty() {
                    true => vec!["/x/".into()],
                    false => Vec::new(),
                }
            }
            1 => self.wish.everywhere = !self.wish.everywhere,
            _ => self.wish.first = !self.wish.first,
        }
    }

    fn moment(&self) -> Moment {
        Moment {
            tick: self.now,
            wall_ms: BIRTH_MS + self.now.0,
        }
    }

    fn run(&mut self, process: &mut Process, mortal: bool) -> Ended {
        let doom = mortal.then(|| self.dice.below(60));
        let mut step = 0;
        loop {
            self.steps += 1;
            assert!(
                self.steps < STEPS_MAX,
                "the crawl does not end: {:?} {:?}",
                process.asker.progress(),
                self.wish
            );
            process.asker.pass(self.moment());
            while let Some(flight) = process.due(self.now) {
                let report = self.web.deliver(flight);
                process.asker.receive(report).unwrap();
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
                self.now = self.now.plus(200);
                continue;
            }
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
            let due = process.flights.keys().next().map(|(tick, _)| *tick);
            let next = [due, turned.wake].into_iter().flatten().min();
            self.now = self.now.plus(1).max(next.unwrap_or(Tick(0)));
            step += 1;
        }
    }

    fn send(&mut self, process: &mut Process) {
        let keyer = process.asker.ledger().store().keyer();
        let before = self.web.requests;
        let scope = self.wish.scope(&self.web);
        for job in process.asker.take_jobs() {
            if let Job::Page(job) = &job {
                assert!(
                    scope.check(&job.url, 0).is_ok(),
                    "{} is out of scope",
                    job.url
                );
            }
            let (after, flight) = self.web.take(job, self.now, &keyer);
            process.number += 1;
            let at = (self.now.plus(after), process.number);
            process.flights.insert(at, flight);
        }
        self.unsynced += self.web.requests - before;
    }

    /// Now and then what was written is made durable, and a checkpoint is taken.
    fn keep(&mut self, process: &mut Process) {
        let ledger = process.asker.ledger_mut();
        if self.dice.once_in(5) {
            let until = ledger.store().end();
            ledger.store().syncer().sync().unwrap();
            ledger.store_mut().durable(until);
            self.unsynced = 0;
        }
        if self.dice.once_in(25) && ledger.checkpoint().is_ok() {
            self.unsynced = 0;
        }
    }

    fn check(&self, process: &Process) {
        let ledger = process.asker.ledger();
        let scheduler = ledger.scheduler();
        scheduler.policy().audit(scheduler.ranking());
        if let Some(max) = self.wish.requests {
            // What is told may be more: a request that may have been sent counts.
            assert!(
                self.web.requests <= max + self.forgotten,
                "{} requests of {max} were sent",
                self.web.requests
            );
        }
    }

    /// What can be had is stored, and nothing else was asked for.
    fn judge(&self, process: &Process, stop: Stop) {
        // What is under way when a budget is reached, and what each kill forgot, may come beside.
        let most = u64::from(TRUST) + 4 + self.kills;
        for (host, days) in self.web.days() {
            assert!(
                days <= most,
                "{days} days of the calendar of {host} were asked for"
            );
        }
        if stop == Stop::Requests {
            return;
        }
        let store = process.asker.ledger().store();
        let scope = self.wish.scope(&self.web);
        let in_scope = |url: &turnstone_fetch::Url| scope.check(url, 0).is_ok();
        let expected = self.web.reachable(in_scope);
        let index = store.index();
        let pages = (0..index.page_count()).map(PageId::from_index);
        let stored: BTreeSet<String> = pages
            .filter(|page| index.state(*page) == PageState::Fetched && !index.is_outside(*page))
            .map(|page| store.url(page).unwrap())
            .filter(|url| url.ends_with(".html"))
            .collect();
        let missed: Vec<&String> = expected.difference(&stored).collect();
        for url in &missed {
            let page = index.find(store.keyer().key(url));
            let outcome = page.and_then(|page| store.outcome(page).unwrap());
            let state = page.map(|page| index.state(page));
            eprintln!("{url}: {state:?} {:?}", outcome.map(|it| it.facts));
        }
        assert!(
            missed.is_empty(),
            "{stop:?} after {:?}: {missed:?} were never stored, seed {}",
            process.asker.waited(),
            self.seed
        );
    }
}

impl Process {
    fn due(&mut self, now: Tick) -> Option<Flight> {
        let (&at, _) = self
            .flights
            .iter()
            .next()
            .filter(|((tick, _), _)| *tick <= now)?;
        self.flights.remove(&at)
    }
}
