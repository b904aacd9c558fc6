//! What can go wrong with a crawl directory, in words for the person who runs it.

use std::io;
use std::path::PathBuf;

/// Why a crawl directory cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The system refused.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// There is no crawl here.
    #[error("{}: not a crawl directory (it has no store/journal)", path.display())]
    Missing {
        /// The directory.
        path: PathBuf,
    },
    /// There is a crawl here already.
    #[error("{}: already holds a crawl", path.display())]
    Exists {
        /// The directory.
        path: PathBuf,
    },
    /// Another process has it.
    #[error("{}: in use by {holder}; stop that process first, or choose another directory", path.display())]
    Locked {
        /// The directory.
        path: PathBuf,
        /// What the lock says.
        holder: String,
    },
    /// It was written by a newer release.
    #[error("{}: written by a newer turnstone (format {found}, this one reads {known}); use that release", path.display())]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its version.
        found: u32,
        /// Ours.
        known: u32,
    },
    /// It is not one of our files.
    #[error("{}: not a turnstone journal", path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
    },
    /// It is damaged in the middle, where no crash can have done it.
    #[error("{}: damaged at byte {at}: {what}; nothing was changed. Restore the file from a copy, \
             or export what is before the damage", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// Where.
        at: u64,
        /// What is wrong.
        what: String,
    },
}

impl StoreError {
    /// Names the file that the system refused.
    pub(crate) fn io(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self::Io { path, source }
    }

    /// There is no room on the disk: worth waiting for.
    pub fn is_full(&self) -> bool {
        use io::ErrorKind::{FileTooLarge, QuotaExceeded, StorageFull};
        matches!(self, Self::Io { source, .. }
            if matches!(source.kind(), StorageFull | QuotaExceeded | FileTooLarge))
    }
}
