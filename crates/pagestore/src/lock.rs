//! One process at a time: a lock that says who has it.
//!
//! The lock is the system's (`flock`), so it ends with the process, also by kill -9. The file only
//! tells people who holds it; it is never removed, because removing a lock file is a race.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read as _, Seek as _, SeekFrom, Write as _};
use std::path::Path;

use crate::error::StoreError;

/// The longest description that is read back.
const HOLDER_BYTES_MAX: u64 = 1024;

/// Held as long as it lives.
#[derive(Debug)]
pub struct Lock {
    file: File,
}

impl Drop for Lock {
    /// Said explicitly, because a process being started elsewhere in this program may hold a
    /// copy of the file for a moment, and the lock with it.
    fn drop(&mut self) {
        // If it fails, the end of the process unlocks it.
        let _ = self.file.unlock();
    }
}

impl Lock {
    /// Takes the lock of a crawl directory, and writes down who has it.
    pub fn take(directory: &Path, holder: &str) -> Result<Self, StoreError> {
        let path = directory.join("store/LOCK");
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(&path)
            .map_err(StoreError::io(&path))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(StoreError::Locked {
                    path: directory.to_owned(),
                    holder: read_holder(file),
                });
            }
            Err(TryLockError::Error(source)) => return Err(StoreError::io(&path)(source)),
        }
        let written = file
            .set_len(0)
            .and_then(|()| file.seek(SeekFrom::Start(0)).map(drop))
            .and_then(|()| file.write_all(holder.as_bytes()));
        // A full disk must not keep a crawl from being resumed: the lock itself is held.
        drop(written);
        Ok(Self { file })
    }

    /// Who holds the lock of a crawl directory now, if anybody does.
    pub fn holder(directory: &Path) -> Option<String> {
        let file = File::open(directory.join("store/LOCK")).ok()?;
        match file.try_lock_shared() {
            Ok(()) => None,
            Err(_) => Some(read_holder(file)),
        }
    }
}

fn read_holder(file: File) -> String {
    let mut text = String::new();
    let read = file.take(HOLDER_BYTES_MAX).read_to_string(&mut text);
    match read {
        Ok(length) if length > 0 => text
            .chars()
            .map(|c| if c.is_control() { ' ' } else { c })
            .collect(),
        _ => "another process".to_owned(),
    }
}
