//! Delivering events beside a crawl, in a thread of its own: a receiver that is slow or dead holds nothing up.
//!
//! The thread looks at the journal twice a second as any onlooker does, and sends what the journal itself calls
//! durable. How far each receiver is it hands to the crawl, which alone writes the journal. When the
//! crawl is over and has let go of the directory, what came in its last moments is sent: then nobody else
//! writes, and the cursors are noted directly.
//!
//! Cost: what `turnstone events` costs, memory included. The end waits for the batch that is on its way: 20 s at
//! most for a webhook, 60 s for a command.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread::JoinHandle;
use std::time::Duration;

use tokio::sync::mpsc;
use turnstone_crawl::GivenNote;
use turnstone_deliver::{Courier, Cursor, Pen, Receiver, Said, Sender};
use turnstone_lab::number::{duration, plural};
use turnstone_pagestore::{Entry, Store, StoreError};

use super::Watch;
use crate::moment::now_ms;

/// How often the journal is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(500);
/// How long the thread sleeps before it looks whether it is to end.
const NAP: Duration = Duration::from_millis(20);

/// Deliveries under way.
pub(super) struct Deliveries {
    thread: Option<JoinHandle<Result<Courier, StoreError>>>,
    over: Arc<AtomicBool>,
}

/// Where a crawl gets notes from.
type Notes = mpsc::UnboundedReceiver<GivenNote>;

impl Deliveries {
    /// Begins, where anybody wants events. What is handed back is to be written by the crawl; where new
    /// receivers begin is in it already, so it is durable before the crawl asks for anything.
    pub(super) fn start(
        directory: &Path,
        store: &Store,
        watch: &Watch,
    ) -> anyhow::Result<Option<(Self, Notes)>> {
        if watch.deliver.is_empty() {
            return Ok(None);
        }
        let (tell, notes) = mpsc::unbounded_channel();
        let mut pen = CrawlPen(tell);
        let lines = begin(store, watch.deliver.clone(), &mut pen)?;
        let over = Arc::new(AtomicBool::new(false));
        let (directory, told) = (directory.to_owned(), over.clone());
        let asides = watch.asides.clone();
        let thread = std::thread::Builder::new()
            .name("deliveries".to_owned())
            .spawn(move || {
                let courier = Courier::open(&directory, lines)?;
                deliver(courier, &mut pen, &told, &asides)
            })?;
        let deliveries = Self {
            thread: Some(thread),
            over,
        };
        Ok(Some((deliveries, notes)))
    }

    /// Sends what came last. The crawl is over, and the directory free.
    pub(super) fn finish(mut self, directory: &Path) -> anyhow::Result<()> {
        self.over.store(true, Ordering::SeqCst);
        let mut courier = match self.thread.take().map(JoinHandle::join) {
            Some(Ok(courier)) => courier?,
            Some(Err(panic)) => std::panic::resume_unwind(panic),
            None => return Ok(()),
        };
        let mut store = match super::open(directory) {
            Ok(store) => store,
            Err(error) => {
                crate::log::warning(&format!(
                    "turnstone: {error}; the last events are delivered by the next run"
                ));
                return Ok(());
            }
        };
        // The crawl made everything durable when it ended.
        let durable = store.end();
        let known: Vec<(Receiver, Cursor)> = courier
            .cursors()
            .map(|(receiver, cursor)| (receiver.clone(), cursor))
            .collect();
        for (receiver, cursor) in known {
            if Cursor::find(&store, &receiver)? != Some(cursor) {
                StorePen(&mut store).note(&Cursor::kind(&receiver.name), &cursor.to_bytes())?;
            }
        }
        courier.read()?;
        let said = courier.send(now_ms(), durable, &Sender, &mut StorePen(&mut store))?;
        store.write()?;
        store.syncer().sync()?;
        for said in said.iter().filter_map(said_in_words) {
            crate::log::info(&format!("turnstone: {said}"));
        }
        Ok(())
    }
}

/// A crawl that fails does not wait for its deliveries.
impl Drop for Deliveries {
    fn drop(&mut self) {
        self.over.store(true, Ordering::SeqCst);
    }
}

/// How far each receiver is; where it begins, if it was never seen, is noted.
pub(crate) fn begin(
    store: &Store,
    receivers: Vec<Receiver>,
    pen: &mut dyn Pen,
) -> Result<Vec<(Receiver, Cursor)>, StoreError> {
    let mut lines = Vec::new();
    for receiver in receivers {
        let cursor = match Cursor::find(store, &receiver)? {
            Some(cursor) => cursor,
            None => {
                let first = Cursor::first(store, &receiver, now_ms());
                pen.note(&Cursor::kind(&receiver.name), &first.to_bytes())?;
                first
            }
        };
        lines.push((receiver, cursor));
    }
    Ok(lines)
}

fn deliver(
    mut courier: Courier,
    pen: &mut dyn Pen,
    over: &AtomicBool,
    asides: &Mutex<Vec<String>>,
) -> Result<Courier, StoreError> {
    let mut failing: BTreeMap<String, bool> = BTreeMap::new();
    while !over.load(Ordering::SeqCst) {
        courier.read()?;
        let durable = courier.durable();
        for said in courier.send(now_ms(), durable, &Sender, pen)? {
            // A receiver that keeps failing is told of once, and when it is back.
            let news = match &said {
                Said::Failed { receiver, .. } => {
                    failing.insert(receiver.clone(), true) != Some(true)
                }
                Said::Took { receiver, .. } => {
                    failing.insert(receiver.clone(), false) == Some(true)
                }
                Said::Skipped { .. } => true,
            };
            if news {
                locked(asides).extend(said_in_words(&said).or_else(|| match said {
                    Said::Took { receiver, .. } => Some(format!("{receiver}: takes events again")),
                    _ => None,
                }));
            }
        }
        let mut slept = Duration::ZERO;
        while slept < LOOK_EVERY && !over.load(Ordering::SeqCst) {
            std::thread::sleep(NAP);
            slept += NAP;
        }
    }
    Ok(courier)
}

/// What an operator should know; that all went well is nothing.
pub(crate) fn said_in_words(said: &Said) -> Option<String> {
    match said {
        Said::Took { .. } => None,
        Said::Failed {
            receiver,
            why,
            again_ms,
        } => Some(format!(
            "{receiver}: not delivered: {why}; tried again in {} or by the next run",
            duration(*again_ms as f64 / 1000.0)
        )),
        Said::Skipped { receiver, events } => Some(format!(
            "{receiver}: {} left out, older than its limit (catch-up)",
            plural(*events, "event")
        )),
    }
}

/// A lock that somebody panicked with still guards lines.
pub(super) fn locked(lines: &Mutex<Vec<String>>) -> MutexGuard<'_, Vec<String>> {
    lines
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// Hands notes to the crawl. When it is over they are noted by [`Deliveries::finish`].
struct CrawlPen(mpsc::UnboundedSender<GivenNote>);

impl Pen for CrawlPen {
    fn note(&mut self, kind: &str, bytes: &[u8]) -> Result<(), StoreError> {
        let _ = self.0.send((kind.to_owned(), bytes.to_owned()));
        Ok(())
    }
}

/// Writes notes into a store that nobody crawls with.
pub(crate) struct StorePen<'a>(pub(crate) &'a mut Store);

impl Pen for StorePen<'_> {
    fn note(&mut self, kind: &str, bytes: &[u8]) -> Result<(), StoreError> {
        let tick = self.0.index().latest();
        self.0.append(tick, &Entry::Note { kind, bytes });
        self.0.write()
    }
}
