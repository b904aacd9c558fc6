//! All crawls of a server: a folder each, made when its first URL comes.
//!
//! ```text
//!   DIR/store/LOCK      who has the directory
//!   DIR/crawls/NAME/    a crawl directory, as every command reads it
//! ```

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use turnstone_crawl::Clock;
use turnstone_frontier::{Policy, Tick};
use turnstone_ledger::{Began, Loans};
use turnstone_pagestore::{Lock, Store, StoreError};

use crate::names;

/// The most crawls: each is a journal that is open.
pub const CRAWLS_MAX: usize = 256;

/// Makes the policy of a crawl, for its store; none for the one that lends what is due longest.
pub type MakePolicy = Arc<dyn Fn(&Store) -> Result<Option<Box<dyn Policy>>, String> + Send + Sync>;

/// What a server is asked to do with every crawl.
#[derive(Clone)]
pub struct Settings {
    /// Makes their policies.
    pub make: MakePolicy,
    /// The policy with everything its decisions depend on.
    pub policy: String,
    /// How many seconds a host rests.
    pub delay_s: u32,
}

/// Why a directory or a crawl cannot be opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CrawlsError {
    /// The journal, or who has it.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A policy cannot be made.
    #[error("{}: {why}", .crawl.display())]
    Policy {
        /// The directory.
        crawl: PathBuf,
        /// Why.
        why: String,
    },
    /// The directory is that of a crawl that Turnstone fetches itself.
    #[error(
        "{}: a crawl that Turnstone fetches itself; give another directory for what other crawlers fetch",
        .directory.display()
    )]
    Own {
        /// The directory.
        directory: PathBuf,
    },
    /// A crawl is in the folder that Turnstone fetched itself.
    #[error("{}: not a crawl whose pages are lent; move it away", .directory.display())]
    Foreign {
        /// The directory.
        directory: PathBuf,
    },
    /// The disk.
    #[error("{}: {source}", .path.display())]
    Disk {
        /// The file or folder.
        path: PathBuf,
        /// What it said.
        source: io::Error,
    },
    /// There are as many crawls as there may be, or the name is too long for a folder.
    #[error(
        "no more crawls, or too long a name: at most {CRAWLS_MAX}, of {} bytes",
        names::CRAWL_BYTES_MAX
    )]
    TooMany,
}

/// One crawl.
pub(crate) struct Crawl {
    pub(crate) name: Arc<str>,
    pub(crate) loans: Loans<Box<dyn Policy>>,
    clock: Clock,
    /// The disk took no more: what waits is tried again before anything else is taken.
    pub(crate) must_write: bool,
    /// The disk failed when it was made durable: what it keeps is not known.
    pub(crate) unsafe_because: Option<String>,
}

impl Crawl {
    /// Now. Never before what the journal knows.
    pub(crate) fn now(&self) -> Tick {
        self.clock.now().max(self.loans.lender().latest())
    }

    /// A moment in seconds of 1970, as a tick.
    pub(crate) fn tick_of(&self, seconds: u64) -> Tick {
        self.clock.tick_of_seconds(seconds)
    }

    /// Whether it can take anything now: what waits to be written is tried again.
    pub(crate) fn usable(&mut self) -> Result<(), String> {
        if let Some(why) = &self.unsafe_because {
            return Err(format!("{why}; start the server again"));
        }
        if self.must_write {
            self.loans.write().map_err(|error| error.to_string())?;
            self.must_write = false;
        }
        Ok(())
    }
}

/// All crawls.
pub(crate) struct Crawls {
    directory: PathBuf,
    settings: Settings,
    pub(crate) all: BTreeMap<Arc<str>, Crawl>,
    /// While it is not, nothing is lent.
    pub(crate) active: bool,
    /// The crawl that was lent from last, where any will do.
    pub(crate) turn: Option<Arc<str>>,
    removed: u64,
    _lock: Lock,
}

impl Crawls {
    /// Takes a directory over, with every crawl in it.
    pub(crate) fn open(directory: &Path, settings: Settings) -> Result<Self, CrawlsError> {
        if directory.join("store").join("journal").exists() {
            let directory = directory.to_owned();
            return Err(CrawlsError::Own { directory });
        }
        let folder = directory.join("crawls");
        let store = directory.join("store");
        for path in [&folder, &store] {
            fs::create_dir_all(path).map_err(disk(path))?;
        }
        let lock = Lock::take(directory, &holder())?;
        let mut crawls = Self {
            directory: directory.to_owned(),
            settings,
            all: BTreeMap::new(),
            active: true,
            turn: None,
            removed: 0,
            _lock: lock,
        };
        for entry in fs::read_dir(&folder).map_err(disk(&folder))? {
            let path = entry.map_err(disk(&folder))?.path();
            let name = path.file_name().and_then(|name| name.to_str());
            if name.is_some_and(|name| name.starts_with(REMOVED)) {
                // A server that was killed while it removed a crawl.
                fs::remove_dir_all(&path).map_err(disk(&path))?;
                continue;
            }
            let Some(name) = name.and_then(names::of_folder) else {
                continue;
            };
            // A crawl whose first moment was cut off is none yet.
            if path.join("store").join("journal").exists() {
                crawls.take_over(&name, &path)?;
            }
        }
        Ok(crawls)
    }

    /// The crawl of a name, if there is one.
    pub(crate) fn find(&mut self, name: &str) -> Option<&mut Crawl> {
        self.all.get_mut(name)
    }

    /// The crawl of a name, made now if there is none.
    pub(crate) fn find_or_make(&mut self, name: &str) -> Result<&mut Crawl, CrawlsError> {
        if !self.all.contains_key(name) {
            let folder = names::folder(name).filter(|_| self.all.len() < CRAWLS_MAX);
            let folder = folder.ok_or(CrawlsError::TooMany)?;
            let path = self.directory.join("crawls").join(folder);
            self.take_over(name, &path)?;
        }
        Ok(self.all.get_mut(name).expect("it is there now"))
    }

    fn take_over(&mut self, name: &str, path: &Path) -> Result<(), CrawlsError> {
        let store = match path.join("store").join("journal").exists() {
            true => Store::open(path, &holder())?,
            false => Store::create(path, &holder())?,
        };
        let plan = store.index().plan();
        if plan.is_some_and(|plan| plan.question != turnstone_ledger::LEND) {
            let directory = path.to_owned();
            return Err(CrawlsError::Foreign { directory });
        }
        let clock = Clock::resume(store.index(), 1);
        let (tick, session) = (clock.now(), clock.session());
        let began = Began {
            tick,
            wall_ms: clock.wall_ms(),
            boot: &session.boot,
            boot_ms: session.boot_ms,
            delay_s: self.settings.delay_s,
            policy: &self.settings.policy,
        };
        let make = |store: &Store| {
            let crawl = path.to_owned();
            (self.settings.make)(store).map_err(|why| CrawlsError::Policy { crawl, why })
        };
        let mut loans = Loans::open(store, &began, make)?;
        if clock.rebooted() {
            // Loans that were never synced may be missing: every host rests once.
            loans.rest_all(tick);
        }
        let name: Arc<str> = name.into();
        let crawl = Crawl {
            name: name.clone(),
            loans,
            clock,
            must_write: false,
            unsafe_because: None,
        };
        self.all.insert(name, crawl);
        Ok(())
    }

    /// Removes a crawl. Returns how many pages it had, and the folder that is to be removed, which nobody finds any more.
    pub(crate) fn remove(&mut self, name: &str) -> Result<(u64, Option<PathBuf>), CrawlsError> {
        let Some(crawl) = self.all.get(name) else {
            return Ok((0, None));
        };
        let queues = crawl.loans.lender().queues();
        let pages =
            queues.map(|(_, queue)| u64::from(queue.scheduled) + u64::from(queue.completed));
        let (pages, path) = (pages.sum(), crawl.loans.directory().to_owned());
        let folder = self.directory.join("crawls");
        self.removed += 1;
        let gone = folder.join(format!("{REMOVED}{}-{}", std::process::id(), self.removed));
        fs::rename(&path, &gone).map_err(disk(&path))?;
        let synced = File::open(&folder).and_then(|folder| folder.sync_all());
        synced.map_err(disk(&folder))?;
        self.all.remove(name);
        Ok((pages, Some(gone)))
    }

    /// How much waits to be written.
    pub(crate) fn waiting_bytes(&self) -> usize {
        self.all
            .values()
            .map(|crawl| crawl.loans.waiting_bytes())
            .sum()
    }

    /// How long hosts rest that have no rest of their own, until the server ends.
    pub(crate) fn set_delay(&mut self, delay_s: u32) {
        self.settings.delay_s = delay_s;
        for crawl in self.all.values_mut() {
            let now = crawl.now();
            crawl.loans.set_delay(now, delay_s);
        }
    }

    /// The names of crawls, beginning with the one whose turn it is.
    pub(crate) fn in_turn(&self) -> Vec<Arc<str>> {
        let mut names: Vec<Arc<str>> = self.all.keys().cloned().collect();
        if let Some(last) = &self.turn {
            let next = names.partition_point(|name| name <= last);
            names.rotate_left(next);
        }
        names
    }
}

/// How the folder of a crawl begins that is being removed: no crawl has such a name.
const REMOVED: &str = ".removed-";

fn holder() -> String {
    format!("turnstone serve --frontier, process {}", std::process::id())
}

fn disk(path: &Path) -> impl Fn(io::Error) -> CrawlsError + '_ {
    move |source| CrawlsError::Disk {
        path: path.to_owned(),
        source,
    }
}
