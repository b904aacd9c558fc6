//! Following a crawl directory in which another owner works.
//!
//! A store that was looked at knows the journal as it was then. [`Store::follow`] takes in what was written
//! since, entry by entry, so that whoever shows a crawl all day reads its journal once and not at each look.
//! Nothing is written and no lock is taken.
//!
//! Cost: what was written since the last call. Invariant: a store that follows knows what one that is
//! opened now would know.

use turnstone_frontier::Tick;

use crate::entry::Entry;
use crate::error::StoreError;
use crate::index::Index;
use crate::journal::{Access, Journal, Position, damaged};
use crate::store::{Store, check, stored_body};

impl Store {
    /// Takes in what was written since, and shows each entry with the index as it is then. Says how many there
    /// were. A journal that got shorter or was made anew is an error: look at it again.
    pub fn follow(
        &mut self,
        mut see: impl FnMut(&Index, Position, Tick, &Entry<'_>),
    ) -> Result<u64, StoreError> {
        let (path, from) = (self.journal.path().to_owned(), self.journal.end());
        let mut journal = Journal::open(&path, Access::Read)?;
        if journal.secret() != self.journal.secret() || journal.end() < from {
            return Err(damaged(&path, from.0, "the journal was made anew"));
        }
        let mut scan = journal.scan(from);
        let mut entries = 0;
        while let Some((at, tick, entry)) = scan.next()? {
            check(&self.index, &entry).map_err(|what| damaged(&path, at.0, what))?;
            if let Entry::Outcome(outcome) = &entry
                && let Some((digest, first)) = stored_body(&self.index, outcome)
            {
                self.seen.insert(digest, first);
            }
            self.index.fold(at, tick, &entry);
            match &entry {
                Entry::Page { key, page, .. } => self.index.know_key(*key, *page),
                Entry::Forgotten { key, page } => self.index.forget_key(*key, *page),
                _ => {}
            }
            see(&self.index, at, tick, &entry);
            entries += 1;
        }
        let end = scan.end()?;
        self.torn_bytes = end.length.saturating_sub(end.at.0);
        journal.look_until(end);
        self.journal = journal;
        Ok(entries)
    }
}
