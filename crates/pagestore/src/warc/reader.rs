//! Reads WARC files of any tool, record by record, around what is damaged.
//!
//! A file is plain, packed with one gzip member for each record, or packed as a whole. A damaged
//! record is passed over and noted with its place and the reason; reading goes on with the next
//! gzip member that begins a record, or in plain text at the next line that begins with `WARC/1.`.
//!
//! Cost: memory for one record head and two buffers, whatever the file claims. Blocks are read in
//! pieces through [`Block`].
//! Invariant: a record never reaches beyond its gzip member. In a plain file, what follows damage
//! is believed to be a record if it looks like one: a stored page could forge it there.

use std::fs::File;
use std::io::{self, Read, Seek};
use std::path::{Path, PathBuf};

use super::record::RecordHead;
use super::unpacked::{Unpacked, is_disk_error};

/// The longest head of a record that is read.
pub const RECORD_HEAD_BYTES_MAX: usize = 128 * 1024;

/// How many damages are listed; more are counted only.
pub const DAMAGES_LISTED_MAX: usize = 1000;

/// A place in a file that could not be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}: record at byte {offset}: {reason}", .path.display())]
pub struct Damage {
    /// The file.
    pub path: PathBuf,
    /// The first byte of the record, or of its gzip member.
    pub offset: u64,
    /// What is wrong with it.
    pub reason: &'static str,
}

/// The disk failed while a WARC file was read.
#[derive(Debug, thiserror::Error)]
#[error("{}: {source}", .path.display())]
pub struct ReadError {
    /// The file.
    pub path: PathBuf,
    /// The cause.
    pub source: io::Error,
}

/// A WARC file, being read.
pub struct Reader<R> {
    path: PathBuf,
    bytes: Unpacked<R>,
    /// Whether the file begins with a gzip member; then all of it should be members.
    file_is_packed: bool,
    /// What is left of the current record's block; `None` between records.
    block: Option<BlockState>,
    /// Whole records that this member has begun with.
    in_member: u64,
    members: u64,
    damages: Vec<Damage>,
    damage_count: u64,
}

struct BlockState {
    left: u64,
    offset: u64,
    /// Where the block of a plain file begins, to search it when it turns out to be damaged.
    plain_start: Option<u64>,
}

impl Reader<File> {
    /// Opens a file.
    pub fn open(path: &Path) -> Result<Self, ReadError> {
        let file = File::open(path).map_err(|source| ReadError {
            path: path.to_owned(),
            source,
        })?;
        Self::new(file, path, 0, None)
    }
}

impl<R: Read + Seek> Reader<R> {
    /// Reads `source` from a record's first byte on; `path` is what damages are reported under.
    pub fn new(source: R, path: &Path, start: u64, end: Option<u64>) -> Result<Self, ReadError> {
        let bytes = Unpacked::new(source, start, end).map_err(|source| ReadError {
            path: path.to_owned(),
            source,
        })?;
        Ok(Self {
            path: path.to_owned(),
            file_is_packed: bytes.is_packed(),
            bytes,
            block: None,
            in_member: 0,
            members: 1,
            damages: Vec::new(),
            damage_count: 0,
        })
    }

    /// The head of the next whole record; `None` at the end. What is left of the block before it
    /// is passed over.
    pub fn next_record(&mut self) -> Result<Option<RecordHead>, ReadError> {
        loop {
            match self.try_next() {
                Ok(record) => return Ok(record),
                Err(Stop::Disk(source)) => {
                    return Err(ReadError {
                        path: self.path.clone(),
                        source,
                    });
                }
                Err(Stop::Damage { offset, reason }) => {
                    self.note(offset, reason);
                    if !self.recover(reason)? {
                        return Ok(None);
                    }
                }
            }
        }
    }

    /// The block of the record that was read last.
    pub fn block(&mut self) -> Block<'_, R> {
        Block { reader: self }
    }

    /// What was damaged: the first [`DAMAGES_LISTED_MAX`].
    pub fn damages(&self) -> &[Damage] {
        &self.damages
    }

    /// How many records were damaged, or runs of bytes no record.
    pub fn damage_count(&self) -> u64 {
        self.damage_count
    }

    fn try_next(&mut self) -> Result<Option<RecordHead>, Stop> {
        self.end_record()?;
        loop {
            if self.skip_line_ends()?.1 {
                break;
            }
            if !self.begin_next_member()? {
                return Ok(None);
            }
        }
        let offset = self.offset();
        let inside = if self.bytes.is_packed() {
            self.bytes.taken()
        } else {
            0
        };
        let lines = self.read_head(offset)?;
        let head = RecordHead::parse(&lines, offset, inside)
            .map_err(|reason| Stop::Damage { offset, reason })?;
        self.block = Some(BlockState {
            left: head.block_len,
            offset,
            plain_start: (!self.bytes.is_packed())
                .then(|| self.bytes.member_start() + self.bytes.taken()),
        });
        Ok(Some(head))
    }

    /// Where the next record begins.
    fn offset(&self) -> u64 {
        if self.bytes.is_packed() {
            self.bytes.member_start()
        } else {
            self.bytes.member_start() + self.bytes.taken()
        }
    }

    /// Reads lines up to and with the empty one.
    fn read_head(&mut self, offset: u64) -> Result<Vec<u8>, Stop> {
        let damage = |reason| Stop::Damage { offset, reason };
        let mut head = Vec::new();
        loop {
            let bytes = self.peek(offset)?;
            if bytes.is_empty() {
                return Err(damage("its fields are cut short"));
            }
            let end = memchr::memchr(b'\n', bytes).map_or(bytes.len(), |at| at + 1);
            head.extend_from_slice(&bytes[..end]);
            self.bytes.take(end);
            let first = b"WARC/";
            if head.len() >= first.len() && !head.starts_with(first) {
                return Err(damage("it does not begin with WARC/"));
            }
            if head.len() > RECORD_HEAD_BYTES_MAX {
                return Err(damage("its fields are too long"));
            }
            if head.ends_with(b"\n\r\n") || head.ends_with(b"\n\n") {
                return Ok(head);
            }
        }
    }

    /// Passes over the rest of the block and looks that the record ends behind it.
    fn end_record(&mut self) -> Result<(), Stop> {
        while self.block.is_some() {
            let piece = self.next_piece()?.len();
            if piece == 0 {
                break;
            }
            self.take_piece(piece);
        }
        let Some(block) = &self.block else {
            return Ok(());
        };
        let offset = block.offset;
        // Two line ends are the end of a record: then what follows is the next one's concern.
        let (line_ends, more) = self.skip_line_ends()?;
        if more && line_ends < 2 && !self.peek_at_least(5, offset)?.starts_with(b"WARC/") {
            return Err(Stop::Damage {
                offset,
                reason: "it does not end where its length says",
            });
        }
        self.block = None;
        self.in_member += 1;
        Ok(())
    }

    /// Bytes of the block that come next; none at its end.
    fn next_piece(&mut self) -> Result<&[u8], Stop> {
        let Some(block) = &self.block else {
            return Ok(&[]);
        };
        let (left, offset) = (block.left, block.offset);
        if left == 0 {
            return Ok(&[]);
        }
        let bytes = self.peek(offset)?;
        if bytes.is_empty() {
            return Err(Stop::Damage {
                offset,
                reason: "its block is cut short",
            });
        }
        let count = bytes.len().min(usize::try_from(left).unwrap_or(usize::MAX));
        Ok(&bytes[..count])
    }

    fn take_piece(&mut self, count: usize) {
        self.bytes.take(count);
        if let Some(block) = &mut self.block {
            block.left -= count as u64;
        }
    }

    /// Passes over line ends; how many bytes they are, and whether something follows in this
    /// member.
    fn skip_line_ends(&mut self) -> Result<(u64, bool), Stop> {
        let offset = self.bytes.member_start();
        let mut skipped = 0;
        loop {
            let bytes = self.peek(offset)?;
            let end = bytes.iter().position(|b| !matches!(b, b'\r' | b'\n'));
            let count = end.unwrap_or(bytes.len());
            if count == 0 {
                return Ok((skipped, end.is_some()));
            }
            skipped += count as u64;
            self.bytes.take(count);
        }
    }

    fn peek(&mut self, offset: u64) -> Result<&[u8], Stop> {
        self.peek_at_least(1, offset)
    }

    fn peek_at_least(&mut self, count: usize, offset: u64) -> Result<&[u8], Stop> {
        self.bytes.peek_at_least(count).map_err(|error| {
            if is_disk_error(&error) {
                Stop::Disk(error)
            } else {
                Stop::Damage {
                    offset,
                    reason: UNPACKABLE,
                }
            }
        })
    }

    fn note(&mut self, offset: u64, reason: &'static str) {
        self.damage_count += 1;
        if self.damages.len() < DAMAGES_LISTED_MAX {
            self.damages.push(Damage {
                path: self.path.clone(),
                offset,
                reason,
            });
        }
    }

    /// Finds the next record after a damage; false if there is none.
    fn recover(&mut self, reason: &'static str) -> Result<bool, ReadError> {
        let found = self.try_recover(reason).map_err(|source| ReadError {
            path: self.path.clone(),
            source,
        })?;
        self.block = None;
        Ok(found)
    }

    fn try_recover(&mut self, reason: &'static str) -> io::Result<bool> {
        if !self.file_is_packed {
            if let Some(start) = self.block.as_ref().and_then(|block| block.plain_start) {
                self.bytes.seek_member(start)?;
            }
            return self.find_line();
        }
        let from = self.bytes.member_start() + 1;
        if self.bytes.is_packed() && reason != UNPACKABLE {
            // A file packed as a whole shows in its first member, or one with several records:
            // there the next record may be in the same member.
            if (self.members == 1 || self.in_member > 0) && self.find_line()? {
                return Ok(true);
            }
            if self.bytes.skip_member()? {
                return self.begin_next_member();
            }
        }
        self.members += 1;
        self.in_member = 0;
        self.bytes.find_member(from)
    }

    fn begin_next_member(&mut self) -> io::Result<bool> {
        self.members += 1;
        self.in_member = 0;
        self.bytes.next_member()
    }

    /// Goes to the next line of this member that begins with `WARC/1.`.
    fn find_line(&mut self) -> io::Result<bool> {
        const MARK: &[u8] = b"\nWARC/1.";
        let at_line = self.bytes.last_taken() == b'\n';
        let mut is_first = true;
        loop {
            let bytes = match self.bytes.peek_at_least(MARK.len()) {
                Ok(bytes) => bytes,
                Err(error) if is_disk_error(&error) => return Err(error),
                Err(_) => return Ok(false),
            };
            if at_line && is_first && bytes.starts_with(&MARK[1..]) {
                return Ok(true);
            }
            is_first = false;
            if let Some(at) = memchr::memmem::find(bytes, MARK) {
                self.bytes.take(at + 1);
                return Ok(true);
            }
            // The end may be the beginning of a mark.
            let count = bytes.len().saturating_sub(MARK.len() - 1);
            if count == 0 {
                return Ok(false);
            }
            self.bytes.take(count);
        }
    }
}

/// The block of a record, read in pieces. Damage is an error of kind `InvalidData`; the next call
/// of [`Reader::next_record`] notes it and goes on behind it.
pub struct Block<'a, R> {
    reader: &'a mut Reader<R>,
}

impl<R: Read + Seek> Read for Block<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let piece = self.reader.next_piece().map_err(|stop| match stop {
            Stop::Disk(error) => error,
            Stop::Damage { reason, .. } => io::Error::new(io::ErrorKind::InvalidData, reason),
        })?;
        let count = piece.len().min(buffer.len());
        buffer[..count].copy_from_slice(&piece[..count]);
        self.reader.take_piece(count);
        Ok(count)
    }
}

/// Why reading a record stopped.
enum Stop {
    Disk(io::Error),
    Damage { offset: u64, reason: &'static str },
}

impl From<io::Error> for Stop {
    fn from(error: io::Error) -> Self {
        Self::Disk(error)
    }
}

const UNPACKABLE: &str = "it cannot be unpacked";
