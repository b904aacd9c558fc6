//! The account of a coverage crawl: where all the mass is.
//!
//! Each page holds a *residual*, the probability of all surfer's paths that end there and were not
//! yet followed further. *Expanding* a stored page counts 1−d of its residual as covered and gives
//! the rest to its links in equal shares. A link to a dead page does not count: it is as if it were
//! not there. Links that nobody saw do count, and what leaves by them is booked as *unseen*.
//!
//! What a page has given is a function of its state, not of its history: with x the sum of all
//! residuals ever expanded at it, p = ⌈d·x⌉ and k its counting links, seen and unseen, each link was
//! given ⌊p/k⌋; x − p is covered, and what could not be divided is *lost*. An expansion gives what
//! that function grows by. So when links stop counting, what must be taken back and given instead is
//! known exactly, without any record of what was given when (see [`super::correction`]).
//! x may exceed 64 bits where mass comes back again and again; whole [`ONE`]s are counted apart.
//!
//! Some events undo the past: a stored page comes back with other links, a redirect leads elsewhere,
//! a dead page is there after all. What went that way is a *doubt* until all is reckoned anew. At
//! most the mass that left through the page is wrong, so what is claimed is lowered by that much.
//!
//! Invariant: covered + residuals + lost + unseen = ONE, after every event. So covered − doubt is
//! a proven lower bound: paths only gain probability when links turn out dead, and no page that is
//! open can take away what was covered. A page that is known and not stored keeps at least 1−d of
//! its residual to itself: that gives the upper bound.
//!
//! Cost: O(links) an expansion, O(trusted) for a page without links; 8 bytes and 3 bits a page.

use std::collections::BTreeMap;
use std::io;

use turnstone_frontier::{Change, Coverage, PageId, Restore, Save, corrupt};

use super::border::Border;
use super::correction::Moments;
use super::fates::{Fate, Fates};
use super::pushed::Pushed;
use super::{Dangling, Goal, Gone, Trust};
use crate::mass::ONE;

/// What decides how mass moves.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rules {
    pub(super) goal: Goal,
    pub(super) dangling: Dangling,
    pub(super) gone: Gone,
}

/// Where all mass is, but for the residuals, which the policy keeps.
#[derive(Debug)]
pub(super) struct Account {
    pub(super) rules: Rules,
    /// The trusted pages as the user named them, and those of them that can be had.
    pub(super) trust: Trust,
    pub(super) alive: Trust,
    pub(super) fates: Fates,
    /// By page: all it expanded or, if it has moved, passed on, less whole ones.
    pub(super) expanded: Vec<u64>,
    /// Of stored pages that expanded more: how many whole ones.
    pub(super) wholes: BTreeMap<PageId, u64>,
    /// How many links of a page were not seen.
    pub(super) unseen_links: BTreeMap<PageId, u64>,
    /// What was told of the page that is told of next.
    foretold: Option<(PageId, u64)>,
    /// What trusted pages hold that were not discovered yet.
    pub(super) early: BTreeMap<PageId, u64>,
    pub(super) covered: u64,
    pub(super) lost: u64,
    pub(super) unseen: u64,
    /// The residuals of stored and moved pages, and those of dead pages.
    pub(super) held: u64,
    pub(super) shelved: u64,
    pub(super) doubt: u64,
    pub(super) moments: Moments,
    pushes: u64,
    /// Whether no trusted page can be had.
    pub(super) barren: bool,
    /// What crossed, where this is the account of a shard.
    pub(super) border: Option<Border>,
}

impl Account {
    pub(super) fn new(trust: Trust, rules: Rules) -> Self {
        Self {
            rules,
            alive: trust.clone(),
            early: trust.masses().iter().copied().collect(),
            trust,
            fates: Fates::default(),
            expanded: Vec::new(),
            wholes: BTreeMap::new(),
            unseen_links: BTreeMap::new(),
            foretold: None,
            covered: 0,
            lost: 0,
            unseen: 0,
            held: 0,
            shelved: 0,
            doubt: 0,
            moments: Moments::default(),
            pushes: 0,
            barren: false,
            border: None,
        }
    }

    /// How often a page was expanded.
    pub(super) fn pushes(&self) -> u64 {
        self.pushes
    }

    /// What is proven to be in the store.
    #[inline]
    pub(super) fn guaranteed(&self) -> u64 {
        self.covered.saturating_sub(self.doubt)
    }

    /// Whether what was asked for is proven.
    #[inline]
    pub(super) fn is_met(&self) -> bool {
        self.guaranteed() >= self.rules.goal.mass()
    }

    pub(super) fn coverage(&self) -> Coverage {
        if self.is_shard() {
            return Coverage::of_shards([self.masses()], self.rules.goal.mass());
        }
        let early: u64 = self.early.values().sum();
        let dead_count = self.rules.gone == Gone::Count || self.barren;
        let nowhere = self.lost + self.unseen;
        let mut open = ONE - self.covered - nowhere - self.held - self.shelved - early;
        let mut stuck = nowhere;
        if dead_count {
            open += self.shelved;
            stuck += self.shelved;
        }
        let open = open.saturating_sub(self.doubt);
        Coverage {
            guaranteed: self.guaranteed(),
            certified: None,
            possible: ONE - (open - self.rules.goal.damping.of_rounded_up(open)),
            stuck: stuck.saturating_sub(self.doubt),
            goal: self.rules.goal.mass(),
        }
    }

    /// Asserts that no mass was made or lost, given the residual of every known page.
    pub(super) fn audit(&self, residual: impl Fn(PageId) -> u64) {
        let early: u64 = self.early.values().sum();
        let (mut held, mut shelved, mut all) = (0, 0, 0u64);
        for page in (0..self.expanded.len()).map(PageId::from_index) {
            let residual = residual(page);
            all += residual;
            match self.fates.of(page) {
                Fate::Stored | Fate::Moved => held += residual,
                Fate::Dead => shelved += residual,
                Fate::Open => {}
            }
        }
        let sum = self.covered + self.lost + self.unseen + all + early;
        assert_eq!(u128::from(sum), self.whole(), "mass must be conserved");
        assert_eq!((held, shelved), (self.held, self.shelved), "in its place");
    }

    /// The policy says how much of the residuals lies at stored and moved pages, and at dead ones.
    #[inline]
    pub(super) fn balance(&mut self, held: u64, shelved: u64) {
        (self.held, self.shelved) = (held, shelved);
    }

    /// What a stored page held is covered and given on.
    #[inline]
    pub(super) fn expand(
        &mut self,
        page: PageId,
        residual: u64,
        links: &[PageId],
        mut give: impl FnMut(PageId, u64),
    ) {
        self.pushes += 1;
        let pushed = self.push(page, residual);
        let unseen = self.unseen_of(page);
        let all_count = self.fates.all_count();
        let counting = if all_count {
            links.len() as u64
        } else {
            links
                .iter()
                .filter(|link| self.fates.counts(**link))
                .count() as u64
        };
        let count = counting.saturating_add(unseen);
        if count == 0 {
            return self.jump(pushed, give);
        }
        let share = pushed.through(|part| part / count);
        // Wraps where the remainder of earlier pushes is divided now.
        let left = pushed.sum().wrapping_sub(share * counting);
        if unseen > 0 {
            self.unseen = self.unseen.wrapping_add(left);
        } else {
            self.lost = self.lost.wrapping_add(left);
        }
        if share == 0 {
            return;
        }
        for &link in links {
            if all_count || self.fates.counts(link) {
                give(link, share);
            }
        }
    }

    /// Covers what an expansion covers. Returns what it pushes on.
    #[inline]
    fn push(&mut self, page: PageId, residual: u64) -> Pushed {
        let damping = self.rules.goal.damping;
        let expanded = &mut self.expanded[page.index()];
        let before = damping.of_rounded_up(*expanded);
        let mut whole = 0;
        *expanded += residual;
        if *expanded >= ONE {
            *expanded -= ONE;
            *self.wholes.entry(page).or_default() += 1;
            whole = damping.of_rounded_up(ONE);
        }
        let after = damping.of_rounded_up(*expanded);
        let pushed = Pushed {
            before,
            whole,
            after,
        };
        self.covered += residual - pushed.sum();
        pushed
    }

    /// A page without links that count sends its mass to the trusted pages, or nowhere.
    fn jump(&mut self, pushed: Pushed, mut give: impl FnMut(PageId, u64)) {
        let mut left = pushed.sum();
        if self.rules.dangling == Dangling::Jump {
            let alive = self.alive.clone();
            for &(page, trusted) in alive.masses() {
                let share = pushed.through(|part| Trust::share(part, trusted));
                left = left.wrapping_sub(share);
                if page.index() >= self.expanded.len() {
                    *self.early.entry(page).or_default() += share;
                } else if share > 0 {
                    give(page, share);
                }
            }
        }
        self.lost = self.lost.wrapping_add(left);
    }

    #[inline]
    fn unseen_of(&self, page: PageId) -> u64 {
        if self.unseen_links.is_empty() {
            return 0;
        }
        self.unseen_links.get(&page).copied().unwrap_or(0)
    }

    /// What a moved page held is passed on. Returns to which page.
    pub(super) fn pass_on(&mut self, page: PageId, mass: u64) -> PageId {
        let mut end = page;
        while let Some(next) = self.fates.next(end) {
            let passed = &mut self.expanded[end.index()];
            *passed = passed.saturating_add(mass);
            end = next;
        }
        end
    }
}

/// What happened to pages.
impl Account {
    /// A page is known from now on. Returns what it holds.
    pub(super) fn discover(&mut self, page: PageId) -> u64 {
        self.expanded.push(0);
        self.early.remove(&page).unwrap_or(0)
    }

    /// So many links of the page that is told of next were not seen.
    pub(super) fn foretell(&mut self, page: PageId, links: u64) {
        self.foretold = Some((page, links));
    }

    /// The page is stored.
    pub(super) fn store(&mut self, page: PageId, change: Change) {
        let unseen = match self.foretold.take() {
            Some((about, links)) if about == page => links,
            _ => 0,
        };
        match self.fates.of(page) {
            Fate::Stored if change == Change::Unchanged && unseen == self.unseen_of(page) => {}
            Fate::Stored | Fate::Moved => self.forget(page),
            Fate::Open | Fate::Dead => {}
        }
        if unseen > 0 {
            self.unseen_links.insert(page, unseen);
        } else {
            self.unseen_links.remove(&page);
        }
        if self.fates.store(page, self.expanded.len()) {
            self.doubt = ONE;
        }
    }

    /// The page cannot be had. Of a page that is stored there is a copy, and nothing changes.
    pub(super) fn die(&mut self, page: PageId, residual: u64) {
        match self.fates.of(page) {
            Fate::Stored | Fate::Dead => return,
            Fate::Moved => self.forget(page),
            Fate::Open => {}
        }
        let idle = residual == 0 && self.trust.of(page) == 0;
        self.fates.die(page, idle && self.rules.gone == Gone::Skip);
        self.mourn(page);
    }

    /// The page stands for another.
    pub(super) fn move_on(&mut self, page: PageId, to: PageId, residual: u64) {
        if self.fates.leads_through(to, page) {
            return self.die(page, residual);
        }
        let fate = self.fates.of(page);
        if fate == Fate::Stored || fate == Fate::Moved && self.fates.next(page) != Some(to) {
            self.forget(page);
        }
        self.unseen_links.remove(&page);
        if self.fates.move_on(page, to, self.expanded.len()) {
            self.doubt = ONE;
        }
        if self.fates.of(self.fates.end(page)) == Fate::Dead {
            self.mourn(page);
        }
    }

    /// What a page expanded or passed on is in doubt, all of it: it may belong elsewhere. Only what
    /// a dead page had passed on was taken back long ago.
    fn forget(&mut self, page: PageId) {
        let expanded = std::mem::take(&mut self.expanded[page.index()]);
        let whole = self.wholes.remove(&page).map_or(0, |_| ONE);
        if !self.fates.counts(page) {
            return;
        }
        let doubt = self.doubt.saturating_add(expanded).saturating_add(whole);
        self.doubt = doubt.min(ONE);
    }
}

impl Save for Account {
    fn save(&self, out: &mut dyn io::Write) -> io::Result<()> {
        let numbers = [
            self.covered,
            self.lost,
            self.unseen,
            self.held,
            self.shelved,
            self.doubt,
            self.pushes,
        ];
        numbers.iter().try_for_each(|number| number.save(out))?;
        self.fates.save(out)?;
        self.expanded.save(out)?;
        self.wholes.save(out)?;
        self.unseen_links.save(out)?;
        self.foretold.save(out)?;
        self.early.save(out)?;
        self.moments.save(out)?;
        self.barren.save(out)?;
        self.border.save(out)?;
        self.alive.masses().save(out)
    }
}

impl Account {
    /// Becomes the saved account; it was made with the same rules and trust.
    pub(super) fn restore(&mut self, from: &mut dyn io::Read) -> io::Result<()> {
        self.covered = Restore::restore(from)?;
        self.lost = Restore::restore(from)?;
        self.unseen = Restore::restore(from)?;
        self.held = Restore::restore(from)?;
        self.shelved = Restore::restore(from)?;
        self.doubt = Restore::restore(from)?;
        self.pushes = Restore::restore(from)?;
        self.fates = Restore::restore(from)?;
        self.expanded = Restore::restore(from)?;
        self.wholes = Restore::restore(from)?;
        self.unseen_links = Restore::restore(from)?;
        self.foretold = Restore::restore(from)?;
        self.early = Restore::restore(from)?;
        self.moments = Restore::restore(from)?;
        self.barren = Restore::restore(from)?;
        self.border = Restore::restore(from)?;
        let alive = Restore::restore(from)?;
        self.alive = Trust::restored(alive).ok_or_else(|| corrupt("trust that is not all"))?;
        Ok(())
    }
}
