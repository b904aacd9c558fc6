//! Where the WARC files of a crawl are, and what they are called.
//!
//! The journal knows files by number alone. Their names say which crawl they are of, so that files of many
//! crawls can lie in one folder or one bucket: `crawl-5f3a9c12ab34-00001.warc.gz`, where the digits are the
//! first of [`Store::namespace`], which no other crawl and no other shard has. One process at a time writes a
//! store, and a number is given once: so no two processes ever write a file of one name. Older releases
//! called all files `crawl-00001.warc.gz`; a directory that has such a file goes on that way.
//!
//! A file that was brought to an object store has a small file beside it that says where ([`Uploaded`]). Then
//! the file itself may be dropped, and whoever wants it is told where it is.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::facts::Archived;
use crate::store::Store;
use crate::warc::{ReadAtError, RecordHead, Settings, Span, UPLOADED_ENDING, Uploaded, read_at};

/// What names of WARC files begin with.
const NAME: &str = "crawl";
/// How many bytes of the namespace a name has.
const NAMESPACE_BYTES: usize = 6;

/// Why a stored answer cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CopyError {
    /// Its WARC file was brought elsewhere, and the local copy was dropped.
    #[error(
        "{}: this file is at {place}, and its local copy was dropped; `turnstone upload DIR --back` brings it back",
        .path.display()
    )]
    Elsewhere {
        /// The file.
        path: PathBuf,
        /// Where it is.
        place: String,
    },
    /// The record cannot be read.
    #[error(transparent)]
    Record(#[from] ReadAtError),
}

impl Store {
    /// The folder of the WARC files.
    pub fn archive_folder(&self) -> PathBuf {
        self.directory().join("warc")
    }

    /// What the WARC files of this crawl have in common.
    pub fn archive(&self) -> Settings {
        let namespace = self.namespace();
        let plain = Settings::new(NAME, namespace);
        let folder = self.archive_folder();
        let first = folder.join(plain.file_name(1));
        let endings = ["", ".open", UPLOADED_ENDING];
        let is_old = |ending: &&str| fs::symlink_metadata(with_ending(&first, ending)).is_ok();
        if endings.iter().any(is_old) {
            return plain;
        }
        let digits = namespace[..NAMESPACE_BYTES].iter();
        let digits: String = digits.map(|byte| format!("{byte:02x}")).collect();
        Settings::new(&format!("{NAME}-{digits}"), namespace)
    }

    /// The record of an answer out of the WARC files. At most `block_bytes_max` bytes are held.
    pub fn read_record(
        &self,
        at: Archived,
        block_bytes_max: u64,
    ) -> Result<(RecordHead, Vec<u8>), CopyError> {
        self.read_record_in(&self.archive_folder(), at, block_bytes_max)
    }

    /// The same where the files lie elsewhere than the journal that is looked at.
    pub fn read_record_in(
        &self,
        folder: &Path,
        at: Archived,
        block_bytes_max: u64,
    ) -> Result<(RecordHead, Vec<u8>), CopyError> {
        let closed = folder.join(self.archive().file_name(at.file));
        let span = Span {
            offset: at.offset,
            length: at.length,
            block_bytes_max,
        };
        let path = if closed.exists() {
            closed.clone()
        } else {
            with_ending(&closed, ".open")
        };
        match read_at(&path, span) {
            Err(error) if !path.exists() => match Uploaded::of(&closed) {
                Ok(Some(uploaded)) => Err(CopyError::Elsewhere {
                    path: closed,
                    place: uploaded.place,
                }),
                _ => Err(error.into()),
            },
            other => Ok(other?),
        }
    }
}

/// A path with something behind its name.
pub(crate) fn with_ending(path: &Path, ending: &str) -> PathBuf {
    let mut path = path.as_os_str().to_owned();
    path.push(ending);
    path.into()
}

/// Reads nothing where there is no file.
pub(crate) fn read_if_there(path: &Path) -> io::Result<Option<Vec<u8>>> {
    match fs::read(path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}
