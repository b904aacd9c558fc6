//! A file that grows by whole appends or not at all.
//!
//! When an append fails (no space, a bad disk), what it left is cut away, and the same bytes can
//! be appended again later. When even the cut fails, the tail remembers and cuts before the next
//! append. When a sync fails, nobody knows what the disk holds: then nothing more is appended
//! until the archive is opened again and cut to what was acknowledged.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::folder::Folder;
use crate::disk::{Disk, append};

/// Why something could not be written. What was there before is unharmed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WriteError {
    /// Nothing was written; try again when the cause is gone.
    #[error("{}: nothing was written: {source}", .path.display())]
    NotWritten {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// A piece was written and could not be cut away yet.
    #[error("{}: a piece after byte {len} could not be cut away ({source}); it will be before the next write", .path.display())]
    PieceLeft {
        /// The file.
        path: PathBuf,
        /// How long it should be.
        len: u64,
        /// Why it could not be cut.
        source: io::Error,
    },
    /// The disk did not confirm what it was given.
    #[error("{}: the disk did not confirm what was written: {source}; stop and open the crawl directory again", .path.display())]
    NotSynced {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// An earlier sync failed.
    #[error("{}: not written, for an earlier write was not confirmed; open the crawl directory again", .path.display())]
    Unsure {
        /// The file.
        path: PathBuf,
    },
}

impl WriteError {
    pub(super) fn not_written(path: &Path, source: io::Error) -> Self {
        Self::NotWritten {
            path: path.to_owned(),
            source,
        }
    }

    /// Whether the cause is a full disk, so that waiting may help.
    pub fn is_disk_full(&self) -> bool {
        use io::ErrorKind::{FileTooLarge, QuotaExceeded, StorageFull};
        match self {
            Self::NotWritten { source, .. } | Self::PieceLeft { source, .. } => {
                matches!(source.kind(), StorageFull | QuotaExceeded | FileTooLarge)
            }
            Self::NotSynced { .. } | Self::Unsure { .. } => false,
        }
    }
}

/// The growing end of a file.
pub(super) struct Tail {
    file: TailFile,
    len: u64,
    piece_left: bool,
}

/// What another thread needs to sync a file.
#[derive(Clone)]
pub(super) struct TailFile {
    path: PathBuf,
    disk: Arc<dyn Disk>,
    /// Whether a sync failed; seen by all who share the file.
    unsure: Arc<AtomicBool>,
}

impl Tail {
    /// Opens a file and cuts it to `len`, which must not be more than it holds.
    pub(super) fn open(folder: &dyn Folder, path: &Path, len: u64) -> io::Result<Self> {
        let disk = folder.open(path)?;
        let is = disk.length()?;
        assert!(is >= len, "the caller has looked at the length");
        if is > len {
            disk.cut(len)?;
            disk.sync()?;
        }
        Ok(Self {
            file: TailFile {
                path: path.to_owned(),
                disk,
                unsure: Arc::default(),
            },
            len,
            piece_left: false,
        })
    }

    pub(super) fn path(&self) -> &Path {
        &self.file.path
    }

    pub(super) fn len(&self) -> u64 {
        self.len
    }

    /// For a sync by another thread.
    pub(super) fn file(&self) -> TailFile {
        self.file.clone()
    }

    /// Appends and returns where the bytes begin.
    pub(super) fn append(&mut self, bytes: &[u8]) -> Result<u64, WriteError> {
        self.file.check_sure()?;
        if self.piece_left {
            self.cut_to(self.len)?;
        }
        let at = self.len;
        if let Err(source) = append(self.file.disk.as_ref(), bytes, at) {
            self.cut_to(at)?;
            return Err(WriteError::not_written(self.path(), source));
        }
        self.len += bytes.len() as u64;
        Ok(at)
    }

    /// Takes back everything after `len`.
    pub(super) fn cut_to(&mut self, len: u64) -> Result<(), WriteError> {
        assert!(len <= self.len, "a tail is cut, not grown");
        self.len = len;
        self.piece_left = true;
        self.file
            .disk
            .cut(len)
            .map_err(|source| WriteError::PieceLeft {
                path: self.file.path.clone(),
                len,
                source,
            })?;
        self.piece_left = false;
        Ok(())
    }

    /// Returns when everything appended so far is durable, and nothing else is in the file.
    pub(super) fn sync(&mut self) -> Result<(), WriteError> {
        if self.piece_left {
            self.cut_to(self.len)?;
        }
        self.file.sync()
    }
}

impl TailFile {
    pub(super) fn sync(&self) -> Result<(), WriteError> {
        self.check_sure()?;
        self.disk.sync().map_err(|source| {
            self.unsure.store(true, Ordering::Release);
            WriteError::NotSynced {
                path: self.path.clone(),
                source,
            }
        })
    }

    fn check_sure(&self) -> Result<(), WriteError> {
        if self.unsure.load(Ordering::Acquire) {
            return Err(WriteError::Unsure {
                path: self.path.clone(),
            });
        }
        Ok(())
    }
}
