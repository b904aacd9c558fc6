//! A checkpoint: the state of a driver at one place of the journal.
//!
//! Only a shortcut: whatever is wrong with it (half written, of another release, beyond the end of
//! the journal), it is set aside, and the state is folded from the journal's beginning. Written
//! beside the old one and renamed over it, so there is always a whole one.

use std::fs::{self, File};
use std::io::{self, Read as _, Write};
use std::path::Path;

use crate::error::StoreError;
use crate::journal::Position;

const MAGIC: [u8; 8] = *b"TSCHECK1";
const HEADER_BYTES: usize = 16;
const SUM_BYTES: usize = 4;

/// Writes a checkpoint, durably.
pub(crate) fn write(
    directory: &Path,
    at: Position,
    save: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<(), StoreError> {
    let path = directory.join("store/checkpoint");
    let fresh = directory.join("store/checkpoint.new");
    let written = (|| {
        let summing = Summing {
            file: File::create(&fresh)?,
            sum: crc32fast::Hasher::new(),
        };
        // Outside the sum, so that it is taken over large pieces.
        let mut out = io::BufWriter::with_capacity(1 << 20, summing);
        out.write_all(&MAGIC)?;
        out.write_all(&at.0.to_le_bytes())?;
        save(&mut out)?;
        let Summing { mut file, sum } = out.into_inner().map_err(io::Error::from)?;
        file.write_all(&sum.finalize().to_le_bytes())?;
        file.sync_data()?;
        fs::rename(&fresh, &path)?;
        File::open(directory.join("store"))?.sync_all()
    })();
    written.map_err(|source| {
        // What there was before is still there.
        let _ = fs::remove_file(&fresh);
        StoreError::io(&fresh)(source)
    })
}

/// Reads the checkpoint, if there is a whole one that does not reach beyond the journal.
pub(crate) fn read(directory: &Path, end: Position) -> Option<(Position, Vec<u8>)> {
    let mut bytes = fs::read(directory.join("store/checkpoint")).ok()?;
    let body = bytes.len().checked_sub(SUM_BYTES)?;
    let (content, sum) = bytes.split_at(body);
    if content.len() < HEADER_BYTES
        || content[..8] != MAGIC
        || crc32fast::hash(content).to_le_bytes() != sum
    {
        return None;
    }
    let at = Position(u64::from_le_bytes(content[8..16].try_into().ok()?));
    if at > end || at < Position::FIRST {
        return None;
    }
    bytes.truncate(body);
    bytes.drain(..HEADER_BYTES);
    Some((at, bytes))
}

/// Removes a checkpoint that reaches beyond the journal, as when an older copy of the journal was
/// put back: once the journal has grown again, it would be taken for one of this journal.
pub(crate) fn remove_beyond(directory: &Path, end: Position) -> Result<(), StoreError> {
    let path = directory.join("store/checkpoint");
    let mut header = [0; HEADER_BYTES];
    let Ok(()) = File::open(&path).and_then(|mut file| file.read_exact(&mut header)) else {
        return Ok(());
    };
    let [.., a, b, c, d, e, f, g, h] = header;
    if Position(u64::from_le_bytes([a, b, c, d, e, f, g, h])) > end {
        fs::remove_file(&path).map_err(StoreError::io(&path))?;
    }
    Ok(())
}

struct Summing {
    file: File,
    sum: crc32fast::Hasher,
}

impl Write for Summing {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.file.write(bytes)?;
        self.sum.update(&bytes[..written]);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}
