//! Written entries of a journal, read from any thread: what its owner need not be asked for.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use turnstone_frontier::{PageId, Tick};

use crate::disk::Disk;
use crate::entry::Entry;
use crate::error::StoreError;
use crate::journal::{Position, damaged, read_entry};
use crate::store::Store;

/// Reads written entries.
#[derive(Clone, Debug)]
pub struct Reader {
    disk: Arc<dyn Disk>,
    path: PathBuf,
}

/// What a page was announced with.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Announced {
    /// Its URL.
    pub url: String,
    /// What another crawler wants back with it.
    pub metadata: Vec<u8>,
    /// When.
    pub tick: Tick,
}

impl Reader {
    pub(crate) fn new(disk: Arc<dyn Disk>, path: &Path) -> Self {
        Self {
            disk,
            path: path.to_owned(),
        }
    }

    /// The URL of the page announced at a position.
    pub fn url(&self, page_at: Position) -> Result<String, StoreError> {
        Ok(self.announced(page_at)?.url)
    }

    /// What the page at a position was announced with.
    pub fn announced(&self, page_at: Position) -> Result<Announced, StoreError> {
        self.read(page_at, |tick, entry| match entry {
            Entry::Page { url, metadata, .. } => Some(Announced {
                url: (*url).to_owned(),
                metadata: (*metadata).to_owned(),
                tick,
            }),
            _ => None,
        })
    }

    /// Of the outcome at a position: when the page is wanted again, and what is wanted back with it.
    pub fn wanted(&self, outcome_at: Position) -> Result<(Option<u64>, Vec<u8>), StoreError> {
        self.read(outcome_at, |_, entry| match entry {
            Entry::Outcome(outcome) => {
                let facts = &outcome.facts;
                Some((facts.due_s, facts.metadata.clone()))
            }
            _ => None,
        })
    }

    fn read<T>(
        &self,
        at: Position,
        take: impl FnOnce(Tick, &Entry<'_>) -> Option<T>,
    ) -> Result<T, StoreError> {
        let mut buffer = Vec::new();
        let bytes = read_entry(&*self.disk, &self.path, at, &mut buffer)?;
        let (tick, entry) = Entry::read(bytes).map_err(|what| damaged(&self.path, at.0, what))?;
        let other = || {
            damaged(
                &self.path,
                at.0,
                "another entry is here than the index says",
            )
        };
        take(tick, &entry).ok_or_else(other)
    }
}

impl Store {
    /// When a page was found.
    pub fn found_at(&self, page: PageId) -> Result<Tick, StoreError> {
        let mut buffer = self.buffer.borrow_mut();
        let at = self.index.page_at(page);
        let bytes = self.journal.entry_bytes(at, &mut buffer)?;
        let entry = Entry::read(bytes).map_err(|what| damaged(self.journal.path(), at.0, what))?;
        Ok(entry.0)
    }
}
