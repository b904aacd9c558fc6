//! Which bodies are in the store already, so that a duplicate is written as a reference.
//!
//! Shared by the fetch tasks, which build WARC records off the owner's thread. Only captures that
//! the journal acknowledged are here: a reference never points at what a crash could take away.
//!
//! Cost: about 40 bytes for each distinct body.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::journal::Position;

/// From payload digests to the entry of the first capture.

#[derive(Debug, Default)]
pub struct Seen {
    durable: Mutex<HashMap<[u8; 20], Position>>,
}

impl Seen {
    /// The entry that stored this body first.
    pub fn find(&self, digest: &[u8; 20]) -> Option<Position> {
        self.lock().get(digest).copied()
    }

    /// The body is durably stored by this entry.
    pub fn insert(&self, digest: [u8; 20], at: Position) {
        self.lock().entry(digest).or_insert(at);
    }

    /// How many distinct bodies are stored.
    pub fn count(&self) -> usize {
        self.lock().len()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<[u8; 20], Position>> {
        // A map is whole between calls, whoever panicked.
        self.durable.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
