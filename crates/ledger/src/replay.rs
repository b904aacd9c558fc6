//! A crawl's state as a fold of its journal, beside whatever else looks at the same entries.
//!
//! What stands behind a position is decided again, and must come out as it stands there; what stands before it
//! is news. What cannot be decided again is remembered and ends this fold alone: those beside it see the rest.

use std::io::{self, Read as _};

use turnstone_frontier::{Links, Policy, Restore as _};
use turnstone_pagestore::{Entry, Fold, Position, Store, StoreError, Written};

use crate::ledger::{Folded, LedgerError, MAGIC, plan_at};
use crate::state::{State, Told};
use crate::terms::Terms;

/// The state of a crawl, under way.
#[derive(Debug)]
pub struct Replay<'a, P> {
    store: &'a Store,
    terms: &'a Terms,
    state: State<P>,
    /// What stands before is in the state already.
    begins: Position,
    /// What stands behind is decided again.
    again: Position,
    failed: Option<LedgerError>,
}

impl<'a, P: Policy> Replay<'a, P> {
    /// For a policy that made none of the recorded decisions: all is news to it.
    pub fn news(store: &'a Store, terms: &'a Terms, policy: P) -> Self {
        Self {
            store,
            terms,
            state: State::new(policy, terms.past),
            begins: Position::FIRST,
            again: Position::NEVER,
            failed: None,
        }
    }

    /// From the first entry: what came before the plan is news, the rest decided again.
    pub fn of_plan(store: &'a Store, terms: &'a Terms, policy: P) -> Self {
        Self {
            again: plan_at(store),
            ..Self::news(store, terms, policy)
        }
    }

    /// From the last checkpoint, if it was taken under the plan in force.
    pub(crate) fn restored(
        store: &'a Store,
        terms: &'a Terms,
        make: impl FnOnce() -> P,
    ) -> Option<Self> {
        let (begins, bytes) = store.last_checkpoint()?;
        // A checkpoint is a shortcut: whatever is wrong with it, the journal is there.
        Some(Self {
            store,
            terms,
            state: restore(store, &bytes, make).ok()?,
            begins,
            again: begins,
            failed: None,
        })
    }

    /// Whether what stands before its beginning is missing here.
    pub(crate) fn is_restored(&self) -> bool {
        self.begins > Position::FIRST
    }

    /// Reads the journal, also for those beside it.
    pub(crate) fn run<E: From<StoreError> + From<LedgerError>>(
        mut self,
        beside: &mut impl Fold<E>,
    ) -> Result<Result<(State<P>, bool), LedgerError>, E> {
        self.store.try_fold::<E>(&mut (&mut self, beside))?;
        Ok(self.end())
    }

    /// The state, and whether every hand-out was decided again.
    fn end(self) -> Result<(State<P>, bool), LedgerError> {
        let exact = self.again < Position::NEVER;
        match self.failed {
            None => Ok((self.state, exact)),
            Some(error) => Err(error),
        }
    }

    /// The crawl, once the journal was read.
    pub fn finish(self) -> Result<Folded<P>, LedgerError> {
        let (state, exact) = self.end()?;
        Ok(Folded {
            scheduler: state.scheduler,
            view: state.view,
            exact,
        })
    }
}

impl<P: Policy, E> Fold<E> for Replay<'_, P> {
    fn see(&mut self, written: Written, entry: &Entry<'_>) -> Result<(), E> {
        let at = written.at;
        if self.failed.is_some() {
            return Ok(());
        }
        let told = match at < self.again {
            true => Told::AsNews,
            false => Told::Again,
        };
        // What stands at `at` has happened once it is applied.
        let known = self.store.links_before(Position(at.0 + 1));
        let lent = (self.store, &known as &dyn Links);
        let applied = self.state.apply(lent, self.terms, told, written, entry);
        self.failed = applied.err();
        Ok(())
    }

    fn begins(&self) -> Position {
        self.begins
    }
}

fn restore<P: Policy>(
    store: &Store,
    mut bytes: &[u8],
    make: impl FnOnce() -> P,
) -> io::Result<State<P>> {
    let mut magic = [0; MAGIC.len()];
    bytes.read_exact(&mut magic)?;
    let plan = u64::restore(&mut bytes)?;
    if magic != MAGIC || Position(plan) != plan_at(store) {
        return Err(io::Error::other("another plan"));
    }
    State::restore(make(), store.index().shard().is_some(), &mut bytes)
}
