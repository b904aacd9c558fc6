//! A journal as bytes: what is copied from machine to machine, and what a copy is checked by.
//!
//! Shards of a cluster have their journals replicated by somebody else. Who does that needs the bytes between two
//! positions, where entries end, and to append and cut what others wrote; it needs no index. A [`Store`] and
//! this may be open on one file at the same time as long as only one of them appends.
//!
//! [`Store`]: crate::Store

use std::fs::{self, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

use turnstone_frontier::Tick;

use crate::checkpoint;
use crate::disk::{Disk, RealDisk, append, read_full};
use crate::entry::Entry;
use crate::error::StoreError;
use crate::fold::Written;
use crate::frame::{self, HEAD_BYTES, Look};
use crate::journal::{Access, HEADER_BYTES, Journal, Position, damaged};

/// The bytes of the journal of a crawl directory. A journal that is not there yet has none.
#[derive(Debug)]
pub struct RawJournal {
    directory: PathBuf,
    path: PathBuf,
    disk: Option<RealDisk>,
    end: u64,
}

impl RawJournal {
    /// Opens a journal, and cuts what was half written; or finds that there is none.
    pub fn open(directory: &Path) -> Result<Self, StoreError> {
        let folder = directory.join("store");
        fs::create_dir_all(&folder).map_err(StoreError::io(&folder))?;
        let path = folder.join("journal");
        let mut raw = Self {
            directory: directory.to_owned(),
            path,
            disk: None,
            end: 0,
        };
        let length = fs::metadata(&raw.path).map_or(0, |found| found.len());
        if length < HEADER_BYTES as u64 {
            // Its first bytes never came.
            let _ = fs::remove_file(&raw.path);
            return Ok(raw);
        }
        let mut journal = Journal::open(&raw.path, Access::Append)?;
        let mut scan = journal.scan(Position::FIRST);
        while scan.next()?.is_some() {}
        let end = scan.end()?;
        journal.cut(end)?;
        raw.end = end.at.0;
        raw.disk = Some(raw.file()?);
        Ok(raw)
    }

    /// How long the journal of a directory is, whole entries or not; 0 where there is none.
    pub fn length(directory: &Path) -> u64 {
        fs::metadata(directory.join("store/journal")).map_or(0, |found| found.len())
    }

    fn file(&self) -> Result<RealDisk, StoreError> {
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(&self.path);
        Ok(RealDisk(file.map_err(StoreError::io(&self.path))?))
    }

    fn disk(&mut self) -> Result<&RealDisk, StoreError> {
        if self.disk.is_none() {
            self.disk = Some(self.file()?);
        }
        Ok(self.disk.as_ref().expect("it was opened"))
    }

    /// Where its whole entries end; 0 where there is no journal.
    pub fn end(&self) -> u64 {
        self.end
    }

    /// A store appended up to here.
    pub fn grown(&mut self, until: u64) -> Result<(), StoreError> {
        self.end = self.end.max(until);
        self.disk().map(|_| ())
    }

    /// Begins a journal with its first entry; the secret is that of all shards.
    pub fn begin(&mut self, secret: [u8; 16], first: &Entry<'_>) -> Result<(), StoreError> {
        assert_eq!(self.end, 0, "a journal is begun once");
        let _ = fs::remove_file(&self.path);
        drop(Journal::create(&self.path, Some(secret))?);
        self.disk = None;
        self.end = HEADER_BYTES as u64;
        self.tell(Tick(0), first)
    }

    /// Appends an entry.
    pub fn tell(&mut self, tick: Tick, entry: &Entry<'_>) -> Result<(), StoreError> {
        let mut bytes = Vec::new();
        frame::put(&mut bytes, |out| entry.put(tick, out));
        self.append(&bytes)
    }

    /// Appends whole entries that another machine wrote; the first ones with the head of the journal.
    pub fn append(&mut self, bytes: &[u8]) -> Result<(), StoreError> {
        let end = self.end;
        let appended = append(self.disk()?, bytes, end);
        appended.map_err(StoreError::io(&self.path))?;
        self.end += bytes.len() as u64;
        Ok(())
    }

    /// Cuts at the end of an entry. A checkpoint of what goes, goes too.
    pub fn cut(&mut self, at: u64) -> Result<(), StoreError> {
        if at >= self.end {
            return Ok(());
        }
        checkpoint::remove_beyond(&self.directory, Position(at))?;
        if at < HEADER_BYTES as u64 {
            self.disk = None;
            self.end = 0;
            return fs::remove_file(&self.path).map_err(StoreError::io(&self.path));
        }
        let disk = self.disk()?;
        let cut = disk.cut(at).and_then(|()| disk.sync());
        cut.map_err(StoreError::io(&self.path))?;
        self.end = at;
        Ok(())
    }

    /// The bytes between two positions, as far as there are any.
    pub fn range(&self, from: u64, until: u64) -> Result<Vec<u8>, StoreError> {
        let until = until.min(self.end);
        let (Some(disk), true) = (&self.disk, from < until) else {
            return Ok(Vec::new());
        };
        let mut bytes = vec![0; usize::try_from(until - from).expect("a piece fits")];
        let read = read_full(disk, &mut bytes, from).map_err(StoreError::io(&self.path))?;
        if read < bytes.len() {
            let source = io::Error::from(io::ErrorKind::UnexpectedEof);
            return Err(StoreError::io(&self.path)(source));
        }
        Ok(bytes)
    }

    /// Bytes from the end of an entry on, at most so many, up to the end of an entry; or a part of an entry that
    /// is longer. Whether they end with an entry.
    pub fn piece(&self, from: u64, bytes_max: usize) -> Result<(Vec<u8>, bool), StoreError> {
        let mut bytes = self.range(from, from + bytes_max as u64)?;
        let mut whole = 0;
        if from == 0 {
            whole = HEADER_BYTES.min(bytes.len());
        }
        while let Look::Entry(entry) = frame::look(&bytes[whole..]) {
            whole += HEAD_BYTES + entry.len();
        }
        if whole == 0 {
            let is_part = !bytes.is_empty();
            return Ok((bytes, !is_part));
        }
        bytes.truncate(whole);
        Ok((bytes, true))
    }

    /// Shows every entry between two positions.
    pub fn each(
        &self,
        (from, until): (u64, u64),
        mut see: impl FnMut(Written, &Entry<'_>),
    ) -> Result<(), StoreError> {
        const PIECE_BYTES: usize = 1 << 20;
        let mut at = from.max(HEADER_BYTES as u64);
        while at < until.min(self.end) {
            let (mut bytes, mut whole) = self.piece(at, PIECE_BYTES)?;
            let mut longer = PIECE_BYTES;
            while !whole {
                longer = longer.saturating_mul(4);
                (bytes, whole) = self.piece(at, longer)?;
                if bytes.len() < longer && !whole {
                    return Err(damaged(&self.path, at, "no whole entry begins here"));
                }
            }
            if bytes.is_empty() {
                return Err(damaged(&self.path, at, "no whole entry begins here"));
            }
            entries_in(&bytes, at, &mut see).map_err(|what| damaged(&self.path, at, what))?;
            at += bytes.len() as u64;
        }
        Ok(())
    }

    /// Makes durable what was appended.
    pub fn sync(&self) -> Result<(), StoreError> {
        match &self.disk {
            Some(disk) => disk.sync().map_err(StoreError::io(&self.path)),
            None => Ok(()),
        }
    }
}

/// Shows the entries of some bytes of a journal that begin at a position: at an entry, or at its head.
pub fn entries_in(
    bytes: &[u8],
    position: u64,
    see: &mut impl FnMut(Written, &Entry<'_>),
) -> Result<(), String> {
    let mut from = if position == 0 {
        HEADER_BYTES.min(bytes.len())
    } else {
        0
    };
    while let Look::Entry(entry) = frame::look(&bytes[from..]) {
        let next = from + HEAD_BYTES + entry.len();
        let (tick, entry) = Entry::read(entry).map_err(|error| error.to_string())?;
        let written = Written {
            at: Position(position + from as u64),
            next: Position(position + next as u64),
            tick,
        };
        see(written, &entry);
        from = next;
    }
    Ok(())
}
