//! Pages whose rank is kept but not ordered: in flight, deferred to a time, or shelved.
//!
//! They are few next to all pages, so a map serves. A rank keeps growing here while links bring
//! mass; counts and sums are kept up with it.
//!
//! Cost: O(log pages aside) an operation.

use std::collections::{BTreeMap, BTreeSet};

use crate::calendar::Tick;
use crate::id::PageId;
use crate::ranking::{Rank, add};

/// Why a page is aside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Why {
    /// Handed out, not yet come back.
    InFlight,
    /// Not to be handed out before a tick.
    Deferred(Tick),
    /// Kept for the policy, which may bring it back.
    Shelved,
}

/// The pages aside.
#[derive(Debug, Default)]
pub(crate) struct Aside {
    pages: BTreeMap<PageId, (Why, Rank)>,
    deferred: BTreeSet<(Tick, PageId)>,
    in_flight: usize,
    shelved_total: u128,
}

impl Aside {
    pub(crate) fn insert(&mut self, page: PageId, why: Why, rank: Rank) {
        match why {
            Why::InFlight => self.in_flight += 1,
            Why::Deferred(until) => {
                self.deferred.insert((until, page));
            }
            Why::Shelved => self.shelved_total += u128::from(rank),
        }
        let before = self.pages.insert(page, (why, rank));
        assert_eq!(before, None, "page {page} is aside already");
    }

    pub(crate) fn remove(&mut self, page: PageId) -> (Why, Rank) {
        let (why, rank) = self.pages.remove(&page).expect("the page is aside");
        match why {
            Why::InFlight => self.in_flight -= 1,
            Why::Deferred(until) => {
                self.deferred.remove(&(until, page));
            }
            Why::Shelved => self.shelved_total -= u128::from(rank),
        }
        (why, rank)
    }

    pub(crate) fn deferred(&self) -> impl Iterator<Item = PageId> + '_ {
        self.deferred.iter().map(|(_, page)| *page)
    }

    pub(crate) fn raise(&mut self, page: PageId, by: Rank) {
        let (why, rank) = self.pages.get_mut(&page).expect("the page is aside");
        *rank = add(*rank, by);
        if *why == Why::Shelved {
            self.shelved_total += u128::from(by);
        }
    }

    pub(crate) fn get(&self, page: PageId) -> (Why, Rank) {
        self.pages[&page]
    }

    /// Every page that is aside for this reason, by page.
    pub(crate) fn each(&self, why: Why) -> impl Iterator<Item = (PageId, Rank)> + '_ {
        let pages = self.pages.iter();
        pages
            .filter(move |(_, (its, _))| *its == why)
            .map(|(&page, &(_, rank))| (page, rank))
    }

    /// The page whose deferral ends first.
    pub(crate) fn next_deferred(&self) -> Option<(Tick, PageId)> {
        self.deferred.first().copied()
    }

    pub(crate) fn in_flight(&self) -> usize {
        self.in_flight
    }

    pub(crate) fn shelved_total(&self) -> u128 {
        self.shelved_total
    }
}
