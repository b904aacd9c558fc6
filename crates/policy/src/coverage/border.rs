//! The border of a shard: what its account has sent to other shards and received from them.
//!
//! A page of another shard is *away*. It holds a residual like others, but it is never expanded: what
//! it holds is *sent*, and its own shard goes on with it. What was sent for a page is remembered in the
//! place where other pages remember what they expanded, so what the pages here have given it is still a
//! function of their state: what it holds, and what was sent.
//!
//! Links to dead pages must not count, wherever the page is. Its shard tells those that sent mass for it
//! (*dead*); each of them puts what it had sent back on the page's shelf, books it as not sent, and says
//! so (*back*). Transfers of a pair arrive in order and once, so by then the page's shelf holds that much:
//! a dead page never gives anything away. Then a sweep corrects both accounts as it would have
//! corrected one. Between the two entries the mass is on both shelves, but shelves are neither covered nor
//! missing: both bounds hold at any set of journal positions, and the sum counts it once, because what
//! was taken back is subtracted from what was sent.
//!
//! Told back late, or never, mass of dead pages lies still: the guarantee is weaker, never false. Should a
//! page that was declared dead be stored after all, what it gave on cannot be taken back: it is *owed*, and
//! lowers the claim of all shards together, as a doubt does. To reckon anew would need all shards at once:
//! a shard does not, and a doubt stays.
//!
//! Each dead trusted page is its own shard's to divide among the others, in proportion to their trust;
//! whatever the order in which shards learn of dead ones, the shares come to those of one account.
//!
//! A circle of redirects between shards would pass mass round for ever: it carries the number of its hops,
//! and after [`HOPS_MAX`] the page is dead, as the end of a circle is in one account. What it had passed on by
//! then is in doubt, for good: a circle that holds much costs the crawl much of its guarantee.
//!
//! Cost: one bit a page, 4 bytes a dead page.

use std::collections::BTreeMap;

use turnstone_frontier::{Masses, PageId};

use super::account::Account;
use super::bits::Bits;
use super::fates::Fate;
use super::{Gone, Trust};
use crate::mass::ONE;

/// A chain of redirects through more shards than this is a circle.
pub(super) const HOPS_MAX: u8 = 16;

/// What crossed.
#[derive(Debug, Default)]
pub(super) struct Border {
    away: Bits,
    /// Trust in pages that are away: not endowed here.
    elsewhere: u64,
    received: u128,
    sent: u128,
    owed: u128,
    /// What pages that are away hold.
    unsent: u64,
    /// Pages of this shard that cannot be had, as that was learnt.
    dead: Vec<PageId>,
    /// Of pages that are away and were reached by redirects from elsewhere: over how many.
    hops: BTreeMap<PageId, u8>,
}

impl Border {
    /// All that is here, or was covered or lost here.
    fn whole(&self) -> u128 {
        u128::from(ONE - self.elsewhere) + self.received + self.owed - self.sent
    }
}

impl Account {
    /// From now on this is the account of a shard. No page is known yet.
    pub(super) fn cut(&mut self) {
        assert!(self.expanded.is_empty(), "a crawl is cut before it begins");
        self.border = Some(Border::default());
    }

    fn border(&mut self) -> &mut Border {
        let border = self.border.as_mut();
        border.expect("only what was cut has a border")
    }

    /// Whether this is the account of a shard.
    #[inline]
    pub(super) fn is_shard(&self) -> bool {
        self.border.is_some()
    }

    /// All the mass that is accounted for here.
    pub(super) fn whole(&self) -> u128 {
        let border = self.border.as_ref();
        border.map_or(u128::from(ONE), Border::whole)
    }

    /// The page is another shard's. Returns the trust in it, which is not endowed here.
    pub(super) fn away(&mut self, page: PageId) -> u64 {
        let trusted = self.trust.of(page);
        let border = self.border();
        border.away.put(page, true);
        border.elsewhere += trusted;
        trusted
    }

    pub(super) fn is_away(&self, page: PageId) -> bool {
        let border = self.border.as_ref();
        border.is_some_and(|border| border.away.has(page))
    }

    /// What pages that are away hold, as the policy says.
    pub(super) fn balance_away(&mut self, unsent: u64) {
        if let Some(border) = &mut self.border {
            border.unsent = unsent;
        }
    }

    /// What a page that is away held was sent.
    pub(super) fn send(&mut self, page: PageId, mass: u64) {
        assert!(self.is_away(page), "only pages of other shards are sent");
        self.border().sent += u128::from(mass);
        let sent = &mut self.expanded[page.index()];
        *sent += mass;
        if *sent >= ONE {
            *sent -= ONE;
            *self.wholes.entry(page).or_default() += 1;
        }
    }

    /// What was sent for a page that is away and can be taken back, and over how many redirects what it
    /// holds came. A page that cannot be had gives nothing on, so it was never sent more than all there
    /// is; only in a circle of redirects the same mass came by again and again.
    pub(super) fn sent_for(&self, page: PageId) -> (u64, u8) {
        let Some(border) = self.border.as_ref().filter(|it| it.away.has(page)) else {
            return (0, 0);
        };
        let sent = match self.wholes.contains_key(&page) {
            true => ONE,
            false => self.expanded[page.index()],
        };
        (sent, border.hops.get(&page).copied().unwrap_or(0))
    }

    /// Mass came for a page. Where it has moved to a page that is away, that is one hop more. Returns
    /// whether the way is a circle.
    pub(super) fn arrive(&mut self, page: PageId, mass: u64, hops: u8) -> bool {
        let end = self.fates.end(page);
        let leaves = end != page && self.is_away(end);
        let border = self.border();
        border.received += u128::from(mass);
        if leaves {
            let most = border.hops.entry(end).or_default();
            *most = (*most).max(hops + 1);
        }
        leaves && hops + 1 >= HOPS_MAX
    }

    /// A page that is away cannot be had: what was sent for it is taken back. Returns how much.
    pub(super) fn take_back(&mut self, page: PageId) -> u64 {
        let (sent, _) = self.sent_for(page);
        self.border().sent -= u128::from(sent);
        self.expanded[page.index()] = 0;
        self.wholes.remove(&page);
        sent
    }

    /// A sender takes back what it sent for a page whose chain ends at a page that holds so much.
    /// Returns what is to be taken from there.
    pub(super) fn give_back(&mut self, mass: u64, end: PageId, holds: u64) -> u64 {
        let shelf = if self.fates.of(end) == Fate::Dead {
            holds
        } else {
            0
        };
        let taken = mass.min(shelf);
        let border = self.border();
        border.received -= u128::from(mass);
        border.owed += u128::from(mass - taken);
        taken
    }

    /// Pages that cannot be had any more are to be told to those who sent mass for them: this one, or the
    /// one that it just moved to a dead end, and all that stand for it.
    pub(super) fn mourn(&mut self, page: PageId) {
        if self.border.is_none() || self.rules.gone == Gone::Count {
            return;
        }
        let moved = self.fates.moved().map(|(page, _)| page);
        let mut dead: Vec<PageId> = moved
            .filter(|moved| *moved != page && self.fates.leads_through(*moved, page))
            .collect();
        if !self.is_away(page) {
            dead.push(page);
        }
        self.border().dead.extend(dead);
    }

    /// The pages of this shard that cannot be had.
    pub(super) fn dead(&self) -> &[PageId] {
        self.border.as_ref().map_or(&[], |border| &border.dead)
    }

    /// What a trusted page holds by the trust of this shard: its own, if it is here and can be had, and its
    /// part of the trust in pages here that cannot.
    pub(super) fn endowment<'a>(
        &'a self,
        alive: &'a Trust,
        can_be_had: impl Fn(PageId) -> bool + 'a,
    ) -> impl Fn(PageId) -> i128 + 'a {
        let own = |page: PageId| !self.is_away(page);
        let trusted = self.trust.masses().iter();
        let lapsed: u64 = trusted
            .filter(|(page, _)| own(*page) && !can_be_had(*page))
            .map(|(_, mass)| mass)
            .sum();
        move |page| {
            let mut holds = Trust::share(lapsed, alive.of(page));
            if own(page) && can_be_had(page) {
                holds += self.trust.of(page);
            }
            i128::from(holds)
        }
    }

    /// Where all mass is.
    pub(super) fn masses(&self) -> Masses {
        let none = Border::default();
        let border = self.border.as_ref().unwrap_or(&none);
        let early: u64 = self.early.values().sum();
        let lost = u128::from(self.lost) + u128::from(self.unseen);
        let covered = u128::from(self.covered);
        let residuals = border.whole() - covered - lost;
        let settled = [self.held, self.shelved, border.unsent, early].map(u128::from);
        let open = residuals.saturating_sub(settled.iter().sum());
        let open = u64::try_from(open).unwrap_or(u64::MAX);
        let damped = self.rules.goal.damping.of_rounded_up(open);
        let mut missing = u128::from(open - damped);
        let mut stuck = lost;
        if self.rules.gone == Gone::Count || self.barren {
            let shelved = self.shelved;
            let damped = self.rules.goal.damping.of_rounded_up(shelved);
            missing += u128::from(shelved - damped);
            stuck += u128::from(shelved);
        }
        Masses {
            endowed: u128::from(ONE - border.elsewhere),
            received: border.received,
            sent: border.sent,
            covered,
            residuals,
            lost,
            owed: border.owed,
            doubt: u128::from(self.doubt),
            missing,
            stuck,
        }
    }
}

turnstone_frontier::saved!(Border: away, elsewhere, received, sent, owed, unsent, dead, hops);
