//! How an account takes in that the links of a stored page have changed: where it happened.
//!
//! What a page has given is a function of what it expanded and of its links (see [`super::account`]), so what
//! went through the old links is taken back to the unit and goes through the new ones. A page that has pushed on
//! already what is taken back from it expands so much less: it holds nothing then, and takes back its part from
//! those it links to, and so on. Each step leaves at most d of what the one before had to take back, divided among many pages,
//! most of which hold more than that and give it out of their residual: the correction stays in the neighbourhood
//! (local push with residuals of both signs; Zhang, Lofgren, Goel 2016).
//!
//! After [`STEPS_MAX`] links no more is taken back, and of less than [`TRIFLE`] nothing. What is missing then is *overdrawn*: booked, in doubt as a
//! whole, and so never claimed, until all is reckoned anew. So no event costs more than that, and the bound that
//! is proven holds after every one.
//!
//! Not where more of the past is in doubt, for then what a page gave is no function any more, and not for shards,
//! whose mass may have crossed the border: there the past of the page is forgotten, and in doubt itself.

use std::collections::{BTreeMap, VecDeque};

use turnstone_frontier::{Links, PageId};

use super::Dangling;
use super::account::Account;
use super::fates::Fate;
use super::pushed::Sent;
use crate::mass::ONE;

/// So many links are followed to take back what other pages have pushed on already.
const STEPS_MAX: usize = 1 << 12;

/// A page that misses less is left to miss it.
const TRIFLE: i128 = (ONE >> 32) as i128;

/// What residuals must change by, and whose are to be looked at.
#[derive(Default)]
struct Changes {
    by_page: BTreeMap<PageId, i128>,
    waiting: VecDeque<PageId>,
}

impl Changes {
    fn add(&mut self, page: PageId, units: i128) {
        *self.by_page.entry(page).or_default() += units;
        if units < 0 {
            self.waiting.push_back(page);
        }
    }

    fn of(&self, page: PageId) -> i128 {
        self.by_page.get(&page).copied().unwrap_or(0)
    }
}

impl Account {
    /// Whether a page that comes back with other links can be corrected where it is.
    pub(super) fn can_relink(&self, page: PageId) -> bool {
        let whole = self.doubt == self.overdrawn && !self.is_shard();
        whole && self.fates.of(page) == Fate::Stored
    }

    /// A stored page has these links now, by `links` those of its last copy. Returns by how much each residual
    /// must change; none falls below 0.
    pub(super) fn relink(
        &mut self,
        page: PageId,
        found: &[PageId],
        links: &dyn Links,
        residual: impl Fn(PageId) -> u64,
    ) -> Vec<(PageId, i64)> {
        let mut changes = Changes::default();
        let mut room = Vec::new();
        let sent = Sent::by(self, page);
        let unseen = self.unseen_of(page);
        let old = links.old_links_of(page, &mut room);
        self.spread((sent, Sent::NOTHING), old, unseen, &mut changes);
        let unseen = self.foretold_of(page);
        if unseen > 0 {
            self.unseen_links.insert(page, unseen);
        } else {
            self.unseen_links.remove(&page);
        }
        self.spread((Sent::NOTHING, sent), found, unseen, &mut changes);
        let holds = |changes: &Changes, page| i128::from(residual(page)) + changes.of(page);
        let mut left = STEPS_MAX;
        while left > 0
            && let Some(page) = changes.waiting.pop_front()
        {
            let missing = -holds(&changes, page);
            if missing > TRIFLE {
                left = left.saturating_sub(self.unexpand(page, missing, links, &mut changes));
            }
        }
        let mut settled = Vec::with_capacity(changes.by_page.len());
        for (&page, &change) in &changes.by_page {
            let missing = (-holds(&changes, page)).max(0);
            self.overdraw(missing);
            let change =
                i64::try_from(change + missing).expect("what a page holds is not more than all");
            if change != 0 {
                settled.push((page, change));
            }
        }
        settled
    }

    /// A page that misses so much takes it back from where it pushed it. Returns how many links that took.
    fn unexpand(
        &mut self,
        page: PageId,
        missing: i128,
        links: &dyn Links,
        changes: &mut Changes,
    ) -> usize {
        match self.fates.of(page) {
            Fate::Stored => {
                let before = Sent::by(self, page);
                let taken = self.take_expanded(page, missing);
                let after = Sent::by(self, page);
                let covered = taken - (before.share(1) - after.share(1));
                self.covered -=
                    u64::try_from(covered).expect("less is covered, and not less than none");
                *changes.by_page.entry(page).or_default() += taken;
                let mut room = Vec::new();
                let links = links.links_of(page, &mut room);
                let unseen = self.unseen_of(page);
                self.spread((before, after), links, unseen, changes);
                links.len().max(1)
            }
            Fate::Moved => {
                let passed = &mut self.expanded[page.index()];
                let taken = missing.min(i128::from(*passed));
                *passed -= u64::try_from(taken).expect("not more than was passed on");
                let next = self.fates.next(page).expect("it moved somewhere");
                *changes.by_page.entry(page).or_default() += taken;
                changes.add(next, -taken);
                1
            }
            // They hold all they were ever given, but for what is overdrawn already.
            Fate::Open | Fate::Dead => 1,
        }
    }

    /// A page has expanded so much less, as far as it has. Returns how much less.
    fn take_expanded(&mut self, page: PageId, missing: i128) -> i128 {
        let one = i128::from(ONE);
        let wholes = self.wholes.get(&page).copied().unwrap_or(0);
        let all = i128::from(wholes) * one + i128::from(self.expanded[page.index()]);
        let taken = missing.min(all);
        let (wholes, rest) = ((all - taken) / one, (all - taken) % one);
        self.expanded[page.index()] = u64::try_from(rest).expect("less than one");
        match u64::try_from(wholes).expect("not more than there were") {
            0 => self.wholes.remove(&page),
            wholes => self.wholes.insert(page, wholes),
        };
        taken
    }

    /// A page with these links had sent one sum and has now sent another.
    fn spread(
        &mut self,
        (before, after): (Sent, Sent),
        links: &[PageId],
        unseen: u64,
        changes: &mut Changes,
    ) {
        let share = |count: u64| after.share(count) - before.share(count);
        let counting = links.iter().filter(|link| self.fates.counts(**link));
        let counting: Vec<PageId> = counting.copied().collect();
        let count = (counting.len() as u64).saturating_add(unseen);
        let mut left = share(1);
        if count == 0 {
            if self.rules.dangling == Dangling::Jump {
                let alive = self.alive.clone();
                for &(page, trusted) in alive.masses() {
                    let part = after.part(trusted) - before.part(trusted);
                    left -= part;
                    self.give_trusted(page, part, changes);
                }
            }
        } else {
            let each = share(count);
            left -= each * counting.len() as i128;
            for link in counting {
                changes.add(link, each);
            }
        }
        let book = match unseen {
            0 => &mut self.lost,
            _ => &mut self.unseen,
        };
        // Wraps until what others pushed on is taken back: a page may have expanded more than there is.
        *book = book.wrapping_add(left as u64);
    }

    fn give_trusted(&mut self, page: PageId, units: i128, changes: &mut Changes) {
        if page.index() < self.expanded.len() {
            return changes.add(page, units);
        }
        let early = self.early.entry(page).or_default();
        let now = i128::from(*early) + units;
        *early = u64::try_from(now.max(0)).expect("trust in a page is not more than all");
        self.overdraw((-now).max(0));
    }

    /// So much could not be taken back: it is claimed by nobody.
    fn overdraw(&mut self, units: i128) {
        let units = u64::try_from(units).map_or(ONE, |units| units.min(ONE));
        self.overdrawn = (self.overdrawn + units).min(ONE);
        self.doubt = (self.doubt + units).min(ONE);
    }
}
