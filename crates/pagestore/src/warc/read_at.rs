//! Reads one record by its place, as an index tells it.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

use super::reader::{Damage, ReadError, Reader};
use super::record::RecordHead;

/// Why a record cannot be read by its place.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReadAtError {
    /// The disk failed.
    #[error(transparent)]
    Disk(#[from] ReadError),
    /// There is no whole record at this place.
    #[error(transparent)]
    Damage(Damage),
    /// The record is whole, but longer than the caller can hold.
    #[error("{damage} ({block_len} bytes, at most {block_bytes_max} are read)")]
    TooLong {
        /// Which one.
        damage: Damage,
        /// The length of its block.
        block_len: u64,
        /// What was allowed.
        block_bytes_max: u64,
    },
}

/// Where a record is, and how much of it may be held in memory.
#[derive(Clone, Copy, Debug)]
pub struct Span {
    /// Its first byte.
    pub offset: u64,
    /// Its length in the file.
    pub length: u64,
    /// The longest block that is read.
    pub block_bytes_max: u64,
}

/// The record at a place: its fields and its block. It must fill the place exactly.
pub fn read_at(path: &Path, span: Span) -> Result<(RecordHead, Vec<u8>), ReadAtError> {
    let damage = |reason| Damage {
        path: path.to_owned(),
        offset: span.offset,
        reason,
    };
    let disk = |source| ReadError {
        path: path.to_owned(),
        source,
    };
    let end = span
        .offset
        .checked_add(span.length)
        .ok_or_else(|| ReadAtError::Damage(damage("no file is that long")))?;
    let file = File::open(path).map_err(disk)?;
    let mut reader = Reader::new(file, path, span.offset, Some(end))?;
    let head = reader.next_record()?;
    if let Some(damage) = reader.damages().first() {
        return Err(ReadAtError::Damage(damage.clone()));
    }
    let head = head.ok_or_else(|| ReadAtError::Damage(damage("no record here")))?;
    if head.block_len > span.block_bytes_max {
        return Err(ReadAtError::TooLong {
            damage: damage("too long to be read at once"),
            block_len: head.block_len,
            block_bytes_max: span.block_bytes_max,
        });
    }
    let mut block = Vec::new();
    match reader.block().read_to_end(&mut block) {
        Ok(_) => {}
        // Reading on notes what is wrong.
        Err(error) if error.kind() == io::ErrorKind::InvalidData => {}
        Err(error) => return Err(disk(error).into()),
    }
    let more = reader.next_record()?;
    if let Some(damage) = reader.damages().first() {
        return Err(ReadAtError::Damage(damage.clone()));
    }
    if more.is_some() {
        return Err(ReadAtError::Damage(damage("more than one record here")));
    }
    Ok((head, block))
}
