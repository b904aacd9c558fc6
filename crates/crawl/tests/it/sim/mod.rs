//! The real ledger and asker in virtual time: a web that misbehaves, a disk that fails, clocks that
//! jump, and kills at any event, also while a crawl is taken over, with other plans between processes and
//! while one runs.
//!
//! A world lives for one crawl and then for rounds of other questions: surveys, refresh and discovery
//! rounds, keeping. After every step: no host is asked early (the hosts themselves say so), mass is
//! conserved, budgets hold. After every kill, and in a share of the worlds after every step: the
//! crawl that is opened is the one that was, bit for bit, and nothing that was durable is lost. At
//! the end of a question: what it asks for was done. A process may also die between two bytes of what
//! it writes while it takes a crawl over, and a machine may be back before its hosts have rested.
//!
//! A failure names its seed and the command that repeats it. `make sim RUNS=… SEED=…` runs more.
//!
//! | module | what it pretends to be |
//! |---|---|
//! | `web`, `serve` | the pages there are; the hosts that serve them |
//! | `disk` | the disk under the journal |
//! | `machine` | the clocks |
//! | `wish` | whoever runs commands |
//! | `process` | the live loop |
//! | `judge` | what must hold |

mod dice;
mod disk;
mod judge;
mod machine;
mod process;
mod serve;
mod web;
mod wish;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use turnstone_crawl::{Asker, AskerParts, Ticks};
use turnstone_fetch::Limits;
use turnstone_fetch::urls::KeyOptions;
use turnstone_frontier::{Policy, Tick};
use turnstone_ledger::{Ledger, Stop, Terms, flips, sow};
use turnstone_pagestore::{Position, Store, journal::Journal};
use turnstone_policy::Question;
use turnstone_questions::end_survey;

use self::dice::Dice;
use self::disk::VirtualDisk;
use self::judge::Seen;
use self::machine::Machine;
use self::process::{Ended, Process};
use self::serve::{DELAY_MS, Heard, Hosts};
use self::web::VirtualWeb;
use self::wish::Wish;

/// Kills in `make test`, and the first seed.
const KILLS: u64 = 10_000;
const SEED: u64 = 1;
/// Kills of one world at most.
const KILLS_PER_WORLD: u64 = 12;
/// Questions after the first, at most.
const QUESTIONS: u64 = 3;
/// A world that takes more steps than this does not end.
const STEPS_MAX: u64 = 40_000;
/// In so many steps one order for another plan comes.
const ORDERS: u64 = 120;
/// Of so many worlds one is opened beside itself after every step; all are at every kill.
const COMPARED: u64 = 8;

fn from_environment(name: &str, default: u64) -> u64 {
    std::env::var(name)
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(default)
}

#[test]
fn a_crawl_survives_anything() {
    let first = from_environment("SEED", SEED);
    let kills_wanted = from_environment("KILLS", KILLS);
    let runs = from_environment("RUNS", u64::MAX);
    let (next, kills, replans) = (AtomicU64::new(0), AtomicU64::new(0), AtomicU64::new(0));
    let failed = AtomicBool::new(false);
    let work = || {
        while !failed.load(Ordering::Relaxed) {
            if runs == u64::MAX && kills.load(Ordering::Relaxed) >= kills_wanted {
                return;
            }
            let run = next.fetch_add(1, Ordering::Relaxed);
            if run >= runs {
                return;
            }
            let seed = first + run;
            match catch_unwind(AssertUnwindSafe(|| World::new(seed).live())) {
                Ok(world) => {
                    kills.fetch_add(world.kills, Ordering::Relaxed);
                    replans.fetch_add(world.replans, Ordering::Relaxed);
                }
                Err(_) => {
                    failed.store(true, Ordering::Relaxed);
                    eprintln!("repeat with: make sim RUNS=1 SEED={seed}");
                }
            }
        }
    };
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|threads| {
        for _ in 0..cores.min(runs.try_into().unwrap_or(usize::MAX)) {
            threads.spawn(work);
        }
    });
    assert!(!failed.into_inner(), "a world failed; its seed is above");
    let (run, kills) = (next.into_inner(), kills.into_inner());
    let replans = replans.into_inner();
    println!(
        "{} worlds, {kills} kills, {replans} changes of plan while a process ran",
        run.min(runs)
    );
}

/// Everything but the process.
struct World {
    seed: u64,
    dice: Dice,
    hosts: Hosts,
    machine: Machine,
    disk: Arc<VirtualDisk>,
    folder: tempfile::TempDir,
    kills: u64,
    questions: u64,
    /// How often the plan changed while a process ran.
    replans: u64,
    wish: Wish,
    steps: u64,
    /// Where the journal ended when the web grew older.
    aged_at: Position,
    /// So much of the journal must be there, whatever happened.
    sure: u64,
    /// Requests sent since the journal was last made durable, and those that a power loss made it
    /// forget: no budget can count them.
    unsynced: u64,
    forgotten: u64,
    seen: Seen,
    /// Whether to tell of every request: with `TRACE=1`.
    traces: bool,
}

/// What a process was when it was killed.
struct Was {
    wish: Wish,
    terms: Terms,
    at: Tick,
    print: Vec<u8>,
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
        Self {
            seed,
            hosts: Hosts::new(VirtualWeb::new(seed)),
            machine: Machine::default(),
            disk: Arc::new(VirtualDisk::default()),
            folder,
            kills: 0,
            replans: 0,
            questions: dice.below(QUESTIONS + 1),
            wish: Wish::first(&mut dice),
            steps: 0,
            aged_at: Position::FIRST,
            sure: 0,
            unsynced: 0,
            forgotten: 0,
            seen: Seen::default(),
            traces: from_environment("TRACE", 0) > 0,
            dice,
        }
    }

    /// Asks to the end, however often it is killed; returns what is left of the world.
    fn live(mut self) -> Self {
        let path = Path::new("journal");
        Journal::begin(self.disk.clone(), path, [7; 16]).unwrap();
        let kills_max = 1 + self.dice.below(KILLS_PER_WORLD);
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
                    self.machine.pass(60_000);
                }
                Ended::Done(stop) => {
                    self.judge(&process, stop);
                    if self.questions == 0 {
                        return self;
                    }
                    self.ask_another(process, stop);
                    patience = 4;
                }
                Ended::Killed => before = self.kill(process),
            }
        }
    }

    /// The last question is answered: another one is asked, of a web that may be older.
    fn ask_another(&mut self, mut process: Process, stop: Stop) {
        self.disk.fill(0);
        self.questions -= 1;
        let store = process.asker.ledger_mut().store_mut();
        if self.wish.question() == Question::Liveness && stop == Stop::Exhausted {
            end_survey(store);
        }
        store.write().unwrap();
        store.syncer().sync().unwrap();
        let spent = store.index().tally().requests;
        self.aged_at = store.end();
        self.hosts.heard(Heard::Durable);
        self.hosts.hang_up(Heard::Durable);
        self.unsynced = 0;
        drop(process);
        self.hosts.web.age += u64::from(!self.dice.once_in(3));
        self.machine.pass(self.dice.below(3_600_000));
        self.wish.ask(&mut self.dice);
        self.wish.requests = self.dice.once_in(4).then(|| spent + self.dice.below(30));
    }

    /// Ends a process without a word. Returns what the next one must be like.
    fn kill(&mut self, mut process: Process) -> Option<Was> {
        self.kills += 1;
        let at = process.ticks.at(self.machine.reading());
        let ledger = process.asker.ledger_mut();
        let whole = ledger.store().waiting_bytes() == 0;
        let mut was = whole.then(|| Was {
            wish: self.wish.clone(),
            terms: ledger.terms().clone(),
            at,
            print: ledger.fingerprint(at),
        });
        drop(process);
        let restarted = self.dice.once_in(4);
        if restarted {
            self.sure = self.disk.lose_power(&mut self.dice);
            self.forgotten += std::mem::take(&mut self.unsynced);
            // A machine may be back sooner than its hosts have rested.
            self.machine.start(1 + self.dice.below(3 * DELAY_MS));
            self.hosts.hang_up(Heard::Durable);
            if self.machine.was_set_forward {
                self.hosts.forgive();
            }
            was = None;
        } else {
            self.sure = self.disk.durable_length();
            self.hosts.hang_up(Heard::Written);
        }
        self.disk.fill(0);
        self.machine.pass(self.dice.below(3000));
        if self.dice.once_in(6) {
            self.machine.sleep(&mut self.dice);
        }
        if self.dice.once_in(6) {
            self.machine.set_wall(&mut self.dice);
            // Before anybody noted the clock since the start: only the wall clock is left to go by.
            if restarted && self.machine.was_set_forward {
                self.hosts.forgive();
            }
        }
        was
    }

    /// Takes the crawl over; nothing if it is killed meanwhile.
    fn open(&mut self, before: &mut Option<Was>, mortal: bool) -> Option<Process> {
        if self.kills > 0 && self.dice.once_in(4) {
            self.change_plan();
        }
        self.disk.revive();
        if let Some(was) = &*before
            && (self.wish.is_round() || was.wish != self.wish)
        {
            self.is_as_it_was(was);
            *before = None;
        }
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
        let (boot, began) = (self.machine.boot(), self.machine.reading());
        let index = store.index();
        let ticks = Ticks::resume(&boot, began, index.sessions(), index.latest(), 1);
        let tick = ticks.at(began);
        if !self.wish.is_crawl() && store.index().copied_count() == 0 {
            // Nothing is stored, so there is nothing to ask of it.
            self.wish.crawl(&mut self.dice);
            *before = None;
        }
        if self.wish.is_crawl() {
            let seeds = [self.hosts.web.url(0, 0)];
            sow(&mut store, &seeds, &KeyOptions::default(), tick);
        }
        let past = self.wish.past(&mut store, tick);
        if store.write().is_err() {
            return self.died(before);
        }
        let plan = self.wish.plan(&self.hosts.web);
        let (wish, scope) = (self.wish.clone(), plan.scope.clone());
        let opened = Ledger::open(
            store,
            wish.terms(&plan, past),
            wish.is_round(),
            tick,
            |store| flips(store, &scope),
            |store| wish.policy(store),
        );
        let (mut ledger, opened) = match opened {
            Ok(opened) => opened,
            Err(_) if self.disk.is_dead() => return self.died(before),
            Err(error) => panic!("{error}"),
        };
        assert!(opened.exact, "every hand-out is decided again");
        if let Some(was) = before.take() {
            assert!(!opened.replanned, "the plan is the same");
            let same = ledger.fingerprint(was.at) == was.print;
            assert!(same, "the crawl that was opened is not the one that was");
        }
        let (reading, epoch) = (self.machine.reading(), ticks.epoch());
        let parts = AskerParts {
            plan,
            epoch,
            limits: Limits::default(),
            ledger,
        };
        let (session, moment) = (ticks.session(reading), ticks.moment(reading));
        let mut asker = Asker::begin(parts, &session, moment).unwrap();
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
        self.machine.was_set_forward = false;
        self.disk.revive();
        self.seen.begins();
        if self.traces {
            eprintln!("{} ms, a process: {:?}", self.machine.real_ms, self.wish);
        }
        Some(Process::new(asker, ticks))
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

    /// Whoever opened the crawl as it was asked for would have the one that was killed.
    fn is_as_it_was(&self, was: &Was) {
        let mut ledger = self.look(&was.wish, &was.terms);
        let same = ledger.fingerprint(was.at) == was.print;
        assert!(
            same,
            "the crawl that would be opened is not the one that was: {:?}",
            was.wish
        );
    }

    /// Whoever opened the crawl now would have the one that runs, bit for bit.
    fn compare(&self, process: &mut Process) {
        let at = process.ticks.at(self.machine.reading());
        let mut ledger = self.look(&self.wish, process.asker.ledger().terms());
        let live = process.asker.ledger_mut().fingerprint(at);
        assert!(
            ledger.fingerprint(at) == live,
            "the crawl that would be opened is not the one that runs: {:?}",
            self.wish
        );
    }

    /// The crawl as its journal has it.
    fn look(&self, wish: &Wish, terms: &Terms) -> Ledger<Box<dyn Policy>> {
        let journal = Journal::on(self.disk.clone(), Path::new("journal")).unwrap();
        let store = Store::on(self.folder.path(), journal).unwrap();
        let scope = wish.scope(&self.hosts.web);
        let (ledger, opened) = Ledger::open(
            store,
            terms.clone(),
            false,
            Tick(0),
            |store| flips(store, &scope),
            |store| wish.policy(store),
        )
        .unwrap();
        assert!(opened.exact && !opened.replanned, "{opened:?} {wish:?}");
        ledger
    }

    fn change_plan(&mut self) {
        match self.dice.below(4) {
            0 | 1 => self.wish.rescope(&mut self.dice),
            2 => self.wish.crawl(&mut self.dice),
            _ => self.wish.ask(&mut self.dice),
        }
    }
}
