//! Which page a URL is: a table of fingerprints.
//!
//! A URL is known by 96 bits of a keyed hash of its canonical form. The key is drawn for each
//! crawl, so nobody outside can make two URLs collide; by chance two of a billion URLs do with a
//! probability below 10⁻¹¹, and we call that never. So a link is looked up in memory, and the
//! text of a URL is read only when it is asked for.
//!
//! Cost: 17 to 34 bytes a page, one cache miss or two a look-up.

use std::cell::RefCell;
use std::hash::Hasher as _;
use std::sync::mpsc;
use std::thread;

use hashbrown::HashTable;
use siphasher::sip128::{Hasher128 as _, SipHasher13};
use turnstone_frontier::PageId;

/// The fingerprint of a canonical URL.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key {
    high: u64,
    low: u32,
}

impl Key {
    /// Bytes in the journal.
    pub const BYTES: usize = 12;

    /// As bytes.
    pub fn to_bytes(self) -> [u8; Self::BYTES] {
        let mut bytes = [0; Self::BYTES];
        bytes[..8].copy_from_slice(&self.high.to_le_bytes());
        bytes[8..].copy_from_slice(&self.low.to_le_bytes());
        bytes
    }

    /// From bytes.
    pub fn from_bytes(bytes: [u8; Self::BYTES]) -> Self {
        let [a, b, c, d, e, f, g, h, low @ ..] = bytes;
        Self {
            high: u64::from_le_bytes([a, b, c, d, e, f, g, h]),
            low: u32::from_le_bytes(low),
        }
    }
}

/// Makes keys. Cheap to copy, so that fetch tasks make them off the owner's thread.
#[derive(Clone, Copy, Debug)]
pub struct Keyer {
    secret: [u8; 16],
}

impl Keyer {
    /// With the secret of a crawl.
    pub fn new(secret: [u8; 16]) -> Self {
        Self { secret }
    }

    /// The key of a canonical URL.
    pub fn key(&self, canonical: &str) -> Key {
        let mut hasher = SipHasher13::new_with_key(&self.secret);
        hasher.write(canonical.as_bytes());
        let hash = hasher.finish128();
        Key {
            high: hash.h1,
            low: hash.h2 as u32,
        }
    }
}

/// From keys to pages.
#[derive(Debug, Default)]
pub(crate) struct KeyTable {
    entries: HashTable<(Key, PageId)>,
}

impl KeyTable {
    pub(crate) fn find(&self, key: Key) -> Option<PageId> {
        let found = self.entries.find(key.high, |(other, _)| *other == key);
        found.map(|(_, page)| *page)
    }

    /// Adds a key that is not there yet.
    pub(crate) fn insert(&mut self, key: Key, page: PageId) {
        self.entries
            .insert_unique(key.high, (key, page), |(key, _)| key.high);
    }

    /// Takes out a key, if it is that of this page.
    pub(crate) fn remove(&mut self, key: Key, page: PageId) {
        let found = self
            .entries
            .find_entry(key.high, |other| *other == (key, page));
        if let Ok(found) = found {
            found.remove();
        }
    }

    pub(crate) fn reserve(&mut self, more: usize) {
        self.entries.reserve(more, |(key, _)| key.high);
    }

    pub(crate) fn allocated_bytes(&self) -> usize {
        self.entries.allocation_size()
    }
}

/// Keys handed over at once.
const BATCH: usize = 4096;

/// What becomes of a key: it leads to a page, or does so no more.
type Change = (Key, PageId, bool);

/// Fills a key table beside the thread that reads the journal: each insertion waits for memory,
/// and reading need not wait with it.
pub(crate) struct KeyGatherer {
    batch: RefCell<Vec<Change>>,
    batches: mpsc::SyncSender<Vec<Change>>,
    thread: thread::JoinHandle<KeyTable>,
}

impl KeyGatherer {
    /// Makes room for about so many pages.
    pub(crate) fn start(pages: usize) -> Self {
        // A reader that is faster waits for the table, so that memory stays bounded.
        let (batches, work) = mpsc::sync_channel::<Vec<Change>>(64);
        let thread = thread::spawn(move || {
            let mut table = KeyTable::default();
            table.reserve(pages);
            for (key, page, is_known) in work.into_iter().flatten() {
                match is_known {
                    true => table.insert(key, page),
                    false => table.remove(key, page),
                }
            }
            table
        });
        Self {
            batch: RefCell::new(Vec::with_capacity(BATCH)),
            batches,
            thread,
        }
    }

    pub(crate) fn add(&self, key: Key, page: PageId) {
        self.change((key, page, true));
    }

    pub(crate) fn remove(&self, key: Key, page: PageId) {
        self.change((key, page, false));
    }

    fn change(&self, change: Change) {
        let mut batch = self.batch.borrow_mut();
        batch.push(change);
        if batch.len() == BATCH {
            let full = std::mem::replace(&mut *batch, Vec::with_capacity(BATCH));
            self.batches.send(full).expect("the table is being filled");
        }
    }

    /// The table with every key.
    pub(crate) fn finish(self) -> KeyTable {
        let Self {
            batch,
            batches,
            thread,
        } = self;
        batches
            .send(batch.into_inner())
            .expect("the table is being filled");
        drop(batches);
        thread.join().expect("filling a table does not fail")
    }
}
