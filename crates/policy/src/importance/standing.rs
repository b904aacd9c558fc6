//! How important pages are by the links that are stored already, kept up as links come and go.
//!
//! OPIC spends a visit to move cash once, because in 2003 links did not fit; a crawl that keeps them
//! can move importance along them whenever it likes, without a request. What is kept is the fixpoint of
//! the chain that OPIC walks (with a fraction to the virtual page: PageRank with a uniform jump),
//! unscaled: every known page is *endowed* with [`ENDOWED`], and passes on what it has in equal parts
//! through the links of its last copy, less what goes to the virtual page. What goes there comes back to
//! all alike, which would scale all pages alike and change no proportion; so it is left out, no page
//! count enters, and a page found later changes nothing but what it links to.
//!
//! Each page has what it *passed on* the base of (`settled`) and what came since (`owed`). What has
//! gone through each link of a page is a function of `settled` and its number of links alone, in whole
//! units, so that exactly
//!
//! > settled + owed = endowed + Σ what has gone through each link to it
//!
//! holds after every call, also when a page's links change or the page goes: what went through the old
//! ones is taken back, and the same base goes through the new ones (nothing, where there are none).
//!
//! Passing on is put off until enough is owed, and is done a bounded piece at a time. Who is owed most
//! passes on first, to a factor of two (Southwell's rule with buckets in place of a heap: a page lies in
//! the list of those whose debt has as many binary digits). On every web tried that left half to a quarter
//! of the error that a plain queue leaves for the same work.
//!
//! Cost: O(links) when a page's links come or change, and whatever [`Standing::work`] is given. 25 bytes
//! a page, and two words for each of the 64 lists.

use std::io;

use turnstone_frontier::{Links, PageId, Restore, Save, corrupt};

use super::debts::Debts;
use super::shares::{VirtualEdge, Weight};
use crate::mass::Fraction;

/// What every page begins with. A billion pages that pass on 17/20 add up to less than 2⁶³.
pub const ENDOWED: i64 = 1 << 30;

/// The share that goes to the virtual page unless it is said: what is passed on is the literature's 0.85.
fn usual() -> VirtualEdge {
    VirtualEdge::Fraction(Fraction::new(0.15).expect("0.15 is between 0 and 1"))
}

/// The links of its last copy carry what it passes on.
const FLOWS: u8 = 1;
/// It is not there: it counts for nothing, whatever comes to it.
const GONE: u8 = 2;

/// The importance of every known page.
#[derive(Debug)]
pub struct Standing {
    edge: VirtualEdge,
    settled: Vec<i64>,
    owed: Vec<i64>,
    marks: Vec<u8>,
    /// Who waits to pass on what it is owed.
    debts: Debts,
    /// What all pages have together that are there.
    total: i128,
    /// And those of them whose links are known.
    spoken: i128,
    /// How many are not there.
    gone: usize,
    /// What a page is owed before it passes it on.
    patience: u64,
    room: Vec<PageId>,
}

impl Standing {
    /// Of no page yet, as PageRank. A page passes on what it is owed as soon as that is one part in so
    /// many of what it was endowed with.
    pub fn new(exactness: u32) -> Self {
        Self::with_edge(usual(), exactness)
    }

    /// The same, of the chain with this edge to the virtual page.
    pub fn with_edge(edge: VirtualEdge, exactness: u32) -> Self {
        Self {
            edge,
            settled: Vec::new(),
            owed: Vec::new(),
            marks: Vec::new(),
            debts: Debts::default(),
            total: 0,
            spoken: 0,
            gone: 0,
            patience: (ENDOWED.unsigned_abs() / u64::from(exactness.max(1))).max(1),
            room: Vec::new(),
        }
    }

    /// A page is known from now on; pages come in order.
    pub fn know(&mut self) {
        self.settled.push(0);
        self.owed.push(ENDOWED);
        self.marks.push(0);
        self.debts.know();
        self.total += i128::from(ENDOWED);
    }

    /// What a page counts for, 1 being the average; 0 for one that is not there.
    pub fn of(&self, page: PageId) -> f64 {
        if self.is_gone(page) {
            return 0.0;
        }
        self.has(page).max(0) as f64 * self.there() as f64 / self.total.max(1) as f64
    }

    /// What a page has, in units of which it was endowed with [`ENDOWED`].
    #[inline]
    pub fn has(&self, page: PageId) -> i64 {
        self.settled[page.index()] + self.owed[page.index()]
    }

    /// What of that it has passed on through its links.
    pub fn settled(&self, page: PageId) -> i64 {
        self.settled[page.index()]
    }

    /// What all pages that are there have together.
    pub fn total(&self) -> i128 {
        self.total
    }

    /// And for those of them whose links are known.
    pub fn spoken(&self) -> i128 {
        self.spoken
    }

    /// How many pages are there.
    pub fn there(&self) -> usize {
        self.settled.len() - self.gone
    }

    /// Whether the links of a page are known.
    #[inline]
    pub fn flows(&self, page: PageId) -> bool {
        self.marks[page.index()] & FLOWS != 0
    }

    /// Whether a page is not there.
    #[inline]
    pub fn is_gone(&self, page: PageId) -> bool {
        self.marks[page.index()] & GONE != 0
    }

    /// A page was fetched and has these links, by `known` those of its last copy.
    pub fn fetched(&mut self, page: PageId, links: &[PageId], known: &dyn Links) {
        let mut room = std::mem::take(&mut self.room);
        let old = self
            .flows(page)
            .then(|| known.old_links_of(page, &mut room));
        if old != Some(links) {
            self.relink(page, old.unwrap_or_default(), links, &mut |_, _| ());
        }
        self.room = room;
    }

    /// A page that is there has other links than those that carried what it passed on, if any did.
    /// `tell` hears who was given or taken what, as from [`Self::work_telling`].
    pub fn relink(
        &mut self,
        page: PageId,
        old: &[PageId],
        links: &[PageId],
        tell: &mut dyn FnMut(&Self, PageId),
    ) {
        self.come_back(page);
        if self.flows(page) {
            let passed = self.through(page, old.len());
            self.owe_each(old, -passed, tell);
        } else {
            self.marks[page.index()] |= FLOWS;
            self.spoken += i128::from(self.has(page));
        }
        self.settle(page);
        let passed = self.through(page, links.len());
        self.owe_each(links, passed, tell);
    }

    /// A page is not there any more: what went through its links, if they were known, is taken back.
    pub fn lose(&mut self, page: PageId, old: &[PageId], tell: &mut dyn FnMut(&Self, PageId)) {
        let at = page.index();
        if self.flows(page) {
            let passed = self.through(page, old.len());
            self.owe_each(old, -passed, tell);
            self.spoken -= i128::from(self.has(page));
            self.marks[at] &= !FLOWS;
            self.debts.forget(page);
            self.owed[at] += std::mem::take(&mut self.settled[at]);
        }
        if !self.is_gone(page) {
            self.total -= i128::from(self.has(page));
            self.marks[at] |= GONE;
            self.gone += 1;
        }
    }

    /// A page that was lost is there again, its links not known.
    pub fn come_back(&mut self, page: PageId) {
        if self.is_gone(page) {
            self.marks[page.index()] &= !GONE;
            self.gone -= 1;
            self.total += i128::from(self.has(page));
        }
    }

    /// Passes on what is owed, until about so many links were followed or nothing is left to pass on.
    pub fn work(&mut self, links_max: usize, known: &dyn Links) {
        self.work_telling(links_max, known, &mut |_, _| ());
    }

    /// The same; `tell` hears of every page that was given something and whose links are not known.
    pub fn work_telling(
        &mut self,
        links_max: usize,
        known: &dyn Links,
        tell: &mut dyn FnMut(&Self, PageId),
    ) {
        let mut left = links_max;
        let mut room = std::mem::take(&mut self.room);
        while left > 0
            && let Some(page) = self.debts.take_largest()
        {
            let links = known.links_of(page, &mut room);
            left = left.saturating_sub(links.len().max(1));
            let before = self.through(page, links.len());
            self.settle(page);
            let more = self.through(page, links.len()) - before;
            self.owe_each(links, more, tell);
        }
        self.room = room;
    }

    /// How many pages are known.
    pub fn known(&self) -> usize {
        self.settled.len()
    }

    /// How many pages wait to pass on what they are owed.
    pub fn waiting(&self) -> usize {
        self.debts.len()
    }

    /// The bytes a page takes, as allocated.
    pub fn allocated_bytes(&self) -> usize {
        (self.settled.capacity() + self.owed.capacity()) * size_of::<i64>()
            + self.marks.capacity()
            + self.debts.allocated_bytes()
    }

    /// Asserts that the sums are those of the pages: O(pages). For tests, and on demand.
    pub fn audit(&self) {
        let pages = || (0..self.known()).map(PageId::from_index);
        let has = |page: PageId| i128::from(self.has(page));
        let there = pages().filter(|page| !self.is_gone(*page));
        assert_eq!(there.map(has).sum::<i128>(), self.total, "all is counted");
        let spoken = pages().filter(|page| self.flows(*page));
        assert_eq!(
            spoken.map(has).sum::<i128>(),
            self.spoken,
            "and whose links are known"
        );
        self.debts.audit();
    }

    fn settle(&mut self, page: PageId) {
        let at = page.index();
        self.debts.forget(page);
        self.settled[at] += std::mem::take(&mut self.owed[at]);
    }

    /// What has gone through each of so many links of a page.
    fn through(&self, page: PageId, links: usize) -> i64 {
        through(self.edge, self.settled[page.index()], links)
    }

    #[inline]
    fn owe_each(&mut self, links: &[PageId], units: i64, tell: &mut dyn FnMut(&Self, PageId)) {
        if units == 0 {
            return;
        }
        for &link in links {
            self.owe(link, units);
            if self.marks[link.index()] & (FLOWS | GONE) == 0 {
                tell(self, link);
            }
        }
    }

    #[inline]
    fn owe(&mut self, page: PageId, units: i64) {
        let at = page.index();
        self.owed[at] += units;
        let mark = self.marks[at];
        if mark & GONE == 0 {
            self.total += i128::from(units);
        }
        if mark & FLOWS != 0 {
            self.spoken += i128::from(units);
            let debt = self.owed[at].unsigned_abs();
            let waits = debt >= self.patience;
            self.debts.put(page, if waits { debt } else { 0 });
        }
    }
}

/// What has gone through each of so many links of a page with this base: rounded down.
fn through(edge: VirtualEdge, settled: i64, links: usize) -> i64 {
    if links == 0 {
        return 0;
    }
    let (part, whole) = match edge {
        VirtualEdge::Link(weight) => {
            let one = u64::from(Weight::ONE.thousandths());
            (one, links as u64 * one + u64::from(weight.thousandths()))
        }
        VirtualEdge::Fraction(share) => {
            let all = Fraction::BILLION;
            (all - share.billionths(), links as u64 * all)
        }
    };
    let product = i128::from(settled) * i128::from(part);
    i64::try_from(product.div_euclid(i128::from(whole))).expect("a part is not more than the whole")
}

impl Save for Standing {
    fn save(&self, out: &mut dyn io::Write) -> io::Result<()> {
        self.settled.save(out)?;
        self.owed.save(out)?;
        self.marks.save(out)?;
        self.debts.save(out)
    }
}

impl Standing {
    /// Becomes what was saved; the chain and the exactness are those of construction.
    pub(crate) fn restore_into(&mut self, from: &mut dyn io::Read) -> io::Result<()> {
        self.settled = Restore::restore(from)?;
        self.owed = Restore::restore(from)?;
        self.marks = Restore::restore(from)?;
        self.debts = Restore::restore(from)?;
        let known = self.settled.len();
        let counts = [self.owed.len(), self.marks.len(), self.debts.known()];
        let adds_up = self.settled.iter().zip(&self.owed);
        let adds_up = adds_up
            .into_iter()
            .all(|(settled, owed)| settled.checked_add(*owed).is_some());
        if counts != [known; 3] || !adds_up {
            return Err(corrupt("importance that does not add up"));
        }
        (self.total, self.spoken, self.gone) = (0, 0, 0);
        for page in (0..known).map(PageId::from_index) {
            let has = i128::from(self.has(page));
            if self.is_gone(page) {
                self.gone += 1;
            } else {
                self.total += has;
            }
            if self.flows(page) {
                self.spoken += has;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Pages with the links of their last two copies.
    #[derive(Default)]
    struct Copies {
        now: Vec<Vec<PageId>>,
        before: Vec<Vec<PageId>>,
    }

    impl Links for Copies {
        fn links_of<'a>(&'a self, page: PageId, _: &'a mut Vec<PageId>) -> &'a [PageId] {
            &self.now[page.index()]
        }

        fn old_links_of<'a>(&'a self, page: PageId, _: &'a mut Vec<PageId>) -> &'a [PageId] {
            &self.before[page.index()]
        }
    }

    /// What the head says holds, unit by unit.
    fn adds_up(standing: &Standing, copies: &Copies) {
        let mut expected = vec![ENDOWED; standing.settled.len()];
        for (page, links) in copies.now.iter().enumerate() {
            for link in links {
                expected[link.index()] +=
                    through(standing.edge, standing.settled[page], links.len());
            }
        }
        for (page, expected) in expected.iter().enumerate() {
            assert_eq!(standing.settled[page] + standing.owed[page], *expected);
        }
        standing.audit();
    }

    /// PageRank by the book, over and over until nothing moves.
    fn by_the_book(links: &[Vec<PageId>]) -> Vec<f64> {
        let mut rank = vec![1.0; links.len()];
        for _ in 0..400 {
            let mut next = vec![1.0; links.len()];
            for (page, links) in links.iter().enumerate() {
                for link in links {
                    next[link.index()] += 0.85 * rank[page] / links.len() as f64;
                }
            }
            rank = next;
        }
        let mean = rank.iter().sum::<f64>() / rank.len() as f64;
        rank.iter().map(|rank| rank / mean).collect()
    }

    fn fetches() -> impl Strategy<Value = (usize, Vec<(u32, Vec<u32>)>)> {
        (2usize..30).prop_flat_map(|pages| {
            let page = 0..pages as u32;
            let links = prop::collection::btree_set(page.clone(), 0..6);
            let links = links.prop_map(|links| links.into_iter().collect());
            (Just(pages), prop::collection::vec((page, links), 1..80))
        })
    }

    proptest! {
        #[test]
        fn nothing_is_lost_and_the_limit_is_pagerank(
            (pages, fetches) in fetches(), work in 0usize..20, kill in 0usize..80,
        ) {
            let mut standing = Standing::new(4096);
            let mut copies = Copies::default();
            for _ in 0..pages {
                standing.know();
                copies.now.push(Vec::new());
                copies.before.push(Vec::new());
            }
            for (turn, (page, links)) in fetches.into_iter().enumerate() {
                let links: Vec<PageId> = links.into_iter().map(PageId).collect();
                let at = page as usize;
                copies.before[at] = std::mem::replace(&mut copies.now[at], links.clone());
                standing.fetched(PageId(page), &links, &copies);
                standing.work(work, &copies);
                adds_up(&standing, &copies);
                if turn == kill {
                    let mut saved = Vec::new();
                    standing.save(&mut saved).unwrap();
                    standing = Standing::new(4096);
                    standing.restore_into(&mut saved.as_slice()).unwrap();
                }
            }
            standing.work(usize::MAX, &copies);
            adds_up(&standing, &copies);
            prop_assert_eq!(standing.waiting(), 0);
            for (page, expected) in by_the_book(&copies.now).into_iter().enumerate() {
                let got = standing.of(PageId::from_index(page));
                prop_assert!((got - expected).abs() < 0.02, "page {}: {} and {}", page, got, expected);
            }
        }
    }
}
