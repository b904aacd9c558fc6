//! The journal: one file, only ever appended to.
//!
//! Entries are gathered in memory, written together by [`Journal::write`], and made durable by a
//! [`Syncer`] on another thread: a group commit. A write that fails leaves the file as it was and
//! the entries in memory, to be tried again when there is room. On opening, an end that was half
//! written is cut; damage before the end is refused, because no crash can have done it.
//!
//! Cost: one copy in memory and 8 bytes an entry; scanning runs at the speed of the disk.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use turnstone_frontier::Tick;

use crate::disk::{Disk, RealDisk, append, read_full};
use crate::entry::Entry;
use crate::error::StoreError;
use crate::fold::Written;
use crate::frame::{self, HEAD_BYTES, Look};

/// First bytes of a journal.
const MAGIC: [u8; 8] = *b"TSJOURNL";
/// The format this release writes, and the newest it reads. 2 has hints, 3 has arms, 4 has plans
/// and remembers what is out of scope, 5 has shards, 6 has pages lent to other crawlers; all else is as in 1.
const VERSION: u32 = 6;
/// Where the version stands.
const VERSION_AT: u64 = MAGIC.len() as u64;
/// Magic, version, four bytes to spare, the secret of the key table.
pub(crate) const HEADER_BYTES: usize = 32;
/// How far behind a damaged place a whole entry is looked for.
const RESYNC_BYTES_MAX: u64 = 64 << 20;
/// How much is read at once when scanning.
const SCAN_BYTES: usize = 1 << 20;

/// Where an entry begins. 0 is nowhere: the header is there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Position(pub u64);

impl Position {
    /// The first entry.
    pub const FIRST: Self = Self(HEADER_BYTES as u64);
    /// Behind every entry.
    pub const NEVER: Self = Self(u64::MAX);
}

/// The open journal of a crawl.
#[derive(Debug)]
pub struct Journal {
    disk: Arc<dyn Disk>,
    path: PathBuf,
    secret: [u8; 16],
    /// Everything before this is in the file.
    written: u64,
    /// Entries not yet in the file.
    waiting: Vec<u8>,
}

/// Where the whole entries of a journal end, and what stands behind them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct End {
    /// The end of the last whole entry.
    pub at: Position,
    /// How long the file is.
    pub length: u64,
}

impl Journal {
    /// Begins a journal where there is none, with a secret of its own or one that it shares.
    pub fn create(path: &Path, secret: Option<[u8; 16]>) -> Result<Self, StoreError> {
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create_new(true)
            .mode(0o644)
            .open(path)
            .map_err(StoreError::io(path))?;
        let secret = match secret {
            Some(secret) => secret,
            None => fresh_secret(path)?,
        };
        Self::begin(Arc::new(RealDisk(file)), path, secret)
    }

    /// Begins a journal on an empty disk.
    pub fn begin(disk: Arc<dyn Disk>, path: &Path, secret: [u8; 16]) -> Result<Self, StoreError> {
        let mut header = Vec::with_capacity(HEADER_BYTES);
        header.extend_from_slice(&MAGIC);
        header.extend_from_slice(&VERSION.to_le_bytes());
        header.extend_from_slice(&[0; 4]);
        header.extend_from_slice(&secret);
        append(&*disk, &header, 0).map_err(StoreError::io(path))?;
        disk.sync().map_err(StoreError::io(path))?;
        Ok(Self {
            disk,
            path: path.to_owned(),
            secret,
            written: HEADER_BYTES as u64,
            waiting: Vec::new(),
        })
    }

    /// Opens a journal to be read and, if it is ours alone, appended to.
    pub fn open(path: &Path, access: Access) -> Result<Self, StoreError> {
        let file = OpenOptions::new()
            .read(true)
            .write(access == Access::Append)
            .open(path)
            .map_err(StoreError::io(path))?;
        Self::on(Arc::new(RealDisk(file)), path)
    }

    /// A journal of an older version becomes one of this, before anything is appended that the
    /// older release could not read: it then says so, rather than that the journal is damaged.
    pub(crate) fn raise_version(&self) -> Result<(), StoreError> {
        let raise = || -> io::Result<()> {
            let mut found = [0; 4];
            read_full(&*self.disk, &mut found, VERSION_AT)?;
            if u32::from_le_bytes(found) == VERSION {
                return Ok(());
            }
            self.disk.write_at(&VERSION.to_le_bytes(), VERSION_AT)?;
            self.disk.sync()
        };
        raise().map_err(StoreError::io(&self.path))
    }

    /// Opens a journal on a disk.
    pub fn on(disk: Arc<dyn Disk>, path: &Path) -> Result<Self, StoreError> {
        let mut header = [0; HEADER_BYTES];
        let read = read_full(&*disk, &mut header, 0).map_err(StoreError::io(path))?;
        if read < HEADER_BYTES || header[..8] != MAGIC {
            return Err(StoreError::Foreign {
                path: path.to_owned(),
            });
        }
        let [.., a, b, c, d] = header[..12] else {
            unreachable!("twelve bytes have a last four")
        };
        let found = u32::from_le_bytes([a, b, c, d]);
        if found > VERSION {
            return Err(StoreError::Newer {
                path: path.to_owned(),
                found,
                known: VERSION,
            });
        }
        let mut secret = [0; 16];
        secret.copy_from_slice(&header[16..]);
        let written = disk.length().map_err(StoreError::io(path))?;
        Ok(Self {
            disk,
            path: path.to_owned(),
            secret,
            written,
            waiting: Vec::new(),
        })
    }

    /// The secret of the key table.
    pub(crate) fn secret(&self) -> [u8; 16] {
        self.secret
    }

    /// Where the next entry will begin.
    pub fn end(&self) -> Position {
        Position(self.written + self.waiting.len() as u64)
    }

    /// Adds an entry, in memory for now.
    pub fn append(&mut self, tick: Tick, entry: &Entry<'_>) -> Position {
        let at = self.end();
        frame::put(&mut self.waiting, |out| entry.put(tick, out));
        at
    }

    /// How much waits to be written.
    pub fn waiting_bytes(&self) -> usize {
        self.waiting.len()
    }

    /// Writes all entries that wait. On failure the file is as it was and they wait on.
    pub fn write(&mut self) -> Result<(), StoreError> {
        if self.waiting.is_empty() {
            return Ok(());
        }
        append(&*self.disk, &self.waiting, self.written).map_err(StoreError::io(&self.path))?;
        self.written += self.waiting.len() as u64;
        self.waiting.clear();
        Ok(())
    }

    /// Makes durable what was written, from another thread.
    pub fn syncer(&self) -> Syncer {
        Syncer {
            disk: self.disk.clone(),
            path: self.path.clone(),
        }
    }

    /// The disk, for readers.
    pub(crate) fn disk(&self) -> Arc<dyn Disk> {
        self.disk.clone()
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Reads the bytes of one entry into a buffer, also while it waits to be written.
    pub(crate) fn entry_bytes<'b>(
        &'b self,
        at: Position,
        buffer: &'b mut Vec<u8>,
    ) -> Result<&'b [u8], StoreError> {
        if at.0 < self.written {
            return read_entry(&*self.disk, &self.path, at, buffer);
        }
        let from = usize::try_from(at.0 - self.written).unwrap_or(usize::MAX);
        match self.waiting.get(from..).map(frame::look) {
            Some(Look::Entry(entry)) => Ok(entry),
            _ => Err(damaged(&self.path, at.0, "no entry begins here")),
        }
    }

    /// Reads every whole entry from a position on that is written by now. What another process
    /// appends meanwhile is not read.
    pub fn scan(&self, from: Position) -> Scan {
        Scan::new(self.disk.clone(), self.path.clone(), from, self.written)
    }

    /// Leaves the file as it is, and knows no more of it than its whole entries.
    pub(crate) fn look_until(&mut self, end: End) {
        self.written = end.at.0;
    }

    /// Cuts what stands behind the last whole entry. Refuses if whole entries follow it: then
    /// the damage is no crash's, and cutting would lose what was acknowledged.
    pub fn cut(&mut self, end: End) -> Result<u64, StoreError> {
        let torn = end.length - end.at.0;
        if torn > 0 {
            if let Some(next) = self.next_whole(end)? {
                let what = format!("the entry there is not whole, but one at {next} is");
                return Err(damaged(&self.path, end.at.0, what));
            }
            self.disk
                .cut(end.at.0)
                .map_err(StoreError::io(&self.path))?;
            self.disk.sync().map_err(StoreError::io(&self.path))?;
        }
        self.written = end.at.0;
        Ok(torn)
    }

    /// Writes a whole entry over one that is as long.
    pub(crate) fn overwrite(&self, at: Position, framed: &[u8]) -> Result<(), StoreError> {
        let mut done = 0;
        while done < framed.len() {
            let written = self.disk.write_at(&framed[done..], at.0 + done as u64);
            match written.map_err(StoreError::io(&self.path))? {
                0 => return Err(StoreError::io(&self.path)(io::ErrorKind::WriteZero.into())),
                more => done += more,
            }
        }
        Ok(())
    }

    /// Cuts the file, whatever stands there.
    pub(crate) fn shorten(&mut self, at: Position) -> Result<(), StoreError> {
        let cut = self.disk.cut(at.0).and_then(|()| self.disk.sync());
        cut.map_err(StoreError::io(&self.path))?;
        self.written = at.0;
        Ok(())
    }

    /// The first whole entry behind a damaged place.
    fn next_whole(&self, end: End) -> Result<Option<u64>, StoreError> {
        let length = (end.length - end.at.0).min(RESYNC_BYTES_MAX);
        let mut bytes = vec![0; usize::try_from(length).expect("64 MiB fit")];
        read_full(&*self.disk, &mut bytes, end.at.0).map_err(StoreError::io(&self.path))?;
        let whole = |from: &usize| match frame::look(&bytes[*from..]) {
            Look::Entry(entry) => Entry::read(entry).is_ok(),
            Look::Needs(_) | Look::Nothing => false,
        };
        let found = (1..bytes.len().saturating_sub(HEAD_BYTES)).find(whole);
        Ok(found.map(|from| end.at.0 + from as u64))
    }
}

/// What a journal is opened for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Only to look.
    Read,
    /// To go on with it.
    Append,
}

/// Makes the journal durable. Slow: for a thread of its own.
#[derive(Clone, Debug)]
pub struct Syncer {
    disk: Arc<dyn Disk>,
    path: PathBuf,
}

impl Syncer {
    /// Returns when everything written before is durable.
    pub fn sync(&self) -> Result<(), StoreError> {
        self.disk.sync().map_err(StoreError::io(&self.path))
    }
}

/// Whole entries, one after the other.
#[derive(Debug)]
pub struct Scan {
    disk: Arc<dyn Disk>,
    path: PathBuf,
    buffer: Vec<u8>,
    /// Where the buffer begins in the file, and what of it is used.
    base: u64,
    used: usize,
    filled: usize,
    /// No entry that begins here or later is read.
    until: u64,
}

impl Scan {
    fn new(disk: Arc<dyn Disk>, path: PathBuf, from: Position, until: u64) -> Self {
        Self {
            disk,
            path,
            buffer: vec![0; SCAN_BYTES],
            base: from.0,
            used: 0,
            filled: 0,
            until,
        }
    }

    /// The next entry; `None` where the whole entries end.
    #[expect(
        clippy::should_implement_trait,
        reason = "the entry is lent: an iterator would have to copy it"
    )]
    pub fn next(&mut self) -> Result<Option<(Position, Tick, Entry<'_>)>, StoreError> {
        let next = self.next_written()?;
        Ok(next.map(|(written, entry)| (written.at, written.tick, entry)))
    }

    /// The same, with where the one behind it begins.
    pub(crate) fn next_written(&mut self) -> Result<Option<(Written, Entry<'_>)>, StoreError> {
        if self.position().0 >= self.until {
            return Ok(None);
        }
        let length = loop {
            match frame::look(&self.buffer[self.used..self.filled]) {
                Look::Entry(entry) => break entry.len(),
                Look::Nothing => return Ok(None),
                Look::Needs(bytes) => {
                    if !self.fill(bytes)? {
                        return Ok(None);
                    }
                }
            }
        };
        let at = self.position();
        let from = self.used + HEAD_BYTES;
        self.used = from + length;
        let next = self.position();
        let entry = Entry::read(&self.buffer[from..self.used]);
        let (tick, entry) = entry.map_err(|what| damaged(&self.path, at.0, what))?;
        Ok(Some((Written { at, next, tick }, entry)))
    }

    /// Where the next entry would begin.
    pub fn position(&self) -> Position {
        Position(self.base + self.used as u64)
    }

    /// The end of the whole entries, once `next` has returned `None`.
    pub fn end(&self) -> Result<End, StoreError> {
        let length = self.disk.length().map_err(StoreError::io(&self.path))?;
        Ok(End {
            at: self.position(),
            length,
        })
    }

    /// Has at least this many unused bytes in the buffer, if the file has them.
    fn fill(&mut self, bytes: usize) -> Result<bool, StoreError> {
        self.buffer.copy_within(self.used..self.filled, 0);
        self.base += self.used as u64;
        self.filled -= self.used;
        self.used = 0;
        if self.buffer.len() < bytes {
            // The frame's length was checked against the longest entry; the file may still be
            // shorter, so no more is taken than it has.
            let length = self.disk.length().map_err(StoreError::io(&self.path))?;
            if self.base + bytes as u64 > length {
                return Ok(false);
            }
            self.buffer.resize(bytes.next_multiple_of(SCAN_BYTES), 0);
        }
        let at = self.base + self.filled as u64;
        let read = read_full(&*self.disk, &mut self.buffer[self.filled..], at);
        self.filled += read.map_err(StoreError::io(&self.path))?;
        Ok(self.filled >= bytes)
    }
}

/// Reads the bytes of one written entry.
pub(crate) fn read_entry<'b>(
    disk: &dyn Disk,
    path: &Path,
    at: Position,
    buffer: &'b mut Vec<u8>,
) -> Result<&'b [u8], StoreError> {
    /// Most entries fit; the others take a second look.
    const FIRST_LOOK: usize = 1024;
    let mut wanted = FIRST_LOOK;
    loop {
        buffer.resize(wanted, 0);
        let read = read_full(disk, buffer, at.0).map_err(StoreError::io(path))?;
        match frame::look(&buffer[..read]) {
            Look::Needs(bytes) if read == wanted && bytes > wanted => wanted = bytes,
            Look::Entry(entry) => {
                let length = entry.len();
                return Ok(&buffer[HEAD_BYTES..HEAD_BYTES + length]);
            }
            _ => return Err(damaged(path, at.0, "no whole entry begins here")),
        }
    }
}

pub(crate) fn damaged(path: &Path, at: u64, what: impl ToString) -> StoreError {
    StoreError::Damaged {
        path: path.to_owned(),
        at,
        what: what.to_string(),
    }
}

/// Sixteen bytes nobody can guess.
fn fresh_secret(path: &Path) -> Result<[u8; 16], StoreError> {
    let mut secret = [0; 16];
    File::open("/dev/urandom")
        .and_then(|mut file| file.read_exact(&mut secret))
        .map_err(StoreError::io(path))?;
    Ok(secret)
}
