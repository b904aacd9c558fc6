//! A disk in memory that fails on purpose, and forgets what was not synced.

use std::io;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};

use turnstone_pagestore::Disk;

/// What the disk holds.
#[derive(Debug, Default)]
struct Content {
    bytes: Vec<u8>,
    /// As it was when last synced.
    synced: Vec<u8>,
}

/// A disk whose next call number `fail_at` fails, writing half of what it was given.
#[derive(Debug, Default)]
pub(crate) struct FaultyDisk {
    content: Mutex<Content>,
    calls: AtomicU32,
    fail_at: AtomicU32,
}

impl FaultyDisk {
    pub(crate) fn fail_after(&self, calls: u32) {
        self.calls.store(0, Ordering::Relaxed);
        self.fail_at.store(calls + 1, Ordering::Relaxed);
    }

    pub(crate) fn heal(&self) {
        self.fail_at.store(0, Ordering::Relaxed);
    }

    /// The power goes: what was not synced is gone, all of it or but for a part.
    pub(crate) fn power_cut(&self, survives: usize) {
        let mut content = self.content.lock().unwrap();
        let kept = content.synced.len().max(survives.min(content.bytes.len()));
        content.bytes.truncate(kept);
    }

    fn fails(&self) -> bool {
        let call = self.calls.fetch_add(1, Ordering::Relaxed) + 1;
        call == self.fail_at.load(Ordering::Relaxed)
    }
}

fn full() -> io::Error {
    io::ErrorKind::StorageFull.into()
}

impl Disk for FaultyDisk {
    fn read_at(&self, bytes: &mut [u8], at: u64) -> io::Result<usize> {
        let content = self.content.lock().unwrap();
        let from = content.bytes.get(at as usize..).unwrap_or_default();
        let count = bytes.len().min(from.len());
        bytes[..count].copy_from_slice(&from[..count]);
        Ok(count)
    }

    fn write_at(&self, bytes: &[u8], at: u64) -> io::Result<usize> {
        let fails = self.fails();
        // Short writes are the rule here, failures the exception.
        let count = bytes.len().div_ceil(2);
        let mut content = self.content.lock().unwrap();
        let end = at as usize + count;
        if content.bytes.len() < end {
            content.bytes.resize(end, 0);
        }
        content.bytes[at as usize..end].copy_from_slice(&bytes[..count]);
        if fails { Err(full()) } else { Ok(count) }
    }

    fn cut(&self, length: u64) -> io::Result<()> {
        if self.fails() {
            return Err(full());
        }
        self.content.lock().unwrap().bytes.truncate(length as usize);
        Ok(())
    }

    fn length(&self) -> io::Result<u64> {
        Ok(self.content.lock().unwrap().bytes.len() as u64)
    }

    fn sync(&self) -> io::Result<()> {
        if self.fails() {
            return Err(full());
        }
        let mut content = self.content.lock().unwrap();
        content.synced = content.bytes.clone();
        Ok(())
    }
}
