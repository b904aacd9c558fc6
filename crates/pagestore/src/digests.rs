//! Which bodies are in the store already, so that a duplicate is written as a reference.
//!
//! Shared by the fetch tasks, which build WARC records off the owner's thread. Only captures that
//! the journal acknowledged are here: a reference never points at what a crash could take away.
//!
//! Cost: about 50 bytes for each distinct body.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Mutex, MutexGuard, PoisonError};

use turnstone_frontier::PageId;

use crate::journal::Position;

/// The first capture of a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FirstCapture {
    /// The page it came from.
    pub page: PageId,
    /// The entry that announced that page, with its URL.
    pub page_at: Position,
    /// When it was fetched, in milliseconds of 1970.
    pub wall_ms: u64,
}

/// From payload digests to first captures.
#[derive(Debug, Default)]
pub struct Digests {
    durable: Mutex<HashMap<[u8; 20], FirstCapture>>,
}

impl Digests {
    /// The capture that stored this body first.
    pub fn find(&self, digest: &[u8; 20]) -> Option<FirstCapture> {
        self.lock().get(digest).copied()
    }

    /// The body is durably stored by this capture.
    pub fn insert(&self, digest: [u8; 20], first: FirstCapture) {
        self.lock().entry(digest).or_insert(first);
    }

    /// The captures of these pages are no more.
    pub(crate) fn forget(&self, pages: &BTreeSet<PageId>) {
        self.lock().retain(|_, first| !pages.contains(&first.page));
    }

    /// How many distinct bodies are stored.
    pub fn count(&self) -> usize {
        self.lock().len()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<[u8; 20], FirstCapture>> {
        // A map is whole between calls, whoever panicked.
        self.durable.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
