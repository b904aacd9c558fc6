//! The owner's loop: take what came back, hand out what may be asked, write, send, wait.
//!
//! The order within a turn is what makes a crawl survive: entries are written before the requests
//! they permit are sent, and nothing is told to the scheduler that is not in the journal too.
//! Every turn has one tick, so that folding the journal asks the same questions at the same time.
//!
//! Limits: at most `connections` pages are handed out at once; a turn takes in at most
//! [`REPORTS_PER_TURN`] reports.

use std::collections::{HashMap, HashSet, VecDeque};
use std::num::NonZero;
use std::sync::Arc;
use std::thread::available_parallelism;
use std::time::{Duration, Instant};

use tokio::sync::{Semaphore, mpsc, watch};
use turnstone_fetch::{Client, Turn};
use turnstone_frontier::{Chance, Coverage, HostId, PageId, Policy, Scheduler, Tick};
use turnstone_pagestore::{Hint, Position, Settled, Store, StoreError, Tally, warc};

use crate::addresses::Addresses;
use crate::archive::Archivist;
use crate::budget::{Budget, Spent, Stop};
use crate::clock::Clock;
use crate::fold::{self, Folded};
use crate::hand_out::{Errand, Job};
use crate::keeper::{Batch, Durable, Keeper, SyncError};
use crate::mood::Moods;
use crate::notes::{STOP_NOTE, SliceNote};
use crate::pace::Slices;
use crate::page::Context;
use crate::patterns::Patterns;
use crate::plan::Plan;
use crate::progress::Progress;
use crate::receive::Report;
use crate::robots::Robots;
use crate::show::SHOW_EVERY;
use crate::survey::Survey;
use crate::view::View;

/// Reports taken in before anything else is done.
const REPORTS_PER_TURN: usize = 256;
/// How often a full disk is tried again.
const FULL_DISK_RETRY: Duration = Duration::from_secs(1);
/// How much memory sorting the index at the end may take.
const SORT_BYTES_MAX: usize = 256 << 20;

/// How urgently a crawl is told to end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum StopLevel {
    /// Go on.
    #[default]
    Run,
    /// Let open requests come back, then end.
    Finish,
    /// End now.
    AtOnce,
}

/// What a crawl is made of.
pub struct Parts<P> {
    /// What was asked.
    pub plan: Plan,
    /// The policy with everything its decisions hang on, as recorded in the journal.
    pub identity: String,
    /// The crawl directory.
    pub store: Store,
    /// The scheduler as it was when the journal ended.
    pub folded: Folded<P>,
    /// Who asks.
    pub client: Client,
    /// The crawl's time.
    pub clock: Clock,
    /// The WARC files and the 16 bytes that name their records, if pages are to be archived.
    pub archive: Option<(warc::Writer, [u8; 16])>,
    /// Who looks on, if anybody does.
    pub onlooker: Option<Arc<dyn Onlooker>>,
}

/// Looks on: is told what a policy's surroundings are made of, before the policy hears of it.
pub trait Onlooker: Send + Sync {
    /// A page was found.
    fn found(&self, page: PageId, url: &str);
    /// A page says that another changed.
    fn hinted(&self, hint: Hint);
    /// A page was settled.
    fn settled(&self, page: PageId, settled: Settled);
}

/// Why a crawl failed. The directory is whole: it can be resumed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CrawlError {
    /// The journal cannot be written or read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The WARC files cannot be written.
    #[error(transparent)]
    Archive(#[from] warc::WriteError),
    /// The WARC files cannot be closed.
    #[error(transparent)]
    Finish(#[from] warc::FinishError),
    /// The machine has no thread left.
    #[error("no thread could be started: {0}")]
    Thread(std::io::Error),
}

impl From<SyncError> for CrawlError {
    fn from(error: SyncError) -> Self {
        match error {
            SyncError::Journal(error) => Self::Store(error),
            SyncError::Archive(error) => Self::Archive(error),
        }
    }
}

/// How a crawl ended.
#[derive(Clone, Debug)]
pub struct Summary {
    /// Why.
    pub stop: Stop,
    /// Pages in the store.
    pub pages: u64,
    /// Pages known.
    pub known: u64,
    /// Counts.
    pub tally: Tally,
    /// What the policy proves.
    pub coverage: Option<Coverage>,
    /// How long this process took.
    pub running: Duration,
    /// Requests that were still open when it ended at once.
    pub abandoned: usize,
    /// How many slices ended, and the one that did not, where the crawl went on in slices.
    pub slices: Option<(u64, SliceNote)>,
}

/// A crawl under way.
pub struct Crawl<P> {
    pub(crate) plan: Plan,
    pub(crate) identity: String,
    pub(crate) store: Store,
    pub(crate) scheduler: Scheduler<P>,
    pub(crate) patterns: Patterns,
    pub(crate) view: View,
    pub(crate) survey: Option<Survey>,
    pub(crate) clock: Clock,
    pub(crate) context: Arc<Context>,
    pub(crate) archive: Option<warc::Writer>,
    pub(crate) robots: Robots,
    pub(crate) addresses: Addresses,
    pub(crate) moods: Moods,
    pub(crate) budget: Budget,
    /// The tick of this turn.
    pub(crate) now: Tick,
    /// Requests sent and not yet answered.
    pub(crate) requests_open: u64,
    /// To be sent when this turn's entries are written.
    pub(crate) jobs: Vec<Job>,
    /// Requests for no page that wait for their host.
    pub(crate) errands: Vec<Errand>,
    /// Pages whose request went out on a kept connection that turned out closed: asked for next on a
    /// fresh one.
    pub(crate) stale: HashSet<PageId>,
    /// By the host that stands for all that are asked as one, where several requests may be open.
    pub(crate) turns: HashMap<HostId, Turn>,
    /// Where the crawl goes on in slices of time.
    pub(crate) slices: Option<Slices>,
    /// What came of the last slices, the last one last.
    pub(crate) past_slices: VecDeque<SliceNote>,
    pub(crate) onlooker: Option<Arc<dyn Onlooker>>,
    /// Pages in flight that the policy drew at random, with their chances.
    pub(crate) chances: HashMap<PageId, Chance>,
    /// By host, where the pages of a host are counted.
    pub(crate) quotas: HashMap<HostId, Quota>,
    pub(crate) stop: Option<Stop>,
    reports: mpsc::UnboundedReceiver<Report>,
    told: mpsc::UnboundedSender<Report>,
    keeper: Keeper,
    synced: Position,
    pub(crate) durable_fetches: u64,
    last_sync: Instant,
    entries_at_checkpoint: u64,
    pub(crate) entries: u64,
    pub(crate) noted_requests: u64,
    pub(crate) shown: watch::Sender<Progress>,
    pub(crate) last_shown: Option<Instant>,
    pub(crate) started: Instant,
    pub(crate) paused: Option<String>,
    /// What went wrong and is no reason to stop.
    pub(crate) warning: Option<String>,
    /// What the last request without an answer met; nothing once an answer came.
    pub(crate) trouble: Option<String>,
    /// Whether to go on; looked at while the crawl stands still.
    orders: Option<watch::Receiver<StopLevel>>,
}

/// The pages of a host that may be the last ones stored of it.
#[derive(Debug, Default)]
pub(crate) struct Quota {
    /// Asked for and not yet answered.
    pub(crate) open: u32,
    /// Handed out, waiting for what comes of those.
    pub(crate) waiting: Vec<PageId>,
}

impl<P: Policy> Crawl<P> {
    /// Takes a crawl over; must be called within a tokio runtime. Pages that were in flight when
    /// the last process ended are given back.
    pub fn new(parts: Parts<P>) -> Result<(Self, watch::Receiver<Progress>), CrawlError> {
        let Parts {
            plan,
            identity,
            store,
            folded,
            client,
            clock,
            archive,
            onlooker,
        } = parts;
        let (told, reports) = mpsc::unbounded_channel();
        let (shown, seen) = watch::channel(Progress::default());
        let archivist = archive
            .as_ref()
            .map(|(_, namespace)| Archivist::new(*namespace, store.seen(), store.reader()));
        let context = Context {
            client,
            keyer: store.keyer(),
            keys: plan.keys.clone(),
            limits: plan.page_limits(),
            agent: plan.agent.clone(),
            obey_nofollow: plan.obey_nofollow,
            lists: plan.sitemaps,
            surveys: plan.survey.is_some(),
            delay: Duration::from_millis(plan.politeness.delay_ms),
            archivist,
            long_reads: Semaphore::new(available_parallelism().map_or(1, NonZero::get)),
        };
        let now = clock.now();
        let slices = match (plan.pace, &plan.round) {
            (Some(pace), Some(round)) => Some(Slices::resume(&store, (pace, round), now)?),
            _ => None,
        };
        let mut crawl = Self {
            robots: Robots::new(plan.robots.clone(), &plan.agent, plan.crawl_delay_max),
            budget: Budget {
                until: plan.until,
                body_bytes_max: plan.body_bytes_max as u64,
            },
            identity,
            scheduler: folded.scheduler,
            patterns: folded.patterns,
            view: folded.view,
            survey: plan
                .survey
                .clone()
                .map(|options| Survey::new(options, clock.wall_ms())),
            clock,
            context: Arc::new(context),
            archive: archive.map(|(writer, _)| writer),
            addresses: Addresses::default(),
            moods: Moods::default(),
            now,
            requests_open: 0,
            jobs: Vec::new(),
            errands: Vec::new(),
            stop: None,
            reports,
            told,
            keeper: Keeper::start().map_err(CrawlError::Thread)?,
            synced: store.end(),
            durable_fetches: store.index().tally().fetches,
            last_sync: Instant::now(),
            entries_at_checkpoint: 0,
            entries: folded.entries,
            noted_requests: store.index().tally().requests,
            shown,
            last_shown: None,
            started: Instant::now(),
            paused: None,
            warning: None,
            trouble: None,
            orders: None,
            stale: HashSet::new(),
            turns: HashMap::new(),
            slices,
            past_slices: VecDeque::new(),
            onlooker,
            quotas: HashMap::new(),
            chances: HashMap::new(),
            plan,
            store,
        };
        crawl.begin()?;
        Ok((crawl, seen))
    }

    /// Crawls until a goal, a budget, an end or `stop` says so.
    pub async fn run(
        mut self,
        mut stop: watch::Receiver<StopLevel>,
    ) -> Result<Summary, CrawlError> {
        self.orders = Some(stop.clone());
        let mut ending_since = None;
        loop {
            self.now = self.clock.now().max(self.now);
            self.take_reports().await?;
            self.look_at_goals(*stop.borrow());
            self.turn_slice()?;
            let wake = self.hand_out()?;
            if self.stop.is_some() {
                self.drop_errands()?;
            }
            self.run_errands();
            self.flush().await?;
            self.send();
            self.sync_when_due();
            self.checkpoint_when_due()?;
            self.show(false);
            let open = self.scheduler.ranking().in_flight_count();
            if self.stop.is_none() && open == 0 && wake.is_none() && self.errands.is_empty() {
                self.stop = Some(Stop::Exhausted);
            }
            if self.stop.is_some() {
                let since = *ending_since.get_or_insert_with(Instant::now);
                let at_once = *stop.borrow() == StopLevel::AtOnce;
                if open == 0 || at_once || since.elapsed() > self.plan.grace {
                    return self.finish(at_once).await;
                }
            }
            self.wait(wake, &mut stop).await?;
        }
    }

    /// Waits until there is something to do.
    async fn wait(
        &mut self,
        wake: Option<Tick>,
        stop: &mut watch::Receiver<StopLevel>,
    ) -> Result<(), CrawlError> {
        let nap = wake.map_or(SHOW_EVERY, |tick| self.clock.until(tick).min(SHOW_EVERY));
        tokio::select! {
            biased;
            report = self.reports.recv() => {
                if let Some(report) = report {
                    self.receive(report).await?;
                }
            }
            synced = self.keeper.done(), if self.keeper.is_busy() => {
                self.take_synced(synced)?;
            }
            changed = stop.changed() => {
                if changed.is_err() {
                    // Nobody can tell us any more: sleep instead of asking again and again.
                    tokio::time::sleep(nap).await;
                }
            }
            () = tokio::time::sleep(nap) => {}
        }
        Ok(())
    }

    async fn take_reports(&mut self) -> Result<(), CrawlError> {
        for _ in 0..REPORTS_PER_TURN {
            let Ok(report) = self.reports.try_recv() else {
                break;
            };
            self.receive(report).await?;
        }
        Ok(())
    }

    /// Whether it is time to stop.
    fn look_at_goals(&mut self, level: StopLevel) {
        if self.stop.is_some() {
            return;
        }
        let coverage = self.scheduler.coverage();
        let timed_out = self
            .plan
            .until
            .time
            .is_some_and(|time| self.started.elapsed() >= time);
        if level != StopLevel::Run {
            self.stop = Some(Stop::Told);
        } else if self.plan.until.coverage && coverage.is_some_and(|coverage| coverage.met()) {
            self.stop = Some(Stop::Coverage);
        } else if timed_out {
            self.stop = Some(Stop::Time);
        }
    }

    /// What was spent, and what may yet be by what is under way.
    pub(crate) fn spent(&self) -> Spent {
        let index = self.store.index();
        let open = self.scheduler.ranking().in_flight_count() as u64;
        let stored = index.stored_count() - index.tally().imported_pages;
        Spent::new(index.tally(), stored, open, self.requests_open)
    }

    /// Writes this turn's entries. A full disk stops the crawl until there is room again.
    async fn flush(&mut self) -> Result<(), CrawlError> {
        loop {
            match self.store.write() {
                Ok(()) => {
                    self.paused = None;
                    return Ok(());
                }
                Err(error) if error.is_full() => self.pause(error.into()).await?,
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Says that the crawl stands still, and waits a little. When it is told to end meanwhile it
    /// does so, with what it waits for as the reason.
    pub(crate) async fn pause(&mut self, why: CrawlError) -> Result<(), CrawlError> {
        self.paused = Some(why.to_string());
        self.show(true);
        let is_told = |level: &StopLevel| *level != StopLevel::Run;
        let told = match &mut self.orders {
            None => {
                tokio::time::sleep(FULL_DISK_RETRY).await;
                false
            }
            Some(orders) => tokio::time::timeout(FULL_DISK_RETRY, orders.wait_for(is_told))
                .await
                .is_ok_and(|told| told.is_ok()),
        };
        if told { Err(why) } else { Ok(()) }
    }

    /// Sends the requests whose hand-outs are written now.
    fn send(&mut self) {
        for job in self.jobs.drain(..) {
            let (context, told) = (self.context.clone(), self.told.clone());
            tokio::spawn(async move {
                let report = job.run(context).await;
                // When nobody listens any more the crawl has ended.
                let _ = told.send(report);
            });
        }
    }

    fn sync_when_due(&mut self) {
        let due =
            self.store.end() > self.synced && self.last_sync.elapsed() >= self.plan.sync_every;
        if due && !self.keeper.is_busy() {
            self.last_sync = Instant::now();
            self.keeper.sync(Batch {
                archive: self.archive.as_ref().map(warc::Writer::syncer),
                journal: self.store.syncer(),
                until: self.store.end(),
                fetches: self.store.index().tally().fetches,
            });
        }
    }

    fn take_synced(&mut self, synced: Result<Durable, SyncError>) -> Result<(), CrawlError> {
        let Durable { until, fetches } = synced?;
        let is_idle = self.store.end() == until;
        self.store.durable(until);
        self.durable_fetches = fetches;
        self.store.note_durable(self.now, until);
        // The note alone is no reason to sync again.
        self.synced = if is_idle { self.store.end() } else { until };
        Ok(())
    }

    fn checkpoint_when_due(&mut self) -> Result<(), CrawlError> {
        let due = self
            .plan
            .checkpoint_due(self.store.index().page_count() as u64);
        if self.entries - self.entries_at_checkpoint >= due {
            self.checkpoint()?;
        }
        Ok(())
    }

    fn checkpoint(&mut self) -> Result<(), CrawlError> {
        self.entries_at_checkpoint = self.entries;
        let once = self.plan.round.is_some() && self.slices.is_none();
        if once || !matches!(self.view, View::All) {
            // Only what runs on goes on from where it was; a round is begun anew.
            return Ok(());
        }
        let (identity, scheduler, patterns) = (&self.identity, &self.scheduler, &self.patterns);
        let written = self
            .store
            .checkpoint(|out| fold::save(identity, scheduler, patterns, out));
        match written {
            // Only a shortcut: the crawl goes on without.
            Err(StoreError::Io { path, source }) if path.ends_with("store/checkpoint.new") => {
                self.warning = Some(format!(
                    "{}: {source}; the crawl goes on, but will take longer to resume",
                    path.display()
                ));
                Ok(())
            }
            other => Ok(other?),
        }
    }

    /// Ends: everything durable, files closed.
    async fn finish(mut self, at_once: bool) -> Result<Summary, CrawlError> {
        let abandoned = self.scheduler.ranking().in_flight_count();
        // What follows opens files.
        self.context.client.close_idle();
        self.note_coverage();
        self.note_slice();
        let stop = self.stop.unwrap_or(Stop::Told);
        self.note(STOP_NOTE, stop.name().as_bytes());
        self.flush().await?;
        while self.keeper.is_busy() {
            let synced = self.keeper.done().await;
            self.take_synced(synced)?;
        }
        if let Some(archive) = &self.archive {
            archive.sync()?;
        }
        self.store.syncer().sync()?;
        self.durable_fetches = self.store.index().tally().fetches;
        if !at_once {
            self.checkpoint()?;
            if let Some(archive) = self.archive.take() {
                archive.finish(SORT_BYTES_MAX)?;
            }
        }
        self.show(true);
        let index = self.store.index();
        Ok(Summary {
            stop,
            pages: index.stored_count(),
            known: index.page_count() as u64,
            tally: index.tally().clone(),
            coverage: self.scheduler.coverage(),
            running: self.started.elapsed(),
            abandoned,
            slices: self.slice_note().map(|note| {
                let ended = self.slices.as_ref().map_or(0, |slices| slices.ended);
                (ended, note)
            }),
        })
    }
}
