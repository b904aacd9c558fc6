//! A surfer who walks over what is known of the web, and stops where something must be asked for.
//!
//! From a stored page she follows one of the links that count, each with the same chance; links that nobody
//! saw count too, and she vanishes there. From a page without links she goes on as from a trusted page, or
//! vanishes where mass leaks. A page that turns out dead was never there: she draws again where she stood. So
//! her path has the chances of the web as it can be had, whatever the account has learnt of it by then.
//!
//! Cost: a read of a page's links for each step, 1/(1−d) steps on average.

use turnstone_frontier::{Links, PageId, Random};

use super::account::Account;
use super::fates::Fate;
use super::{Dangling, Gone};
use crate::mass::ONE;

/// Where a surfer stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stand {
    /// About to leave a stored page, or to begin at a trusted one, which is no page.
    Leaving(Option<PageId>),
    /// Has just come to a page, from another.
    At(Option<PageId>, PageId),
}

/// How a walk ended, or what it waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ending {
    /// She stays at this stored page.
    Stays(PageId),
    /// She came to a page beyond the border, from where she can draw again.
    Beyond {
        /// Where she came from.
        from: Option<PageId>,
        /// Where she is: not asked for yet, or stored too late to count.
        page: PageId,
    },
    /// Nobody knows where she is.
    Vanishes,
}

/// What a surfer walks on.
pub(super) struct Ground<'a> {
    pub(super) account: &'a Account,
    pub(super) links: &'a dyn Links,
}

impl Ground<'_> {
    /// Walks until the surfer stays, vanishes or comes to a page that is open, or to one of `late`.
    pub(super) fn walk(&self, mut stand: Stand, late: &[PageId], random: &mut Random) -> Ending {
        let mut from;
        loop {
            let page = match stand {
                Stand::At(at, page) => {
                    from = at;
                    page
                }
                Stand::Leaving(at) => {
                    from = at;
                    match self.step(at, random) {
                        Some(page) => page,
                        None => return Ending::Vanishes,
                    }
                }
            };
            match self.account.fates.of(page) {
                Fate::Dead if self.account.rules.gone == Gone::Skip => stand = Stand::Leaving(from),
                Fate::Dead => return Ending::Vanishes,
                Fate::Moved => stand = Stand::At(from, self.account.fates.end(page)),
                Fate::Open => return Ending::Beyond { from, page },
                Fate::Stored if late.contains(&page) => return Ending::Beyond { from, page },
                Fate::Stored if !self.goes_on(random) => return Ending::Stays(page),
                Fate::Stored => stand = Stand::Leaving(Some(page)),
            }
        }
    }

    /// Whether a page, moved or not, is one that links can lead to.
    fn counts(&self, page: PageId) -> bool {
        let fates = &self.account.fates;
        self.account.rules.gone == Gone::Count || fates.of(fates.end(page)) != Fate::Dead
    }

    /// Where a link of a page leads, drawn; from no page, or one without links, a trusted page.
    fn step(&self, from: Option<PageId>, random: &mut Random) -> Option<PageId> {
        if let Some(page) = from {
            let mut buffer = Vec::new();
            let links = self.links.links_of(page, &mut buffer);
            let seen = links.iter().filter(|link| self.counts(**link));
            let unseen = self.account.unseen_links.get(&page).copied().unwrap_or(0);
            let count = (seen.clone().count() as u64).saturating_add(unseen);
            if count > 0 {
                let drawn = usize::try_from(random.below(count)).unwrap_or(usize::MAX);
                return seen.copied().nth(drawn);
            }
            if self.account.rules.dangling == Dangling::Leak {
                return None;
            }
        }
        let trusted = self.account.trust.masses().iter();
        let trusted = trusted.filter(|(page, _)| self.counts(*page));
        let all: u64 = trusted.clone().map(|(_, mass)| mass).sum();
        let mut drawn = random.below(all.max(1));
        for &(page, mass) in trusted {
            if drawn < mass {
                return (page.index() < self.account.expanded.len()).then_some(page);
            }
            drawn -= mass;
        }
        None
    }

    /// Whether she follows a link rather than stay.
    fn goes_on(&self, random: &mut Random) -> bool {
        random.below(ONE) < self.account.rules.goal.damping.of_rounded_up(ONE)
    }
}
