//! The journal as it grows, as events.
//!
//! Nothing is written and no lock is taken: a crawl may be running meanwhile. What another process is
//! half way through writing is not read until it is whole.
//!
//! An event's id is made of the crawl's own name and the place of its entry in the journal, so it is the
//! same whoever reads it and how often. The journal only grows; the one exception is a loss of power,
//! after which the last moments before it (0.2 s) may be written anew.
//!
//! Cost: opening reads the journal twice, once to find where it ends.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use turnstone_frontier::{Arm, PageId};
use turnstone_pagestore::journal::{Access, Journal};
use turnstone_pagestore::{DURABLE, Entry, Fold, Position, Reader, Store, StoreError, Written};

use crate::chronicle::{Chronicle, Kind, Noted};

/// Why a page was asked for.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Why {
    /// The question: `crawl`, `discover`, `refresh`, `revive`, `keep`, `import`.
    pub question: String,
    /// To which end, where the policy has several.
    pub arm: Option<Arm>,
    /// The chance with which it was chosen, in units of 2⁻³²; 0 means it was certain.
    pub chance: u32,
}

/// An event, complete.
#[derive(Clone, Debug, PartialEq)]
pub struct SiteEvent {
    /// Never the same for two events.
    pub id: String,
    /// Where its entry is in the journal.
    pub at: Position,
    /// Where the entry after it is: what to go on from.
    pub next: Position,
    /// What happened.
    pub kind: Kind,
    /// The page.
    pub page: PageId,
    /// Its URL.
    pub url: String,
    /// The name of its host.
    pub host: String,
    /// When it happened, in milliseconds of 1970.
    pub when_ms: u64,
    /// When its URL was first met.
    pub first_seen_ms: u64,
    /// The page that first led to it.
    pub found_by: Option<String>,
    /// Named by the user.
    pub seed: bool,
    /// Title of what came.
    pub title: String,
    /// Bytes of body received.
    pub bytes: u64,
    /// Words of visible text.
    pub words: u32,
    /// HTTP status; 0 where there was none.
    pub status: u16,
    /// What was said of it: the class of its outcome.
    pub class: String,
    /// The same in words for people.
    pub detail: String,
    /// The digest of the copy before.
    pub old_digest: Option<[u8; 20]>,
    /// The digest of what came.
    pub new_digest: Option<[u8; 20]>,
    /// Where it leads, if it moved.
    pub moved_to: Option<String>,
    /// Why it was asked for.
    pub why: Why,
}

/// The events of a crawl directory.
#[derive(Debug)]
pub struct Stream {
    path: PathBuf,
    reader: Reader,
    name: String,
    pages: Chronicle,
    forgotten: BTreeSet<PageId>,
    at: Position,
    durable: Position,
}

impl Stream {
    /// Looks at a crawl directory.
    pub fn open(directory: &Path) -> Result<Self, StoreError> {
        Ok(Self::of(&Store::look(directory)?))
    }

    /// Those of one that was looked at.
    pub fn of(store: &Store) -> Self {
        let [a, b, c, d, ..] = store.namespace();
        Self {
            path: store.directory().join("store/journal"),
            reader: store.reader(),
            name: format!("{a:02x}{b:02x}{c:02x}{d:02x}"),
            pages: Chronicle::default().without(store.index().forgotten().clone()),
            forgotten: store.index().forgotten().clone(),
            at: Position::FIRST,
            durable: Position::FIRST,
        }
    }

    /// Also tells of pages that a survey found as they were; to be said before the first pull.
    #[must_use]
    pub fn with_alive(mut self) -> Self {
        self.pages = Chronicle::with_alive().without(self.forgotten.clone());
        self
    }

    /// The crawl's own name, with which all ids begin.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Where the next entry will be read.
    pub fn at(&self) -> Position {
        self.at
    }

    /// Up to where everything is durable, as the journal itself says in what was read of it.
    pub fn durable(&self) -> Position {
        self.durable
    }

    /// Hands on every event written since the last call; stops early when it says so. Events that begin
    /// before `from` are folded and not told.
    pub fn pull<E: From<StoreError>>(
        &mut self,
        from: Position,
        tell: impl FnMut(SiteEvent) -> Result<(), E>,
    ) -> Result<(), E> {
        let journal = Journal::open(&self.path, Access::Read)?;
        let mut scan = journal.scan(self.at);
        let stream = self;
        scan.fold(&mut Pull { stream, from, tell })
    }

    /// Takes in the next entry of the journal, for whoever reads it beside others; the event that it is, if
    /// it is one and does not begin before `from`.
    pub fn take(
        &mut self,
        from: Position,
        written: Written,
        entry: &Entry<'_>,
    ) -> Result<Option<SiteEvent>, StoreError> {
        if let Entry::Note {
            kind: DURABLE,
            bytes,
        } = entry
            && let Ok(until) = <[u8; 8]>::try_from(*bytes)
        {
            self.durable = self.durable.max(Position(u64::from_le_bytes(until)));
        }
        let noted = self.pages.apply(written.at, written.tick, entry);
        self.at = written.next;
        match (noted, entry) {
            (Some(noted), Entry::Outcome(outcome)) if written.at >= from => {
                let event = self.complete(written.at, noted, outcome.facts.clone())?;
                Ok(Some(event))
            }
            _ => Ok(None),
        }
    }

    fn complete(
        &self,
        at: Position,
        noted: Noted,
        facts: turnstone_pagestore::Facts,
    ) -> Result<SiteEvent, StoreError> {
        let url = |page: PageId| self.reader.url(self.pages.page(page).at);
        let known = self.pages.page(noted.page);
        Ok(SiteEvent {
            id: format!("{}-{}", self.name, at.0),
            at,
            next: self.at,
            kind: noted.kind,
            page: noted.page,
            url: url(noted.page)?,
            host: self.pages.host_name(known.host).to_owned(),
            when_ms: noted.when_ms,
            first_seen_ms: known.first_seen_ms,
            found_by: known.found_by.map(url).transpose()?,
            seed: known.seed,
            title: facts.title,
            bytes: facts.body_bytes,
            words: facts.words,
            status: facts.status,
            class: facts.class,
            detail: facts.detail,
            old_digest: noted.old_digest,
            new_digest: noted.new_digest,
            moved_to: noted.moved_to.map(url).transpose()?,
            why: Why {
                question: self.pages.question().to_owned(),
                arm: facts.arm,
                chance: facts.chance,
            },
        })
    }
}

/// Reading on, event by event.
struct Pull<'a, F> {
    stream: &'a mut Stream,
    from: Position,
    tell: F,
}

impl<E: From<StoreError>, F: FnMut(SiteEvent) -> Result<(), E>> Fold<E> for Pull<'_, F> {
    fn see(&mut self, written: Written, entry: &Entry<'_>) -> Result<(), E> {
        let event = self.stream.take(self.from, written, entry)?;
        event.map_or(Ok(()), &mut self.tell)
    }
}
