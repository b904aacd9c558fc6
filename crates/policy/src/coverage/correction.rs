//! How an account learns that pages are dead, and how it starts anew.
//!
//! There are no links backwards, so nobody knows who links to a dead page: all stored pages are read
//! once, in a *sweep*. Since what a page has given is a function of its state, a sweep takes back
//! from the dead exactly what they were given and gives it to the other links; a page whose links
//! are all dead jumps to the trusted pages, and trust in a dead page goes to the other trusted ones.
//! Until then the mass of the dead lies on their shelf, neither covered nor claimed.
//!
//! Where the past itself was undone there is no function to correct: the account is *reckoned anew*
//! from the trusted pages over the links as they are now.
//!
//! Both happen when it matters (the goal hangs on it, nothing is left to ask for, the store grew by
//! a quarter) and only when it is paid for: every event pays one, a sweep costs a sixteenth of
//! the stored pages, and at most eight sweeps can be saved up. So sweeps read at most sixteen pages
//! for each event, and the moments are the same in every replay.
//!
//! Cost: a sweep O(links of stored pages), 8 bytes a page while it runs; reckoning anew as many
//! expansions as a crawl of the stored pages.

use std::collections::BTreeMap;

use turnstone_frontier::{Links, PageId};

use super::account::Account;
use super::bits::Bits;
use super::pushed::Sent;
use super::{Dangling, Gone, Trust};
use crate::mass::ONE;

/// A sweep costs this share of the stored pages, in events.
const EVENTS_SHARE: u64 = 16;

/// So many sweeps can be saved up.
const SAVED_UP_MAX: u64 = 8;

/// Fewer events than this are never waited for.
const EVENTS_MIN: u64 = 64;

/// To reckon anew is paid like so many sweeps.
const ANEW_SWEEPS: u64 = 4;

/// A doubt above this is worth reckoning anew, and above a sixteenth of it where nothing else is
/// left to do.
const DOUBT_MAX: u64 = ONE / 64;

/// When sweeps are paid for and worth it.
#[derive(Debug, Default)]
pub(super) struct Moments {
    /// Events saved up.
    credit: u64,
    /// Events since the last sweep.
    since: u64,
    /// Pages that were stored then.
    stored: u64,
}

impl Moments {
    fn cost(stored: u64) -> u64 {
        stored / EVENTS_SHARE
    }

    /// An event pays.
    pub(super) fn pay(&mut self, stored: u64) {
        let most = Self::cost(stored) * SAVED_UP_MAX + EVENTS_MIN;
        self.credit = (self.credit + 1).min(most);
        self.since += 1;
    }

    /// Whether a sweep is paid for.
    pub(super) fn can_pay(&self, stored: u64) -> bool {
        self.credit > Self::cost(stored)
    }

    /// Whether the last sweep was a while ago.
    pub(super) fn rested(&self, stored: u64) -> bool {
        self.since >= Self::cost(stored).max(EVENTS_MIN)
    }

    pub(super) fn spend(&mut self, stored: u64, sweeps: u64) {
        let cost = Self::cost(stored).max(1) * sweeps;
        self.credit = self.credit.saturating_sub(cost);
        self.since = 0;
        self.stored = stored;
    }
}

turnstone_frontier::saved!(Moments: credit, since, stored);

impl Account {
    /// Whether the account is behind what is known.
    pub(super) fn is_behind(&self) -> bool {
        let pending = self.rules.gone == Gone::Skip && self.fates.some_pending();
        pending || self.doubt > 0
    }

    /// Whether to catch up now. `idle`: nothing is left to ask for, and nothing is under way.
    pub(super) fn is_due(&self, idle: bool) -> bool {
        if !self.is_behind() {
            return false;
        }
        let (moments, stored) = (&self.moments, self.fates.stored_count());
        if !moments.can_pay(stored) {
            return false;
        }
        let goal = self.rules.goal.mass();
        let hangs_on_it = match self.is_shard() {
            false => !self.is_met() && self.covered + self.shelved >= goal,
            // What all have proven is not known here: it is worth it where much of what is left is dead.
            true => u128::from(self.shelved) * 32 >= self.whole() - u128::from(self.covered),
        };
        let rested = moments.rested(stored);
        let has_grown = stored * 4 > moments.stored * 5;
        if self.doubt > 0 {
            let worth_it = hangs_on_it || self.doubt > DOUBT_MAX / 16;
            return idle && worth_it || rested && (hangs_on_it || self.doubt > DOUBT_MAX);
        }
        idle || has_grown || rested && hangs_on_it
    }

    /// Whether catching up means to start anew.
    pub(super) fn must_reckon_anew(&self) -> bool {
        self.doubt > 0
    }

    /// Corrects what stored pages have given. Returns by how much each residual must change, or
    /// nothing where that cannot be done and the account must be reckoned anew. Moved pages must
    /// not hold anything.
    pub(super) fn sweep(
        &mut self,
        links: &dyn Links,
        residual: impl Fn(PageId) -> u64,
    ) -> Option<Vec<(PageId, i64)>> {
        let pending = self.fates.pending();
        let can_be_had = |page| self.fates.counts(page) && !pending.has(page);
        let alive = self.trust.among(can_be_had);
        let barren = alive.is_none();
        let mut sweep = Sweep {
            account: self,
            alive: alive.unwrap_or_else(|| self.alive.clone()),
            pending,
            changes: vec![0; self.expanded.len()],
            early: BTreeMap::new(),
            lost: i128::from(self.lost),
            unseen: i128::from(self.unseen),
        };
        if !barren && self.is_shard() {
            sweep.endowment_changes();
        } else if !barren {
            sweep.trust_changes(i128::from);
        }
        sweep.run(links);
        let Sweep {
            alive,
            pending,
            changes,
            early,
            lost,
            unseen,
            ..
        } = sweep;
        let changes = changes.into_iter().enumerate();
        let changes: Vec<(PageId, i64)> = changes
            .filter(|(_, change)| *change != 0)
            .map(|(index, change)| (PageId::from_index(index), change))
            .collect();
        let fits =
            |(page, change): &(PageId, i64)| residual(*page).checked_add_signed(*change).is_some();
        let early: Option<Vec<(PageId, u64)>> = early
            .into_iter()
            .map(|(page, change)| {
                let now = self.early.get(&page).copied().unwrap_or(0);
                Some((page, now.checked_add_signed(change)?))
            })
            .collect();
        if !changes.iter().all(fits) {
            return None;
        }
        self.lost = u64::try_from(lost).ok()?;
        self.unseen = u64::try_from(unseen).ok()?;
        self.early.extend(early?);
        self.alive = alive;
        self.barren = barren;
        self.fates.discount(&pending);
        self.moments.spend(self.fates.stored_count(), 1);
        Some(changes)
    }

    /// Nothing is claimed any more: the past cannot be corrected.
    pub(super) fn give_up(&mut self) {
        self.doubt = ONE;
        self.moments.spend(self.fates.stored_count(), ANEW_SWEEPS);
    }

    /// Starts anew: nothing is expanded. The policy must give every page the residual 0 and then
    /// give out what is returned.
    pub(super) fn start_anew(&mut self) -> Vec<(PageId, u64)> {
        if self.rules.gone == Gone::Skip {
            self.fates.recount();
            let pending = self.fates.pending();
            self.fates.discount(&pending);
        }
        let alive = self.trust.among(|page| self.fates.counts(page));
        self.barren = alive.is_none();
        self.alive = alive.unwrap_or_else(|| self.trust.clone());
        self.expanded.fill(0);
        self.wholes.clear();
        (self.covered, self.lost, self.unseen) = (0, 0, 0);
        (self.held, self.shelved, self.doubt) = (0, 0, 0);
        self.moments.spend(self.fates.stored_count(), ANEW_SWEEPS);
        let masses = self.alive.masses().iter().copied();
        let (known, early) = masses.partition(|(page, _)| page.index() < self.expanded.len());
        self.early = Vec::into_iter(early).collect();
        known
    }
}

/// A sweep under way.
struct Sweep<'a> {
    account: &'a Account,
    /// The trust from now on.
    alive: Trust,
    /// Pages to which links stop counting.
    pending: Bits,
    /// By page: what it is given or must give back.
    changes: Vec<i64>,
    /// The same for trusted pages not yet discovered.
    early: BTreeMap<PageId, i64>,
    lost: i128,
    unseen: i128,
}

impl Sweep<'_> {
    fn run(&mut self, links: &dyn Links) {
        let mut buffer = Vec::new();
        let account = self.account;
        let same_trust = self.alive == account.alive;
        for page in account.fates.stored() {
            let sent = Sent::by(account, page);
            if sent.is_nothing() {
                continue;
            }
            let links = links.links_of(page, &mut buffer);
            let counted = links.iter().filter(|link| account.fates.counts(**link));
            let before = counted.clone().count() as u64;
            let after = counted.filter(|link| !self.pending.has(**link)).count() as u64;
            let unseen = account.unseen_links.get(&page).copied().unwrap_or(0);
            let is_dangling = after.saturating_add(unseen) == 0;
            if before == after && (same_trust || !is_dangling) {
                continue;
            }
            self.divide_anew(sent, links, (before, after, unseen));
        }
    }

    /// What a page has sent is divided among the links that are left, or among the trusted pages.
    fn divide_anew(
        &mut self,
        sent: Sent,
        links: &[PageId],
        (before, after, unseen): (u64, u64, u64),
    ) {
        let account = self.account;
        let old = sent.share(before.saturating_add(unseen));
        let new = sent.share(after.saturating_add(unseen));
        for &link in links.iter().filter(|link| account.fates.counts(**link)) {
            if self.pending.has(link) {
                self.change(account.fates.end(link), -old);
            } else {
                self.change(link, new - old);
            }
        }
        let mut left = old * i128::from(before) - new * i128::from(after);
        let jumps = account.rules.dangling == Dangling::Jump;
        if after.saturating_add(unseen) == 0 && jumps {
            if before == 0 {
                left -= self.trust_changes(|mass| sent.part(mass));
            } else {
                let alive = self.alive.clone();
                for &(page, trusted) in alive.masses() {
                    let part = sent.part(trusted);
                    left -= part;
                    self.change(page, part);
                }
            }
        }
        if unseen > 0 {
            self.unseen += left;
        } else {
            self.lost += left;
        }
    }

    /// Trusted pages hold a function of their trust; the trust is another now. Returns by how much
    /// more they hold together.
    fn trust_changes(&mut self, hold: impl Fn(u64) -> i128) -> i128 {
        let (before, after) = (self.account.alive.clone(), self.alive.clone());
        let mut sum = 0;
        for &(page, trusted) in before.masses() {
            let change = hold(after.of(page)) - hold(trusted);
            sum += change;
            if self.pending.has(page) {
                self.change(self.account.fates.end(page), change);
            } else {
                self.change(page, change);
            }
        }
        sum
    }

    /// The same for the trust of a shard, some of which lies at pages that are away.
    fn endowment_changes(&mut self) {
        let (account, after) = (self.account, self.alive.clone());
        let counted = |page| account.fates.counts(page);
        let before = account.endowment(&account.alive, counted);
        let pending = self.pending.clone();
        let after = account.endowment(&after, |page| counted(page) && !pending.has(page));
        for &(page, _) in account.trust.masses() {
            let change = after(page) - before(page);
            self.lost -= change;
            if pending.has(page) {
                self.change(account.fates.end(page), change);
            } else {
                self.change(page, change);
            }
        }
    }

    fn change(&mut self, page: PageId, by: i128) {
        let by = i64::try_from(by).expect("what is taken back was held");
        *match self.changes.get_mut(page.index()) {
            Some(change) => change,
            None => self.early.entry(page).or_default(),
        } += by;
    }
}
