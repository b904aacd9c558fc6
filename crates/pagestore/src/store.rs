//! The crawl directory as its owner sees it: names, entries, links, checkpoints.
//!
//! Every change is an entry: it is appended to the journal and folded into the index by the same
//! call, so that what is in memory is always what a restart would read. Links of fetched pages
//! are read back from the journal, which the system keeps in its page cache.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use turnstone_frontier::{HostId, PageId, Tick};

use crate::checkpoint;
use crate::digests::{Digests, FirstCapture};
use crate::entry::{Entry, Hint};
use crate::error::StoreError;
use crate::facts::Facts;
use crate::index::{Index, SEED_NOTE};
use crate::journal::{Access, Journal, Position, Scan, Syncer, damaged};
use crate::keys::{Key, KeyGatherer, Keyer};
use crate::lock::Lock;
use crate::outcome::{Outcome, Settled};
use crate::page_state::PageState;
use crate::reader::Reader;

/// What a page costs in a journal, links and all: less than in most.
const PAGE_BYTES_GUESS: u64 = 85;

/// A page seen for the first time.
#[derive(Clone, Copy, Debug)]
pub struct NewPage<'a> {
    /// The fingerprint of its canonical URL.
    pub key: Key,
    /// The URL as found.
    pub url: &'a str,
    /// Its host.
    pub host: HostId,
    /// Named by the user rather than found through a link.
    pub seed: bool,
    /// Out of scope.
    pub outside: bool,
    /// Found by way of a sitemap or a feed, or one of these, when nothing else had led there.
    pub listed: bool,
    /// Links from the nearest seed, as far as is known.
    pub depth: u8,
    /// Why it is not going to be asked for, as class and detail; both empty if it is.
    pub refused: (&'a str, &'a str),
    /// What another crawler wants back with the page when it is lent to it.
    pub metadata: &'a [u8],
}

impl<'a> NewPage<'a> {
    /// The entry that announces it.
    pub fn entry(self, page: PageId) -> Entry<'a> {
        let Self {
            key,
            url,
            host,
            seed,
            outside,
            listed,
            depth,
            refused,
            metadata,
        } = self;
        Entry::Page {
            page,
            host,
            seed,
            outside,
            listed,
            depth,
            key,
            url,
            refused,
            metadata,
        }
    }
}

/// An open crawl directory.
#[derive(Debug)]
pub struct Store {
    directory: PathBuf,
    pub(crate) journal: Journal,
    pub(crate) index: Index,
    pub(crate) seen: Arc<Digests>,
    /// Bodies stored by entries that are not yet durable.
    unseen: VecDeque<(Position, [u8; 20], FirstCapture)>,
    pub(crate) buffer: RefCell<Vec<u8>>,
    pub(crate) torn_bytes: u64,
    _lock: Option<Lock>,
}

impl Store {
    /// Makes a crawl directory where there is none. `holder` tells others who has it.
    pub fn create(directory: &Path, holder: &str) -> Result<Self, StoreError> {
        Self::make(directory, holder, None)
    }

    /// Makes the directory of one shard: all shards of a crawl make keys with one secret.
    pub fn create_shard(
        directory: &Path,
        holder: &str,
        secret: [u8; 16],
    ) -> Result<Self, StoreError> {
        Self::make(directory, holder, Some(secret))
    }

    fn make(directory: &Path, holder: &str, secret: Option<[u8; 16]>) -> Result<Self, StoreError> {
        let folder = directory.join("store");
        if folder.join("journal").exists() {
            return Err(StoreError::Exists {
                path: directory.to_owned(),
            });
        }
        fs::create_dir_all(&folder).map_err(StoreError::io(&folder))?;
        let lock = Lock::take(directory, holder)?;
        if folder.join("journal").exists() {
            // Another process was quicker, and is gone already.
            return Err(StoreError::Exists {
                path: directory.to_owned(),
            });
        }
        // Written whole or not at all: a crawl whose first moment was cut off is no crawl yet.
        let (fresh, path) = (folder.join("journal.new"), folder.join("journal"));
        let _ = fs::remove_file(&fresh);
        drop(Journal::create(&fresh, secret)?);
        fs::rename(&fresh, &path).map_err(StoreError::io(&path))?;
        File::open(&folder)
            .and_then(|folder| folder.sync_all())
            .map_err(StoreError::io(&folder))?;
        let journal = Journal::open(&path, Access::Append)?;
        Self::build(directory, journal, Some(lock))
    }

    /// Takes over a crawl directory; cuts what was half written when the last process ended.
    pub fn open(directory: &Path, holder: &str) -> Result<Self, StoreError> {
        let path = existing_journal(directory)?;
        let lock = Lock::take(directory, holder)?;
        let journal = Journal::open(&path, Access::Append)?;
        Self::build(directory, journal, Some(lock))
    }

    /// Looks at a crawl directory, even while another process works in it.
    pub fn look(directory: &Path) -> Result<Self, StoreError> {
        let path = existing_journal(directory)?;
        let journal = Journal::open(&path, Access::Read)?;
        Self::build(directory, journal, None)
    }

    /// Looks at a journal that is already open: for tests with disks that fail.
    pub fn on(directory: &Path, journal: Journal) -> Result<Self, StoreError> {
        Self::build(directory, journal, None)
    }

    /// Takes over a journal that is already open, as [`Store::open`] does, with a lock on a directory
    /// that need not hold it: for simulations, whose disks are in memory.
    pub fn own(directory: &Path, journal: Journal, holder: &str) -> Result<Self, StoreError> {
        let lock = Lock::take(directory, holder)?;
        Self::build(directory, journal, Some(lock))
    }

    fn build(
        directory: &Path,
        mut journal: Journal,
        lock: Option<Lock>,
    ) -> Result<Self, StoreError> {
        let mut index = Index::default();
        // Growing step by step would move every key several times. Memory that is not used after
        // all is not touched either.
        let pages = usize::try_from(journal.end().0 / PAGE_BYTES_GUESS).unwrap_or(0);
        index.reserve(pages);
        let seen = Digests::default();
        let mut scan = journal.scan(Position::FIRST);
        let gatherer = KeyGatherer::start(pages);
        while let Some((at, tick, entry)) = scan.next()? {
            check(&index, &entry).map_err(|what| damaged(journal.path(), at.0, what))?;
            match &entry {
                Entry::Page { key, page, .. } => gatherer.add(*key, *page),
                Entry::Forgotten { key, page } => gatherer.remove(*key, *page),
                Entry::Outcome(outcome) => {
                    if let Some((digest, first)) = stored_body(&index, outcome) {
                        seen.insert(digest, first);
                    }
                }
                _ => {}
            }
            index.fold(at, tick, &entry);
        }
        if !index.forgotten().is_empty() {
            seen.forget(index.forgotten());
        }
        index.set_keys(gatherer.finish());
        let end = scan.end()?;
        let torn_bytes = if lock.is_some() {
            let torn_bytes = journal.cut(end)?;
            journal.raise_version()?;
            checkpoint::remove_beyond(directory, journal.end())?;
            torn_bytes
        } else {
            journal.look_until(end);
            end.length.saturating_sub(end.at.0)
        };
        Ok(Self {
            directory: directory.to_owned(),
            journal,
            index,
            seen: Arc::new(seen),
            unseen: VecDeque::new(),
            buffer: RefCell::default(),
            torn_bytes,
            _lock: lock,
        })
    }

    /// Where it is.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// What is where.
    pub fn index(&self) -> &Index {
        &self.index
    }

    /// Which bodies are stored.
    pub fn seen(&self) -> Arc<Digests> {
        self.seen.clone()
    }

    /// How many bytes at the end had been half written.
    pub fn torn_bytes(&self) -> u64 {
        self.torn_bytes
    }

    /// Makes the keys of this crawl.
    pub fn keyer(&self) -> Keyer {
        Keyer::new(self.journal.secret())
    }

    /// What the keys of this crawl are made with, and its sites shared out by: the same in all its shards.
    pub fn secret(&self) -> [u8; 16] {
        self.journal.secret()
    }

    /// The lane and the bytes of a transfer that was sent, by the position of its entry.
    pub fn sent(&self, at: Position) -> Result<(u32, Vec<u8>), StoreError> {
        let mut buffer = self.buffer.borrow_mut();
        match self.entry(at, &mut buffer)? {
            Entry::Sent { lane, bytes } => Ok((lane, bytes.to_owned())),
            _ => Err(damaged(self.journal.path(), at.0, "nothing was sent here")),
        }
    }

    /// Sixteen bytes that no other crawl has, and no other shard of this one, from which names are made.
    /// They tell nothing about the keys.
    pub fn namespace(&self) -> [u8; 16] {
        let shard = self.index.shard();
        let of = shard.map_or_else(String::new, |(shard, _)| format!(", shard {shard}"));
        let make = |what: &str| self.keyer().key(&format!("{what}{of}")).to_bytes();
        let (name, more) = (make("namespace of this crawl"), make("and more of it"));
        let mut namespace = [0; 16];
        namespace[..12].copy_from_slice(&name);
        namespace[12..].copy_from_slice(&more[..4]);
        namespace
    }

    /// Makes room in memory for this many more pages.
    pub fn reserve(&mut self, pages: usize) {
        self.index.reserve(pages);
    }

    /// Appends an entry.
    pub fn append(&mut self, tick: Tick, entry: &Entry<'_>) -> Position {
        debug_assert_eq!(check(&self.index, entry), Ok(()));
        let at = self.journal.append(tick, entry);
        self.index.fold(at, tick, entry);
        match entry {
            Entry::Page { key, page, .. } => self.index.know_key(*key, *page),
            Entry::Forgotten { key, page } => self.index.forget_key(*key, *page),
            _ => {}
        }
        at
    }

    /// The host of a name, numbered now if it is new.
    pub fn host(&mut self, tick: Tick, name: &str) -> HostId {
        if let Some(host) = self.index.find_host(name) {
            return host;
        }
        let host = HostId::from_index(self.index.host_count());
        self.append(tick, &Entry::Host { host, name });
        host
    }

    /// Numbers a host that is not known yet and belongs to another shard.
    pub fn host_away(&mut self, tick: Tick, name: &str, shard: u32) -> HostId {
        let host = HostId::from_index(self.index.host_count());
        self.append(tick, &Entry::Away { host, name, shard });
        host
    }

    /// Numbers a page that is not known yet.
    pub fn add(&mut self, tick: Tick, new: NewPage<'_>) -> PageId {
        let page = PageId::from_index(self.index.page_count());
        self.append(tick, &new.entry(page));
        page
    }

    /// Makes a seed of a page that was found before. Returns whether it was none yet.
    pub fn name_seed(&mut self, tick: Tick, page: PageId) -> bool {
        if self.index.is_seed(page) {
            return false;
        }
        let entry = Entry::Note {
            kind: SEED_NOTE,
            bytes: &page.0.to_le_bytes(),
        };
        self.append(tick, &entry);
        true
    }

    /// Settles a page.
    pub fn settle(&mut self, tick: Tick, mut outcome: Outcome<'_>) -> Position {
        outcome.before = self.index.outcome_at(outcome.page).unwrap_or_default();
        outcome.facts.hearsay = outcome.is_hearsay();
        let stored = stored_body(&self.index, &outcome);
        let at = self.append(tick, &Entry::Outcome(outcome));
        if let Some((digest, first)) = stored {
            self.unseen.push_back((at, digest, first));
        }
        at
    }

    /// Writes all entries that wait; on failure they wait on.
    pub fn write(&mut self) -> Result<(), StoreError> {
        self.journal.write()
    }

    /// How much waits to be written.
    pub fn waiting_bytes(&self) -> usize {
        self.journal.waiting_bytes()
    }

    /// Where the next entry will begin.
    pub fn end(&self) -> Position {
        self.journal.end()
    }

    /// Makes durable what was written.
    pub fn syncer(&self) -> Syncer {
        self.journal.syncer()
    }

    /// Everything before this position is durable now.
    pub fn durable(&mut self, until: Position) {
        while let Some(&(_, digest, first)) = self.unseen.front().filter(|(at, ..)| *at < until) {
            self.seen.insert(digest, first);
            self.unseen.pop_front();
        }
    }

    /// Writes a checkpoint of a driver's state as it is now. Everything waiting is written and
    /// made durable first.
    pub fn checkpoint(
        &mut self,
        save: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> Result<(), StoreError> {
        self.journal.write()?;
        self.journal.syncer().sync()?;
        checkpoint::write(&self.directory, self.journal.end(), save)
    }

    /// The last checkpoint, if it can be used: where in the journal it was taken, and the state.
    pub fn last_checkpoint(&self) -> Option<(Position, Vec<u8>)> {
        checkpoint::read(&self.directory, self.journal.end())
    }

    /// Reads every entry from a position on that was written.
    pub fn scan(&self, from: Position) -> Scan {
        self.journal.scan(from)
    }

    /// Reads entries from other threads.
    pub fn reader(&self) -> Reader {
        Reader::new(self.journal.disk(), self.journal.path())
    }

    /// The URL of a page, as found.
    pub fn url(&self, page: PageId) -> Result<String, StoreError> {
        let mut buffer = self.buffer.borrow_mut();
        let at = self.index.page_at(page);
        match self.entry(at, &mut buffer)? {
            Entry::Page { url, .. } => Ok(url.to_owned()),
            _ => Err(damaged(
                self.journal.path(),
                at.0,
                "no page is announced here",
            )),
        }
    }

    /// The key and the URL of a page.
    pub fn named(&self, page: PageId) -> Result<(Key, String), StoreError> {
        let mut buffer = self.buffer.borrow_mut();
        let at = self.index.page_at(page);
        match self.entry(at, &mut buffer)? {
            Entry::Page { key, url, .. } => Ok((key, url.to_owned())),
            _ => Err(damaged(
                self.journal.path(),
                at.0,
                "no page is announced here",
            )),
        }
    }

    /// Why a page was refused when it was found, as class and detail.
    pub fn refusal(&self, page: PageId) -> Result<Option<(String, String)>, StoreError> {
        let mut buffer = self.buffer.borrow_mut();
        match self.entry(self.index.page_at(page), &mut buffer)? {
            Entry::Page { refused, .. } if !refused.0.is_empty() => {
                Ok(Some((refused.0.to_owned(), refused.1.to_owned())))
            }
            _ => Ok(None),
        }
    }

    /// What came of a page last.
    pub fn outcome(&self, page: PageId) -> Result<Option<Outcome<'static>>, StoreError> {
        let at = self.index.outcome_at(page);
        at.map(|at| self.outcome_at(at)).transpose()
    }

    /// The outcome at a position, without its links.
    pub fn outcome_at(&self, at: Position) -> Result<Outcome<'static>, StoreError> {
        self.outcome_and_links(at, &mut Vec::new())
    }

    /// The outcome at a position, its links in a buffer.
    pub fn outcome_and_links(
        &self,
        at: Position,
        links: &mut Vec<PageId>,
    ) -> Result<Outcome<'static>, StoreError> {
        links.clear();
        let mut buffer = self.buffer.borrow_mut();
        match self.entry(at, &mut buffer)? {
            Entry::Outcome(outcome) => {
                outcome.links.read(links);
                Ok(outcome.without_links())
            }
            _ => Err(damaged(
                self.journal.path(),
                at.0,
                "no page is settled here",
            )),
        }
    }

    /// The saved record of an authority's robots.txt.
    pub fn robots(&self, authority: &str) -> Result<Option<Vec<u8>>, StoreError> {
        let Some(at) = self.index.robots_at(authority) else {
            return Ok(None);
        };
        let mut buffer = self.buffer.borrow_mut();
        match self.entry(at, &mut buffer)? {
            Entry::Robots { record, .. } => Ok(Some(record.to_owned())),
            _ => Err(damaged(self.journal.path(), at.0, "no robots.txt is here")),
        }
    }

    /// The last note of a kind.
    pub fn note(&self, kind: &str) -> Result<Option<Vec<u8>>, StoreError> {
        let Some(at) = self.index.note_at(kind) else {
            return Ok(None);
        };
        let mut buffer = self.buffer.borrow_mut();
        match self.entry(at, &mut buffer)? {
            Entry::Note { bytes, .. } => Ok(Some(bytes.to_owned())),
            _ => Err(damaged(self.journal.path(), at.0, "no note is here")),
        }
    }

    fn entry<'b>(&'b self, at: Position, buffer: &'b mut Vec<u8>) -> Result<Entry<'b>, StoreError> {
        let bytes = self.journal.entry_bytes(at, buffer)?;
        let entry = Entry::read(bytes).map_err(|what| damaged(self.journal.path(), at.0, what))?;
        Ok(entry.1)
    }

    /// Pages in a state, in order.
    pub fn pages_in(&self, state: PageState) -> impl Iterator<Item = PageId> + '_ {
        let pages = (0..self.index.page_count()).map(PageId::from_index);
        pages.filter(move |page| self.index.state(*page) == state)
    }
}

/// The body that an outcome put into the archive: revisits put none there.
pub(crate) fn stored_body(
    index: &Index,
    outcome: &Outcome<'_>,
) -> Option<([u8; 20], FirstCapture)> {
    let Facts {
        digest,
        capture,
        duplicate_of,
        wall_ms,
        ..
    } = &outcome.facts;
    let digest = digest.filter(|_| capture.is_some() && duplicate_of.is_none())?;
    let first = FirstCapture {
        page: outcome.page,
        page_at: index.page_at(outcome.page),
        wall_ms: *wall_ms,
    };
    Some((digest, first))
}

fn existing_journal(directory: &Path) -> Result<PathBuf, StoreError> {
    let path = directory.join("store/journal");
    if path.is_file() {
        Ok(path)
    } else {
        Err(StoreError::Missing {
            path: directory.to_owned(),
        })
    }
}

/// Whether an entry can follow what the index knows: ids are dense and known.
pub(crate) fn check(index: &Index, entry: &Entry<'_>) -> Result<(), &'static str> {
    let pages = index.page_count();
    let page_known = |page: &PageId| page.index() < pages;
    let host_known = |host: &HostId| host.index() < index.host_count();
    let fits = match entry {
        Entry::Host { host, .. } | Entry::Away { host, .. } => host.index() == index.host_count(),
        Entry::Page { page, host, .. } => page.index() == pages && host_known(host),
        Entry::HandOut { page } | Entry::Forgotten { page, .. } => page_known(page),
        Entry::Lent { pages, .. } => {
            let (mut known, mut of) = (true, None);
            pages.each(|page| {
                known &= page_known(&page)
                    && *of.get_or_insert_with(|| index.host(page)) == index.host(page);
            });
            known
        }
        Entry::Outcome(outcome) => match &outcome.settled {
            Settled::Moved(to) => page_known(&outcome.page) && page_known(to),
            Settled::Fetched(_) | Settled::Failed(_) => page_known(&outcome.page),
        },
        Entry::Hint(Hint { page, by, .. }) => page_known(page) && page_known(by),
        Entry::Held { host, .. }
        | Entry::Shut { host, .. }
        | Entry::Address { host, .. }
        | Entry::Visit { host, .. } => host_known(host),
        Entry::Cut { shard, shards } => shard < shards && pages == 0 && index.host_count() == 0,
        Entry::Joined { host, with } => host_known(host) && host_known(with),
        Entry::Plan {
            inside, outside, ..
        } => {
            let mut known = true;
            inside.each(|page| known &= page_known(&page));
            outside.each(|page| known &= page_known(&page));
            known
        }
        Entry::Session { .. }
        | Entry::Robots { .. }
        | Entry::Round { .. }
        | Entry::Starved
        | Entry::Sent { .. }
        | Entry::Received { .. }
        | Entry::Note { .. } => true,
    };
    if fits {
        Ok(())
    } else {
        Err("it speaks of a page or host that is not known there")
    }
}
