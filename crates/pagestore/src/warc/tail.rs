//! A file that grows by whole appends or not at all.
//!
//! When an append fails (no space, a bad disk), what it left is cut away, and the same bytes can
//! be appended again later. When even the cut fails, the tail remembers and cuts before the next
//! append. When a sync fails, nobody knows what the disk holds: then nothing more is appended
//! until the archive is opened again and cut to what was acknowledged.

use std::io;
use std::path::{Path, PathBuf};

use super::disk::{Disk, DiskFile};

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
        use io::ErrorKind::{QuotaExceeded, StorageFull};
        match self {
            Self::NotWritten { source, .. } | Self::PieceLeft { source, .. } => {
                matches!(source.kind(), StorageFull | QuotaExceeded)
            }
            Self::NotSynced { .. } | Self::Unsure { .. } => false,
        }
    }
}

/// The growing end of a file.
pub(super) struct Tail {
    path: PathBuf,
    file: Box<dyn DiskFile>,
    len: u64,
    piece_left: bool,
    unsure: bool,
}

impl Tail {
    /// Opens a file and cuts it to `len`, which must not be more than it holds.
    pub(super) fn open(disk: &dyn Disk, path: &Path, len: u64) -> io::Result<Self> {
        let mut file = disk.open(path)?;
        let is = file.byte_len()?;
        assert!(is >= len, "the caller has looked at the length");
        if is > len {
            file.cut(len)?;
            file.sync()?;
        }
        Ok(Self {
            path: path.to_owned(),
            file,
            len,
            piece_left: false,
            unsure: false,
        })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn len(&self) -> u64 {
        self.len
    }

    /// Appends and returns where the bytes begin.
    pub(super) fn append(&mut self, bytes: &[u8]) -> Result<u64, WriteError> {
        if self.unsure {
            return Err(WriteError::Unsure {
                path: self.path.clone(),
            });
        }
        if self.piece_left {
            self.cut_to(self.len)?;
        }
        let at = self.len;
        if let Err(source) = self.file.append(bytes) {
            self.cut_to(at)?;
            return Err(WriteError::not_written(&self.path, source));
        }
        self.len += bytes.len() as u64;
        Ok(at)
    }

    /// Takes back everything after `len`.
    pub(super) fn cut_to(&mut self, len: u64) -> Result<(), WriteError> {
        assert!(len <= self.len, "a tail is cut, not grown");
        self.len = len;
        self.piece_left = true;
        self.file.cut(len).map_err(|source| WriteError::PieceLeft {
            path: self.path.clone(),
            len,
            source,
        })?;
        self.piece_left = false;
        Ok(())
    }

    /// Returns when everything appended so far is durable.
    pub(super) fn sync(&mut self) -> Result<(), WriteError> {
        if self.unsure {
            return Err(WriteError::Unsure {
                path: self.path.clone(),
            });
        }
        if self.piece_left {
            self.cut_to(self.len)?;
        }
        self.file.sync().map_err(|source| {
            self.unsure = true;
            WriteError::NotSynced {
                path: self.path.clone(),
                source,
            }
        })
    }
}
