//! Appends captures to WARC files of bounded size, and their lines to the index.
//!
//! Files are `NAME-00001.warc.gz`, …; the one being written ends in `.open`. Each begins with a
//! `warcinfo` record. Nothing is buffered beyond a call: an append is one write to the WARC file
//! and one to the index, and both are taken back if either fails. `sync` makes all appends so far
//! durable; then the caller writes [`Ends`] to its journal, and only that acknowledges them.
//!
//! Invariant: between calls both files hold whole records and whole lines, and every line points
//! at a record before it. Cost per capture: two system calls.

use std::path::PathBuf;

use super::capture::{Capture, pack};
use super::cdxj::{Place, line};
use super::date::warc_date;
use super::fields::{Fields, warc_fields};
use super::folder::Folder;
use super::member::Packer;
use super::record_id::RecordId;
use super::sort::{SortError, sort_index};
use super::tail::{Tail, TailFile, WriteError};

/// The name of the index in the folder of the WARC files.
pub const INDEX_NAME: &str = "index.cdxj";

/// What all files of an archive have in common.
#[derive(Clone, Debug)]
pub struct Settings {
    /// What file names begin with: letters, digits, `-`, `_` and `.`.
    pub name: String,
    /// A file is closed before it would become longer than this (a larger capture has its own).
    pub file_bytes_max: u64,
    /// The lines of the `warcinfo` records, such as software, robots, operator: names and values.
    pub info: Vec<(String, String)>,
    /// The crawl's own 16 bytes, from which record names are made.
    pub namespace: [u8; 16],
}

impl Settings {
    /// Settings with files of 1 GB.
    pub fn new(name: &str, namespace: [u8; 16]) -> Self {
        Self {
            name: name.to_owned(),
            file_bytes_max: 1_000_000_000,
            info: Vec::new(),
            namespace,
        }
    }

    /// The name of a closed file.
    pub fn file_name(&self, number: u32) -> String {
        format!("{}-{number:05}.warc.gz", self.name)
    }
}

/// How far the archive reaches: what a journal keeps to acknowledge captures.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ends {
    /// The number of the last WARC file; 0 when there is none yet.
    pub file: u32,
    /// Its length.
    pub warc_len: u64,
    /// The length of the index.
    pub index_len: u64,
}

/// Where a capture went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Location {
    /// The number of the WARC file.
    pub file: u32,
    /// The first byte of the response or revisit.
    pub offset: u64,
    /// The length of its member.
    pub length: u64,
}

/// The open archive.
pub struct Writer {
    pub(super) folder: Box<dyn Folder>,
    pub(super) path: PathBuf,
    pub(super) settings: Settings,
    /// The file being written, if one is.
    pub(super) current: Option<Tail>,
    /// The number of the file being written, else of the last one closed.
    pub(super) number: u32,
    /// The length of the last file closed.
    pub(super) closed_len: u64,
    /// The length of the current file's `warcinfo`, if it was written by this process: a file with
    /// nothing else is not closed, however large the first capture is.
    pub(super) info_len: u64,
    pub(super) index: Tail,
}

impl Writer {
    /// Appends a capture and its index line; `surt` is the key of its URL.
    pub fn append(&mut self, capture: &Capture, surt: &str) -> Result<Location, WriteError> {
        let bytes = capture.bytes();
        let full = self.current.as_ref().is_some_and(|warc| {
            warc.len() > self.info_len
                && warc.len().saturating_add(bytes.len() as u64) > self.settings.file_bytes_max
        });
        if full {
            self.close_current()?;
        }
        let mut warc = match self.current.take() {
            Some(warc) => warc,
            None => self.begin_file(capture.facts().date_ms)?,
        };
        let appended = warc.append(bytes);
        let warc = self.current.insert(warc);
        let place = Place {
            filename: self.settings.file_name(self.number),
            offset: appended?,
            length: capture.first_len() as u64,
        };
        let line = line(surt, capture.facts(), &place);
        if let Err(error) = self.index.append(line.as_bytes()) {
            warc.cut_to(place.offset)?;
            return Err(error);
        }
        Ok(Location {
            file: self.number,
            offset: place.offset,
            length: place.length,
        })
    }

    /// Makes every capture appended so far durable, and returns how far that is: what may now be
    /// acknowledged.
    pub fn sync(&self) -> Result<Ends, WriteError> {
        self.syncer().sync()
    }

    /// The same for another thread: what was appended until now, while appending goes on.
    pub fn syncer(&self) -> Syncer {
        Syncer {
            warc: self.current.as_ref().map(Tail::file),
            index: self.index.file(),
            ends: self.ends(),
        }
    }

    /// How far the archive reaches now.
    pub fn ends(&self) -> Ends {
        Ends {
            file: self.number,
            warc_len: self.current.as_ref().map_or(self.closed_len, Tail::len),
            index_len: self.index.len(),
        }
    }

    /// Closes the last file under its final name and sorts the index, for tools that search it by
    /// bisection. Call it when the journal holds [`Writer::ends`]: a sorted index can no longer be
    /// cut to an earlier end.
    pub fn finish(mut self, sort_bytes_max: usize) -> Result<(), FinishError> {
        self.close_current()?;
        self.index.sync()?;
        sort_index(self.index.path(), sort_bytes_max)?;
        Ok(())
    }

    /// Makes the current file durable and gives it its final name.
    fn close_current(&mut self) -> Result<(), WriteError> {
        let Some(warc) = &mut self.current else {
            return Ok(());
        };
        warc.sync()?;
        let path = self.path.join(self.settings.file_name(self.number));
        self.folder
            .rename(warc.path(), &path)
            .map_err(|source| WriteError::not_written(&path, source))?;
        self.closed_len = warc.len();
        self.current = None;
        self.folder
            .sync(&self.path)
            .map_err(|source| WriteError::not_written(&path, source))
    }

    /// Begins the next file with its `warcinfo` record.
    fn begin_file(&mut self, date_ms: u64) -> Result<Tail, WriteError> {
        let number = self.number + 1;
        let name = self.settings.file_name(number);
        let path = self.path.join(format!("{name}.open"));
        let mut warc = Tail::open(self.folder.as_ref(), &path, 0)
            .and_then(|warc| self.folder.sync(&self.path).map(|()| warc))
            .map_err(|source| WriteError::not_written(&path, source))?;
        warc.append(&self.warcinfo(number, &name, date_ms))?;
        self.info_len = warc.len();
        self.number = number;
        Ok(warc)
    }

    fn warcinfo(&self, number: u32, name: &str, date_ms: u64) -> Vec<u8> {
        let id = RecordId::new(
            &self.settings.namespace,
            "warcinfo",
            date_ms,
            u64::from(number),
            name,
        );
        let mut fields = Fields::new("warcinfo");
        fields.push("WARC-Record-ID", id);
        fields.push("WARC-Date", warc_date(date_ms));
        fields.push("WARC-Filename", name);
        fields.push("Content-Type", "application/warc-fields");
        let block = warc_fields(&self.settings.info);
        let mut member = Vec::new();
        pack(
            &mut Packer::default(),
            fields,
            &[block.as_bytes()],
            &mut member,
        );
        member
    }
}

impl std::fmt::Debug for Writer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Writer")
            .field("path", &self.path)
            .field("ends", &self.ends())
            .finish_non_exhaustive()
    }
}

/// Makes captures durable away from the thread that appends them.
pub struct Syncer {
    warc: Option<TailFile>,
    index: TailFile,
    ends: Ends,
}

impl Syncer {
    /// Returns when everything that was appended before the syncer was made is durable.
    pub fn sync(self) -> Result<Ends, WriteError> {
        if let Some(warc) = &self.warc {
            warc.sync()?;
        }
        self.index.sync()?;
        Ok(self.ends)
    }
}

/// Why an archive could not be finished. Nothing is lost: it can be opened again.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FinishError {
    /// The last file could not be closed.
    #[error(transparent)]
    Write(#[from] WriteError),
    /// The index could not be sorted.
    #[error(transparent)]
    Sort(#[from] SortError),
}
