//! The live loop: a clock, a network, a disk, and an asker that knows none of them.
//!
//! The order within a turn is what makes a crawl survive: entries are written before the requests
//! they permit are sent, and a body is in the WARC files before the journal speaks of it. Every turn
//! has one tick, so that folding the journal asks the same questions at the same time.
//!
//! Limits: at most `connections` pages are handed out at once; a turn takes in at most
//! [`REPORTS_PER_TURN`] reports.

use std::num::NonZero;
use std::sync::Arc;
use std::thread::available_parallelism;
use std::time::{Duration, Instant};

use tokio::sync::{Semaphore, mpsc, watch};
use turnstone_fetch::urls::surt;
use turnstone_fetch::{Client, Permit};
use turnstone_frontier::{Coverage, Policy, Tick};
use turnstone_ledger::{Ledger, STOP_NOTE, SliceNote, Stop};
use turnstone_pagestore::{Archived, PageState, Position, StoreError, Tally, warc};

use crate::archive::Archivist;
use crate::asker::{AskError, Asker, AskerParts};
use crate::clock::Clock;
use crate::keeper::{Batch, Durable, Keeper, SyncError};
use crate::orders::Office;
use crate::page::Context;
use crate::plan::Plan;
use crate::progress::Progress;
use crate::receive::Report;
use crate::shard::Post;
use crate::show::SHOW_EVERY;
use crate::silence::Waited;
use crate::tether::Tether;

/// Reports taken in before anything else is done.
const REPORTS_PER_TURN: usize = 256;
/// How soon what other shards wait for is made durable.
const CARRY_EVERY: Duration = Duration::from_millis(20);
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
    /// The crawl as it was when its journal ended.
    pub ledger: Ledger<P>,
    /// Who asks.
    pub client: Client,
    /// The crawl's time.
    pub clock: Clock,
    /// The WARC files and the 16 bytes that name their records, if pages are to be archived.
    pub archive: Option<(warc::Writer, [u8; 16])>,
}

/// Why a crawl failed. The directory is whole: it can be resumed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CrawlError {
    /// The journal cannot be written or read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The asker cannot go on.
    #[error(transparent)]
    Ask(#[from] AskError),
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
    /// Pages in the store and in scope.
    pub pages: u64,
    /// Pages known and in scope.
    pub known: u64,
    /// Pages that are still to be asked for.
    pub waiting: u64,
    /// Pages that are not there.
    pub gone: u64,
    /// Pages that may not be asked for, or were denied.
    pub refused: u64,
    /// Pages found by way of sitemaps and feeds when nothing else had led there, these included, and those of
    /// them that are stored.
    pub listed: (u64, u64),
    /// Counts.
    pub tally: Tally,
    /// What the policy proves.
    pub coverage: Option<Coverage>,
    /// How long this process took.
    pub running: Duration,
    /// Requests that were still open when it ended at once.
    pub abandoned: usize,
    /// Hosts that had pages left and could not be asked.
    pub waited: Vec<Waited>,
    /// How many slices ended, and the one that did not, where the crawl went on in slices.
    pub slices: Option<(u64, SliceNote)>,
}

/// A crawl under way.
pub struct Crawl<P> {
    pub(crate) asker: Asker<P>,
    pub(crate) clock: Clock,
    context: Arc<Context>,
    archive: Option<warc::Writer>,
    reports: mpsc::UnboundedReceiver<Report>,
    told: mpsc::UnboundedSender<Report>,
    keeper: Keeper,
    synced: Position,
    pub(crate) durable_fetches: u64,
    last_sync: Instant,
    entries_at_checkpoint: u64,
    pub(crate) shown: watch::Sender<Progress>,
    pub(crate) last_shown: Option<Instant>,
    pub(crate) started: Instant,
    pub(crate) paused: Option<String>,
    /// What went wrong and is no reason to stop.
    pub(crate) warning: Option<String>,
    /// Where this is one of several shards.
    pub(crate) post: Option<Post>,
    /// Where this is one of several shards that several processes have.
    pub(crate) tether: Option<Tether>,
    /// Whether to go on; looked at while the crawl stands still.
    orders: Option<watch::Receiver<StopLevel>>,
    /// Where orders come in, if they do.
    pub(crate) office: Option<Office<P>>,
    /// What others want to be written.
    notes: Option<mpsc::UnboundedReceiver<GivenNote>>,
}

/// A note for the journal from somebody who works beside the crawl: its kind and its bytes.
pub type GivenNote = (String, Vec<u8>);

impl<P: Policy> Crawl<P> {
    /// Takes a crawl over; must be called within a tokio runtime. Pages that were in flight when
    /// the last process ended are given back.
    pub fn new(parts: Parts<P>) -> Result<(Self, watch::Receiver<Progress>), CrawlError> {
        let Parts {
            mut plan,
            ledger,
            client,
            clock,
            archive,
        } = parts;
        plan.tick_us = u64::try_from(clock.span(1).as_micros()).unwrap_or(1000);
        let (told, reports) = mpsc::unbounded_channel();
        let (shown, seen) = watch::channel(Progress::default());
        let store = ledger.store();
        let archivist = archive
            .as_ref()
            .map(|(_, namespace)| Archivist::new(*namespace, store.seen(), store.reader()));
        let context = Context {
            clock: clock.clone(),
            keyer: store.keyer(),
            keys: plan.keys.clone(),
            limits: plan.page_limits(),
            agent: plan.agent.clone(),
            obey_nofollow: plan.obey_nofollow,
            lists: plan.lists,
            judges: plan.survey.is_some() || plan.soft404.is_some(),
            delay: Duration::from_millis(plan.politeness.delay_ms),
            respect: plan.respect.clone(),
            archivist,
            long_reads: Semaphore::new(available_parallelism().map_or(1, NonZero::get)),
            client,
            permit: None,
        };
        let (synced, durable_fetches) = (store.end(), store.index().tally().fetches);
        // In this order: less time seems to have passed than has, so nobody is asked early.
        let moment = clock.moment();
        let session = clock.session();
        let parts = AskerParts {
            plan,
            ledger,
            epoch: clock.epoch(),
            limits: context.client.limits().clone(),
        };
        let crawl = Self {
            asker: Asker::begin(parts, &session, moment)?,
            clock,
            context: Arc::new(context),
            archive: archive.map(|(writer, _)| writer),
            reports,
            told,
            keeper: Keeper::start().map_err(CrawlError::Thread)?,
            synced,
            durable_fetches,
            last_sync: Instant::now(),
            entries_at_checkpoint: 0,
            shown,
            last_shown: None,
            started: Instant::now(),
            paused: None,
            warning: None,
            post: None,
            tether: None,
            orders: None,
            office: None,
            notes: None,
        };
        Ok((crawl, seen))
    }

    /// Writes the notes of somebody who works beside the crawl. Only one process writes a journal, and
    /// within it only the owner of the ledger; who delivers events must note how far it is there.
    #[must_use]
    pub fn with_notes(mut self, notes: mpsc::UnboundedReceiver<GivenNote>) -> Self {
        self.notes = Some(notes);
        self
    }

    fn take_notes(&mut self) {
        while let Some(Ok((kind, bytes))) =
            self.notes.as_mut().map(mpsc::UnboundedReceiver::try_recv)
        {
            self.asker.note(&kind, &bytes);
        }
    }

    /// Crawls until a goal, a budget, an end or `stop` says so.
    pub async fn run(
        mut self,
        mut stop: watch::Receiver<StopLevel>,
    ) -> Result<Summary, CrawlError> {
        self.orders = Some(stop.clone());
        self.take_notes();
        // That this process has the crawl is durable before it asks for anything: after a loss of
        // power the next one knows that hosts may have been asked.
        self.flush().await?;
        self.asker.ledger().store().syncer().sync()?;
        self.carry(self.asker.ledger().store().end())?;
        let mut ending_since = None;
        loop {
            self.take_reports().await?;
            self.asker.pass(self.clock.moment());
            self.look_at_time(*stop.borrow());
            self.take_notes();
            self.take_orders().await?;
            let turned = self.asker.turn()?;
            self.flush().await?;
            self.say();
            self.answer_orders();
            self.send();
            self.sync_when_due();
            self.checkpoint_when_due()?;
            self.show(false);
            if self.asker.stopped().is_some() {
                let since = *ending_since.get_or_insert_with(Instant::now);
                let at_once = *stop.borrow() == StopLevel::AtOnce;
                if turned.open == 0 || at_once || since.elapsed() > self.asker.plan.grace {
                    return self.finish(at_once).await;
                }
            }
            self.wait(turned.wake, &mut stop).await?;
        }
    }

    /// Requests are sent only as long as this permits them.
    pub(crate) fn allow_by(&mut self, permit: Permit) {
        let context = Arc::get_mut(&mut self.context);
        context.expect("nothing runs yet").permit = Some(permit);
    }

    /// Where reports for this crawl are put.
    pub(crate) fn mailbox(&self) -> mpsc::UnboundedSender<Report> {
        self.told.clone()
    }

    /// Carries to other shards what is durable.
    fn carry(&mut self, durable: Position) -> Result<(), CrawlError> {
        if let Some(post) = &mut self.post {
            post.carry(self.asker.ledger(), durable)?;
        }
        if let Some(tether) = &self.tether {
            tether.synced(durable);
        }
        Ok(())
    }

    /// What only a clock or an operator can end.
    fn look_at_time(&mut self, level: StopLevel) {
        let time = self.asker.plan.until.time;
        if level != StopLevel::Run {
            self.asker.end(Stop::Told);
        } else if time.is_some_and(|time| self.started.elapsed() >= time) {
            self.asker.end(Stop::Time);
        }
    }

    /// Waits until there is something to do.
    async fn wait(
        &mut self,
        wake: Option<Tick>,
        stop: &mut watch::Receiver<StopLevel>,
    ) -> Result<(), CrawlError> {
        let mut nap = wake.map_or(SHOW_EVERY, |tick| self.clock.until(tick).min(SHOW_EVERY));
        if self.has_to_carry() {
            nap = nap.min(CARRY_EVERY);
        }
        let tether = self.tether.as_mut();
        let heard = async {
            match tether {
                Some(tether) => tether.changed().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            () = heard => {}
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

    /// Takes in one report: its body to the WARC files, then what it says to the asker.
    async fn receive(&mut self, mut report: Report) -> Result<(), CrawlError> {
        if let Report::Page(page) = &mut report
            && let Ok(answer) = &mut page.result
            && let Some(capture) = answer.capture.take()
        {
            let key = surt(&page.url);
            answer.facts.capture = Some(self.archive(&capture, &key).await?);
        }
        self.asker.pass(self.clock.moment());
        Ok(self.asker.receive(report)?)
    }

    /// Appends a capture to the WARC files. A full disk stops the crawl until there is room.
    async fn archive(
        &mut self,
        capture: &warc::Capture,
        key: &str,
    ) -> Result<Archived, CrawlError> {
        loop {
            let Some(archive) = &mut self.archive else {
                unreachable!("captures are made only for an archive");
            };
            match archive.append(capture, key) {
                Ok(at) => {
                    let ends = archive.ends();
                    return Ok(Archived {
                        file: at.file,
                        offset: at.offset,
                        length: at.length,
                        file_end: ends.warc_len,
                        index_end: ends.index_len,
                    });
                }
                Err(error) if error.is_disk_full() => self.pause(error.into()).await?,
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Writes this turn's entries. A full disk stops the crawl until there is room again.
    pub(crate) async fn flush(&mut self) -> Result<(), CrawlError> {
        loop {
            match self.asker.ledger_mut().store_mut().write() {
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
    async fn pause(&mut self, why: CrawlError) -> Result<(), CrawlError> {
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

    /// Sends the requests whose hand-outs are written now, and what other shards are told.
    fn send(&mut self) {
        if let Some(member) = &mut self.asker.member {
            let letters = std::mem::take(&mut member.letters);
            match (&self.post, &self.tether) {
                (Some(post), _) => post.put(letters),
                (_, Some(tether)) => tether.put(letters, &self.told),
                (None, None) => {}
            }
        }
        let mut jobs = self.asker.take_jobs(self.clock.moment());
        if let Some(tether) = &mut self.tether {
            tether.hold(self.asker.ledger().store().end(), jobs);
            jobs = tether.release();
        }
        for job in jobs {
            let (context, told) = (self.context.clone(), self.told.clone());
            tokio::spawn(async move {
                let report = job.run(context).await;
                // When nobody listens any more the crawl has ended.
                let _ = told.send(report);
            });
        }
    }

    /// Whether other shards wait for what is not durable yet.
    fn has_to_carry(&self) -> bool {
        if self.tether.is_some() {
            return self.asker.ledger().store().end() > self.synced;
        }
        let post = self.post.as_ref();
        post.is_some_and(|post| post.has_more(self.asker.ledger()))
    }

    fn sync_when_due(&mut self) {
        let every = self.asker.plan.sync_every;
        let store = self.asker.ledger().store();
        let every = if self.has_to_carry() {
            every.min(CARRY_EVERY)
        } else {
            every
        };
        let due = store.end() > self.synced && self.last_sync.elapsed() >= every;
        if due && !self.keeper.is_busy() {
            self.last_sync = Instant::now();
            self.keeper.sync(Batch {
                archive: self.archive.as_ref().map(warc::Writer::syncer),
                journal: store.syncer(),
                until: store.end(),
                fetches: store.index().tally().fetches,
            });
        }
    }

    fn take_synced(&mut self, synced: Result<Durable, SyncError>) -> Result<(), CrawlError> {
        let Durable { until, fetches } = synced?;
        let now = self.asker.now;
        let store = self.asker.ledger_mut().store_mut();
        let is_idle = store.end() == until;
        store.durable(until);
        if self.tether.is_none() {
            store.note_durable(now, until);
        }
        self.durable_fetches = fetches;
        // The note alone is no reason to sync again.
        self.synced = if is_idle { store.end() } else { until };
        self.carry(until)
    }

    fn checkpoint_when_due(&mut self) -> Result<(), CrawlError> {
        let ledger = self.asker.ledger();
        let pages = ledger.index().page_count() as u64;
        let due = self.asker.plan.checkpoint_due(pages);
        if ledger.entries() - self.entries_at_checkpoint >= due {
            self.checkpoint()?;
        }
        Ok(())
    }

    fn checkpoint(&mut self) -> Result<(), CrawlError> {
        self.entries_at_checkpoint = self.asker.ledger().entries();
        if self.asker.plan.round.is_some() && self.asker.pacing.is_none() {
            // Only what runs on goes on from where it was; a round is begun anew.
            return Ok(());
        }
        match self.asker.ledger_mut().checkpoint() {
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
        let abandoned = self.asker.ledger().scheduler().ranking().in_flight_count();
        // What follows opens files.
        self.context.client.close_idle();
        self.take_notes();
        self.asker.note_coverage();
        self.asker.note_slice();
        let stop = self.asker.stopped().unwrap_or(Stop::Told);
        self.asker.note(STOP_NOTE, stop.name().as_bytes());
        self.flush().await?;
        while self.keeper.is_busy() {
            let synced = self.keeper.done().await;
            self.take_synced(synced)?;
        }
        if let Some(archive) = &self.archive {
            archive.sync()?;
        }
        self.asker.ledger().store().syncer().sync()?;
        self.carry(self.asker.ledger().store().end())?;
        self.say();
        self.durable_fetches = self.asker.ledger().index().tally().fetches;
        if !at_once {
            self.checkpoint()?;
            if let Some(archive) = self.archive.take() {
                archive.finish(SORT_BYTES_MAX)?;
            }
        }
        self.show(true);
        let ledger = self.asker.ledger();
        let index = ledger.index();
        Ok(Summary {
            stop,
            pages: index.had_count(),
            known: index.known_count(),
            waiting: [PageState::Waiting, PageState::InFlight, PageState::Unknown]
                .map(|state| index.count(state))
                .iter()
                .sum(),
            gone: index.count(PageState::Gone),
            refused: index.count(PageState::Refused),
            listed: index.listed_counts(),
            tally: index.tally().clone(),
            coverage: self.asker.coverage(),
            running: self.started.elapsed(),
            abandoned,
            waited: self.asker.waited(),
            slices: self.asker.slice_note().map(|note| {
                let ended = self.asker.pacing.as_ref().map_or(0, |pacing| pacing.ended);
                (ended, note)
            }),
        })
    }
}
