//! What a power loss can leave: a journal that speaks of captures which never reached the disk.
//!
//! WARC files are synced before the journal that speaks of them is, so nothing acknowledged can be
//! missing. But the system may write the journal's last entries to the disk by itself, ahead of the
//! WARC files. Then the journal is cut before the first capture that is not whole: what goes was never
//! acknowledged, and its pages are asked for again. How far the journal was acknowledged, notes
//! in it say ([`Store::note_durable`]). What is missing before that was taken away by something else,
//! and opening the WARC files says so.
//!
//! Cost: the captures since the last note are read, a fraction of a second's.

use std::fs;
use std::path::Path;

use turnstone_frontier::Tick;

use crate::checkpoint;
use crate::entry::Entry;
use crate::error::StoreError;
use crate::facts::Archived;
use crate::journal::{Access, Journal, Position};
use crate::lock::Lock;
use crate::store::Store;
use crate::warc::{INDEX_NAME, Settings, Span, Uploaded, read_at};

/// The kind of the notes that say how far everything is durable.
pub const DURABLE: &str = "durable";
/// Bodies are bounded by what a crawl takes in; more than this is no capture of ours.
const BLOCK_BYTES_MAX: u64 = 1 << 32;

/// How much of a journal had to go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mended {
    /// Bytes of the journal.
    pub bytes: u64,
    /// Fetches in them.
    pub fetches: u64,
}

impl Store {
    /// Notes that everything before a position is durable, WARC files included.
    pub fn note_durable(&mut self, tick: Tick, until: Position) {
        let kind = DURABLE;
        let bytes = &until.0.to_le_bytes();
        self.append(tick, &Entry::Note { kind, bytes });
    }

    /// Takes over a crawl directory like [`Store::open`], after cutting what was not acknowledged
    /// and has lost its captures.
    pub fn open_mended(
        directory: &Path,
        holder: &str,
    ) -> Result<(Self, Option<Mended>), StoreError> {
        let store = Self::open(directory, holder)?;
        let Some(at) = store.first_lost(&store.archive_folder(), &store.archive())? else {
            return Ok((store, None));
        };
        let (end, fetches) = (store.end(), store.index().tally().fetches);
        drop(store);
        let lock = Lock::take(directory, holder)?;
        let path = directory.join("store/journal");
        let mut journal = Journal::open(&path, Access::Append)?;
        checkpoint::remove_beyond(directory, at)?;
        journal.shorten(at)?;
        drop((journal, lock));
        let store = Self::open(directory, holder)?;
        let mended = Mended {
            bytes: end.0 - at.0,
            fetches: fetches - store.index().tally().fetches,
        };
        Ok((store, Some(mended)))
    }

    /// The first entry that was not acknowledged and whose capture is not whole.
    fn first_lost(
        &self,
        folder: &Path,
        archive: &Settings,
    ) -> Result<Option<Position>, StoreError> {
        let index_bytes = length(&folder.join(INDEX_NAME));
        let mut scan = self.scan(self.durable_until()?);
        while let Some((at, _, entry)) = scan.next()? {
            if let Entry::Outcome(outcome) = entry
                && !self.index().is_forgotten(outcome.page)
                && let Some(capture) = outcome.facts.capture
                && !(capture.index_end <= index_bytes && is_whole(folder, archive, capture))
            {
                return Ok(Some(at));
            }
        }
        Ok(None)
    }

    /// How many WARC files are as they will be for ever, if they are closed: those before the one in which the
    /// first capture is that a loss of power could still take back.
    ///
    /// Cost: the entries since the last note of what is durable.
    pub fn settled_files(&self) -> Result<u32, StoreError> {
        let mut scan = self.scan(self.durable_until()?);
        while let Some((_, _, entry)) = scan.next()? {
            if let Entry::Outcome(outcome) = entry
                && let Some(capture) = outcome.facts.capture
            {
                return Ok(capture.file.saturating_sub(1));
            }
        }
        Ok(self.index().capture().map_or(0, |last| last.file))
    }

    fn durable_until(&self) -> Result<Position, StoreError> {
        let note = self.note(DURABLE)?;
        let at = note.and_then(|bytes| Some(u64::from_le_bytes(bytes.try_into().ok()?)));
        // A note is an entry like others; one that points nowhere would end the scan at once.
        Ok(at
            .map(Position)
            .filter(|at| (Position::FIRST..=self.end()).contains(at))
            .unwrap_or(Position::FIRST))
    }
}

fn is_whole(folder: &Path, archive: &Settings, capture: Archived) -> bool {
    let closed = folder.join(archive.file_name(capture.file));
    let open = folder.join(format!("{}.open", archive.file_name(capture.file)));
    let path = match Uploaded::of(&closed) {
        _ if closed.exists() => closed,
        Ok(Some(elsewhere)) => return capture.file_end <= elsewhere.bytes,
        _ => open,
    };
    let span = Span {
        offset: capture.offset,
        length: capture.length,
        block_bytes_max: BLOCK_BYTES_MAX,
    };
    capture.file_end <= length(&path) && read_at(&path, span).is_ok()
}

fn length(path: &Path) -> u64 {
    fs::metadata(path).map_or(0, |metadata| metadata.len())
}
