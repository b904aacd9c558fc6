//! Folds: what somebody wants to know of a journal, computed from its entries, one after the other.
//!
//! Whoever looks at a crawl is a [`Fold`], and a tuple of folds is one, so a command that wants to know five
//! things reads the journal once: `store.fold(&mut (a, b, …))`. Before, every question had a loop of its own,
//! and a command read the journal as often as it had questions.
//!
//! A fold says where it begins; a scan begins where the first of its folds does, and nobody is shown what
//! stands before its own beginning. Most folds cannot fail and are folds for every error; those that ask the
//! store for a URL fail as the store does; those that write elsewhere bring an error of their own.
//!
//! Cost: one read of the journal from the first beginning on.

use turnstone_frontier::Tick;

use crate::entry::Entry;
use crate::error::StoreError;
use crate::journal::{Position, Scan};
use crate::store::Store;

/// Where an entry stands, and when it was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Written {
    /// Where it begins.
    pub at: Position,
    /// Where the next one does, or will.
    pub next: Position,
    /// When.
    pub tick: Tick,
}

/// State computed from the entries of a journal, one after the other.
pub trait Fold<E = StoreError> {
    /// Takes in one entry.
    fn see(&mut self, written: Written, entry: &Entry<'_>) -> Result<(), E>;

    /// The first entry it wants to see.
    fn begins(&self) -> Position {
        Position::FIRST
    }
}

/// A fold that sees what stands at a position and behind it.
#[derive(Clone, Debug)]
pub struct Onward<F>(pub Position, pub F);

/// A function of each entry, as a fold.
#[derive(Clone, Debug)]
pub struct Each<F>(pub F);

impl<E, F: Fold<E>> Fold<E> for Onward<F> {
    fn see(&mut self, written: Written, entry: &Entry<'_>) -> Result<(), E> {
        self.1.see(written, entry)
    }

    fn begins(&self) -> Position {
        self.0.max(self.1.begins())
    }
}

impl<E, F: FnMut(&Entry<'_>)> Fold<E> for Each<F> {
    fn see(&mut self, _: Written, entry: &Entry<'_>) -> Result<(), E> {
        (self.0)(entry);
        Ok(())
    }
}

impl<E, F: Fold<E> + ?Sized> Fold<E> for &mut F {
    fn see(&mut self, written: Written, entry: &Entry<'_>) -> Result<(), E> {
        (**self).see(written, entry)
    }

    fn begins(&self) -> Position {
        (**self).begins()
    }
}

/// Nothing is seen where nobody looks.
impl<E, F: Fold<E>> Fold<E> for Option<F> {
    fn see(&mut self, written: Written, entry: &Entry<'_>) -> Result<(), E> {
        self.as_mut()
            .map_or(Ok(()), |fold| fold.see(written, entry))
    }

    fn begins(&self) -> Position {
        self.as_ref().map_or(Position::NEVER, Fold::begins)
    }
}

macro_rules! tuples {
    ($(($($fold:ident $index:tt)*))*) => {$(
        impl<E, $($fold: Fold<E>),*> Fold<E> for ($($fold,)*) {
            fn see(&mut self, _written: Written, _entry: &Entry<'_>) -> Result<(), E> {
                $(if _written.at >= self.$index.begins() {
                    self.$index.see(_written, _entry)?;
                })*
                Ok(())
            }

            fn begins(&self) -> Position {
                Position::NEVER$(.min(self.$index.begins()))*
            }
        }
    )*};
}

tuples! { () (A 0 B 1) (A 0 B 1 C 2) (A 0 B 1 C 2 D 3) }

impl Scan {
    /// Shows a fold every entry that is left.
    pub fn fold<E: From<StoreError>>(&mut self, fold: &mut impl Fold<E>) -> Result<(), E> {
        while let Some((written, entry)) = self.next_written()? {
            fold.see(written, &entry)?;
        }
        Ok(())
    }
}

impl Store {
    /// Reads the journal once, as it is written, for all folds that look at it.
    pub fn fold(&self, folds: &mut impl Fold) -> Result<(), StoreError> {
        self.try_fold(folds)
    }

    /// The same for folds that fail otherwise than a store does.
    pub fn try_fold<E: From<StoreError>>(&self, folds: &mut impl Fold<E>) -> Result<(), E> {
        let from = folds.begins();
        if from >= self.end() {
            return Ok(());
        }
        self.scan(from).fold::<E>(folds)
    }
}
