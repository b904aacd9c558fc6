//! The stored copies of a page, and where their bodies are.
//!
//! A body that was stored before is not stored again: the later record refers to it, and so does a 304.
//! The first capture of a body is found by its digest, whichever page it was of.
//!
//! Cost: one read of the journal for each outcome of the page.

use turnstone_frontier::PageId;

use crate::error::StoreError;
use crate::facts::{Archived, Facts};
use crate::journal::Position;
use crate::outcome::Settled;
use crate::store::Store;

impl Store {
    /// What is known of the copy of a page in the store.
    pub fn copy(&self, page: PageId) -> Result<Option<Facts>, StoreError> {
        if self.index().is_forgotten(page) {
            return Ok(None);
        }
        let mut at = self.index().outcome_at(page);
        while let Some(here) = at {
            let outcome = self.outcome_at(here)?;
            if let Settled::Fetched(_) = outcome.settled {
                return Ok(Some(outcome.facts));
            }
            at = Some(outcome.before).filter(|before| *before != Position(0));
        }
        Ok(None)
    }

    /// Every fetch of a page that brought a copy or said that the last one is current, oldest first.
    pub fn copies(&self, page: PageId) -> Result<Vec<Facts>, StoreError> {
        let mut copies = Vec::new();
        if self.index().is_forgotten(page) {
            return Ok(copies);
        }
        let mut at = self.index().outcome_at(page);
        while let Some(here) = at {
            let outcome = self.outcome_at(here)?;
            let fetched = matches!(outcome.settled, Settled::Fetched(_));
            at = Some(outcome.before).filter(|before| *before != Position(0));
            if fetched && outcome.facts.digest.is_some() {
                copies.push(outcome.facts);
            }
        }
        copies.reverse();
        Ok(copies)
    }

    /// Where the body of a copy is in the WARC files; nothing if it is not there.
    pub fn body_of(&self, copy: &Facts) -> Result<Option<Archived>, StoreError> {
        if copy.duplicate_of.is_none() && copy.capture.is_some() {
            return Ok(copy.capture);
        }
        let first = copy.digest.and_then(|digest| self.seen().find(&digest));
        let Some(first) = first else {
            return Ok(None);
        };
        let is_it = |facts: &&Facts| facts.digest == copy.digest && facts.duplicate_of.is_none();
        let copies = self.copies(first.page)?;
        Ok(copies.iter().find(is_it).and_then(|facts| facts.capture))
    }
}
