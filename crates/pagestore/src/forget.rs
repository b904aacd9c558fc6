//! Forgetting pages: on request, for good, with a record that it was done.
//!
//! A note in the journal names the pages and what was asked. From then on they are no pages of the store: they
//! have no copies, no events and no place in any table, and nobody asks for them. What the
//! journal says of their content (titles, words about answers, validators, what publishers said) is
//! overwritten where it stands, byte for byte as long, so that no position moves. Their bodies are
//! in the WARC files: see [`crate::warc::erase`].
//!
//! What stays: that they were known, under which address, when they were asked for, with which status, which
//! pages they linked to, and hashes of what came. Without the address nobody could keep from asking again.
//!
//! The note comes first: a process that dies behind it leaves content that nothing of ours reads any more,
//! and the same command, given again, takes that out too. Cost: a read and a write for each outcome of a forgotten page.

use std::collections::BTreeSet;

use turnstone_frontier::{PageId, Tick};

use crate::entry::Entry;
use crate::error::StoreError;
use crate::facts::{Archived, Facts};
use crate::frame;
use crate::journal::{Position, damaged};
use crate::store::Store;

/// The kind of the note that names forgotten pages.
pub const FORGET_NOTE: &str = "forgotten";

/// What a note says: the pages, and what was asked, in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Forgotten {
    /// The pages.
    pub pages: Vec<PageId>,
    /// What was asked.
    pub asked: String,
}

impl Forgotten {
    /// As bytes: the length of the words, the words, and four bytes for each page.
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = (self.asked.len() as u32).to_le_bytes().to_vec();
        bytes.extend_from_slice(self.asked.as_bytes());
        for page in &self.pages {
            bytes.extend_from_slice(&page.0.to_le_bytes());
        }
        bytes
    }

    /// Reads them; nothing if they are of another making.
    pub fn read(bytes: &[u8]) -> Option<Self> {
        let (length, rest) = bytes.split_first_chunk::<4>()?;
        let length = u32::from_le_bytes(*length) as usize;
        let (asked, pages) = rest.split_at_checked(length)?;
        let pages = pages.chunks_exact(4);
        Some(Self {
            asked: std::str::from_utf8(asked).ok()?.to_owned(),
            pages: pages
                .map(|id| PageId(u32::from_le_bytes([id[0], id[1], id[2], id[3]])))
                .collect(),
        })
    }
}

/// What a page leaves in the archive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capture {
    /// The page.
    pub page: PageId,
    /// Where its records are.
    pub at: Archived,
}

impl Store {
    /// Every capture of some pages.
    pub fn captures_of(&self, pages: &BTreeSet<PageId>) -> Result<Vec<Capture>, StoreError> {
        let mut captures = Vec::new();
        for &page in pages {
            self.each_outcome(page, |_, facts| {
                captures.extend(facts.capture.map(|at| Capture { page, at }));
            })?;
        }
        Ok(captures)
    }

    /// Overwrites what the journal says of the content of some pages; returns how many entries that were.
    pub fn blank(&self, pages: &BTreeSet<PageId>) -> Result<u64, StoreError> {
        let mut places = Vec::new();
        for &page in pages {
            self.each_outcome(page, |at, _| places.push(at))?;
        }
        for &at in &places {
            self.blank_at(at)?;
        }
        self.syncer().sync()?;
        Ok(places.len() as u64)
    }

    /// Notes that pages are forgotten.
    pub fn forget(&mut self, tick: Tick, forgotten: &Forgotten) {
        let entry = Entry::Note {
            kind: FORGET_NOTE,
            bytes: &forgotten.to_bytes(),
        };
        self.append(tick, &entry);
        self.seen.forget(self.index.forgotten());
    }

    fn each_outcome(
        &self,
        page: PageId,
        mut see: impl FnMut(Position, &Facts),
    ) -> Result<(), StoreError> {
        let mut at = self.index.outcome_at(page);
        while let Some(here) = at {
            let outcome = self.outcome_at(here)?;
            see(here, &outcome.facts);
            at = Some(outcome.before).filter(|before| *before != Position(0));
        }
        Ok(())
    }

    fn blank_at(&self, at: Position) -> Result<(), StoreError> {
        let mut buffer = Vec::new();
        let bytes = self.journal.entry_bytes(at, &mut buffer)?;
        let wrong = |what: &'static str| damaged(self.journal.path(), at.0, what);
        let (tick, entry) = Entry::read(bytes).map_err(|what| wrong(what.0))?;
        let Entry::Outcome(mut outcome) = entry else {
            return Err(wrong("no page is settled here"));
        };
        let facts = &mut outcome.facts;
        for text in [&mut facts.title, &mut facts.detail, &mut facts.preferences] {
            *text = " ".repeat(text.len());
        }
        for bytes in [&mut facts.etag, &mut facts.last_modified] {
            bytes.fill(b' ');
        }
        let mut framed = Vec::new();
        frame::put(&mut framed, |out| Entry::Outcome(outcome).put(tick, out));
        if framed.len() != bytes.len() + frame::HEAD_BYTES {
            return Err(wrong("an entry that would change its length"));
        }
        self.journal.overwrite(at, &framed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_is_read_as_it_was_written() {
        let forgotten = Forgotten {
            pages: vec![PageId(3), PageId(70_000)],
            asked: "https://a.example/x".into(),
        };
        let bytes = forgotten.to_bytes();
        assert_eq!(Forgotten::read(&bytes), Some(forgotten));
        assert_eq!(Forgotten::read(&bytes[..3]), None);
        assert_eq!(Forgotten::read(&bytes[..9]), None);
    }
}
