//! What a page pushes on, in one expansion and in all: the totals that its shares are functions of.
//!
//! A total above [`ONE`] is a number of whole ones and a rest; a share is taken of each part.

use turnstone_frontier::PageId;

use super::Trust;
use super::account::Account;
use crate::mass::ONE;

/// What an expansion pushes on, as the totals that the shares are functions of.
#[derive(Clone, Copy)]
pub(super) struct Pushed {
    pub(super) before: u64,
    pub(super) whole: u64,
    pub(super) after: u64,
}

impl Pushed {
    #[inline]
    pub(super) fn sum(self) -> u64 {
        self.through(|part| part)
    }

    /// By how much a function of what was pushed in all has grown.
    #[inline]
    pub(super) fn through(self, share: impl Fn(u64) -> u64) -> u64 {
        let mut grown = share(self.after);
        // Both are rare, and a share is a division.
        if self.whole > 0 {
            grown += share(self.whole);
        }
        if self.before > 0 {
            grown -= share(self.before);
        }
        grown
    }
}

/// All that a page has pushed on so far.
#[derive(Clone, Copy)]
pub(super) struct Sent {
    /// So many times, what a whole one pushes.
    wholes: u64,
    whole: u64,
    rest: u64,
}

impl Sent {
    pub(super) fn by(account: &Account, page: PageId) -> Self {
        let damping = account.rules.goal.damping;
        Self {
            wholes: account.wholes.get(&page).copied().unwrap_or(0),
            whole: damping.of_rounded_up(ONE),
            rest: damping.of_rounded_up(account.expanded[page.index()]),
        }
    }

    pub(super) fn is_nothing(self) -> bool {
        self.wholes == 0 && self.rest == 0
    }

    /// What each of so many links was given; 0 if there are none.
    pub(super) fn share(self, count: u64) -> i128 {
        let share = |part: u64| i128::from(part.checked_div(count).unwrap_or(0));
        i128::from(self.wholes) * share(self.whole) + share(self.rest)
    }

    /// What a page with this trust was given.
    pub(super) fn part(self, trusted: u64) -> i128 {
        let share = |part| i128::from(Trust::share(part, trusted));
        i128::from(self.wholes) * share(self.whole) + share(self.rest)
    }
}
