//! The note beside a WARC file that says where it was brought: `NAME.warc.gz.uploaded`, a line of JSON.
//!
//! It is written after the object store has acknowledged the whole file, and before the file is dropped. So
//! the file is here, or there and known to be there, at any moment. It stands for the file where an archive is
//! opened: its length is in it.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::archive::{read_if_there, with_ending};

/// What names of such notes end in.
pub const UPLOADED_ENDING: &str = ".uploaded";

/// Where a file was brought.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Uploaded {
    /// Its URL there; no credentials are in it.
    pub place: String,
    /// Its length.
    pub bytes: u64,
    /// Its digest, in hexadecimal digits.
    pub sha256: String,
    /// When the store acknowledged it, in milliseconds of 1970.
    pub wall_ms: u64,
}

impl Uploaded {
    /// The note beside a file; nothing if there is none.
    pub fn of(file: &Path) -> io::Result<Option<Self>> {
        let path = Self::path(file);
        let Some(bytes) = read_if_there(&path)? else {
            return Ok(None);
        };
        let read = serde_json::from_slice(&bytes);
        read.map(Some).map_err(|error| {
            let what = format!("{}: no note of an upload: {error}", path.display());
            io::Error::new(io::ErrorKind::InvalidData, what)
        })
    }

    /// Writes the note beside a file, whole and durable.
    pub fn write(&self, file: &Path) -> io::Result<()> {
        let path = Self::path(file);
        let half = with_ending(&path, ".half");
        let mut out = File::create(&half)?;
        out.write_all(serde_json::to_string(self)?.as_bytes())?;
        out.write_all(b"\n")?;
        out.sync_all()?;
        fs::rename(&half, &path)?;
        match path.parent() {
            Some(folder) => File::open(folder)?.sync_all(),
            None => Ok(()),
        }
    }

    /// Where the note of a file is.
    pub fn path(file: &Path) -> PathBuf {
        with_ending(file, UPLOADED_ENDING)
    }
}
