//! A crawl directory, followed: a thread that reads what is written and keeps a [`Picture`] of it.
//!
//! The journal is read once, when the watch begins; from then on only what is new, whoever writes it. However
//! many people look, they are shown the same picture, so a look costs nothing but its own page. What only the
//! running process knows (its queue, what is possible) it says in a small file beside the journal.
//!
//! A journal that got shorter, was made anew or makes no sense is read again from the beginning, and what went
//! wrong is a warning in the picture: the watch never ends by itself.
//!
//! Cost: the index of the store, [`PAGE_BYTES`](turnstone_events::PAGE_BYTES) a page for events, and what
//! [`crate::hosts`] keeps.

use std::collections::{BTreeMap, VecDeque};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime};

use serde_json::Value;
use tokio::sync::watch;
use turnstone_events::{Kind, SiteEvent, Stream};
use turnstone_frontier::Tick;
use turnstone_ledger::{CoverageNote, STOP_NOTE, SliceNote, Terms};
use turnstone_pagestore::{
    Entry, Fold, Index, Lock, PageState, Position, Store, StoreError, Written,
};

use crate::answers::{Answers, Limits};
use crate::course::Course;
use crate::hosts::Hosts;
use crate::orders::ORDER_NOTE;
use crate::picture::{Cover, OrderRow, Picture, Rate, Spending, State, VERSION};
use crate::slice;
use crate::words::utc;

/// Where a running crawl says how it does, in its directory.
pub const STATUS_FILE: &str = "store/status.json";
/// How often the journal is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(500);
/// How long the thread sleeps before it looks whether it is to end.
const NAP: Duration = Duration::from_millis(25);
/// What a running crawl said of itself longer ago is not worth repeating.
const LIVE_FOR: Duration = Duration::from_secs(15);
/// How far back rates look.
const RATE_SPAN: Duration = Duration::from_secs(10);
/// The most events that are kept.
pub(crate) const EVENTS_MAX: usize = 500;
/// The most orders that are kept.
const ORDERS_MAX: usize = 20;
/// The most hosts that are told of.
pub(crate) const HOSTS_MAX: usize = 200;

/// A crawl to be watched.
#[derive(Clone, Debug)]
pub struct Watched {
    /// What it is called.
    pub name: String,
    /// Where it is.
    pub directory: PathBuf,
    /// Whether orders are taken here.
    pub takes_orders: bool,
}

/// A crawl that is watched.
#[derive(Debug)]
pub struct Watch {
    /// What it is called.
    pub name: String,
    /// Where it is.
    pub directory: PathBuf,
    seen: watch::Receiver<Arc<Picture>>,
    over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Watch {
    /// Reads the journal, and follows it from then on.
    pub fn start(watched: Watched, answers: Arc<dyn Answers>) -> Result<Self, StoreError> {
        let mut follower = Follower::open(watched.clone(), answers)?;
        let (shown, seen) = watch::channel(Arc::new(follower.picture()));
        let over = Arc::new(AtomicBool::new(false));
        let told = over.clone();
        let thread = std::thread::Builder::new()
            .name("watch".to_owned())
            .spawn(move || {
                while !told.load(Ordering::SeqCst) {
                    let began = Instant::now();
                    follower.look();
                    shown.send_replace(Arc::new(follower.picture()));
                    // A directory that takes long to tell of is told of less often.
                    let rest = LOOK_EVERY.max(began.elapsed() * 4);
                    let until = Instant::now() + rest;
                    while Instant::now() < until && !told.load(Ordering::SeqCst) {
                        std::thread::sleep(NAP);
                    }
                }
            })
            .map_err(|source| StoreError::Io {
                path: watched.directory.clone(),
                source,
            })?;
        Ok(Self {
            name: watched.name,
            directory: watched.directory,
            seen,
            over,
            thread: Some(thread),
        })
    }

    /// The crawl as it was a moment ago.
    pub fn picture(&self) -> Arc<Picture> {
        self.seen.borrow().clone()
    }

    /// Tells when there is another picture.
    pub fn follow(&self) -> watch::Receiver<Arc<Picture>> {
        self.seen.clone()
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.over.store(true, Ordering::SeqCst);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// What is kept of a journal.
struct Read {
    store: Store,
    stream: Stream,
    beside: Beside,
    /// Bytes of the journal when it was last looked at in vain.
    stuck: (u64, u32),
}

/// What is folded beside the index.
#[derive(Default)]
struct Beside {
    hosts: Hosts,
    course: Course,
    orders: VecDeque<OrderRow>,
    paused: bool,
    events: VecDeque<Value>,
    event_counts: BTreeMap<&'static str, u64>,
}

impl Beside {
    fn apply(&mut self, index: &Index, tick: Tick, entry: &Entry<'_>) {
        self.hosts.apply(index, tick, entry);
        self.course.apply(tick, entry);
        match entry {
            Entry::Session { .. } => self.paused = false,
            Entry::Note { kind, bytes } if *kind == ORDER_NOTE => {
                let order: Value = serde_json::from_slice(bytes).unwrap_or_default();
                match order["order"].as_str() {
                    Some("pause") => self.paused = true,
                    Some("resume") => self.paused = false,
                    _ => {}
                }
                self.orders.push_front(OrderRow {
                    time: utc(self.course.wall_ms(tick)),
                    order,
                });
                self.orders.truncate(ORDERS_MAX);
            }
            _ => {}
        }
    }

    fn happened(&mut self, event: &SiteEvent) {
        *self.event_counts.entry(event.kind.name()).or_default() += 1;
        if event.kind != Kind::Alive {
            self.events.push_front(turnstone_events::json(event));
            self.events.truncate(EVENTS_MAX);
        }
    }
}

impl Read {
    fn open(directory: &Path) -> Result<Self, StoreError> {
        let store = Store::look(directory)?;
        let mut opening = Opening {
            index: store.index(),
            stream: Stream::of(&store),
            beside: Beside::default(),
        };
        store.fold(&mut opening)?;
        let Opening { stream, beside, .. } = opening;
        Ok(Self {
            store,
            stream,
            beside,
            stuck: (0, 0),
        })
    }

    fn follow(&mut self) -> Result<(), StoreError> {
        let (store, beside) = (&mut self.store, &mut self.beside);
        let entries = store.follow(|index, _, tick, entry| beside.apply(index, tick, entry))?;
        // A torn end is whole soon, or is the trace of a process that died; more and more bytes that are no
        // entry mean that the end was cut and written anew.
        let torn = self.store.torn_bytes();
        self.stuck = match self.stuck {
            (before, looks) if entries == 0 && torn > before => (torn, looks + 1),
            _ if entries == 0 => self.stuck,
            _ => (0, 0),
        };
        if self.stuck.1 >= 10 {
            *self = Self::open(self.store.directory())?;
            return Ok(());
        }
        self.events()
    }

    fn events(&mut self) -> Result<(), StoreError> {
        let (stream, beside) = (&mut self.stream, &mut self.beside);
        stream.pull(Position::FIRST, |event| -> Result<(), StoreError> {
            beside.happened(&event);
            Ok(())
        })
    }
}

/// What is kept of a journal, while it is read for the first time.
struct Opening<'a> {
    index: &'a Index,
    stream: Stream,
    beside: Beside,
}

impl Fold for Opening<'_> {
    fn see(&mut self, written: Written, entry: &Entry<'_>) -> Result<(), StoreError> {
        self.beside.apply(self.index, written.tick, entry);
        if let Some(event) = self.stream.take(Position::FIRST, written, entry)? {
            self.beside.happened(&event);
        }
        Ok(())
    }
}

/// Follows one directory.
struct Follower {
    watched: Watched,
    answers: Arc<dyn Answers>,
    read: Read,
    /// Why it cannot be read now.
    fault: Option<String>,
    past: VecDeque<(Instant, [u64; 3])>,
}

impl Follower {
    fn open(watched: Watched, answers: Arc<dyn Answers>) -> Result<Self, StoreError> {
        let read = Read::open(&watched.directory)?;
        Ok(Self {
            watched,
            answers,
            read,
            fault: None,
            past: VecDeque::new(),
        })
    }

    fn look(&mut self) {
        let followed = match &self.fault {
            None => self.read.follow(),
            // What was read until then may be half: from the beginning.
            Some(_) => Read::open(&self.watched.directory).map(|read| self.read = read),
        };
        self.fault = followed.err().map(|error| error.to_string());
        let tally = self.read.store.index().tally();
        let moment = Instant::now();
        self.past
            .push_back((moment, [tally.fetches, tally.requests, tally.body_bytes]));
        while self
            .past
            .front()
            .is_some_and(|(then, _)| moment.duration_since(*then) > RATE_SPAN)
        {
            self.past.pop_front();
        }
    }

    fn rate(&self) -> Rate {
        let (Some((then, before)), Some((now, after))) = (self.past.front(), self.past.back())
        else {
            return Rate::default();
        };
        let seconds = now.duration_since(*then).as_secs_f64();
        if seconds == 0.0 {
            return Rate::default();
        }
        let each = |what: usize| after[what].saturating_sub(before[what]) as f64 / seconds;
        Rate {
            pages_per_second: each(0),
            requests_per_second: each(1),
            bytes_per_second: each(2),
        }
    }

    /// What the running process said of itself a moment ago.
    fn live(&self) -> Option<Value> {
        let path = self.watched.directory.join(STATUS_FILE);
        let written = fs::metadata(&path).and_then(|data| data.modified()).ok()?;
        let age = SystemTime::now()
            .duration_since(written)
            .unwrap_or_default();
        let text = fs::read_to_string(&path).ok().filter(|_| age <= LIVE_FOR)?;
        serde_json::from_str(&text).ok()
    }

    /// The crawl as it is now.
    fn picture(&mut self) -> Picture {
        let now_ms = now_ms();
        let holder = Lock::holder(&self.watched.directory);
        let live = holder.is_some().then(|| self.live()).flatten();
        let live = live.unwrap_or_default();
        let (store, beside) = (&self.read.store, &self.read.beside);
        let index = store.index();
        let tally = index.tally();
        let stop = store.note(STOP_NOTE).ok().flatten().unwrap_or_default();
        let stop = String::from_utf8_lossy(&stop).into_owned();
        let state = match (&holder, stop.is_empty()) {
            (Some(_), _) if live["ending"] == true => State::Ending,
            (Some(_), _) if beside.paused => State::Paused,
            (Some(_), _) => State::Running,
            (None, true) => State::Interrupted,
            (None, false) => State::Stopped,
        };
        let now = beside.course.tick(now_ms).max(index.latest());
        let (host_counts, hosts) = beside.hosts.tell(index, now, HOSTS_MAX);
        let plan = index.plan();
        let terms = plan.and_then(Terms::read);
        let moment = |ms: u64| (ms > 0).then(|| utc(ms));
        Picture {
            version: VERSION,
            name: self.watched.name.clone(),
            directory: self.watched.directory.display().to_string(),
            as_of: utc(now_ms),
            state,
            stopped_by: (state == State::Stopped).then_some(stop),
            takes_orders: self.watched.takes_orders && state.is_live(),
            question: plan.map_or_else(String::new, |plan| plan.question.clone()),
            policy: plan.map_or_else(String::new, |plan| plan.policy.clone()),
            scope: terms.map_or_else(Vec::new, |terms| {
                terms.scope.lines().map(str::to_owned).collect()
            }),
            seeds: index.seeds().len() as u64,
            started: index
                .sessions()
                .first()
                .and_then(|first| moment(first.wall_ms)),
            last_change: index
                .sessions()
                .last()
                .and_then(|_| moment(beside.course.wall_ms(index.latest()))),
            known: index.known_count(),
            pages: index.had_count(),
            requests: tally.requests,
            robots_requests: tally.robots_requests,
            bytes: tally.body_bytes,
            open: index.count(PageState::InFlight),
            queued: live["queued"].as_u64(),
            states: PageState::ALL
                .iter()
                .map(|state| (state.name(), index.count(*state)))
                .collect(),
            answers: ["other", "1xx", "2xx", "3xx", "4xx", "5xx"]
                .into_iter()
                .zip(tally.statuses)
                .collect(),
            classes: tally.classes.clone(),
            rate: self.rate(),
            coverage: coverage(store, &live),
            course: beside.course.points(),
            host_counts,
            hosts,
            slice: slice_of(store, &live),
            budgets: self.budgets(tally.requests, index, &live),
            warnings: self.warnings(state, &live),
            event_counts: beside.event_counts.clone(),
            events: beside.events.iter().cloned().collect(),
            orders: beside.orders.iter().cloned().collect(),
            holder,
        }
    }

    fn budgets(&self, requests: u64, index: &Index, live: &Value) -> Vec<Spending> {
        let asks = index.plan().map(|plan| plan.question.as_str());
        // Rounds have budgets of their own, which are spent when they end.
        let limits = match asks {
            Some("crawl") => self.answers.limits(&self.watched.directory),
            _ => Limits::default(),
        };
        let tally = index.tally();
        // What was imported cost nothing and does not count.
        let pages = index.stored_count().saturating_sub(tally.imported_pages);
        let bytes = tally.body_bytes.saturating_sub(tally.imported_bytes);
        let seconds = live["running_seconds"].as_f64().unwrap_or(0.0) as u64;
        spendings(&limits, [pages, requests, bytes, seconds])
    }

    fn warnings(&self, state: State, live: &Value) -> Vec<String> {
        let mut warnings = Vec::new();
        if let Some(fault) = &self.fault {
            warnings.push(format!("the journal cannot be read now: {fault}"));
        }
        if let Some(why) = live["paused"].as_str() {
            warnings.push(format!("it stands still: {why}"));
        }
        for key in ["warning", "trouble"] {
            warnings.extend(live[key].as_str().map(str::to_owned));
        }
        for host in live["waited"].as_array().into_iter().flatten() {
            warnings.extend(host.as_str().map(str::to_owned));
        }
        if state == State::Interrupted && self.read.store.index().page_count() > 0 {
            warnings.push(
                "the last process did not end by itself; the same command goes on where it was"
                    .to_owned(),
            );
        }
        if self.read.store.index().tally().cut_fetches > 0 {
            warnings.push(
                "a limit cut links of some pages: what they lead to may be missing".to_owned(),
            );
        }
        warnings
    }
}

/// Budgets as they are shown.
fn spendings(limits: &Limits, [pages, requests, bytes, seconds]: [u64; 4]) -> Vec<Spending> {
    let row = |what, spent, limit| Spending { what, spent, limit };
    vec![
        row("pages", pages, limits.pages),
        row("requests", requests, limits.requests),
        row("bytes", bytes, limits.bytes),
        row("seconds", seconds, limits.seconds),
    ]
}

/// What is proven: by the running process, else by the last note of one.
fn coverage(store: &Store, live: &Value) -> Option<Cover> {
    let note = store.note(CoverageNote::KIND).ok().flatten();
    let note = note.and_then(|bytes| CoverageNote::read(&bytes));
    let share = |mass: u64| mass as f64 / turnstone_frontier::Coverage::ONE as f64;
    let proven = live["guaranteed"].as_f64();
    Some(Cover {
        proven: proven.or(note.map(|note| share(note.guaranteed)))?,
        possible: live["upper_bound"].as_f64(),
        certified: live["certified"].as_f64(),
        provable: note.map(|note| (1.0 - share(note.stuck)).max(0.0)),
    })
}

/// The slice that runs, or ran last.
fn slice_of(store: &Store, live: &Value) -> Option<Value> {
    if live["slice"].is_object() {
        return Some(live["slice"].clone());
    }
    let note = store.note(SliceNote::KIND).ok().flatten()?;
    SliceNote::read(&note).map(|note| slice::json(&note))
}

/// Now, in milliseconds of 1970.
pub(crate) fn now_ms() -> u64 {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    now.map_or(0, |now| u64::try_from(now.as_millis()).unwrap_or(u64::MAX))
}
