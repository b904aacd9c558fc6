//! The loop of a node: the pure machine, a bus, and the loops of its shards.
//!
//! One task owns the machine. It wakes for answers of the bus, for words of the shards' loops, and every
//! [`TICK`] for time; a loop of a shard is a task of its own, opened on a thread where it may take as long
//! as it takes. A shard that is lost to another node has its loop taken down at once: nothing it would write
//! counts, and nothing it would send may be sent.

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use tokio::sync::{mpsc, watch};
use tokio::task::{AbortHandle, Id, JoinError, JoinSet};
use turnstone_cluster::audit::{Statement, Work};
use turnstone_cluster::node::{Cutting, Event};
use turnstone_cluster::stage::Gone;
use turnstone_cluster::token::Came;
use turnstone_cluster::{Node, Shard, Stage};
use turnstone_crawl::{Crawl, Figures, Household, Parts, Progress, StopLevel, Summary, Tie, Word};
use turnstone_fetch::Permit;
use turnstone_frontier::{Coverage, Policy};
use turnstone_ledger::{Standing, Stop};
use turnstone_pagestore::RawJournal;

use crate::clock::LeaseClock;
use crate::desk::{FileDesk, Terms, Working, masses};
use crate::parts::{Line, NodeError, NodeParts, Outcome, Seen};

/// How often time is looked at.
const TICK: Duration = Duration::from_millis(20);
/// How often what is seen is told.
const SHOW_EVERY: Duration = Duration::from_millis(200);
/// How long a node that has given all back waits to hear what the others stated last.
const LAST_WORDS: Duration = Duration::from_secs(3);

/// The number of a reason in what the lead tells.
fn code(stop: Stop) -> u64 {
    let at = Stop::ALL.iter().position(|it| *it == stop);
    1 + at.map_or(0, |at| at as u64)
}

/// The reason of a number that the lead told.
pub fn stop_of(code: u64) -> Option<Stop> {
    let at = usize::try_from(code.checked_sub(1)?).ok()?;
    Some(Stop::ALL.get(at).copied().unwrap_or(Stop::Told))
}

/// A loop of a shard.
struct Worker {
    stop: watch::Sender<StopLevel>,
    task: AbortHandle,
    /// Its journal is still being read: that cannot be broken off.
    opening: bool,
    seen: Option<watch::Receiver<Progress>>,
}

/// What a task of a shard came to.
enum Ended<P> {
    Opened(Box<Parts<P>>),
    Finished(Box<Summary>),
}

/// What a task brings: its shard, and what came of it.
type Brought<P> = (Shard, Result<Ended<P>, NodeError>);

struct Running<P: Policy> {
    parts: NodeParts<P>,
    clock: LeaseClock,
    node: Node<FileDesk>,
    terms: Terms,
    household: Household,
    workers: BTreeMap<Shard, Worker>,
    tasks: JoinSet<Brought<P>>,
    words: mpsc::UnboundedReceiver<(usize, Word)>,
    tell: mpsc::UnboundedSender<(usize, Word)>,
    /// Loops that were taken down and may still hold their files.
    dying: HashMap<Id, Shard>,
    started: Instant,
    ended: Option<Stop>,
    said: Vec<String>,
    refused: BTreeMap<Shard, Gone>,
    summaries: Vec<Summary>,
    shown: watch::Sender<Seen>,
    shown_at: Option<Instant>,
}

/// Has shards of a crawl until all is done, or until it is told to leave.
pub async fn run<P, B>(
    parts: NodeParts<P>,
    mut bus: B,
    mut stop: watch::Receiver<StopLevel>,
    shown: watch::Sender<Seen>,
) -> Result<Outcome, NodeError>
where
    P: Policy + 'static,
    B: Line,
{
    let mut running = Running::new(parts, shown);
    let mut empty_since = None;
    loop {
        let level = *stop.borrow_and_update();
        if level != StopLevel::Run {
            running.node.leave();
            if level == StopLevel::AtOnce {
                break;
            }
        }
        running.turn(&mut bus)?;
        if running.is_over() {
            let since = *empty_since.get_or_insert_with(Instant::now);
            if running.has_heard_all() || since.elapsed() > LAST_WORDS {
                break;
            }
        }
        tokio::select! {
            (ticket, answer) = bus.answered() => {
                let now = running.clock.now();
                running.node.answered(ticket, answer, now);
                while let Some((ticket, answer)) = bus.answer() {
                    running.node.answered(ticket, answer, now);
                }
            }
            Some(word) = running.words.recv() => running.hear(word),
            Some(task) = running.tasks.join_next_with_id(), if !running.tasks.is_empty() => {
                running.task_ended(task)?;
            }
            changed = stop.changed() => {
                if changed.is_err() {
                    tokio::time::sleep(TICK).await;
                }
            }
            () = tokio::time::sleep(TICK) => {}
        }
    }
    running.show(true);
    let seen = running.shown.borrow().clone();
    running.tasks.shutdown().await;
    Ok(Outcome {
        stop: running.ended,
        seen,
        summaries: running.summaries,
        running: running.started.elapsed(),
    })
}

impl<P: Policy + 'static> Running<P> {
    fn new(parts: NodeParts<P>, shown: watch::Sender<Seen>) -> Self {
        let (tell, words) = mpsc::unbounded_channel();
        let (shards, lanes) = parts.cut;
        let household = Household::new(
            shards as usize,
            parts.connections,
            parts.per_address,
            (parts.scales.0, parts.delay_ms),
        );
        let until = &parts.until;
        let bounded = [until.requests, until.bytes, until.pages];
        let budget = bounded.map(|limit| limit.unwrap_or(u64::MAX));
        let bounded = bounded.map(|limit| limit.is_some());
        let cutting = Cutting {
            shards,
            lanes,
            budget: bounded.contains(&true).then_some(budget),
        };
        let terms = Terms {
            secret: parts.secret,
            cut: parts.cut,
            household: household.clone(),
            bounded,
            body_bytes_max: parts.body_bytes_max,
        };
        Self {
            clock: LeaseClock::new(parts.scales.1),
            node: Node::new(parts.id, &parts.name, cutting),
            parts,
            terms,
            household,
            workers: BTreeMap::new(),
            tasks: JoinSet::new(),
            words,
            tell,
            dying: HashMap::new(),
            started: Instant::now(),
            ended: None,
            said: Vec::new(),
            refused: BTreeMap::new(),
            summaries: Vec::new(),
            shown,
            shown_at: None,
        }
    }

    fn folder(&self, shard: Shard) -> PathBuf {
        self.parts
            .directory
            .join("shards")
            .join(shard.0.to_string())
    }

    fn is_over(&self) -> bool {
        let ends = self.ended.is_some() || self.node.is_leaving();
        ends && self.node.seats().is_empty() && self.workers.is_empty()
    }

    /// Whether every shard has stated that it is given back.
    fn has_heard_all(&self) -> bool {
        self.ended.is_none() || self.node.all_given_back()
    }

    fn turn(&mut self, bus: &mut impl Line) -> Result<(), NodeError> {
        while let Ok(word) = self.words.try_recv() {
            self.hear(word);
        }
        self.share();
        self.lead();
        let now = self.clock.now();
        let wall_ms = wall_ms();
        let (directory, terms) = (self.parts.directory.join("shards"), &self.terms);
        let dying: Vec<Shard> = self.dying.values().copied().collect();
        let statements = self.node.statements().clone();
        let mut failed = None;
        let asks = self.node.tick(
            now,
            wall_ms,
            |shard| RawJournal::length(&directory.join(shard.0.to_string())),
            |shard| {
                if dying.contains(&shard) {
                    return None;
                }
                let folder = directory.join(shard.0.to_string());
                let before = statements.get(&shard).cloned();
                match FileDesk::open(&folder, shard, terms.clone(), before) {
                    Ok(desk) => Some(desk),
                    Err(error) => {
                        failed = Some(error);
                        None
                    }
                }
            },
            |statements| {
                let figures = |it: &Statement| Figures::of_numbers(&it.figures);
                let silent = statements.values().any(|it| figures(it).unreachable > 0);
                code(if silent {
                    Stop::Unreachable
                } else {
                    Stop::Exhausted
                })
            },
        );
        if let Some(error) = failed {
            return Err(error.into());
        }
        for (ticket, request) in asks {
            bus.ask(ticket, request);
        }
        self.publish()?;
        for event in self.node.events() {
            self.happened(event)?;
        }
        self.give_tokens(now);
        self.show(false);
        Ok(())
    }

    /// Tells the shards here what those of others stated.
    fn share(&self) {
        let here = self.node.seats();
        for (shard, statement) in self.node.statements() {
            if here.contains_key(shard) && self.workers.contains_key(shard) {
                continue;
            }
            let idle = statement.work == Work::Idle;
            let standing = Standing {
                spent: Figures::of_numbers(&statement.figures).spent(),
                masses: masses(&statement.account),
                done: idle,
                idle,
                ..Standing::default()
            };
            self.household.heard(shard.0 as usize, standing);
        }
    }

    /// What whoever has shard 0 decides for all.
    fn lead(&mut self) {
        if self.node.leads(self.clock.now()).is_none() {
            return;
        }
        let until = &self.parts.until;
        if until
            .time
            .is_some_and(|time| self.started.elapsed() >= time)
        {
            self.node.end(code(Stop::Time));
        }
        let statements = self.node.statements();
        if statements.len() < self.parts.cut.0 as usize {
            return;
        }
        let mut spent = [0u64; 3];
        for statement in statements.values() {
            let figures = Figures::of_numbers(&statement.figures);
            spent[0] += figures.spent_pages;
            spent[1] += figures.requests;
            spent[2] += figures.bytes;
        }
        let all = statements.values().map(|it| masses(&it.account));
        let coverage = Coverage::of_shards(all, self.parts.goal);
        let limits = [
            (until.coverage && coverage.met(), Stop::Coverage),
            (until.pages.is_some_and(|max| spent[0] >= max), Stop::Pages),
            (
                until.requests.is_some_and(|max| spent[1] >= max),
                Stop::Requests,
            ),
            (until.bytes.is_some_and(|max| spent[2] >= max), Stop::Bytes),
        ];
        if let Some((_, why)) = limits.into_iter().find(|(is_so, _)| *is_so) {
            self.node.end(code(why));
        }
    }

    /// Tells every loop what is durable and how long it may send.
    fn publish(&mut self) -> Result<(), NodeError> {
        let alive = self.node.deadline();
        let held: Vec<(Shard, u64, u64)> = self
            .node
            .seats()
            .iter()
            .map(|(shard, held)| (*shard, held.seat.durable(), held.seat.deadline().min(alive)))
            .collect();
        for (shard, durable, deadline) in held {
            if let Some(desk) = self.node.desk(shard) {
                desk.tell(durable, deadline);
                if let Some(error) = desk.fault() {
                    return Err(error.into());
                }
            }
        }
        Ok(())
    }

    fn happened(&mut self, event: Event<FileDesk>) -> Result<(), NodeError> {
        match event {
            Event::Opened(shard, _) => self.open(shard),
            Event::Leave(shard) => {
                if self.ended.is_none()
                    && let Some(worker) = self.workers.get(&shard)
                {
                    worker.stop.send_replace(StopLevel::Finish);
                }
            }
            Event::Over(shard, why, desk) => {
                desk.deadline().store(0, Ordering::SeqCst);
                self.household.left(shard.0 as usize);
                if let Some(worker) = self.workers.remove(&shard) {
                    self.dying.insert(worker.task.id(), shard);
                    if !worker.opening {
                        worker.task.abort();
                    }
                }
                match why {
                    Gone::Released => {}
                    Gone::Deposed => self
                        .said
                        .push(format!("shard {}: another node has it now", shard.0)),
                    why => {
                        if self.refused.insert(shard, why) != Some(why) {
                            self.said
                                .push(format!("shard {} is not opened: {why}", shard.0));
                        }
                    }
                }
            }
            Event::End(why) => {
                let why = stop_of(why).unwrap_or(Stop::Told);
                self.ended.get_or_insert(why);
                self.household.end(why);
            }
            Event::Stop => self.node.end(code(Stop::Told)),
            Event::Token(address, Came::Ours { taken }) => {
                self.household.has_token(address, true, taken);
            }
            Event::Token(address, Came::Lost) => self.household.has_token(address, false, false),
        }
        Ok(())
    }

    /// Asks for tokens that are needed, and gives back those that others want.
    fn give_tokens(&mut self, now: u64) {
        for address in self.household.tokens_needed() {
            self.node.tokens().need(address);
        }
        let due: Vec<_> = self.node.tokens().to_give(now).collect();
        for address in due {
            if self.household.let_go(address) {
                self.node.tokens().give(&address);
            }
        }
    }

    /// Opens a shard on a thread of its own: its journal may be long.
    fn open(&mut self, shard: Shard) {
        let (open, folder) = (self.parts.open.clone(), self.folder(shard));
        if let Some(desk) = self.node.desk(shard) {
            desk.working = Working::On;
        }
        self.refused.remove(&shard);
        let task = self.tasks.spawn(async move {
            let opened = tokio::task::spawn_blocking(move || open(&folder, shard)).await;
            let opened = match opened {
                Ok(Ok(parts)) => Ok(Ended::Opened(Box::new(parts))),
                Ok(Err(error)) => Err(error.to_string()),
                Err(lost) => Err(lost.to_string()),
            };
            let failed = |what| NodeError::Open {
                shard: shard.0,
                what,
            };
            (shard, opened.map_err(failed))
        });
        let worker = Worker {
            stop: watch::Sender::new(StopLevel::Run),
            task,
            opening: true,
            seen: None,
        };
        self.workers.insert(shard, worker);
    }

    fn task_ended(&mut self, task: Result<(Id, Brought<P>), JoinError>) -> Result<(), NodeError> {
        let (id, (shard, ended)) = match task {
            Ok(ended) => ended,
            Err(lost) if lost.is_cancelled() => {
                self.dying.remove(&lost.id());
                return Ok(());
            }
            Err(lost) => std::panic::resume_unwind(lost.into_panic()),
        };
        if self.dying.remove(&id).is_some() {
            return Ok(());
        }
        match ended? {
            Ended::Opened(parts) => self.begin(shard, *parts),
            Ended::Finished(summary) => {
                self.summaries.push(*summary);
                self.workers.remove(&shard);
                self.household.left(shard.0 as usize);
                while let Ok(word) = self.words.try_recv() {
                    self.hear(word);
                }
                if let Some(desk) = self.node.desk(shard) {
                    desk.working = Working::Over;
                }
                Ok(())
            }
        }
    }

    fn begin(&mut self, shard: Shard, parts: Parts<P>) -> Result<(), NodeError> {
        let crawl_error = move |source| NodeError::Crawl {
            shard: shard.0,
            source,
        };
        let (Some(desk), Some(worker)) = (self.node.desk(shard), self.workers.get_mut(&shard))
        else {
            return Ok(());
        };
        let (mut crawl, progress) = Crawl::new(parts).map_err(crawl_error)?;
        let (deadline, clock) = (desk.deadline(), self.clock);
        let tie = Tie {
            shard: shard.0 as usize,
            heard: desk.listen(),
            tell: self.tell.clone(),
            permit: Permit::new(move || clock.now() < deadline.load(Ordering::SeqCst)),
        };
        let mailbox = crawl.tie(tie, &self.household);
        desk.moved_in(mailbox);
        let told = worker.stop.subscribe();
        worker.seen = Some(progress);
        worker.opening = false;
        worker.task = self.tasks.spawn(async move {
            let ended = crawl.run(told).await;
            let ended = ended.map(|summary| Ended::Finished(Box::new(summary)));
            (shard, ended.map_err(crawl_error))
        });
        Ok(())
    }

    fn hear(&mut self, (shard, word): (usize, Word)) {
        let shard = Shard(u32::try_from(shard).unwrap_or(u32::MAX));
        // What a loop said that was taken down since is about a file that is another's now.
        let Some(desk) = self
            .node
            .desk(shard)
            .filter(|desk| desk.working == Working::On)
        else {
            return;
        };
        match word {
            Word::Synced(until) => desk.synced(until),
            Word::Said(said) => desk.heard_said(*said),
        }
    }

    fn show(&mut self, now: bool) {
        if !now && self.shown_at.is_some_and(|at| at.elapsed() < SHOW_EVERY) {
            return;
        }
        self.shown_at = Some(Instant::now());
        let mut here = Vec::new();
        let mut on_the_way = Vec::new();
        for (shard, held) in self.node.seats() {
            match held.seat.stage() {
                Stage::Open if self.workers.contains_key(shard) => here.push(shard.0),
                stage => on_the_way.push((shard.0, stage_in_words(stage).to_owned())),
            }
        }
        for (shard, why) in &self.refused {
            on_the_way.push((shard.0, why.to_string()));
        }
        let all = self
            .workers
            .values()
            .filter_map(|worker| Some(worker.seen.as_ref()?.borrow().clone()));
        let statements = self.node.statements();
        let coverage = statements.values().map(|it| masses(&it.account));
        let seen = Seen {
            here,
            on_the_way,
            coverage: Some(Coverage::of_shards(coverage, self.parts.goal)),
            progress: Progress::of_shards(all),
            statements: statements
                .iter()
                .map(|(shard, statement)| (shard.0, statement.clone()))
                .collect(),
            said: self.said.clone(),
        };
        self.shown.send_replace(seen);
    }
}

/// How far a seat is, for people.
pub fn stage_in_words(stage: Stage) -> &'static str {
    match stage {
        Stage::Taking => "the lease is being taken",
        Stage::Reading => "the journal is being read from the servers",
        Stage::Checking => "it is compared with what others know",
        Stage::Sealing => "the journal is being sealed",
        Stage::Lanes => "the lanes are being sealed",
        Stage::Asking => "the other shards are asked what they received",
        Stage::Open => "it is being opened",
        Stage::Leaving => "it is being given back",
        Stage::Gone(_) => "it is gone",
    }
}

fn wall_ms() -> u64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.map_or(0, |since| {
        u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
    })
}
