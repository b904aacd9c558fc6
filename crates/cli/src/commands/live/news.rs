//! What a round or a slice did to pages: a line of JSON for each event as it happens, or a table at the
//! end. The counts of a round say how it did; this says what it found.
//!
//! Both read the journal as any onlooker does, so nothing is told that `turnstone events` would not
//! tell, and what was told stays true after a kill. The table is made when all is over: then nobody
//! pays for it while the crawl runs. For the lines a thread of its own looks at the journal twice a
//! second, and keeps what `turnstone events` keeps for each known page.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use crate::table::Table;
use turnstone_events::{Kind, SiteEvent, Stream, json, plain};
use turnstone_fetch::urls::shown;
use turnstone_lab::number::{plural, whole};
use turnstone_pagestore::{Entry, Fold, Position, Store, StoreError, Written};

use crate::output::Output;

/// The most events in a table.
const LISTED_MAX: usize = 40;
/// How often the journal is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(500);
/// How long the thread sleeps before it looks whether it is to end.
const NAP: Duration = Duration::from_millis(20);

/// Events since a place in the journal, as many as are listed, and how many there are. A fold of the journal.
#[derive(Default)]
pub(crate) struct News {
    /// The first of them.
    pub(crate) listed: Vec<SiteEvent>,
    all: u64,
    directory: PathBuf,
    began: Position,
    /// None where nobody wants to know.
    stream: Option<Stream>,
}

impl News {
    /// Those of a crawl from a place on, if they are to be printed as a table.
    pub(crate) fn since(store: &Store, began: Position, output: &Output) -> Self {
        Self {
            directory: store.directory().to_owned(),
            began,
            stream: output.is_text().then(|| Stream::of(store).with_alive()),
            ..Self::default()
        }
    }

    /// For people: what happened to which page. `more` are further lines about an event.
    pub(crate) fn table(&self, more: impl Fn(&SiteEvent) -> Vec<String>) -> String {
        if self.listed.is_empty() {
            return String::new();
        }
        let mut table = Table::new(&["what", "page", "about it"]);
        for event in &self.listed {
            let url = plain(&shown(&event.url));
            table.row([event.kind.name().to_owned(), url, about(event)]);
            for line in more(event) {
                table.row([String::new(), format!("  {line}"), String::new()]);
            }
        }
        let mut text = format!("\n{}", table.text());
        let rest = self.all - self.listed.len() as u64;
        if rest > 0 {
            text += &format!(
                "… and {}: turnstone events {} --since {}\n",
                match rest {
                    1 => "1 more".to_owned(),
                    rest => format!("{} more", whole(rest)),
                },
                self.directory.display(),
                self.began.0
            );
        }
        text
    }
}

impl<E: From<StoreError>> Fold<E> for News {
    fn see(&mut self, written: Written, entry: &Entry<'_>) -> Result<(), E> {
        let stream = self.stream.as_mut();
        let event = stream.map(|stream| stream.take(self.began, written, entry));
        if let Some(event) = event.transpose()?.flatten() {
            self.all += 1;
            if self.listed.len() < LISTED_MAX {
                self.listed.push(event);
            }
        }
        Ok(())
    }

    fn begins(&self) -> Position {
        match self.stream {
            Some(_) => Position::FIRST,
            None => Position::NEVER,
        }
    }
}

/// What an event says beyond its kind.
fn about(event: &SiteEvent) -> String {
    let url = |url: &str| plain(&shown(url));
    let mut said = match (event.kind, &event.moved_to) {
        (_, Some(to)) => format!("leads to {}", url(to)),
        (Kind::Gone | Kind::Refused, None) => plain(&event.class),
        (Kind::New | Kind::Changed | Kind::Back, None) if event.title.is_empty() => {
            plural(u64::from(event.words), "word")
        }
        (_, None) => plain(&event.title),
    };
    if let (Kind::New, Some(by)) = (event.kind, &event.found_by) {
        said += &format!(" (found by {})", url(by));
    }
    said
}

/// Tells of events as they happen, in lines of JSON.
pub(crate) struct Teller {
    thread: Option<JoinHandle<anyhow::Result<()>>>,
    over: Arc<AtomicBool>,
}

impl Teller {
    pub(crate) fn start(directory: &Path, began: Position) -> anyhow::Result<Self> {
        let over = Arc::new(AtomicBool::new(false));
        let (directory, told) = (directory.to_owned(), over.clone());
        let thread = std::thread::Builder::new()
            .name("events".to_owned())
            .spawn(move || tell(&directory, began, &told))?;
        Ok(Self {
            thread: Some(thread),
            over,
        })
    }

    /// Waits until everything that was written is told.
    pub(crate) fn finish(mut self) -> anyhow::Result<()> {
        self.over.store(true, Ordering::SeqCst);
        match self.thread.take().map(JoinHandle::join) {
            Some(Ok(told)) => told,
            Some(Err(panic)) => std::panic::resume_unwind(panic),
            None => Ok(()),
        }
    }
}

/// A crawl that fails does not wait for its teller.
impl Drop for Teller {
    fn drop(&mut self) {
        self.over.store(true, Ordering::SeqCst);
    }
}

fn tell(directory: &Path, began: Position, over: &AtomicBool) -> anyhow::Result<()> {
    let output = Output::new(true, "event");
    let mut stream = Stream::open(directory)?.with_alive();
    loop {
        // Looked at first: what was written before the end is told.
        let last = over.load(Ordering::SeqCst);
        let mut gone = false;
        stream.pull(began, |event| -> anyhow::Result<()> {
            gone |= !output.told(|| json(&event), String::new)?;
            Ok(())
        })?;
        if last || gone {
            return Ok(());
        }
        let mut slept = Duration::ZERO;
        while slept < LOOK_EVERY && !over.load(Ordering::SeqCst) {
            std::thread::sleep(NAP);
            slept += NAP;
        }
    }
}
